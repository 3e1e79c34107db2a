package literal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type finding func(b []byte, from int) (start, end, next int)

// foundLines returns the numbers of the lines in which occurrences are found, in the order in which they are.
func foundLines(t *testing.T, find finding, text []byte) (lines []int) {
	t.Helper()
	for from := 0; ; {
		start, end, next := find(text, from)
		if start < 0 {
			return slices.Compact(lines)
		}
		if next <= from || start > end || end > len(text) {
			t.Fatalf("found %d to %d, go on at %d, after %d", start, end, next, from)
		}
		lines = append(lines, bytes.Count(text[:start], []byte{'\n'}))
		from = next
	}
}

func compareSet(t *testing.T, words []string, fold bool, text []byte) {
	t.Helper()
	var finders []*Finder
	for _, w := range words {
		finders = append(finders, New(w, fold))
	}
	var want []int
	for i, line := range bytes.Split(text, []byte{'\n'}) {
		for _, f := range finders {
			if f.Index(line) >= 0 {
				want = append(want, i)
				break
			}
		}
	}
	s := NewSet(finders...)
	ways := map[string]finding{"set": s.Find, "finders": s.byFinders}
	long := !slices.ContainsFunc(finders, func(f *Finder) bool { return len(f.filter) < printSize })
	if long {
		s.print = newPrints(finders)
		ways["prints"] = s.byPrints
	}
	for name, way := range ways {
		if got := foundLines(t, way, text); !slices.Equal(got, want) {
			t.Fatalf("%s: %q (fold %v) in %q: lines %v, want %v", name, words, fold, text, got, want)
		}
	}
}

func TestSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	alphabets := []string{"ab\n", "abcdefgh\n", "kKsſ\u212axyz\n", "пПрРя\n", "aé\n_ "}
	for range 3000 {
		alphabet := []rune(alphabets[rnd.IntN(len(alphabets))])
		word := func(n int) string {
			w := make([]rune, n)
			for i := range w {
				for w[i] == 0 || w[i] == '\n' {
					w[i] = alphabet[rnd.IntN(len(alphabet))]
				}
			}
			return string(w)
		}
		var words []string
		for range 1 + rnd.IntN(12) {
			words = append(words, word(1+rnd.IntN(7)))
		}
		text := make([]rune, rnd.IntN(300))
		for i := range text {
			text[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		compareSet(t, words, rnd.IntN(2) == 0, []byte(string(text)))
	}
}

// The two ways of looking for fingerprints agree on every place but those that the kernel takes for one by halves.
func TestPrintsKernel(t *testing.T) {
	if !hasKernel() {
		t.Log("no kernel on this machine: there is one way only")
		return
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var finders []*Finder
		for range 2 + rnd.IntN(20) {
			w := make([]byte, 3+rnd.IntN(4))
			for i := range w {
				w[i] = byte(rnd.IntN(256))
			}
			finders = append(finders, New(string(w), false))
		}
		p := newPrints(finders)
		text := make([]byte, kernelMin+2+rnd.IntN(200))
		for i := range text {
			text[i] = byte(rnd.IntN(256))
		}
		if rnd.IntN(2) == 0 {
			w := finders[rnd.IntN(len(finders))].text
			copy(text[rnd.IntN(len(text)):], w)
		}
		places := len(text) - 2
		got, want := p.kernel(text, places), p.portable(text, places)
		for got >= 0 && got != want { // a place that only seems to be one
			if p.at(text[got:]) != 0 || want >= 0 && got > want {
				t.Fatalf("kernel found %d, want %d", got, want)
			}
			rest := p.index(text[got+1:])
			if rest < 0 {
				got = -1
				break
			}
			got += 1 + rest
		}
		if got != want {
			t.Fatalf("kernel found %d, want %d", got, want)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	text := []byte(strings.Repeat("\tif err := s.writeHeader(w, r); err != nil {\n\t\treturn fmt.Errorf(\"header: %w\", err)\n\t}\n", 800))
	words := []string{"panic", "recover", "goroutine", "deadlock", "mutex", "semaphore", "waitgroup", "atomic"}
	for _, n := range []int{2, 4, 8} {
		var finders []*Finder
		for _, w := range words[:n] {
			finders = append(finders, New(w, false))
		}
		s := NewSet(finders...)
		s.print = newPrints(finders)
		for _, way := range []struct {
			name string
			find finding
		}{{"prints", s.byPrints}, {"finders", s.byFinders}} {
			b.Run(fmt.Sprintf("%d/%s", n, way.name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if start, _, _ := way.find(text, 0); start >= 0 {
						b.Fatal("found")
					}
				}
			})
		}
	}
}
