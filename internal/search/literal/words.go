package literal

import (
	"encoding/binary"
	"math/bits"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// byWords compares eight places at a time, as the bytes of two words.
func (p *pair) byWords(b []byte, places int) int {
	av, am := lowBits*uint64(p.a.value), lowBits*uint64(p.a.mask)
	bv, bm := lowBits*uint64(p.b.value), lowBits*uint64(p.b.mask)
	as, bs := b[p.ao:], b[p.bo:]
	at := 0
	for ; at+8 <= places; at += 8 {
		x := (binary.LittleEndian.Uint64(as[at:]) | am) ^ av
		y := (binary.LittleEndian.Uint64(bs[at:]) | bm) ^ bv
		if hit := zeroBytes(x | y); hit != 0 {
			return at + bits.TrailingZeros64(hit)/8
		}
	}
	for ; at < places; at++ {
		if p.a.matches(as[at]) && p.b.matches(bs[at]) {
			return at
		}
	}
	return -1
}

// zeroBytes sets the high bit of the lowest byte of x that is zero, and perhaps of bytes above it; it is zero where no
// byte is.
func zeroBytes(x uint64) uint64 { return (x - lowBits) &^ x & highBits }
