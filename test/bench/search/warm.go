package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/tongs-ai/tongs/internal/search/globs"
	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

// limited is how many results a call of the tool returns by default.
const limited = 100

// warm is a service that knows the tree, and what it took by round.
type warm struct {
	service *live.Service
	tree    live.Tree
	engine  *grep.Engine
	status  live.Status
}

// newWarm waits until the service knows the tree.
func newWarm(top string, opt live.Options) (*warm, error) {
	dir, err := os.Open(top)
	if err != nil {
		return nil, err
	}
	w := &warm{service: live.New(opt), engine: grep.New(0), tree: live.Tree{Host: top, Top: top, Dir: dir}}
	w.status, err = w.service.Ready(context.Background(), top)
	if err == nil && !w.status.Ready {
		err = fmt.Errorf("%s is not indexed: %s", top, w.status.Problem)
	}
	return w, err
}

func (w *warm) close() {
	_ = w.service.Close()
	_ = w.tree.Dir.Close()
}

// search returns how many lines there are, and how long it took to find them.
func (w *warm) search(q query, limit int) (lines int, took float64, err error) {
	began := time.Now()
	m, err := regex.Compile(q.pattern, regex.Options{Fold: q.fold})
	if err != nil {
		return 0, 0, err
	}
	res, _, ok, err := w.service.Search(context.Background(), w.engine, w.tree, grep.Query{Matcher: m, Limit: limit})
	if err == nil && !ok {
		err = fmt.Errorf("the tree is not known any more: %+v", w.service.Status())
	}
	if err != nil {
		return 0, 0, err
	}
	return res.Matches, time.Since(began).Seconds(), nil
}

// glob returns how many files match, and how long it took to find them.
func (w *warm) glob(pattern string) (files int, took float64, err error) {
	began := time.Now()
	g, err := globs.Compile(pattern)
	if err != nil {
		return 0, 0, err
	}
	tree := w.tree
	tree.Pick, tree.Below = g.Match, g.Below
	if _, ok := w.service.List(context.Background(), tree, func(live.Entry) { files++ }, func(string, error) {}); !ok {
		return 0, 0, fmt.Errorf("the tree is not known any more: %+v", w.service.Status())
	}
	return files, time.Since(began).Seconds(), nil
}

// The table of warm searches.
const (
	warmHeader = "%-24s%10s%12s%10s%9s%14s%9s%14s%9s\n"
	warmLine   = "%-24s%10d%12.0f%10.2f%8.0fx%14.2f%8.0fx%14.1f%8.0fx\n"
)

// measureWarm compares searches in a process that knows the tree with ripgrep.
func measureWarm(opt options) error {
	began := heap()
	known, err := newWarm(opt.tree, live.Options{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return err
	}
	defer known.close()
	st := known.status
	fmt.Printf("\nknown: %d files, %d MB of text; index %.1f MB (%.1f %%), table %.1f MB, heap %.0f MB; %d watches; built in %.1f s by %d goroutines\n",
		st.Files, st.Text>>20, float64(st.Index)/(1<<20), 100*float64(st.Index)/float64(st.Text), float64(st.Table)/(1<<20),
		float64(heap()-began)/(1<<20), st.Watches, st.Built.Seconds(), runtime.GOMAXPROCS(0))
	strict, err := newWarm(opt.tree, live.Options{Strict: true})
	if err != nil {
		return err
	}
	defer strict.close()
	switch {
	case opt.profile != "" && opt.strict:
		return profileWarm(strict, opt)
	case opt.profile != "":
		return profileWarm(known, opt)
	}
	fmt.Printf(warmHeader, "query", "lines", "ripgrep ms", "all ms", "", "first 100 ms", "", "strict 100 ms", "")
	for _, q := range opt.wanted() {
		if err := warmRow(known, strict, q, opt); err != nil {
			return err
		}
	}
	if !opt.everything() {
		return nil
	}
	return globRows(known, strict, opt)
}

// heap returns how much memory is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// turns runs functions so many times, in random order each time, and once before that is not counted. They return how
// long they took.
func turns(rounds int, list ...func() (float64, error)) ([][]float64, error) {
	took := make([][]float64, len(list))
	for round := range rounds + 1 {
		for _, i := range rand.Perm(len(list)) {
			t, err := list[i]()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				took[i] = append(took[i], t)
			}
		}
	}
	return took, nil
}

func warmRow(known, strict *warm, q query, opt options) error {
	rg := &program{argv: ripgrep(opt, q)}
	lines := 0
	took, err := turns(opt.rounds,
		func() (float64, error) { return rg.once(opt.tree) },
		func() (t float64, err error) { lines, t, err = known.search(q, 0); return t, err },
		func() (t float64, err error) { _, t, err = known.search(q, limited); return t, err },
		func() (t float64, err error) { _, t, err = strict.search(q, limited); return t, err },
	)
	if err != nil {
		return err
	}
	fmt.Printf(warmLine, q.name, lines, 1000*median(took[0]), 1000*median(took[1]), ratio(took[0], took[1]),
		1000*median(took[2]), ratio(took[0], took[2]), 1000*median(took[3]), ratio(took[0], took[3]))
	return nil
}

// globRows compares finding files by a pattern.
func globRows(known, strict *warm, opt options) error {
	fmt.Printf("\n%-24s%10s%12s%10s%10s%9s%9s%12s%9s\n", "glob", "files", "ripgrep ms", "fd ms", "known ms", "of rg", "of fd", "strict ms", "of rg")
	for _, pattern := range []string{"**/*.go", "**/walk*.go", "**/*_test.go"} {
		rg := &program{argv: []string{opt.rg, "--files", "--no-require-git", "--no-messages", "-g", pattern}}
		fd := rg
		if opt.fd != "" {
			fd = &program{argv: []string{opt.fd, "--type", "f", "--glob", pattern[len("**/"):]}}
		}
		files := 0
		took, err := turns(opt.rounds,
			func() (float64, error) { return rg.once(opt.tree) },
			func() (float64, error) { return fd.once(opt.tree) },
			func() (t float64, err error) { files, t, err = known.glob(pattern); return t, err },
			func() (t float64, err error) { _, t, err = strict.glob(pattern); return t, err },
		)
		if err != nil {
			return err
		}
		fmt.Printf("%-24s%10d%12.0f%10.0f%10.2f%8.0fx%8.0fx%12.1f%8.0fx\n", pattern, files, 1000*median(took[0]), 1000*median(took[1]),
			1000*median(took[2]), ratio(took[0], took[2]), ratio(took[1], took[2]), 1000*median(took[3]), ratio(took[0], took[3]))
	}
	return nil
}

// profileWarm writes a profile of many searches.
func profileWarm(w *warm, opt options) error {
	f, err := os.Create(opt.profile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		for _, q := range opt.wanted() {
			if _, _, err := w.search(q, opt.limit); err != nil {
				return err
			}
		}
	}
	return nil
}
