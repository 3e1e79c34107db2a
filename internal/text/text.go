// Package text tells text from binary data and keeps what a file is made of: its encoding, its byte order mark and
// its line endings. Decoding a file and encoding the untouched text gives the same bytes again; what cannot be given
// back refuses to be decoded.
package text

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// Encoding names how the bytes of a file stand for characters.
type Encoding string

// The encodings. Latin1 is the guess for text that is not UTF-8; Windows1252 for such text with curly quotes and the
// like, which are control characters in Latin-1.
const (
	UTF8        Encoding = "utf-8"
	UTF16LE     Encoding = "utf-16le"
	UTF16BE     Encoding = "utf-16be"
	Latin1      Encoding = "iso-8859-1"
	Windows1252 Encoding = "windows-1252"
	Binary      Encoding = "binary"
)

// Ending is how the lines of a file end.
type Ending string

// The endings. NoEnding is a file without a line end.
const (
	LF       Ending = "lf"
	CRLF     Ending = "crlf"
	Mixed    Ending = "mixed"
	NoEnding Ending = "none"
)

// Format is what a file's bytes are made of. The zero value is not a format; an empty file is UTF8 with NoEnding.
type Format struct {
	Encoding Encoding
	// BOM says that the file starts with a byte order mark, which is no part of the text.
	BOM    bool
	Ending Ending
	// Damaged says that some bytes are not valid in the encoding. Damaged UTF-8 can be decoded: the bytes stay as
	// they are in the string. Damaged UTF-16 cannot.
	Damaged bool
}

// String describes the format in a few words: "utf-16le with BOM, crlf".
func (f Format) String() string {
	s := string(f.Encoding)
	if f.BOM {
		s += " with BOM"
	}
	if f.Damaged {
		s += ", damaged"
	}
	if f.Ending == CRLF || f.Ending == Mixed {
		s += ", " + string(f.Ending)
	}
	return s
}

// Plain reports whether the format is what new files are written in.
func (f Format) Plain() bool {
	return f.Encoding == UTF8 && !f.BOM && !f.Damaged && (f.Ending == LF || f.Ending == NoEnding)
}

// unit is the number of bytes of the smallest code unit.
func (f Format) unit() int {
	if f.Encoding == UTF16LE || f.Encoding == UTF16BE {
		return 2
	}
	return 1
}

// Mark returns the length of the byte order mark.
func (f Format) Mark() int64 {
	switch {
	case !f.BOM:
		return 0
	case f.Encoding == UTF8:
		return 3
	default:
		return 2
	}
}

// Detect returns the format of a whole file.
func Detect(data []byte) Format {
	var d Detector
	_, _ = d.Write(data)
	return d.Format()
}

const (
	// headSize is how much of a file decides whether it is text. It is what the Detector holds in memory.
	headSize = 8 << 10
	// maxControls and maxHigh are the shares, in percent, of control characters in text of any kind and of non-ASCII
	// bytes in text that is not UTF-8, above which the head is binary.
	maxControls = 10
	maxHigh     = 50
)

// Detector finds the format of a file that is written to it in pieces, in constant memory. The zero value is ready.
// Whether it is text at all is decided by the first 8 KiB; the rest settles the encoding and the line endings.
type Detector struct {
	head []byte
	size int64
	// class is the guess by the head, "" until there is enough of it.
	class Format

	lines, crlf   int64
	multi, bad    int64  // valid sequences of more than one byte, and bytes in none
	c1, undefined bool   // bytes seen that Latin-1 has no character for, and Windows-1252 neither
	carry         []byte // an incomplete character at the end of the last piece
	lastCR, ended bool   // the last character is a carriage return, a line end
	high16        bool   // the last unit is the first half of a UTF-16 pair
}

// Write takes the next piece. It never fails.
func (d *Detector) Write(p []byte) (int, error) {
	n := len(p)
	d.size += int64(n)
	if d.class.Encoding == "" {
		take := min(headSize-len(d.head), len(p))
		d.head = append(d.head, p[:take]...)
		p = p[take:]
		if len(d.head) < headSize {
			return n, nil
		}
		d.start(false)
	}
	d.feed(p)
	return n, nil
}

// start decides what the head is and feeds it.
func (d *Detector) start(whole bool) {
	d.class = classify(d.head, whole)
	d.feed(d.head[d.class.Mark():])
}

// Format returns what the pieces so far are. Without the rest of the file it is a guess for the rest.
func (d *Detector) Format() Format {
	if d.class.Encoding == "" {
		whole := *d // more may follow: settle a copy
		whole.start(true)
		return whole.settle()
	}
	return d.settle()
}

// Lines returns the number of lines so far; a last line without an end counts.
func (d *Detector) Lines() int64 {
	if d.class.Encoding == "" {
		whole := *d
		whole.start(true)
		return whole.total()
	}
	return d.total()
}

func (d *Detector) total() int64 {
	if d.size > d.class.Mark() && (!d.ended || len(d.carry) > 0) { // half a character is on a line, too
		return d.lines + 1
	}
	return d.lines
}

// Head returns the first bytes of the file, for Describe.
func (d *Detector) Head() []byte { return d.head }

func (d *Detector) settle() Format {
	f := d.class
	switch {
	case d.lines == 0:
		f.Ending = NoEnding
	case d.crlf == 0:
		f.Ending = LF
	case d.crlf == d.lines:
		f.Ending = CRLF
	default:
		f.Ending = Mixed
	}
	switch f.Encoding {
	case UTF16LE, UTF16BE:
		f.Damaged = d.bad > 0 || len(d.carry) > 0 || d.high16
	case UTF8:
		bad := d.bad + int64(len(d.carry))
		whole := *d // with what is incomplete at the end, where more may follow
		for _, b := range d.carry {
			whole.high(b)
		}
		switch {
		case bad == 0:
		case f.BOM || d.multi >= bad:
			f.Damaged = true
		case whole.undefined:
			f.Encoding = Binary
		case whole.c1:
			f.Encoding = Windows1252
		default:
			f.Encoding = Latin1
		}
		if (f.Encoding == Latin1 || f.Encoding == Windows1252) && tooHigh(d.head) {
			f.Encoding = Binary
		}
	}
	return f
}

func (d *Detector) feed(p []byte) {
	if len(p) == 0 {
		return
	}
	if d.class.unit() == 2 {
		d.feed16(p)
		return
	}
	d.lines += int64(bytes.Count(p, []byte{'\n'}))
	d.crlf += int64(bytes.Count(p, []byte("\r\n")))
	if d.lastCR && p[0] == '\n' {
		d.crlf++
	}
	d.lastCR = p[len(p)-1] == '\r'
	d.ended = p[len(p)-1] == '\n'
	if d.class.Encoding == UTF8 {
		d.feed8(p)
	}
}

// feed8 counts valid and invalid sequences, also those that are cut between two pieces.
func (d *Detector) feed8(p []byte) {
	for len(d.carry) > 0 && len(p) > 0 {
		d.carry = append(d.carry, p[0])
		p = p[1:]
		if utf8.FullRune(d.carry) {
			rest := d.count8(d.carry)
			d.carry = append(d.carry[:0], rest...)
		}
	}
	rest := d.count8(p)
	d.carry = append(d.carry, rest...)
}

// count8 counts the sequences in p and returns what is incomplete at its end.
func (d *Detector) count8(p []byte) []byte {
	for len(p) > 0 {
		ascii := asciiPrefix(p)
		p = p[ascii:]
		if len(p) == 0 {
			return nil
		}
		if !utf8.FullRune(p) {
			return p
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			d.bad++
			d.high(p[0])
		} else {
			d.multi++
			for _, b := range p[:n] {
				d.high(b)
			}
		}
		p = p[n:]
	}
	return nil
}

// high notes what a non-ASCII byte would mean in a one-byte encoding.
func (d *Detector) high(b byte) {
	switch {
	case b == 0x81 || b == 0x8d || b == 0x8f || b == 0x90 || b == 0x9d:
		d.undefined = true
	case b < 0xa0:
		d.c1 = true
	}
}

func (d *Detector) feed16(p []byte) {
	if len(d.carry) == 1 {
		d.unit16(d.carry[0], p[0])
		d.carry, p = d.carry[:0], p[1:]
	}
	for len(p) >= 2 {
		d.unit16(p[0], p[1])
		p = p[2:]
	}
	d.carry = append(d.carry[:0], p...)
}

func (d *Detector) unit16(a, b byte) {
	u := uint16(a) | uint16(b)<<8
	if d.class.Encoding == UTF16BE {
		u = uint16(a)<<8 | uint16(b)
	}
	low := u >= 0xdc00 && u < 0xe000
	if low != d.high16 {
		d.bad++
	}
	d.high16 = u >= 0xd800 && u < 0xdc00
	if u == '\n' {
		d.lines++
		if d.lastCR {
			d.crlf++
		}
	}
	d.lastCR, d.ended = u == '\r', u == '\n'
}

// asciiPrefix returns how many bytes at the start of p are ASCII.
func asciiPrefix(p []byte) int {
	i := 0
	for ; i+8 <= len(p) && binary.LittleEndian.Uint64(p[i:])&0x8080808080808080 == 0; i += 8 {
	}
	for ; i < len(p) && p[i] < utf8.RuneSelf; i++ {
	}
	return i
}

// ToLF returns s with every CRLF made LF.
func ToLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// ToCRLF returns s with every line end made CRLF.
func ToCRLF(s string) string { return strings.ReplaceAll(ToLF(s), "\n", "\r\n") }
