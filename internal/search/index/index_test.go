package index_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

func build(files ...string) *index.Segment {
	b := index.NewBuilder()
	for _, f := range files {
		b.Add([]byte(f))
	}
	return b.Finish()
}

func find(t *testing.T, s *index.Segment, pattern string, opt regex.Options) (list []int, usable bool) {
	t.Helper()
	m, err := regex.Compile(pattern, opt)
	if err != nil {
		t.Fatal(err)
	}
	q, ok := index.For(m)
	if ok {
		s.Find(q, func(f index.Found) { list = append(list, f.File) })
	}
	return list, ok
}

func TestFind(t *testing.T) {
	filler := strings.Repeat("lorem ipsum dolor\n", 2000)
	s := build("", "the needle\n", "", "", "a NEEDLE here\n", filler+"needle\n"+filler, "first part\n"+filler+"second part\n", "nothing", "")
	for _, c := range []struct {
		pattern string
		opt     regex.Options
		want    []int
	}{
		{"needle", regex.Options{}, []int{1, 5}},
		{"NEEDLE", regex.Options{}, []int{4}},
		{"needle", regex.Options{Fold: true}, []int{1, 4, 5}},
		{"nothing|the needle", regex.Options{}, []int{1, 7}},
		{"first.*second", regex.Options{}, nil}, // they are in different blocks
		{"first.*second", regex.Options{Multiline: true}, []int{6}},
		{"part\nlorem", regex.Options{Multiline: true}, []int{6}},
		{"absent", regex.Options{}, nil},
		{"(?:dolor|ipsum).*needle", regex.Options{}, []int{5}},
	} {
		got, ok := find(t, s, c.pattern, c.opt)
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%q %+v: %v, %v, want %v", c.pattern, c.opt, got, ok, c.want)
		}
	}
	for _, pattern := range []string{"ab", `\w+`, "a|bcd", "x?", "ü"} {
		if _, ok := find(t, s, pattern, regex.Options{}); ok {
			t.Errorf("%q has a trigram", pattern)
		}
	}
}

// Whatever is in a block is found by its parts, in any case, over files of all sizes and more than one group.
func TestFindMissesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("abcXYZ019_ .(){}\"'\t\n\n-+=äß\x80\xff\r$@")
	b := index.NewBuilder()
	for round := range 3 { // the builder is used again
		var files [][]byte
		for range 300 {
			f := make([]byte, random.IntN(200))
			if random.IntN(20) == 0 {
				f = make([]byte, 60<<10)
			}
			for i := range f {
				f[i] = alphabet[random.IntN(len(alphabet))]
			}
			files = append(files, f)
			b.Add(f)
		}
		s := b.Finish()
		if s.Files() != len(files) {
			t.Fatalf("%d files", s.Files())
		}
		for range 2000 {
			at := random.IntN(len(files))
			f := files[at]
			if len(f) < 4 {
				continue
			}
			from := random.IntN(len(f) - 3)
			part := f[from:min(len(f), from+3+random.IntN(8))]
			if i := bytes.IndexByte(part, '\n'); i >= 0 {
				part = part[:i]
			}
			if !utf8.Valid(part) {
				continue
			}
			text, opt := string(part), regex.Options{Literal: true, Fold: random.IntN(2) == 0}
			if opt.Fold {
				text = strings.ToUpper(text)
				if len(text) != len(part) || index.Odd([]byte(text)) {
					continue
				}
			}
			list, ok := find(t, s, text, opt)
			if ok && !slices.Contains(list, at) {
				t.Fatalf("round %d: %q of file %d is not found: %v", round, part, at, list)
			}
		}
	}
}

func TestOdd(t *testing.T) {
	for text, want := range map[string]bool{"plain": false, "käse": false, "caf\xe9": true, "\u212a": true, "\u017f": true} {
		if index.Odd([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for pattern, want := range map[string]bool{"task": false, "(?i)task": true, "(?i)lower": false, "käse": true} {
		q, _ := index.For(must(regex.Compile(pattern, regex.Options{})))
		if q.Odd() != want {
			t.Errorf("%q: %v", pattern, q.Odd())
		}
	}
}

func must(m *regex.Matcher, err error) *regex.Matcher {
	if err != nil {
		panic(err)
	}
	return m
}

func BenchmarkAdd(b *testing.B) {
	var text []byte
	for i := range 2000 {
		text = fmt.Appendf(text, "func handle%d(w http.ResponseWriter, r *http.Request) error { return errors.New(%q) }\n", i, fmt.Sprint(i*i))
	}
	b.SetBytes(int64(len(text)))
	builder := index.NewBuilder()
	for b.Loop() {
		if builder.Add(text); builder.Full() {
			builder.Finish()
		}
	}
}

func Example() {
	b := index.NewBuilder()
	b.Add([]byte("package main\n"))
	b.Add([]byte("package walk\n"))
	segment := b.Finish()
	m, err := regex.Compile(`package wa\w+`, regex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if q, ok := index.For(m); ok {
		segment.Find(q, func(f index.Found) { fmt.Println("look at file", f.File, "in", f.Blocks) })
	}
	// Output: look at file 1 in [{0 13 0}]
}
