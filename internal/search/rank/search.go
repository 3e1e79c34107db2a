package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Scope says which files a search is about.
type Scope struct {
	// Visible reports whether a file counts, nil means that all do. What does not count leaves no trace in the result, not
	// even in how rare a word is.
	Visible func(path string) bool
	// Others is how many files there are that the index does not hold since they have none of the words.
	Others int
	// Limit is how many files to return at most; zero means 50.
	Limit int
}

// File is a file that has to do with a query.
type File struct {
	Path  string
	Score float64

	traits traits
}

// Ranking is what a search found.
type Ranking struct {
	// Files are the best files, Total is how many have to do with the query at all.
	Files []File
	Total int

	query *Query
	idf   []float64
}

// What counts how much in the score of a file. The numbers were found by trying: see the questions in quality_test.go.
const (
	saturation  = 1.2
	byLength    = 0.6
	weightPath  = 0.8
	weightBase  = 1.4
	weightNames = 1.6
	weightName  = 5
	// weightAlike is what a word counts that stands for one of the query.
	weightAlike = 0.55
)

// Search ranks the files of the index.
func (x *Index) Search(q *Query, scope Scope) *Ranking {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &scoring{Index: x, q: q, visible: x.visible(scope.Visible)}
	s.scores, s.covered, s.term = make([]float32, len(x.files)), make([]float32, len(x.files)), make([]float32, len(x.files))
	s.own, s.alike = make([]bool, len(x.files)), make([]uint8, len(x.files))
	alive := s.count() + scope.Others
	r := &Ranking{query: q}
	total, terms := 0.0, 0
	for i, t := range q.terms {
		counts := q.counts(i)
		if counts {
			terms++
		}
		n := float64(s.weigh(t, counts))
		idf := max(t.weight*math.Log(1+(float64(alive)-n+0.5)/(n+0.5)), 0.05)
		r.idf = append(r.idf, idf)
		total += idf
		for _, id := range s.touched {
			s.scores[id] += float32(idf) * s.term[id]
			s.covered[id] += float32(idf) * min(s.term[id], 1)
			s.term[id] = 0
		}
	}
	s.byName(total)
	limit := scope.Limit
	if limit <= 0 {
		limit = 50
	}
	for id, score := range s.scores {
		if score == 0 || !s.own[id] && int(s.alike[id]) < min(terms, enoughAlike) {
			continue
		}
		r.Total++
		f := x.files[id]
		covered := float64(s.covered[id]) / total
		r.Files = append(r.Files, File{Path: f.path, traits: f.traits, Score: float64(score) * spread(covered) * f.traits.weight(q)})
	}
	slices.SortFunc(r.Files, func(a, b File) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Path, b.Path)) })
	r.Files = slices.Clip(r.Files[:min(len(r.Files), limit)])
	return r
}

// spread prefers what has to do with all of a query to what has much to do with a part of it.
func spread(covered float64) float64 {
	covered = min(covered, 1)
	return 0.15 + 0.85*covered*covered
}

// scoring is one search.
type scoring struct {
	*Index
	q       *Query
	visible []bool
	average float64
	// scores and covered are sums over the terms, term is what the one that is weighed counts, for each file.
	scores, covered, term []float32
	touched               []ID
	// own says that a file has a word of the query itself, alike is how many it has by words like them.
	own   []bool
	alike []uint8
}

func (x *Index) visible(pick func(string) bool) []bool {
	v := make([]bool, len(x.files))
	for i, f := range x.files {
		v[i] = f.path != "" && (pick == nil || pick(f.path))
	}
	return v
}

// count returns how many files count, and notes how long they are on average.
func (s *scoring) count() (n int) {
	sum := 0.0
	for i, f := range s.files {
		if s.visible[i] {
			n++
			sum += float64(f.length)
		}
	}
	s.average = max(sum/float64(max(n, 1)), 1)
	return n
}

// weigh notes what a term counts in each file, and returns how many files have the word itself. Unless the term counts
// for telling whether a file has to do with the query, that is not noted.
func (s *scoring) weigh(t term, counts bool) (files int) {
	s.touched = s.touched[:0]
	for i, stem := range t.stems {
		w := 1.0
		if i > 0 {
			w = weightAlike / math.Sqrt(float64(len(t.stems)-1))
		}
		s.weighStem(stem, w)
		if i == 0 {
			if files = len(s.touched); counts {
				for _, id := range s.touched {
					s.own[id] = true
				}
			}
		}
	}
	if counts {
		for _, id := range s.touched[files:] {
			s.alike[id]++
		}
	}
	return files
}

func (s *scoring) weighStem(stem string, w float64) {
	add := func(id ID, v float64) {
		if !s.visible[id] {
			return
		}
		if s.term[id] == 0 {
			s.touched = append(s.touched, id)
		}
		s.term[id] += float32(w * v)
	}
	if l := s.lists[inText][stem]; l != nil {
		l.each(func(id ID, n int) {
			tf := float64(n)
			add(id, tf*(saturation+1)/(tf+saturation*(1-byLength+byLength*float64(s.files[id].length)/s.average)))
		})
	}
	for f, weight := range [fields]float64{inPath: weightPath, inBase: weightBase, inNames: weightNames} {
		if l := s.lists[f][stem]; l != nil && weight > 0 {
			l.each(func(id ID, n int) { add(id, weight*(1+0.1*min(float64(n), 5))) })
		}
	}
}

// byName prefers files that define something of a name in the query.
func (s *scoring) byName(total float64) {
	for _, n := range s.q.names {
		l := s.lists[isName][n.compact]
		if l == nil {
			continue
		}
		w := 0.15 * total
		if n.spelt {
			w = weightName * total
		}
		l.each(func(id ID, _ int) {
			if s.visible[id] {
				s.scores[id] += float32(w)
				if n.spelt {
					s.covered[id] += float32(total)
				}
			}
		})
	}
}
