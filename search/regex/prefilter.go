package regex

import "github.com/tongs-ai/tongs/search/literal"

const (
	// maxFinders is how many literals are looked for one after the other; an automaton does more of them at once.
	maxFinders = 8
	// minChoice is the selectivity below which looking for a clause first does not pay, however short the lines are.
	minChoice = 9
	// window is how far several finders look ahead, so that the text is still in the cache for the next of them.
	window = 32 << 10
)

// finders returns the finders of the clause that a text is best searched for, nil where there is none.
func (r requirement) finders() []*literal.Finder {
	var short [][]Literal
	for _, c := range r.clauses {
		if len(c) <= maxFinders && (r.pure || selectivity(c) >= minChoice) {
			short = append(short, c)
		}
	}
	return findersOf(best(short))
}

// prefilter walks through a text from one occurrence of a clause to the next.
type prefilter struct {
	finders []*literal.Finder
	// next are the positions of the next occurrence of each literal: at or beyond the position asked for, or none, which
	// is the end of what was looked at. seen is that end.
	next []int
	seen int
	size int // the longest literal in its longest form
}

func newPrefilter(finders []*literal.Finder) prefilter {
	p := prefilter{finders: finders, next: make([]int, len(finders))}
	for _, f := range finders {
		p.size = max(p.size, len(f.Text())*3) // a folded letter has three bytes at most for one
	}
	return p
}

func (p *prefilter) reset() { p.seen = 0 }

// index returns the first occurrence of any literal at or after pos, -1 where there is none. It is asked for growing
// positions of the same text.
func (p *prefilter) index(b []byte, pos int) int {
	if len(p.finders) == 1 {
		if i := p.finders[0].Index(b[pos:]); i >= 0 {
			return pos + i
		}
		return -1
	}
	for pos < len(b) {
		if pos >= p.seen {
			p.look(b, pos)
		}
		first := p.seen
		for i, at := range p.next {
			if at < pos {
				at = p.find(b, i, pos)
			}
			first = min(first, at)
		}
		if first < p.seen {
			return first
		}
		pos = p.seen
	}
	return -1
}

// look starts a new window at pos.
func (p *prefilter) look(b []byte, pos int) {
	p.seen = min(len(b), pos+window)
	for i := range p.next {
		p.find(b, i, pos)
	}
}

// find looks for one literal from pos to the end of the window. One that reaches beyond the end is in the window too.
func (p *prefilter) find(b []byte, i, pos int) int {
	end := min(len(b), p.seen+p.size)
	p.next[i] = p.seen
	if at := p.finders[i].Index(b[pos:end]); at >= 0 {
		p.next[i] = min(p.seen, pos+at)
	}
	return p.next[i]
}
