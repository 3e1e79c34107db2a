package grep

import (
	"context"
	"sync"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// UnitSize is how many files of a directory a search takes up at a time.
const UnitSize = unitSize

// Listed is a tree whose files somebody else has listed, and of which he knows that only some can match. The result of
// a search is that of searching all of them.
type Listed struct {
	// Root opens the files. Done is called once it is not used any more.
	Root *walk.Tree
	Done func()
	// Units are those with files that may match, in the order of paths.
	Units []Unit
	// Files is how many files the tree has, Binary how many of those that are in no unit are binary.
	Files, Binary int
	// Skipped are directories that could not be listed.
	Skipped []Skip
}

// Unit is a part of a listing: up to UnitSize files of one directory that stand together in the order of all paths.
type Unit struct {
	// Dir is the directory, "." for the root. Paths are those of the files that may match, below the root, and At is
	// which one of the unit each is.
	Dir   string
	Paths []string
	At    []int
	// Known are files of which more is known, by the index of their paths.
	Known map[int]Known
	// Size is how many files the unit has. Before is how many come before it in the listing, and Binary how many of
	// those are binary and in no unit.
	Size, Before, Binary int
}

// Known is a file of which only parts can match, as long as it is what Info says. Text that is not UTF-8, or that is
// [Uneven], cannot be known.
type Known struct {
	Info  walk.Info
	Parts []Part
}

// Part is a part of a file, from one offset to another: whole lines, with so many before them.
type Part struct {
	From, To int64
	Lines    int
}

// SearchListed searches the files of a listing, as Search does.
func (e *Engine) SearchListed(ctx context.Context, l Listed, q Query) (*Result, error) {
	select {
	case e.searches <- struct{}{}:
	case <-ctx.Done():
		l.Done()
		return nil, context.Cause(ctx)
	}
	s := newSearch(e, q)
	s.listed = &l
	s.res.Skipped, s.res.SkippedCount = l.Skipped[:min(len(l.Skipped), maxSkips)], len(l.Skipped)
	s.units = make([]unit, len(l.Units))
	for i, u := range l.Units {
		s.units[i] = unit{rel: u.Dir, files: u.Paths, at: u.At, size: u.Size, known: u.Known}
	}
	return s.wait(ctx, func() error {
		defer e.leave()
		defer l.Done()
		return s.inUnits(ctx, l.Root)
	})
}

// wait runs a search and returns its result, or the cause of ctx as soon as that ends.
func (s *search) wait(ctx context.Context, run func() error) (*Result, error) {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return s.result(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// inUnits searches the units, by several workers.
func (s *search) inUnits(ctx context.Context, tree *walk.Tree) error {
	s.found = make([][]File, len(s.units))
	s.searched = make([]int, len(s.units))
	for i := range s.searched {
		s.searched[i] = -1
	}
	var group sync.WaitGroup
	for range min(cap(s.engine.slots), len(s.units)) {
		group.Go(func() { s.work(ctx, tree) })
	}
	group.Wait()
	return context.Cause(ctx)
}

// countListed says how many files of a listing were looked at, or need not be.
func (s *search) countListed() {
	r, l := &s.res, s.listed
	r.Examined = l.Files
	binary := l.Binary
	if h := s.horizon.Load(); h < int64(len(l.Units)) {
		u := l.Units[h]
		r.Examined, binary = u.Before+s.searched[h], u.Binary
	}
	r.Binary += binary
	r.Unexamined = l.Files - r.Examined
}
