package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	// blockSize is how long blocks are, up to the end of a line.
	blockSize = 16 << 10
	// MaxBlocks is how many blocks a segment should have.
	MaxBlocks = 16 << 10
	group     = 64
)

// Builder makes a segment. It takes about 12 MB besides what it builds, and can be used again. It is for one goroutine.
type Builder struct {
	seen  []uint64 // the trigrams of a block, as bits
	keys  []uint32 // the same, as a list
	masks []uint64 // the blocks of the group, by trigram
	// touched are the trigrams of the group.
	touched []uint32
	lists   []list
	pages   [][]byte
	used    uint32 // chunks
	files   []uint32
	stops   []stop
	blocks  int
	text    int64
}

// list is what was written of a trigram: a chain of chunks.
type list struct {
	first, last uint32
	// size is how many bytes there are, next the number of the group behind the last one.
	size, next uint32
	fill       uint8
}

// Chunks are pieces of pages. The last bytes of each are the number of the next one; 0 is none.
const (
	chunkSize = 32
	chunkText = chunkSize - 4
	pageSize  = 1 << 15 // chunks
)

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{seen: make([]uint64, keys/64), masks: make([]uint64, keys), lists: make([]list, keys), used: 1}
}

// Full reports whether the segment has enough blocks.
func (b *Builder) Full() bool { return b.blocks >= MaxBlocks }

// Add adds a file of less than 4 GiB, and returns its number in the segment.
func (b *Builder) Add(content []byte) (file int) {
	b.files = append(b.files, uint32(b.blocks))
	b.text += int64(len(content))
	var at stop
	for len(content) > 0 {
		n := cut(content)
		b.add(content[:n])
		at.bytes += uint32(n)
		at.lines += uint32(bytes.Count(content[:n], newline))
		b.stops = append(b.stops, at)
		content = content[n:]
	}
	return len(b.files) - 1
}

var newline = []byte{'\n'}

// cut returns where the first block ends: at a line end, unless there is none.
func cut(content []byte) int {
	if len(content) <= blockSize+blockSize/4 {
		return len(content)
	}
	if i := bytes.LastIndexByte(content[:blockSize], '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.IndexByte(content[blockSize:], '\n'); i >= 0 {
		return blockSize + i + 1
	}
	return len(content)
}

// add adds a block.
func (b *Builder) add(block []byte) {
	if len(b.keys) < len(block)+1 {
		b.keys = make([]uint32, len(block)+blockSize)
	}
	list, n := b.keys, 0
	key, caps := uint32(0), uint32(0)
	for _, c := range block {
		key = (key<<codeBits | uint32(codes[c])) & codeMask
		caps = (caps<<1 | uint32(larges[c])) & 7
		k := key | (caps+7)>>3<<(3*codeBits)
		word := &b.seen[k>>6]
		list[n] = k
		n += int(^*word >> (k & 63) & 1)
		*word |= 1 << (k & 63)
	}
	mask := uint64(1) << (b.blocks % group)
	for _, k := range list[:n] {
		b.seen[k>>6] = 0
		if k&63 == none || k>>codeBits&63 == none || k>>(2*codeBits)&63 == none {
			continue
		}
		if b.masks[k] == 0 {
			b.touched = append(b.touched, k)
		}
		b.masks[k] |= mask
	}
	if b.blocks++; b.blocks%group == 0 {
		b.flush()
	}
}

// flush writes the masks of a group to the lists.
func (b *Builder) flush() {
	at := uint32(b.blocks+group-1)/group - 1
	var buf [16]byte
	for _, k := range b.touched {
		l := &b.lists[k]
		b.write(l, appendMask(buf[:0], at-l.next, b.masks[k]))
		l.next = at + 1
		b.masks[k] = 0
	}
	b.touched = b.touched[:0]
}

// appendMask writes a group: how many groups without a block come before it, and its mask. A single block is its number,
// several are the bytes of the mask that are not zero behind a byte that says which.
func appendMask(dst []byte, gap uint32, mask uint64) []byte {
	if mask&(mask-1) == 0 {
		dst = binary.AppendUvarint(dst, uint64(gap)<<1|1)
		return append(dst, byte(bits.TrailingZeros64(mask)))
	}
	dst = binary.AppendUvarint(dst, uint64(gap)<<1)
	head := len(dst)
	dst = append(dst, 0)
	for i := range 8 {
		if c := byte(mask >> (8 * i)); c != 0 {
			dst[head] |= 1 << i
			dst = append(dst, c)
		}
	}
	return dst
}

func (b *Builder) write(l *list, text []byte) {
	l.size += uint32(len(text))
	for len(text) > 0 {
		if l.last == 0 || l.fill == chunkText {
			b.grow(l)
		}
		n := copy(b.chunk(l.last)[l.fill:chunkText], text)
		l.fill += uint8(n)
		text = text[n:]
	}
}

// grow gives a list another chunk.
func (b *Builder) grow(l *list) {
	if int(b.used) >= len(b.pages)*pageSize {
		b.pages = append(b.pages, make([]byte, pageSize*chunkSize))
	}
	next := b.used
	b.used++
	if l.last == 0 {
		l.first = next
	} else {
		binary.LittleEndian.PutUint32(b.chunk(l.last)[chunkText:], next)
	}
	l.last, l.fill = next, 0
}

func (b *Builder) chunk(n uint32) []byte {
	at := n % pageSize * chunkSize
	return b.pages[n/pageSize][at : at+chunkSize]
}

// read appends what a list holds.
func (b *Builder) read(dst []byte, l *list) []byte {
	for at := l.first; at != l.last; {
		c := b.chunk(at)
		dst = append(dst, c[:chunkText]...)
		at = binary.LittleEndian.Uint32(c[chunkText:])
	}
	return append(dst, b.chunk(l.last)[:l.fill]...)
}

// Finish returns the segment, and empties the builder.
func (b *Builder) Finish() *Segment {
	if b.blocks%group != 0 {
		b.flush()
	}
	s := &Segment{
		files: slices.Clone(b.files), stops: slices.Clone(b.stops), blocks: b.blocks, groups: (b.blocks + group - 1) / group, text: b.text,
	}
	plain := uint32(8 * s.groups)
	n, size := 0, 0
	for i := range b.lists {
		if l := &b.lists[i]; l.size > 0 {
			n++
			size += int(min(l.size, plain))
		}
	}
	s.keys, s.ends, s.lists = make([]uint32, 0, n), make([]uint32, 0, n), make([]byte, 0, size)
	for i := range b.lists {
		l := &b.lists[i]
		if l.size == 0 {
			continue
		}
		start := len(s.lists)
		if s.lists = b.read(s.lists, l); l.size >= plain {
			mask := make([]byte, plain)
			each(s.lists[start:], func(at int, m uint64) { binary.LittleEndian.PutUint64(mask[8*at:], m) })
			s.lists = append(s.lists[:start], mask...)
		}
		s.keys = append(s.keys, uint32(i))
		s.ends = append(s.ends, uint32(len(s.lists)))
	}
	clear(b.lists)
	b.used, b.blocks, b.files, b.stops, b.text = 1, 0, b.files[:0], b.stops[:0], 0
	b.pages = b.pages[:min(len(b.pages), 1)]
	return s
}
