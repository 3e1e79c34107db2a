package literal

import (
	"bytes"
	"unicode/utf8"
)

// Finder finds one literal. It does not change and is safe for concurrent use.
type Finder struct {
	text string
	fold bool
	// runes is the literal by characters, where fold is set and the filter alone does not prove a match.
	runes []rune
	// before is how many of the runes stand before the filter.
	before int
	filter []pattern
	pair   pair
	// first are the bytes that an occurrence can start with; it is used where there is no filter.
	first *[256]bool
}

// pattern is what one byte of the text must be: value, once the bits of mask are set.
type pattern struct{ value, mask byte }

func (p pattern) matches(c byte) bool { return c|p.mask == p.value }

// New returns a finder of text. With fold it finds every spelling that differs from text in case only. The empty text
// is found everywhere.
func New(text string, fold bool) *Finder {
	f := &Finder{text: text, fold: fold && hasCase(text)}
	if !f.fold {
		for i := range len(text) {
			f.filter = append(f.filter, pattern{value: text[i]})
		}
	} else {
		f.foldFilter()
	}
	if len(f.filter) > 0 {
		f.pair = rarest(f.filter)
	} else if f.fold {
		f.first = firstBytes(f.runes[0])
	}
	return f
}

// Text returns the literal, Fold whether it is found in any case.
func (f *Finder) Text() string { return f.text }

// Fold reports whether the literal is found in any case. It is false for a literal without letters.
func (f *Finder) Fold() bool { return f.fold }

// Find returns the bounds of the first occurrence in b, or -1, -1.
func (f *Finder) Find(b []byte) (start, end int) {
	if f.text == "" {
		return 0, 0
	}
	if f.first != nil {
		return f.findFirst(b)
	}
	n := len(f.filter)
	for at := 0; ; at++ {
		i := f.pair.index(b[at:], n)
		if i < 0 {
			return -1, -1
		}
		at += i
		if start, end, ok := f.verify(b, at); ok {
			return start, end
		}
	}
}

// Index returns the start of the first occurrence in b, or -1.
func (f *Finder) Index(b []byte) int {
	start, _ := f.Find(b)
	return start
}

// verify checks the whole literal where the filter may match at position at, and returns its bounds.
func (f *Finder) verify(b []byte, at int) (start, end int, ok bool) {
	end = at + len(f.filter)
	if !f.fold {
		return at, end, string(b[at:end]) == f.text
	}
	if f.runes == nil {
		for i, p := range f.filter {
			if !p.matches(b[at+i]) {
				return 0, 0, false
			}
		}
		return at, end, true
	}
	start = at
	for i := f.before - 1; i >= 0; i-- {
		r, size := utf8.DecodeLastRune(b[:start])
		if size == 0 || !sameFold(f.runes[i], r, size) {
			return 0, 0, false
		}
		start -= size
	}
	end, ok = f.matchRunes(b, at, f.runes[f.before:])
	return start, end, ok
}

// matchRunes compares the characters of b from position at with runes, and returns where they end.
func (f *Finder) matchRunes(b []byte, at int, runes []rune) (end int, ok bool) {
	for _, want := range runes {
		r, size := utf8.DecodeRune(b[at:])
		if size == 0 || !sameFold(want, r, size) {
			return 0, false
		}
		at += size
	}
	return at, true
}

// findFirst looks at every place that starts with a byte that an occurrence can start with.
func (f *Finder) findFirst(b []byte) (start, end int) {
	for at, c := range b {
		if f.first[c] {
			if end, ok := f.matchRunes(b, at, f.runes); ok {
				return at, end
			}
		}
	}
	return -1, -1
}

// pair are two bytes of a filter at their distance: pattern a at offset ao, b at offset bo, ao <= bo.
type pair struct {
	a, b   pattern
	ao, bo int
	// single says that a is rare and always the same byte, so that looking for it alone is fastest without a kernel.
	single bool
	// rare is the offset of the rarer one of the two.
	rare int
}

// rarest returns the two rarest bytes of a filter; one that repeats the first tells little and comes last.
func rarest(filter []pattern) pair {
	first := 0
	for i := range filter {
		if filter[i].commonness() < filter[first].commonness() {
			first = i
		}
	}
	second, least := first, 1<<30
	for i, p := range filter {
		cost := p.commonness()
		if p == filter[first] {
			cost += 64
		}
		if i != first && cost < least {
			second, least = i, cost
		}
	}
	p := pair{ao: min(first, second), bo: max(first, second), rare: first}
	p.a, p.b = filter[p.ao], filter[p.bo]
	p.single = filter[first].mask == 0 && filter[first].commonness() < singleBelow
	return p
}

// singleBelow is the commonness below which the search for a single byte beats the search for two by words: about one
// byte in 70.
const singleBelow = 143

func (p pattern) commonness() int {
	most := 0
	for bits := p.mask; ; bits = (bits - 1) & p.mask { // each subset of the mask is a form of the byte
		most = max(most, int(rank[p.value&^bits]))
		if bits == 0 {
			break
		}
	}
	if p.mask != 0 {
		most += 4
	}
	return most
}

// index returns the first position in b, with room for n bytes, where both bytes match.
func (p *pair) index(b []byte, n int) int {
	places := len(b) - n + 1
	if places <= 0 {
		return -1
	}
	if places >= kernelMin && hasKernel() {
		return p.kernel(b, places)
	}
	return p.portable(b, places)
}

// portable is index without a kernel, over the first places positions of b.
func (p *pair) portable(b []byte, places int) int {
	if !p.single {
		return p.byWords(b, places)
	}
	rare, other := p.a, p.b
	otherAt := p.bo
	if p.rare == p.bo {
		rare, other, otherAt = p.b, p.a, p.ao
	}
	for at := 0; at < places; at++ {
		i := bytes.IndexByte(b[at+p.rare:places+p.rare], rare.value)
		if i < 0 {
			return -1
		}
		at += i
		if other.matches(b[at+otherAt]) {
			return at
		}
	}
	return -1
}
