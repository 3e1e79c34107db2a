// Package grep searches the files of a tree for a pattern. Every search reads what is there now; who knows the files of a
// tree, and which of them cannot match, may say so (see [Listed]).
//
// A walk lists the files first, so that they can be searched in the order of their paths by several workers, and so
// that a search which has found enough stops there: what it returns does not depend on which worker was faster, and the
// next page begins where this one ended. Each worker reads into a buffer that it uses again. A file that is larger than
// the buffer goes through it in blocks of whole lines, so a file of any size takes the same memory.
//
// Text in UTF-8, UTF-16, Latin-1 and Windows-1252 is searched as text. Binary files of a tree are counted and passed over.
package grep

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// Mode is what a search returns.
type Mode uint8

// The modes.
const (
	// Content returns matching lines, in the order of paths. Limit and Offset count matches.
	Content Mode = iota
	// Files returns the files with a match, the most recently changed first. Limit and Offset count files.
	Files
	// Count returns how many lines match in each file, in the order of paths. Limit and Offset count files.
	Count
)

// Query is what to search for and what to return.
type Query struct {
	Matcher *regex.Matcher
	Mode    Mode
	// Limit is how many matches or files to return, after Offset of them; zero means all.
	Limit, Offset int
	// Before and After are how many lines around a match to return with it.
	Before, After int
	// Columns says to tell where in its line a match begins.
	Columns bool
	// LineChars is how many characters of a line to return, around the match; zero means all.
	LineChars int
	// Binary says to search binary files too, and to tell whether they match; their lines are not returned.
	Binary bool
}

// need is how many matches a content search looks for: one more than it returns, to know whether there are more. Zero
// means all.
func (q *Query) need() int {
	if q.Limit <= 0 || q.Mode != Content {
		return 0
	}
	return q.Offset + q.Limit + 1
}

// Result is what a search found.
type Result struct {
	Files []File
	// Matches is how many matching lines Files hold, or count. TotalFiles and TotalMatches are how many there are at all,
	// limit or not, in the modes Files (files only) and Count.
	Matches, TotalFiles, TotalMatches int
	// More says that there are more matches or files than were returned.
	More bool
	// Examined and Unexamined are how many files were searched, and how many were not because there was enough.
	Examined, Unexamined int
	// Binary is how many binary files were passed over.
	Binary int
	// Skipped are some of the files and directories that could not be searched, and SkippedCount how many there are.
	Skipped      []Skip
	SkippedCount int
	// Pieces is how many lines were too long to be looked at as a whole.
	Pieces int
}

// Skip is something that could not be searched.
type Skip struct {
	Path string
	Err  error
}

// File is a file with matches.
type File struct {
	// Path is below the root of the search, slash-separated.
	Path string
	// Lines are matching lines and those around them, in order.
	Lines []Line
	// Count is how many lines match, as far as the mode needs it.
	Count int
	// Modified is when the file changed, in the mode Files.
	Modified time.Time
	// Binary says that the file is binary and has a match.
	Binary bool
}

// Line is a line of a file.
type Line struct {
	Number int
	// Text is the line without its end, as UTF-8; in a multiline search the lines that a match touches.
	Text string
	// Match says that the line matches; otherwise it stands around one that does.
	Match bool
	// Column is the character at which the first match begins, counted from 1; 0 where nobody asked.
	Column int
}

// Engine runs searches. Its zero value is not ready: use New. It is safe for concurrent use; the memory of all searches
// at a time is bounded by its workers.
type Engine struct {
	slots    chan *slot
	searches chan struct{}
	waiting  atomic.Int32
}

// slot is what a worker needs: a buffer for files, and one for what is decoded.
type slot struct{ buf, decoded []byte }

// prepare makes the buffer, where there is none.
func (s *slot) prepare() {
	if s.buf == nil {
		s.buf = make([]byte, blockSize)
	}
}

// New returns an engine with that many workers; zero means one for each processor, and at least two.
func New(workers int) *Engine {
	if workers <= 0 {
		workers = max(2, runtime.GOMAXPROCS(0))
	}
	e := &Engine{slots: make(chan *slot, workers), searches: make(chan struct{}, 2*workers)}
	for range workers {
		e.slots <- &slot{}
	}
	return e
}

// Tree is where to search.
type Tree struct {
	walk.Options
	// Pick says which files to search, by their path below the root; nil means all.
	Pick func(rel string) bool
}

// Search searches the files of a tree. When ctx ends it returns with the cause at once; what is still under way
// then ends by itself.
func (e *Engine) Search(ctx context.Context, tree Tree, q Query) (*Result, error) {
	select {
	case e.searches <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s := newSearch(e, q)
	return s.wait(ctx, func() error {
		defer e.leave()
		return s.tree(ctx, tree)
	})
}

// Reader searches one open file, whose path is for the result. Of a binary file the result tells whether it matches.
func (e *Engine) Reader(ctx context.Context, path string, r io.Reader, q Query) (*Result, error) {
	slot, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	q.Binary = true
	s := newSearch(e, q)
	s.units, s.found, s.searched = []unit{{files: []string{path}}}, make([][]File, 1), []int{1}
	return s.wait(ctx, func() error {
		w := newWorker(s, slot)
		defer w.close()
		f, ok, err := w.file(ctx, r)
		if f.Path = path; ok {
			s.found[0] = []File{f}
		}
		return err
	})
}

// leave makes room for another search.
func (e *Engine) leave() { <-e.searches }

// acquire waits for a slot.
func (e *Engine) acquire(ctx context.Context) (*slot, error) {
	select {
	case s := <-e.slots:
		return s, nil
	default:
	}
	e.waiting.Add(1)
	defer e.waiting.Add(-1)
	select {
	case s := <-e.slots:
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// release gives a slot back. A buffer that grew for one long line is not kept.
func (e *Engine) release(s *slot) {
	if cap(s.buf) > keepSize {
		s.buf = nil
	}
	if cap(s.decoded) > keepSize {
		s.decoded = nil
	}
	e.slots <- s
}
