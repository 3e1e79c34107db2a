package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

// finds searches warm and cold, and checks the files.
func (b *bench) finds(pattern, want string) {
	b.Helper()
	var got []string
	for _, f := range b.compare(ask{pattern: pattern}).Files {
		got = append(got, f.Path)
	}
	if s := strings.Join(got, " "); s != want {
		b.Errorf("%q found %q, want %q", pattern, s, want)
	}
}

func TestWhatIsWrittenIsFound(t *testing.T) {
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"a/x": "alpha", "b/y": "beta"})
	b.ready()
	b.finds("needle", "")
	put(t, b.top, map[string]string{"a/x": "a needle"})
	b.finds("needle", "a/x")
	must(t, b.service.Reindex(t.Context(), b.top))
	b.finds("needle", "a/x")
	put(t, b.top, map[string]string{"c/d/e/f": "needle", ".gitignore": "/a\n"})
	b.finds("needle", "c/d/e/f")
	must(t, os.Rename(filepath.Join(b.top, "c"), filepath.Join(b.top, "b", "c")))
	b.finds("needle", "b/c/d/e/f")
	must(t, os.Remove(filepath.Join(b.top, ".gitignore")))
	b.finds("needle", "a/x b/c/d/e/f")
	put(t, b.user.Home, map[string]string{"ignore": "x\n"})
	put(t, b.top, map[string]string{".git/HEAD": "ref: x", ".git/info/exclude": ""})
	b.finds("needle", "b/c/d/e/f")
	put(t, b.top, map[string]string{".git/info/exclude": "d/\n"})
	b.finds("needle", "")
	if st := b.service.Status(); len(st) != 1 || st[0].Direct != 0 && st[0].Files == 0 {
		t.Errorf("%+v", st)
	}
}

// A file that moves with its directory stays indexed.
func TestMovedFilesStayIndexed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no number there")
	}
	b := newBench(t, live.Options{})
	b.service.SetSettle(0)
	put(t, b.top, map[string]string{"z/x": "needle one", "z/y": "needle two"})
	b.ready()
	must(t, os.Rename(filepath.Join(b.top, "z"), filepath.Join(b.top, "zz")))
	b.finds("needle", "zz/x zz/y")
	b.finds("one", "zz/x")
}

// Writing by a name outside, to a file that was linked in or out.
func TestHardLinks(t *testing.T) {
	b := newBench(t, live.Options{})
	outside := b.user.Home
	put(t, outside, map[string]string{"in": "alpha"})
	put(t, b.top, map[string]string{"out": "beta"})
	must(t, os.Link(filepath.Join(outside, "in"), filepath.Join(b.top, "in")))
	b.ready()
	put(t, outside, map[string]string{"in": "needle"})
	b.finds("needle", "in")
	must(t, os.Link(filepath.Join(b.top, "out"), filepath.Join(outside, "out")))
	put(t, outside, map[string]string{"out": "needle"})
	must(t, b.service.Sweep(t.Context(), b.top)) // no event tells of it
	b.finds("needle", "in out")
}

// The queue of events overflows: everything is looked at.
func TestOverflow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no queue")
	}
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	n := 0
	_, err = fmt.Sscan(string(limit), &n)
	must(t, err)
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"a": "", "b": "", "last/c": "alpha"})
	b.ready()
	var files []*os.File
	for _, name := range []string{"a", "b"} {
		f, err := os.OpenFile(filepath.Join(b.top, name), os.O_WRONLY, 0)
		must(t, err)
		defer f.Close()
		files = append(files, f)
	}
	for round := 0; b.service.Sweeps(b.top) == 0; round++ {
		if round == 20 {
			t.Fatal("the queue never overflows")
		}
		for i := range n + 100 { // equal events in a row would be one
			_, err := files[i%2].WriteAt([]byte("x"), 0)
			must(t, err)
		}
		put(t, b.top, map[string]string{"last/c": "needle " + fmt.Sprint(round), "new/d": "needle"})
		b.finds("needle", "last/c new/d")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t, live.Options{MaxBytes: 1000})
	for i := range 50 {
		put(t, b.top, map[string]string{fmt.Sprint("f", i): "needle"})
	}
	st, err := b.service.Ready(t.Context(), b.top)
	must(t, err)
	if st.Ready || !strings.Contains(st.Problem, "more than") || st.Watches != 0 {
		t.Errorf("%+v", st)
	}
	m, err := regex.Compile("needle", regex.Options{})
	must(t, err)
	if _, _, ok, err := b.service.Search(t.Context(), b.engine, live.Tree{Host: b.top, Top: b.top}, grep.Query{Matcher: m}); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// Watches run out: searches look at every file instead.
func TestWatchesRunOut(t *testing.T) {
	for name, opt := range map[string]live.Options{"from the start": {MaxWatches: 2}, "later": {}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, opt)
			put(t, b.top, map[string]string{"a/x": "alpha", "b/y": "alpha", "c/d/z": "alpha"})
			b.ready()
			if opt.MaxWatches == 0 {
				b.service.BecomeStrict(b.top)
			}
			b.finds("needle", "")
			put(t, b.top, map[string]string{"c/d/z": "needle", "e/f/g": "needle"})
			b.finds("needle", "c/d/z e/f/g")
			if st := b.service.Status(); st[0].Strict == "" || st[0].Watches != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestMovedRoot(t *testing.T) {
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"x": "needle"})
	b.ready()
	b.finds("needle", "x")
	must(t, os.Rename(b.top, b.top+".away"))
	put(t, b.top, map[string]string{"y": "needle"})
	m, err := regex.Compile("needle", regex.Options{})
	must(t, err)
	if res, _, ok, _ := b.service.Search(t.Context(), b.engine, live.Tree{Host: b.top, Top: b.top}, grep.Query{Matcher: m}); ok {
		t.Errorf("found %+v", res.Files)
	}
	b.ready()
	b.finds("needle", "y")
}

// What Skip leaves out is not found, whatever was found before.
func TestSkipIsAskedEachTime(t *testing.T) {
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"x": "needle", ".env": "needle", "secret/y": "needle", "sub/secret/z": "needle"})
	b.ready()
	skip := func(rel string, dir bool) bool { return dir && filepath.Base(rel) == "secret" }
	for range 2 {
		if res := b.compare(ask{pattern: "needle"}); len(res.Files) != 3 {
			t.Errorf("%+v", res.Files)
		}
		if res := b.compare(ask{pattern: "needle", skip: skip}); len(res.Files) != 1 {
			t.Errorf("%+v", res.Files)
		}
		if res := b.compare(ask{pattern: "needle", skip: skip, scope: "hides secret"}); len(res.Files) != 1 {
			t.Errorf("%+v", res.Files)
		}
		put(t, b.top, map[string]string{"sub/secret/new": "needle"})
		must(t, os.Remove(filepath.Join(b.top, "secret", "y")))
		put(t, b.top, map[string]string{"secret/y": "needle"})
		must(t, os.Remove(filepath.Join(b.top, "sub/secret/new")))
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	descriptors := func() int {
		list, _ := os.ReadDir("/proc/self/fd")
		return len(list)
	}
	open := descriptors()
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := newBench(t, live.Options{Strict: i == 2})
			put(t, b.top, map[string]string{"a/b/c": "needle"})
			if i > 0 {
				b.ready()
				b.finds("needle", "a/b/c")
			} else {
				b.service.Prepare(b.top) // closed while it is built
			}
			must(t, b.service.Close())
			if _, ok := b.service.Changes(t.Context(), b.top, live.Generation{}); ok {
				t.Error("still there")
			}
		})
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, still := range []string{"live.(*root)", "live.(*indexer)", "live.(*swept)"} {
		if strings.Contains(string(stacks), still) {
			t.Errorf("%s is still running:\n%s", still, stacks)
		}
	}
	if n := descriptors(); n > open {
		t.Errorf("%d descriptors, %d before", n, open)
	}
}

func TestChanges(t *testing.T) {
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"a": "1", "d/b": "2", ".hidden": "3"})
	b.ready()
	var since live.Generation
	changes := func(all bool, changed, removed string) {
		t.Helper()
		ch, ok := b.service.Changes(t.Context(), b.top, since)
		if !ok {
			t.Fatal("not known")
		}
		var names []string
		for _, e := range ch.Changed {
			names = append(names, e.Rel)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != changed || ch.All != all || strings.Join(ch.Removed, " ") != removed {
			t.Errorf("changed %q, all %v, removed %q; want %q, %v, %q", got, ch.All, ch.Removed, changed, all, removed)
		}
		since = ch.Now
	}
	changes(true, "a d/b", "")
	changes(false, "", "")
	put(t, b.top, map[string]string{"a": "other", "new": "4"})
	changes(false, "a new", "")
	must(t, os.RemoveAll(filepath.Join(b.top, "d")))
	changes(false, "", "d/b")
	put(t, b.top, map[string]string{".gitignore": "new\n"})
	changes(false, "", "new")
	since = live.Generation{}
	changes(true, "a", "")
}

// Many callers and many roots at a time, while files change: every search finds at least what stays.
// A change that is seen first when the file is indexed is told all the same.
func TestChangesWhileIndexing(t *testing.T) {
	b := newBench(t, live.Options{Strict: true})
	b.service.SetSettle(-time.Hour)
	put(t, b.top, map[string]string{"a": "one", "b": "one"})
	b.ready()
	put(t, b.top, map[string]string{"a": "second"})
	b.finds("second", "a") // it is searched directly from now on
	since, ok := b.service.Changes(t.Context(), b.top, live.Generation{})
	put(t, b.top, map[string]string{"a": "the third"})
	must(t, b.service.Reindex(t.Context(), b.top))
	ch, ok2 := b.service.Changes(t.Context(), b.top, since.Now)
	if !ok || !ok2 || ch.All || len(ch.Changed) != 1 || ch.Changed[0].Rel != "a" {
		t.Errorf("%v, %v, %+v", ok, ok2, ch)
	}
}

func TestManyCallers(t *testing.T) {
	b := newBench(t, live.Options{Sweep: time.Millisecond})
	other := newBench(t, live.Options{})
	other.service = b.service
	for _, x := range []*bench{b, other} {
		put(t, x.top, map[string]string{"stays": "needle", "d/stays": "needle"})
		x.ready()
	}
	m, err := regex.Compile("needle", regex.Options{})
	must(t, err)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			x := []*bench{b, other}[i%2]
			for j := range 40 {
				if i < 2 {
					name := filepath.Join(x.top, "d", fmt.Sprint("f", j%5))
					_ = os.WriteFile(name, []byte("needle"), 0o666)
					if j%3 == 0 {
						_ = os.RemoveAll(name)
					}
					_ = b.service.Reindex(t.Context(), x.top)
					continue
				}
				res, _, ok, err := b.service.Search(t.Context(), b.engine, live.Tree{Host: x.top, Top: x.top}, grep.Query{Matcher: m})
				if err != nil || !ok || len(res.Files) < 2 {
					t.Errorf("%v, %v, %+v", ok, err, res)
				}
			}
		})
	}
	group.Wait()
	b.finds("needle", strings.Join(paths(b), " "))
}

func paths(b *bench) (list []string) {
	for _, f := range b.compare(ask{pattern: "needle"}).Files {
		list = append(list, f.Path)
	}
	return list
}

// What nobody asks for is dropped, and built again when somebody does.
func TestIdle(t *testing.T) {
	b := newBench(t, live.Options{Idle: time.Minute})
	put(t, b.top, map[string]string{"a": "needle"})
	b.ready()
	b.service.Expire(b.top)
	put(t, b.top, map[string]string{"b": "needle"})
	b.ready()
	b.finds("needle", "a b")
	b.service.Expire(b.top)
	b.ready()
}

// A call that ends while it is looked at what it sees hides nothing from the next one.
func TestEndedCall(t *testing.T) {
	b := newBench(t, live.Options{})
	put(t, b.top, map[string]string{"a/x": "needle", "b/y": "needle"})
	b.ready()
	m, err := regex.Compile("needle", regex.Options{})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	skipped := make(chan struct{})
	skip := func(string, bool) bool {
		cancel()
		<-skipped // the search has returned
		return true
	}
	_, _, ok, err := b.service.Search(ctx, b.engine, live.Tree{Host: b.top, Top: b.top, Skip: skip, Scope: "same"}, grep.Query{Matcher: m})
	close(skipped)
	if ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if res := b.compare(ask{pattern: "needle", skip: func(string, bool) bool { return false }, scope: "same"}); len(res.Files) != 2 {
		t.Errorf("%+v", res.Files)
	}
}
