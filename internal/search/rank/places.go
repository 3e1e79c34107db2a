package rank

import (
	"bytes"
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/search/symbols"
)

// Place is a place in a file: a definition, or a line.
type Place struct {
	Path  string
	Line  int
	Score float64
	// Definition is what is defined there, nil for a line that only has words of the query. Within is the definition that
	// such a line is in, nil where it is in none.
	Definition, Within *symbols.Definition
	// Words is how many of the query's words are there.
	Words int
}

const (
	inName      = 3.0
	inContainer = 1.5
	inDoc       = 1.0
	inBody      = 0.7
	ofPath      = 0.8
	ofFile      = 0.25
	exactly     = 3.0
	otherForm   = 0.8
	// maxPlaces is how many definitions, and how many lines, of one file are returned.
	maxPlaces = 12
)

// counts are how often each term of the query occurs.
type counts []float32

// Places returns the places in a file of the ranking that have most to do with the query, best first, given the text of
// the file as it is now and its definitions.
func (r *Ranking) Places(f File, text []byte, defs []symbols.Definition) []Place {
	p := &placing{Ranking: r, file: f, path: r.match(f.Path)}
	p.read(text)
	var places []Place
	for i := range defs {
		if at := p.definition(&defs[i]); at.Score > 0 {
			places = append(places, at)
		}
	}
	lines := best(p.textual())
	for i := range lines {
		lines[i].Within = innermost(defs, lines[i].Line)
	}
	return append(best(places), lines...)
}

func best(list []Place) []Place {
	slices.SortStableFunc(list, func(a, b Place) int { return cmp.Compare(b.Score, a.Score) })
	return list[:min(len(list), maxPlaces)]
}

// placing looks for places in one file.
type placing struct {
	*Ranking
	file File
	path counts
	// lines are the terms in each line that has some, order the numbers of these lines.
	lines map[int]counts
	order []int
	total int
}

// match returns which terms are among the words of s.
func (r *Ranking) match(s string) counts { return r.count([]byte(s), nil) }

// words is match for names, in which a word itself counts more than another form of it.
func (r *Ranking) words(s string) (c counts) {
	eachWord([]byte(s), nil, func(b []byte) {
		w := string(b)
		st := stem(w)
		for i, t := range r.query.terms {
			v := float32(0)
			switch at := slices.Index(t.stems, st); {
			case w == t.word:
				v = 1
			case at == 0:
				v = otherForm
			case at > 0:
				v = weightAlike
			}
			if v > 0 && c == nil {
				c = make(counts, len(r.query.terms))
			}
			if v > 0 {
				c[i] = max(c[i], v)
			}
		}
	})
	return c
}

func (r *Ranking) count(text []byte, into counts) counts {
	eachWord(text, nil, func(w []byte) {
		s := stem(string(w))
		for i, t := range r.query.terms {
			if at := slices.Index(t.stems, s); at >= 0 {
				if into == nil {
					into = make(counts, len(r.query.terms))
				}
				if at == 0 {
					into[i]++
				} else {
					into[i] += weightAlike
				}
			}
		}
	})
	return into
}

func (p *placing) read(text []byte) {
	p.lines = map[int]counts{}
	for line := range bytes.Lines(text) {
		p.total++
		if len(line) > 4096 { // data, not code
			line = line[:4096]
		}
		if c := p.count(line, nil); c != nil {
			p.lines[p.total] = c
			p.order = append(p.order, p.total)
		}
	}
}

// between sums up the lines from one to another.
func (p *placing) between(from, to int) counts {
	sum := make(counts, len(p.idf))
	at, _ := slices.BinarySearch(p.order, from)
	for _, line := range p.order[at:] {
		if line > to {
			break
		}
		for i, n := range p.lines[line] {
			sum[i] += n
		}
	}
	return sum
}

func saturated(n float32, k float64) float64 { return float64(n) / (float64(n) + k) }

// definition weighs a definition: its name first, what it is part of, its comment and first line, its body, its file.
func (p *placing) definition(d *symbols.Definition) (at Place) {
	names, container := p.words(d.Name), p.words(d.Container)
	doc, body := p.between(d.Doc, d.Line), p.between(d.Line+1, d.End)
	spread1 := 1 + float64(d.End-d.Line)/60
	score, covered, total, near := 0.0, 0.0, 0.0, false
	for i, idf := range p.idf {
		total += idf
		v := inDoc*saturated(doc[i], 0.7) + inBody*saturated(body[i], spread1)
		whole := v
		if names != nil && names[i] > 0 {
			v, whole, near = v+inName*float64(min(names[i], 1)), 1, true
		}
		if container != nil && container[i] > 0 {
			v, whole = v+inContainer*float64(min(container[i], 1)), max(whole, 0.8)
		}
		if p.path != nil && p.path[i] > 0 {
			v, whole = v+ofPath*float64(min(p.path[i], 1)), max(whole, 0.7)
		}
		near = near || doc[i] > 0
		score += idf * v
		covered += idf * min(whole, 1)
		if names != nil && names[i] > 0 || doc[i]+body[i] > 0 {
			at.Words++
		}
	}
	exact := p.exact(d)
	if !near && exact == 0 || total == 0 {
		return at
	}
	score *= spread(covered / total)
	if names != nil {
		score *= 0.75 + 0.25*p.precision(d.Name)
	}
	score += exact * total
	score = score*ofKind(d.Kind)*p.file.traits.weight(p.query) + ofFile*p.file.Score
	return Place{Path: p.file.Path, Line: d.Line, Score: score, Definition: d, Words: at.Words}
}

// exact returns how well the whole name of a definition is one that the query spells.
func (p *placing) exact(d *symbols.Definition) (v float64) {
	name := compact(d.Name)
	all := ""
	for _, n := range p.query.names {
		all += n.compact
		if n.compact != name {
			continue
		}
		switch {
		case n.container != "" && (n.container == compact(d.Container) || n.container == compact(path.Base(path.Dir(p.file.Path))) ||
			n.container == compact(strings.TrimSuffix(path.Base(p.file.Path), path.Ext(p.file.Path)))):
			v = max(v, 3*exactly)
		case n.spelt:
			v = max(v, 2*exactly)
		default:
			v = max(v, exactly/math.Max(1, float64(len(p.query.terms)*len(p.query.terms))))
		}
	}
	if all == name {
		v = max(v, 2*exactly)
	}
	return v
}

// precision is the part of a name's words that are words of the query.
func (p *placing) precision(name string) float64 {
	words := wordsOf(name)
	if len(words) == 0 {
		return 0
	}
	n := 0
	for _, w := range words {
		for _, t := range p.query.terms {
			if slices.Contains(t.stems, w) {
				n++
				break
			}
		}
	}
	return float64(n) / float64(len(words))
}

func ofKind(k symbols.Kind) float64 {
	switch k {
	case symbols.Field:
		return 0.7
	case symbols.Variable, symbols.Constant, symbols.Declaration:
		return 0.8
	case symbols.Heading, symbols.Target:
		return 0.6
	}
	return 1
}

// textual weighs the lines, each with those beside it. Of lines that follow each other the best one is returned.
func (p *placing) textual() (list []Place) {
	total := 0.0
	for _, idf := range p.idf {
		total += idf
	}
	need := min(2, len(p.idf))
	for _, line := range p.order {
		own := p.lines[line]
		score, covered, words := 0.0, 0.0, 0
		for i, idf := range p.idf {
			v := min(float64(own[i]), 1)
			for _, beside := range []int{line - 1, line + 1} {
				if c := p.lines[beside]; c != nil {
					v = max(v, 0.5*min(float64(c[i]), 1))
				}
			}
			if v > 0 {
				words++
			}
			score += idf * v
			covered += idf * v
		}
		if words < need {
			continue
		}
		score = score*spread(covered/total)*p.file.traits.weight(p.query) + ofFile*p.file.Score
		list = append(list, Place{Path: p.file.Path, Line: line, Score: score, Words: words})
	}
	return apart(list)
}

// apart drops lines that have a better one right beside them.
func apart(list []Place) (kept []Place) {
	for _, at := range list {
		if n := len(kept); n > 0 && at.Line-kept[n-1].Line <= 2 {
			if at.Score > kept[n-1].Score {
				kept[n-1] = at
			}
			continue
		}
		kept = append(kept, at)
	}
	return kept
}

// innermost returns the definition that a line is in, the smallest one.
func innermost(defs []symbols.Definition, line int) (in *symbols.Definition) {
	for i := range defs {
		d := &defs[i]
		if d.Doc <= line && line <= d.End && (in == nil || d.End-d.Line <= in.End-in.Line) {
			in = d
		}
	}
	return in
}
