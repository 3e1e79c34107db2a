package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/globs"
	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes files, by their path below dir.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		must(t, os.WriteFile(full, []byte(content), 0o666))
	}
}

// bench is a service, and what to compare it with.
type bench struct {
	testing.TB
	top     string
	service *live.Service
	engine  *grep.Engine
	user    ignore.User
}

func newBench(t testing.TB, opt live.Options) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := t.TempDir()
	b := &bench{TB: t, top: top, engine: grep.New(2), user: ignore.User{Home: home, Ignore: filepath.Join(home, "ignore")}}
	opt.User = &b.user
	if opt.Idle == 0 {
		opt.Idle = time.Hour
	}
	b.service = live.New(opt)
	t.Cleanup(func() { must(t, b.service.Close()) })
	return b
}

// ready waits for the index.
func (b *bench) ready() live.Status {
	b.Helper()
	st, err := b.service.Ready(b.Context(), b.top)
	must(b, err)
	if !st.Ready {
		b.Fatalf("not ready: %+v", st)
	}
	return st
}

// ask is a search.
type ask struct {
	pattern string
	opt     regex.Options
	dir     string // below the top
	glob    string
	q       grep.Query
	skip    func(rel string, dir bool) bool
	scope   any
}

func (a ask) String() string {
	return fmt.Sprintf("%q %+v in %q, glob %q, mode %d, limit %d+%d", a.pattern, a.opt, a.dir, a.glob, a.q.Mode, a.q.Offset, a.q.Limit)
}

// both searches warm and cold.
func (b *bench) both(a ask) (warm, cold *grep.Result) {
	b.Helper()
	m, err := regex.Compile(a.pattern, a.opt)
	must(b, err)
	q := a.q
	q.Matcher = m
	host := filepath.Join(b.top, filepath.FromSlash(a.dir))
	dir, err := os.Open(host)
	must(b, err)
	defer dir.Close()
	var filter *globs.Filter
	tree := live.Tree{Host: host, Top: b.top, Dir: dir, Skip: a.skip, Scope: a.scope, PickKey: a.glob}
	if a.glob != "" {
		filter, err = globs.NewFilter(a.glob)
		must(b, err)
		tree.Pick, tree.Below = filter.Match, filter.Below
	}
	warm, left, ok, err := b.service.Search(b.Context(), b.engine, tree, q)
	must(b, err)
	if !ok {
		b.Fatalf("%s: not warm: %+v", a, b.service.Status())
	}
	var coldLeft live.Left
	cold, err = b.engine.Search(b.Context(), grep.Tree{Options: walk.Options{
		Root: host, Dir: dir, Top: b.top, Ignore: &ignore.Reader{User: b.user}, Workers: 1,
		Skip: func(rel string, isDir bool) bool {
			if isDir && !filter.Below(rel) {
				return true
			}
			if a.skip == nil || !a.skip(rel, isDir) {
				return false
			}
			if isDir {
				coldLeft.Dirs++
			} else if filter.Match(rel) {
				coldLeft.Files++
			}
			return true
		},
	}, Pick: filter.Match}, q)
	must(b, err)
	if left != coldLeft {
		b.Errorf("%s: left out %+v, cold %+v", a, left, coldLeft)
	}
	return warm, cold
}

// compare searches warm and cold and wants the same.
func (b *bench) compare(a ask) *grep.Result {
	b.Helper()
	warm, cold := b.both(a)
	if a.q.Mode == grep.Content && a.q.Limit > 0 && cold.More {
		warm.Binary, cold.Binary = 0, 0 // of those beyond, workers may have seen some
	}
	if !reflect.DeepEqual(warm, cold) {
		b.Errorf("%s:\nwarm %s\ncold %s", a, brief(warm), brief(cold))
	}
	return warm
}

func brief(r *grep.Result) string {
	var s strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&s, "\n  %s (%d)", f.Path, f.Count)
	}
	if s.Len() > 2000 {
		return s.String()[:2000]
	}
	head := *r
	head.Files = nil
	return fmt.Sprintf("%+v%s", head, s.String())
}

// entries lists the files by the service and by a walk, and wants the same.
func (b *bench) entries() []string {
	b.Helper()
	var warm, cold []string
	_, ok := b.service.List(b.Context(), live.Tree{Host: b.top, Top: b.top}, func(e live.Entry) {
		warm = append(warm, fmt.Sprint(e.Rel, " ", e.Type, " ", e.Modified))
	}, func(rel string, err error) { b.Error(rel, err) })
	if !ok {
		b.Fatalf("not warm: %+v", b.service.Status())
	}
	must(b, walk.Walk(context.Background(), walk.Options{Root: b.top, Ignore: &ignore.Reader{User: b.user}, Sorted: true}, func(e *walk.Entry) error {
		if e.Type == walk.File || e.Type == walk.Symlink {
			info, err := e.Stat()
			must(b, err)
			cold = append(cold, fmt.Sprint(e.Rel, " ", e.Type, " ", info.Modified))
		}
		return nil
	}))
	if !reflect.DeepEqual(warm, cold) {
		b.Errorf("listed\n%s\ncold\n%s", strings.Join(warm, "\n"), strings.Join(cold, "\n"))
	}
	return warm
}

func TestSameAsCold(t *testing.T) {
	b := newBench(t, live.Options{})
	files := map[string]string{
		".gitignore": "*.log\n/out/\n", "a.log": "needle", "out/x": "needle", ".hidden": "needle", "empty": "",
		"b/secret.go": "needle", "b/closed/x.go": "needle", "bin": "needle\x00\x01", "utf16": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00",
		"latin": "caf\xe9 needle\n", "utf8": "café needle\n", "kelvin": "nee\u212ale, \u017fame\n", "long": strings.Repeat("x", 70<<10) + "needle\n",
		"b/many.txt": strings.Repeat("some line\n", 5000) + "Needle here\n" + strings.Repeat("other\n", 5000), "controls": "needle\x01\x02\x03\x04\x05\x06\x0e\x0f\n",
		"cr": "first\r\nneedle\r\nlast\r\n", "multi": "begin of it\nthe needle\nend of it\n", "bom": "\xef\xbb\xbfneedle\n",
	}
	for i := range 100 {
		files[fmt.Sprintf("d/f%03d.go", i)] = fmt.Sprintf("package d\n// file %d has a needle\nfunc f%d() {}\n", i, i)
		files[fmt.Sprintf("d/f%03d/sub.txt", i)] = fmt.Sprintf("text %d\nneedle\n", i)
		files[fmt.Sprintf("d/z%03d.bin", i)] = "\x00needle"
	}
	put(t, b.top, files)
	must(t, os.Symlink("a.log", filepath.Join(b.top, "link")))
	b.ready()
	skip := func(rel string, dir bool) bool {
		return strings.Contains(rel, "secret") || dir && strings.HasSuffix(rel, "closed") || strings.HasSuffix(rel, "link")
	}
	var asks []ask
	for _, pattern := range []string{
		"needle", "NEEDLE", "café", "same", "sam[e]", "nothing here", "e", `\w+`, "f(12|34|99)[(]", "begin of it\nthe", `it\s+the.*\s*end`,
		"^package d$", "nee.le", "x{50}needle", "(?i)NeeDLE", "other|some", "file .* has", "zz|needle", "é n", "", "ne", "needle$", "first.*last",
	} {
		for _, opt := range []regex.Options{{}, {Fold: true}, {Word: true}, {Multiline: true}, {Literal: true}} {
			for _, q := range []grep.Query{{Limit: 10}, {Limit: 70, Offset: 35, Before: 1, After: 1}, {Limit: 100000}, {}, {Mode: grep.Files, Limit: 5}, {Mode: grep.Count}} {
				asks = append(asks, ask{pattern: pattern, opt: opt, q: q})
			}
		}
	}
	for i, a := range asks {
		switch i % 4 {
		case 1:
			a.glob = []string{"*.go", "d/**/*.txt", "!*.go", "b/*"}[i/4%4]
		case 2:
			a.dir = []string{"d", "b", "d/f001"}[i/4%3]
		}
		if i%3 == 0 {
			a.skip = skip
		}
		if i%2 == 0 {
			a.scope = i % 3
		}
		b.compare(a)
	}
	b.entries()
}
