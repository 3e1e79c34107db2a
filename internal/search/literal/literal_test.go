package literal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// naive is what Find promises, by package regexp for folded literals and byte by byte for others.
func naive(text string, fold bool, b []byte) (start, end int) {
	if !fold {
		i := bytes.Index(b, []byte(text))
		if i < 0 {
			return -1, -1
		}
		return i, i + len(text)
	}
	at := regexp.MustCompile("(?i)" + regexp.QuoteMeta(text)).FindIndex(b)
	if at == nil {
		return -1, -1
	}
	return at[0], at[1]
}

// compare checks every way of finding text in b against the naive one.
func compare(t *testing.T, text string, fold bool, b []byte) {
	t.Helper()
	want, wantEnd := naive(text, fold, b)
	f := New(text, fold)
	got, end := f.Find(b)
	if got != want || end != wantEnd {
		t.Fatalf("New(%q, %v).Find(%q) = %d, %d, want %d, %d", text, fold, b, got, end, want, wantEnd)
	}
	if len(f.filter) == 0 {
		return
	}
	places := len(b) - len(f.filter) + 1
	if places <= 0 {
		return
	}
	words, portable := f.pair.byWords(b, places), f.pair.portable(b, places)
	if words != portable {
		t.Fatalf("pair of %q in %q: by words %d, by the rare byte %d", text, b, words, portable)
	}
	if hasKernel() && places >= kernelMin {
		if kernel := f.pair.kernel(b, places); kernel != portable {
			t.Fatalf("pair of %q in %q: kernel %d, portable %d", text, b, kernel, portable)
		}
	}
}

func TestFind(t *testing.T) {
	long := strings.Repeat("the quick brown fox ", 20)
	for _, c := range []struct {
		text  string
		fold  bool
		in    string
		start int
		end   int
	}{
		{"", false, "", 0, 0},
		{"", true, "abc", 0, 0},
		{"a", false, "", -1, -1},
		{"a", false, "a", 0, 1},
		{"abc", false, "ab", -1, -1},
		{"fox", false, long, 16, 19},
		{"Fox", false, long, -1, -1},
		{"FOX", true, long, 16, 19},
		{"quick!", true, long + "QUICK!", 400, 406},
		{"kelvin", true, "\u212aELVIN", 0, 8},
		{"ſs", true, "xSſ", 1, 4},
		{"s", true, "\xc5", -1, -1},
		{"привет", true, "ну ПРИВЕТ", 5, 17},
		{"ΑΣ", true, "ας", 0, 4},
		{"straße", true, "STRAẞE", 0, 8},
		{"aa", false, "abaa", 2, 4},
		{"\xff\xfe", false, "a\xff\xfe", 1, 3},
		{"1.5", true, "v1.5", 1, 4},
	} {
		start, end := New(c.text, c.fold).Find([]byte(c.in))
		if start != c.start || end != c.end {
			t.Errorf("New(%q, %v).Find(%q) = %d, %d, want %d, %d", c.text, c.fold, c.in, start, end, c.start, c.end)
		}
		if got := New(c.text, c.fold).Index([]byte(c.in)); got != c.start {
			t.Errorf("New(%q, %v).Index(%q) = %d, want %d", c.text, c.fold, c.in, got, c.start)
		}
	}
}

// Texts of few different characters have many near misses; literals are mostly cut out of them.
func TestAgainstStandardLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabets := [][]rune{
		[]rune("ab"), []rune("aAbB"), []rune("kKs\u212aſSx"), []rune("пПрРqQ"), []rune("ßẞµΜμéÉ"), []rune("a_\n "), []rune("ǅǄǆꭰᎠx"),
	}
	for range 6000 {
		alphabet := alphabets[rnd.IntN(len(alphabets))]
		text := make([]rune, rnd.IntN(200))
		for i := range text {
			text[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		lit := make([]rune, 1+rnd.IntN(6))
		for i := range lit {
			lit[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		if len(text) > 8 && rnd.IntN(2) == 0 {
			at := rnd.IntN(len(text) - 7)
			lit = text[at : at+1+rnd.IntN(7)]
		}
		b := []byte(string(text))
		if rnd.IntN(4) == 0 && len(b) > 0 {
			b[rnd.IntN(len(b))] = byte(rnd.IntN(256)) // no longer UTF-8
		}
		compare(t, string(lit), rnd.IntN(2) == 0, b)
	}
}

// A literal is found at every position of a text and with every length of text around it, and no byte outside the text
// is looked at: the text is the middle of a larger array that holds the literal on both sides.
func TestEveryPlace(t *testing.T) {
	const lit = "needle"
	plain, upper := New(lit, false), New("NEEDLE", true)
	for n := len(lit); n < 150; n++ {
		array := bytes.Repeat([]byte(lit), 80)
		text := array[100 : 100+n : 100+n]
		for at := 0; at+len(lit) <= n; at++ {
			for i := range text {
				text[i] = "ned "[i%4]
			}
			copy(text[at:], lit)
			if got := plain.Index(text); got != at {
				t.Fatalf("in %d bytes at %d: found at %d", n, at, got)
			}
			if got := upper.Index(text); got != at {
				t.Fatalf("in %d bytes at %d, ignoring case: found at %d", n, at, got)
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("k", true, []byte("\u212a"))
	f.Add("needle", false, bytes.Repeat([]byte("nee"), 40))
	f.Add("s\ufffd", true, []byte("S\xff"))
	f.Fuzz(func(t *testing.T, text string, fold bool, b []byte) {
		if fold && (strings.ToValidUTF8(text, "") != text || strings.ContainsRune(text, '\ufffd')) {
			t.Skip("package regexp takes U+FFFD for bytes that are not UTF-8")
		}
		if text != "" {
			compare(t, text, fold, b)
		}
	})
}

func TestRarity(t *testing.T) {
	if a, b := Rarity("ee", false), Rarity("zq", false); a >= b {
		t.Errorf("ee counts as rarer (%d) than zq (%d)", a, b)
	}
	if a, b := Rarity("file", false), Rarity("file_operations", false); a >= b {
		t.Errorf("file counts as rarer (%d) than file_operations (%d)", a, b)
	}
}

func BenchmarkFind(b *testing.B) {
	text := []byte(strings.Repeat("\tif err := s.writeHeader(w, r); err != nil {\n\t\treturn fmt.Errorf(\"header: %w\", err)\n\t}\n", 800))
	for _, lit := range []string{"zzqqxx", "if nil {", "senator", "iterate"} {
		for _, fold := range []bool{false, true} {
			f := New(lit, fold)
			n := len(f.filter)
			for _, way := range []struct {
				name  string
				index func([]byte) int
			}{
				{"finder", f.Index},
				{"words", func(t []byte) int { return f.pair.byWords(t, len(t)-n+1) }},
				{"portable", func(t []byte) int { return f.pair.portable(t, len(t)-n+1) }},
				{"stdlib", func(t []byte) int { return bytes.Index(t, []byte(lit)) }},
			} {
				b.Run(fmt.Sprintf("%s/fold=%v/%s", lit, fold, way.name), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for range b.N {
						if way.index(text) >= 0 {
							b.Fatal("found")
						}
					}
				})
			}
		}
	}
}
