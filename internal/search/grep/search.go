package grep

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// search is one search.
type search struct {
	engine *Engine
	q      Query
	units  []unit
	listed *Listed // where somebody else listed the files
	next   atomic.Int64
	// horizon is the last unit that can matter: those before it hold enough.
	horizon atomic.Int64

	mu       sync.Mutex
	found    [][]File // by unit
	searched []int    // by unit: how many files; -1 for one that nobody finished
	matches  int
	res      Result
}

func newSearch(e *Engine, q Query) *search {
	s := &search{engine: e, q: q}
	s.horizon.Store(1 << 62)
	return s
}

// maxSkips is how many things that could not be searched are named.
const maxSkips = 20

func (s *search) skip(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // it vanished meanwhile
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.res.SkippedCount++
	if len(s.res.Skipped) < maxSkips {
		s.res.Skipped = append(s.res.Skipped, Skip{path, err})
	}
}

// tree searches a tree.
func (s *search) tree(ctx context.Context, t Tree) error {
	workers := cap(s.engine.slots)
	opt := t.Options
	opt.Sorted, opt.Dirs, opt.Workers = false, false, workers
	report := opt.Skipped
	opt.Skipped = func(rel string, err error) {
		s.skip(rel, err)
		if report != nil {
			report(rel, err)
		}
	}
	tree, err := walk.Open(opt)
	if err != nil {
		return err
	}
	defer tree.Close()
	if s.q.need() == 0 {
		return s.all(ctx, tree, t.Pick)
	}
	if s.units, err = list(ctx, tree, workers, t.Pick); err != nil {
		return err
	}
	return s.inUnits(ctx, tree)
}

// all searches every file as the walk comes to it, while its directory is open. It is for searches that need all of
// them: what they find is put in order in the end.
func (s *search) all(ctx context.Context, tree *walk.Tree, pick func(string) bool) error {
	workers := make([]*worker, cap(s.engine.slots))
	defer func() {
		for _, w := range workers {
			if w != nil {
				s.found = append(s.found, w.found)
				s.res.Examined += w.searched
				w.close()
			}
		}
	}()
	return tree.Walk(ctx, func(e *walk.Entry) error {
		if e.Type != walk.File || pick != nil && !pick(e.Rel) {
			return nil
		}
		w := workers[e.Worker]
		if w == nil {
			w = newWorker(s, nil)
			workers[e.Worker] = w
		}
		return w.visit(ctx, e)
	})
}

// work searches units until there are no more.
func (s *search) work(ctx context.Context, tree *walk.Tree) {
	slot, err := s.engine.acquire(ctx)
	if err != nil {
		return
	}
	w := newWorker(s, slot)
	defer w.close()
	for ctx.Err() == nil {
		at := s.next.Add(1) - 1
		if at >= int64(len(s.units)) || at > s.horizon.Load() {
			return
		}
		w.unit(ctx, tree, at)
		if w.yield(ctx) != nil {
			return
		}
	}
}

// put records what was found in a unit, and whether that is enough.
func (s *search) put(at int64, files []File, searched, matches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[at], s.searched[at] = files, searched
	s.matches += matches
	need := s.q.need()
	if need == 0 || s.matches < need {
		return
	}
	sum := 0
	for i, files := range s.found {
		if sum >= need {
			s.found[i] = nil
			continue
		}
		for _, f := range files {
			sum += f.Count
		}
		if sum >= need {
			s.horizon.Store(int64(i))
			s.matches = sum
		}
	}
}

// result puts together what the units found. All workers have ended.
func (s *search) result() *Result {
	r := &s.res
	if s.listed != nil {
		s.countListed()
	} else {
		s.countUnits()
	}
	all := slices.Concat(s.found...)
	slices.SortFunc(all, func(a, b File) int {
		if c := b.Modified.Compare(a.Modified); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	if s.q.Mode == Content {
		s.cutContent(all)
	} else {
		s.cutFiles(all)
	}
	return r
}

// countUnits says how many files were looked at.
func (s *search) countUnits() {
	r := &s.res
	total := r.Examined
	for i, u := range s.units {
		total += len(u.files)
		if n := s.searched[i]; n > 0 && int64(i) <= s.horizon.Load() {
			r.Examined += n
		}
	}
	r.Unexamined = total - r.Examined
}

// cutFiles keeps the files from Offset on, at most Limit of them.
func (s *search) cutFiles(all []File) {
	r := &s.res
	r.TotalFiles = len(all)
	for _, f := range all {
		r.TotalMatches += f.Count
	}
	from := min(s.q.Offset, len(all))
	to := len(all)
	if s.q.Limit > 0 {
		to = min(from+s.q.Limit, len(all))
	}
	r.Files, r.More = all[from:to], to < len(all)
	for _, f := range r.Files {
		r.Matches += f.Count
	}
}

// cutContent keeps the matches from Offset on, at most Limit of them, with the lines around them.
func (s *search) cutContent(all []File) {
	r := &s.res
	before := s.q.Offset // matches still to pass over
	left := s.q.Limit
	if left <= 0 {
		left = 1 << 62
	}
	for _, f := range all {
		if before >= f.Count {
			before -= f.Count
			continue
		}
		if left == 0 {
			r.More = true
			break
		}
		from, to, kept := page(f, before, left, s.q)
		r.More = r.More || before+kept < f.Count
		f.Lines, f.Count = f.Lines[from:to], kept
		r.Files = append(r.Files, f)
		r.Matches += kept
		before, left = 0, left-kept
	}
}

// page returns the bounds of the lines of a file that belong to at most limit matches, after skip of them. A binary
// file is one match without lines.
func page(f File, skip, limit int, q Query) (from, to, matches int) {
	if f.Binary {
		return 0, 0, 1
	}
	seen := 0
	for i, l := range f.Lines {
		if !l.Match {
			continue
		}
		if seen++; seen == skip+1 {
			from = i
		}
		to = i + 1
		if seen == skip+limit {
			break
		}
	}
	for n := 0; n < q.Before && from > 0 && !f.Lines[from-1].Match && follows(f.Lines, from); n++ {
		from--
	}
	for n := 0; n < q.After && to < len(f.Lines) && !f.Lines[to].Match && follows(f.Lines, to); n++ {
		to++
	}
	return from, to, seen - skip
}

// follows reports whether nothing stands between line i and the one before it.
func follows(lines []Line, i int) bool {
	before := lines[i-1]
	return lines[i].Number == before.Number+strings.Count(before.Text, "\n")+1
}
