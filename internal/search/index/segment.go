package index

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Segment is the index of some files. It does not change, and is safe for concurrent use.
type Segment struct {
	files          []uint32 // the first block of each file
	stops          []stop   // where each block ends
	blocks, groups int
	text           int64
	// keys are the trigrams that there are, ends where the list of each ends in lists.
	keys, ends []uint32
	lists      []byte
}

// stop is where a block ends in its file: how many bytes and lines are before that.
type stop struct{ bytes, lines uint32 }

// Files returns how many files there are.
func (s *Segment) Files() int { return len(s.files) }

// Text returns how many bytes the files have.
func (s *Segment) Text() int64 { return s.text }

// Size returns how many bytes the segment takes.
func (s *Segment) Size() int64 {
	return int64(len(s.lists)) + 4*int64(len(s.keys)+len(s.ends)+len(s.files)+2*len(s.stops))
}

// Found is a file that may match: its number, and the blocks that the match may be in, out of so many.
type Found struct {
	File   int
	Blocks []Block
	Of     int
}

// Block is a part of a file, from one offset to another: whole lines, with so many before them.
type Block struct{ From, To, Lines uint32 }

// Find calls found with each file that may match, in order. What it is given is valid during the call.
func (s *Segment) Find(q *Query, found func(Found)) {
	if s.groups == 0 {
		return
	}
	f := finder{s: s, all: newSet(s.groups), clause: newSet(s.groups), one: newSet(s.groups), tmp: newSet(s.groups), whole: q.whole}
	for i := range f.all {
		f.all[i] = ^uint64(0)
	}
	for _, c := range q.clauses {
		if !f.narrow(c) {
			return
		}
	}
	f.each(found)
}

// set holds blocks, a word for each group.
type set []uint64

func newSet(groups int) set { return make(set, groups) }

// finder intersects lists.
type finder struct {
	s                     *Segment
	all, clause, one, tmp set
	whole                 bool
}

// narrow keeps the blocks that hold one of the literals of a clause. It reports whether there are any.
func (f *finder) narrow(c clause) bool {
	clear(f.clause)
	for _, l := range c {
		if !f.literal(l) {
			continue
		}
		for i, m := range f.one {
			f.clause[i] |= m
		}
	}
	any := uint64(0)
	for i, m := range f.clause {
		f.all[i] &= m
		any |= f.all[i]
	}
	return any != 0
}

// literal sets one to the blocks that may contain a literal: all its pieces, in one block each.
func (f *finder) literal(pieces [][]uint32) bool {
	if len(pieces) == 1 && !f.whole {
		return f.piece(f.one, pieces[0])
	}
	any := false
	for i, p := range pieces {
		into := f.one
		if i > 0 {
			into = newSet(f.s.groups)
		}
		if any = f.piece(into, p); !any {
			return false
		}
		if f.whole {
			f.s.spread(into)
		}
		if i > 0 && !and(f.one, into) {
			return false
		}
	}
	return any
}

func and(a, b set) bool {
	any := uint64(0)
	for i := range a {
		a[i] &= b[i]
		any |= a[i]
	}
	return any != 0
}

// spread adds to a set all blocks of the files that it has blocks of.
func (s *Segment) spread(blocks set) {
	for i, first := range s.files {
		last := s.last(i)
		hit := false
		for b := first; b < last && !hit; b++ {
			hit = blocks[b/group]&(1<<(b%group)) != 0
		}
		for b := first; b < last && hit; b++ {
			blocks[b/group] |= 1 << (b % group)
		}
	}
}

// last returns the block behind the last one of a file.
func (s *Segment) last(file int) uint32 {
	if file+1 < len(s.files) {
		return s.files[file+1]
	}
	return uint32(s.blocks)
}

// piece sets into to the blocks that hold all the trigrams. It reports whether there are any.
func (f *finder) piece(into set, list []uint32) bool {
	order := make([][2][]byte, len(list))
	for i, k := range list {
		order[i][0] = f.s.list(k &^ either)
		if k&either != 0 {
			order[i][1] = f.s.list(k&^either | large)
		}
	}
	slices.SortFunc(order, func(a, b [2][]byte) int { return len(a[0]) + len(a[1]) - len(b[0]) - len(b[1]) })
	for i, o := range order {
		any := true
		switch {
		case len(o[0])+len(o[1]) == 0:
			return false
		case i == 0:
			clear(into)
			f.s.add(into, o[0])
			f.s.add(into, o[1])
		case len(o[1]) == 0:
			any = f.s.and(into, o[0])
		default:
			clear(f.tmp)
			f.s.add(f.tmp, o[0])
			f.s.add(f.tmp, o[1])
			any = and(into, f.tmp)
		}
		if !any {
			return false
		}
	}
	return true
}

// list returns the list of a trigram.
func (s *Segment) list(key uint32) []byte {
	i, ok := slices.BinarySearch(s.keys, key)
	if !ok {
		return nil
	}
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.lists[from:s.ends[i]]
}

// plain reports whether a list is masks without more.
func (s *Segment) plain(list []byte) bool { return len(list) == 8*s.groups }

// add adds the blocks of a list to a set.
func (s *Segment) add(into set, list []byte) {
	if s.plain(list) {
		for i := range into {
			into[i] |= binary.LittleEndian.Uint64(list[8*i:])
		}
		return
	}
	each(list, func(at int, mask uint64) { into[at] |= mask })
}

// and keeps the blocks of a set that are in a list, and reports whether there are any.
func (s *Segment) and(into set, list []byte) bool {
	any := uint64(0)
	if s.plain(list) {
		for i, m := range into {
			if m != 0 {
				into[i] = m & binary.LittleEndian.Uint64(list[8*i:])
				any |= into[i]
			}
		}
		return any != 0
	}
	next := 0
	each(list, func(at int, mask uint64) {
		clear(into[next:at])
		into[at] &= mask
		any |= into[at]
		next = at + 1
	})
	clear(into[next:])
	return any != 0
}

// each reads the groups of a list.
func each(list []byte, found func(at int, mask uint64)) {
	at := 0
	for i := 0; i < len(list); {
		head, n := binary.Uvarint(list[i:])
		i += n
		at += int(head >> 1)
		if head&1 != 0 {
			found(at, 1<<list[i])
			i++
			at++
			continue
		}
		mask := uint64(0)
		which := list[i]
		for i++; which != 0; which &= which - 1 {
			mask |= uint64(list[i]) << (8 * bits.TrailingZeros8(which))
			i++
		}
		found(at, mask)
		at++
	}
}

// each calls found with the files of which a block is left.
func (f *finder) each(found func(Found)) {
	s := f.s
	at := Found{File: -1}
	for i, m := range f.all {
		for ; m != 0; m &= m - 1 {
			block := uint32(i*group + bits.TrailingZeros64(m))
			if int(block) >= s.blocks {
				break
			}
			if at.File < 0 || block >= s.last(at.File) {
				if at.File >= 0 {
					found(at)
				}
				at.File = s.fileOf(block, at.File+1)
				at.Blocks, at.Of = at.Blocks[:0], int(s.last(at.File)-s.files[at.File])
			}
			at.Blocks = append(at.Blocks, s.block(at.File, block))
		}
	}
	if at.File >= 0 {
		found(at)
	}
}

// fileOf returns the file that a block is of, which is not before from.
func (s *Segment) fileOf(block uint32, from int) int {
	n, ok := slices.BinarySearch(s.files[from:], block)
	file := from + n
	if !ok {
		file--
	}
	for s.last(file) == s.files[file] {
		file++ // files without a block stand where the next one begins
	}
	return file
}

// block returns where in its file a block is.
func (s *Segment) block(file int, block uint32) Block {
	b := Block{To: s.stops[block].bytes}
	if block > s.files[file] {
		before := s.stops[block-1]
		b.From, b.Lines = before.bytes, before.lines
	}
	return b
}
