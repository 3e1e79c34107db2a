package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes files by name.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		host := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(host), 0o755))
		must(t, os.WriteFile(host, []byte(content), 0o644))
	}
}

func compile(t testing.TB, pattern string, opt regex.Options) *regex.Matcher {
	t.Helper()
	m, err := regex.Compile(pattern, opt)
	must(t, err)
	return m
}

func tree(dir string) Tree {
	return Tree{Options: walk.Options{Root: dir, Ignore: &ignore.Reader{}}}
}

func find(t testing.TB, dir string, q Query) *Result {
	t.Helper()
	res, err := New(0).Search(t.Context(), tree(dir), q)
	must(t, err)
	return res
}

// show writes a result as grep does: a colon behind matching lines, a dash behind those around them.
func show(r *Result) string {
	var b strings.Builder
	for _, f := range r.Files {
		if f.Binary {
			fmt.Fprintf(&b, "%s: binary\n", f.Path)
		}
		for _, l := range f.Lines {
			mark := "-"
			if l.Match {
				mark = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", f.Path, mark, l.Number, mark, l.Text)
		}
	}
	return b.String()
}

func TestContent(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"a/x.go": "one\ntwo\nthree two\n", "a.go": "two", "a/b/c": "nothing\n", "b": "TWO\r\n", ".hidden": "two", "ignored": "two", ".gitignore": "ignored\n",
		"a/b.go": "tw\n\n two\n",
	})
	res := find(t, dir, Query{Matcher: compile(t, "two", regex.Options{})})
	want := "a.go:1:two\na/b.go:3: two\na/x.go:2:two\na/x.go:3:three two\n"
	if got := show(res); got != want || res.Matches != 4 || res.More || res.Examined != 5 || res.Unexamined != 0 {
		t.Errorf("found\n%s%+v", got, res)
	}
	res = find(t, dir, Query{Matcher: compile(t, "two", regex.Options{Fold: true}), Limit: 2, Offset: 1, Columns: true})
	if got := show(res); got != "a/b.go:3: two\na/x.go:2:two\n" || !res.More || res.Files[0].Lines[0].Column != 2 {
		t.Errorf("page:\n%s%+v", got, res)
	}
	if res.Examined+res.Unexamined != 5 {
		t.Errorf("%d files examined, %d not", res.Examined, res.Unexamined)
	}
}

func TestModes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"old": "x\nx\n", "new": "x\n", "mid": "y\nx\n", "none": "y\n"})
	for i, name := range []string{"new", "mid", "old"} {
		then := time.Unix(int64(1_700_000_000-i*1000), 0)
		must(t, os.Chtimes(filepath.Join(dir, name), then, then))
	}
	m := compile(t, "x", regex.Options{})
	names := func(r *Result) (list []string) {
		for _, f := range r.Files {
			list = append(list, fmt.Sprintf("%s=%d", f.Path, f.Count))
		}
		return list
	}
	res := find(t, dir, Query{Matcher: m, Mode: Files, Limit: 2})
	if got := fmt.Sprint(names(res), res.TotalFiles, res.More); got != "[new=1 mid=1] 3 true" {
		t.Errorf("files: %s", got)
	}
	res = find(t, dir, Query{Matcher: m, Mode: Files, Limit: 2, Offset: 2})
	if got := fmt.Sprint(names(res), res.TotalFiles, res.More); got != "[old=1] 3 false" {
		t.Errorf("second page of files: %s", got)
	}
	res = find(t, dir, Query{Matcher: m, Mode: Count})
	if got := fmt.Sprint(names(res), res.TotalFiles, res.TotalMatches, res.More); got != "[mid=1 new=1 old=2] 3 4 false" {
		t.Errorf("counts: %s", got)
	}
}

func TestContext(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": "1\n2\nx3\n4\n5\n6\n7\nx8\nx9\n10\n11\n12\n13\nx14"})
	m := compile(t, "x", regex.Options{})
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Before: 1, After: 1}, "2- x3 4- 7- x8 x9 10- 13- x14"},
		{Query{Before: 9, After: 9}, "1- 2- x3 4- 5- 6- 7- x8 x9 10- 11- 12- 13- x14"},
		{Query{After: 2}, "x3 4- 5- x8 x9 10- 11- x14"},
		{Query{Before: 2}, "1- 2- x3 6- 7- x8 x9 12- 13- x14"},
		{Query{Before: 1, After: 1, Limit: 2}, "2- x3 4- 7- x8"},
		{Query{Before: 1, After: 1, Limit: 1, Offset: 2}, "x9 10-"},
		{Query{Before: 3, After: 3, Limit: 1}, "1- 2- x3 4- 5- 6-"},
		{Query{Before: 3, After: 3, Limit: 1, Offset: 1}, "5- 6- 7- x8"},
	} {
		c.q.Matcher = m
		var got []string
		for _, f := range find(t, dir, c.q).Files {
			for _, l := range f.Lines {
				text := l.Text
				if !l.Match {
					text += "-"
				}
				if n := fmt.Sprint(l.Number); !strings.HasSuffix(l.Text, n) {
					t.Errorf("line %s has number %s", l.Text, n)
				}
				got = append(got, text)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.q, got, c.want)
		}
	}
}

func encode16(s string, little bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	dir := t.TempDir()
	text := "first line\ncafé 日本\nlast café"
	put(t, dir, map[string]string{
		"16le": "\xff\xfe" + encode16(text, true), "16be": "\xfe\xff" + encode16(text, false), "16plain": encode16("plain ascii text\nand caf\u00e9", true),
		"bom": "\xef\xbb\xbfcafé\n", "latin1": "un caf\xe9 noir\n", "cp1252": "\x93caf\xe9\x94\n", "utf8": "\tcafé\r\n", "damaged": "日本語 café \xff\n",
	})
	res := find(t, dir, Query{Matcher: compile(t, "café", regex.Options{})})
	want := "16be:2:café 日本\n16be:3:last café\n16le:2:café 日本\n16le:3:last café\n16plain:2:and café\nbom:1:café\ncp1252:1:“café”\n" +
		"damaged:1:日本語 café \ufffd\nlatin1:1:un café noir\nutf8:1:\tcafé\n"
	if got := show(res); got != want {
		t.Errorf("found\n%s", got)
	}
	// A pattern in ASCII is looked for in the bytes, and shown as text all the same.
	res = find(t, dir, Query{Matcher: compile(t, "^un caf", regex.Options{})})
	if got := show(res); got != "latin1:1:un café noir\n" {
		t.Errorf("found %s", got)
	}
	// The mark is no part of the first line.
	res = find(t, dir, Query{Matcher: compile(t, "^c.+é", regex.Options{})})
	if got := show(res); got != "16be:2:café 日本\n16le:2:café 日本\nbom:1:café\n" {
		t.Errorf("found %s", got)
	}
}

func TestBinary(t *testing.T) {
	dir := t.TempDir()
	controls := "needle" + strings.Repeat("\x01\x02 text ", 50) + "\n"
	put(t, dir, map[string]string{"elf": "\x7fELF\x00needle\n", "controls": controls, "pdf": "%PDF-1.4\nneedle\n", "text": "needle\n", "late": strings.Repeat("a\n", 9000) + "\x00needle"})
	m := compile(t, "needle", regex.Options{})
	res := find(t, dir, Query{Matcher: m})
	if got := show(res); got != "late:9001:\x00needle\ntext:1:needle\n" || res.Binary != 3 {
		t.Errorf("found\n%q, %d binary", got, res.Binary)
	}
	res = find(t, dir, Query{Matcher: m, Binary: true})
	if got := show(res); got != "controls: binary\nelf: binary\nlate:9001:\x00needle\npdf: binary\ntext:1:needle\n" {
		t.Errorf("found\n%q", got)
	}
	one, err := New(0).Reader(t.Context(), "some/elf", strings.NewReader("\x7fELF\x00needle\n"), Query{Matcher: m})
	if must(t, err); show(one) != "some/elf: binary\n" || one.Matches != 1 {
		t.Errorf("one file: %+v", one)
	}
}

func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"f": strings.Repeat("é", 300) + "needle" + strings.Repeat("z", 300) + "\nshort needle\nneedle" + strings.Repeat("y", 200) + "\n" + strings.Repeat("y", 200) + "needle",
	})
	res := find(t, dir, Query{Matcher: compile(t, "needle", regex.Options{}), LineChars: 40, Columns: true})
	want := []string{
		"301:…" + strings.Repeat("é", 10) + "needle" + strings.Repeat("z", 24) + "…", "7:short needle", "1:needle" + strings.Repeat("y", 34) + "…",
		"201:…" + strings.Repeat("y", 34) + "needle",
	}
	var got []string
	for _, l := range res.Files[0].Lines {
		got = append(got, fmt.Sprintf("%d:%s", l.Column, l.Text))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A file that does not fit the buffer is searched block by block, with the right numbers and the right lines around.
func TestBlocks(t *testing.T) {
	var text strings.Builder
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := 1; text.Len() < 5*blockSize; i++ {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("filler ", rnd.IntN(300)))
	}
	lines := strings.Split(text.String(), "\n")
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": text.String()})
	m := compile(t, `^\d*[05]7 `, regex.Options{})
	for _, around := range []int{0, 1, 3, 60} {
		res := find(t, dir, Query{Matcher: m, Before: around, After: around, LineChars: 30})
		shown := map[int]bool{}
		matches := 0
		for _, l := range res.Files[0].Lines {
			if !strings.HasPrefix(l.Text, fmt.Sprintf("%d ", l.Number)) && l.Number < len(lines) {
				t.Fatalf("line %d is %q", l.Number, l.Text)
			}
			if shown[l.Number] {
				t.Fatalf("line %d twice", l.Number)
			}
			if shown[l.Number] = true; l.Match {
				matches++
			}
		}
		want := 0
		for i, l := range lines {
			if m.Match([]byte(l)) {
				want++
				for n := max(1, i+1-around); n <= min(len(lines)-1, i+1+around); n++ {
					if !shown[n] {
						t.Fatalf("around %d: line %d is missing", around, n)
					}
				}
			}
		}
		if matches != want || around < 40 && len(shown) > want*(2*around+1) {
			t.Errorf("around %d: %d matches, want %d; %d lines", around, matches, want, len(shown))
		}
	}
}

// A line of any length takes no more memory than a piece of it, and is found once.
func TestPieces(t *testing.T) {
	long := strings.Repeat("0123456789", maxLine/5)
	at := maxLine - 3 // across the border of the first two pieces
	long = long[:at] + "needle" + long[at:] + " needle"
	for _, c := range []struct{ name, text, want string }{
		{"middle", "first\nsecond\n" + long + "\nneedle\n", "[3 4]"},
		{"only", long, "[1]"},
		{"end", "needle\n" + long, "[1 2]"},
	} {
		res, err := New(0).Reader(t.Context(), "f", strings.NewReader(c.text), Query{Matcher: compile(t, "needle", regex.Options{}), LineChars: 60})
		must(t, err)
		var got []int
		for _, l := range res.Files[0].Lines {
			got = append(got, l.Number)
		}
		if fmt.Sprint(got) != c.want || res.Pieces != 1 {
			t.Errorf("%s: lines %v, want %s; %d in pieces", c.name, got, c.want, res.Pieces)
		}
	}
}

func TestMultiline(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"a": "func f(\r\n\tx int,\r\n) {\r\n}\r\n", "b": "x\nfunc f() {}\n", "large": strings.Repeat("x\n", maxWhole/2) + "func f(\n)",
	})
	res := find(t, dir, Query{Matcher: compile(t, `func f\([^)]*\n\)`, regex.Options{Multiline: true}), After: 1})
	if got := show(res); got != "a:1:func f(\n\tx int,\n) {\na-4-}\n" {
		t.Errorf("found %q", got)
	}
	if res.SkippedCount != 1 || !errors.Is(res.Skipped[0].Err, ErrTooLarge) {
		t.Errorf("skipped %v", res.Skipped)
	}
}

// The pages of a search, put together, are the search.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(2, 2))
	files := map[string]string{}
	for range 300 {
		name := fmt.Sprintf("%c/%c%d/%c", 'a'+rnd.IntN(3), 'a'+rnd.IntN(3), rnd.IntN(9), 'a'+rnd.IntN(26))
		files[name] = strings.Repeat("x\ny\n", rnd.IntN(5))
	}
	put(t, dir, files)
	e := New(3)
	q := Query{Matcher: compile(t, "x", regex.Options{})}
	all, err := e.Search(t.Context(), tree(dir), q)
	must(t, err)
	if !slices.IsSortedFunc(all.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("not in the order of paths")
	}
	var pages strings.Builder
	q.Limit = 37
	for {
		page, err := e.Search(t.Context(), tree(dir), q)
		must(t, err)
		pages.WriteString(show(page))
		if page.Examined+page.Unexamined != len(files) {
			t.Fatalf("%d examined, %d not, of %d", page.Examined, page.Unexamined, len(files))
		}
		if q.Offset += page.Matches; !page.More {
			break
		}
		if page.Matches != q.Limit {
			t.Fatalf("a page of %d", page.Matches)
		}
	}
	if pages.String() != show(all) {
		t.Errorf("pages:\n%s\nall:\n%s", pages.String(), show(all))
	}
}

// Every search of many at a time finds the same, and a waiting one ends when it is told to.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = strings.Repeat("some text\nneedle\n", 50)
	}
	put(t, dir, files)
	e := New(2)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			q := Query{Matcher: compile(t, "needle", regex.Options{})}
			if i%2 == 0 {
				q.Limit = 10
			}
			res, err := e.Search(t.Context(), tree(dir), q)
			if err != nil || q.Limit > 0 && res.Matches != 10 || q.Limit == 0 && res.Matches != 10000 {
				t.Errorf("search %d: %v, %d matches", i, err, res.Matches)
			}
		})
	}
	group.Wait()
	if len(e.slots) != 2 {
		t.Errorf("%d slots came back", len(e.slots))
	}
}

// blocked never gives anything until it is let go.
type blocked struct{ let chan struct{} }

func (b blocked) Read([]byte) (int, error) {
	<-b.let
	return 0, io.EOF
}

func TestCancel(t *testing.T) {
	e := New(1)
	q := Query{Matcher: compile(t, "x", regex.Options{})}
	ctx, cancel := context.WithCancel(t.Context())
	let := make(chan struct{})
	first := make(chan error)
	go func() {
		_, err := e.Reader(ctx, "f", blocked{let}, q)
		first <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("a search that reads: %v", err)
	}
	if _, err := e.Search(ctx, tree(t.TempDir()), q); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was cancelled before it began: %v", err)
	}
	close(let)
	if _, err := e.Reader(t.Context(), "f", strings.NewReader("x"), q); err != nil {
		t.Errorf("the search after it: %v", err)
	}
}

func TestFails(t *testing.T) {
	q := Query{Matcher: compile(t, "x", regex.Options{})}
	if _, err := New(0).Search(t.Context(), tree(filepath.Join(t.TempDir(), "missing")), q); err == nil {
		t.Error("a missing root was searched")
	}
	broken := io.MultiReader(bytes.NewReader(make([]byte, 100)), failing{})
	if _, err := New(0).Reader(t.Context(), "f", broken, q); err == nil || err.Error() != "broken disk" {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken disk") }
