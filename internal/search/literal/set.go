package literal

import (
	"cmp"
	"math/bits"
	"slices"
)

// Set finds any of several literals in one pass. It does not change and is safe for concurrent use.
//
// A fingerprint of a literal is three neighbouring bytes of it, the rarest ones. Each literal is in one of eight buckets,
// a bit each, and three tables say for every byte in which buckets it can be the first, the second and the third of a
// fingerprint. A place where the three sets of buckets share a bit is looked at more closely. With AVX2 the tables are
// looked up for 32 places at a time, by the low and the high half of each byte.
type Set struct {
	finders []*Finder
	// longest is the length of the longest occurrence.
	longest int
	print   *prints // nil where there are few literals, or one is too short
}

const (
	printSize = 3
	// fewFinders is how many literals are found sooner one after the other.
	fewFinders = 2
)

// prints are the fingerprints of the literals of a set.
type prints struct {
	// halves are the tables for the kernel: for the low and the high half of the first byte, the second and the third.
	halves [2 * printSize][16]byte
	tables [printSize][256]byte
	// offsets are where in its filter the fingerprint of each literal is, buckets which literals are in each bucket.
	offsets []int
	buckets [8][]int
}

// NewSet returns a set of finders, of which there is at least one. None of them may be of an empty text.
func NewSet(finders ...*Finder) *Set {
	s := &Set{finders: finders}
	short := len(finders) <= fewFinders
	for _, f := range finders {
		// A character of one byte has no form of more than three.
		s.longest = max(s.longest, 3*len(f.text))
		short = short || len(f.filter) < printSize
	}
	if !short {
		s.print = newPrints(finders)
	}
	return s
}

func newPrints(finders []*Finder) *prints {
	p := &prints{offsets: make([]int, len(finders))}
	order := make([]int, len(finders))
	for i, f := range finders {
		order[i] = i
		p.offsets[i] = rarestWindow(f.filter)
	}
	// Literals with similar fingerprints share a bucket, so that there are few places that only seem to match.
	slices.SortFunc(order, func(a, b int) int {
		return slices.CompareFunc(finders[a].filter[p.offsets[a]:], finders[b].filter[p.offsets[b]:], func(x, y pattern) int {
			return cmp.Compare(x.value, y.value)
		})
	})
	for rank, i := range order {
		bucket := rank
		if len(finders) > len(p.buckets) {
			bucket = rank * len(p.buckets) / len(finders)
		}
		p.buckets[bucket] = append(p.buckets[bucket], i)
		p.enter(finders[i].filter[p.offsets[i]:][:printSize], 1<<bucket)
	}
	return p
}

// enter adds a fingerprint to the tables.
func (p *prints) enter(print []pattern, bit byte) {
	for k, want := range print {
		for c := range 256 {
			if want.matches(byte(c)) {
				p.tables[k][c] |= bit
				p.halves[2*k][c&15] |= bit
				p.halves[2*k+1][c>>4] |= bit
			}
		}
	}
}

// rarestWindow returns where the rarest neighbouring bytes of a filter are.
func rarestWindow(filter []pattern) int {
	best, least := 0, 1<<30
	for at := 0; at+printSize <= len(filter); at++ {
		sum := 0
		for _, p := range filter[at : at+printSize] {
			sum += p.commonness()
		}
		if sum < least {
			best, least = at, sum
		}
	}
	return best
}

// Find returns the bounds of an occurrence that is not before from, or -1, -1, and where to go on to find the next one.
// What it finds comes in the order of lines; of the occurrences in a line any may come first. A literal that itself
// holds a line end may come at any place.
func (s *Set) Find(b []byte, from int) (start, end, next int) {
	switch {
	case len(s.finders) == 1:
		start, end = s.finders[0].Find(b[from:])
		if start < 0 {
			return -1, -1, len(b)
		}
		return from + start, from + end, from + start + 1
	case s.print != nil && hasKernel():
		return s.byPrints(b, from)
	default:
		return s.byFinders(b, from)
	}
}

// byPrints looks for fingerprints. An occurrence may begin before from if its fingerprint does not.
func (s *Set) byPrints(b []byte, from int) (start, end, next int) {
	for at := from; ; at++ {
		i := s.print.index(b[at:])
		if i < 0 {
			return -1, -1, len(b)
		}
		at += i
		for set := s.print.at(b[at:]); set != 0; set &= set - 1 {
			for _, i := range s.print.buckets[bits.TrailingZeros8(set)] {
				f, place := s.finders[i], at-s.print.offsets[i]
				if place < 0 || place+len(f.filter) > len(b) {
					continue
				}
				if start, end, ok := f.verify(b, place); ok {
					return start, end, at + 1
				}
			}
		}
	}
}

// at returns the buckets that the first bytes of b may be a fingerprint of.
func (p *prints) at(b []byte) byte {
	return p.tables[0][b[0]] & p.tables[1][b[1]] & p.tables[2][b[2]]
}

// index returns the first place that may be a fingerprint, or -1.
func (p *prints) index(b []byte) int {
	places := len(b) - (printSize - 1)
	if places >= kernelMin && hasKernel() {
		return p.kernel(b, places)
	}
	return p.portable(b, places)
}

// portable is index over the first places positions, one after the other.
func (p *prints) portable(b []byte, places int) int {
	for i := range places {
		if p.at(b[i:]) != 0 {
			return i
		}
	}
	return -1
}

// window is how far byFinders looks with one finder before it tries the next.
const window = 4 << 10

// byFinders looks for the literals one after the other, a part of the text at a time.
func (s *Set) byFinders(b []byte, from int) (start, end, next int) {
	for at := from; at < len(b); at += window {
		start, end = -1, -1
		limit := min(len(b), at+window+s.longest)
		for _, f := range s.finders {
			from, to := f.Find(b[at:limit])
			if from >= 0 && (start < 0 || at+from < start) {
				start, end = at+from, at+to
				limit = min(len(b), start+s.longest)
			}
		}
		if start >= 0 {
			return start, end, start + 1
		}
	}
	return -1, -1, len(b)
}
