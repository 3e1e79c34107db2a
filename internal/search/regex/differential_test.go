package regex

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var patterns = flag.Int("patterns", 3000, "how many random patterns are compared with package regexp")

// maker makes random patterns, and texts that they nearly match.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

// pattern returns a random expression. The deeper it is nested, the simpler its parts.
func (m maker) pattern(depth int) string {
	if depth <= 0 || m.IntN(4) == 0 {
		return m.atom()
	}
	switch m.IntN(9) {
	case 0:
		return m.pattern(depth-1) + "|" + m.pattern(depth-1)
	case 1:
		return "(" + m.pattern(depth-1) + ")" + m.pick("", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?")
	case 2:
		return "(?" + m.pick("i", "-i", "s", "m", "U", "i-s") + ":" + m.pattern(depth-1) + ")"
	case 3:
		return m.pick("^", `\b`, `\B`, `\A`, "(?m:^)", "") + m.pattern(depth-1)
	case 4:
		return m.pattern(depth-1) + m.pick("$", `\b`, `\B`, `\z`, "(?m:$)", "")
	case 5:
		return m.atom() + m.pick("*", "+", "?", "{3}", "{0,3}", "+?", "*?")
	default:
		return m.pattern(depth-1) + m.pattern(depth-1)
	}
}

func (m maker) atom() string {
	return m.pick(
		"a", "b", "k", "s", "A", "_", " ", "foo", "bar", "ab", "return", "abcab", "0", "é", "É", "ſ", "K", "я", "ß", "日本", "😀",
		".", `\w`, `\W`, `\d`, `\s`, `\S`, "[ab]", "[^a]", "[a-z]", "[A-Z_]", "[é-ü]", "[^é]", `\pL`, `\PL`, "[[:alpha:]]", `[^\n]`,
		`\x{FFFD}`, `\r`, `\n`, `\t`, `[\r ]`, `[\x00-\x{10FFFF}]`, "[k-s]", "(?i)foo", "(?i:s)", `[^[:ascii:]]`, `\.`, `\(`, "",
	)
}

func (m maker) text() []byte {
	var b strings.Builder
	words := []string{
		"a", "b", "k", "K", "s", "S", "foo", "FOO", "bar", "Bar", "ab", "abcab", "return", "x", "0", "12", "_", " ", "  ", "\t", ".", "(", ")",
		"é", "É", "ſ", "K", "я", "Я", "ß", "日本", "😀", "\xff", "\xc3", "\x80", "\ufffd", "\r", "\x00",
	}
	rare := m.IntN(3) == 0 // mostly ASCII
	for range m.IntN(40) {
		for range m.IntN(8) {
			w := words[m.IntN(len(words))]
			if rare && w[0] >= 0x80 {
				w = "a"
			}
			b.WriteString(w)
		}
		b.WriteString(m.pick("\n", "\n", "\n", "\r\n", "\n\n"))
	}
	b.WriteString(m.pick("", "a", "foo", "\r", "é", "ab k"))
	return []byte(b.String())
}

// TestDifferential compares what is found with package regexp, for random patterns on random texts. The full measure is
// go test ./internal/search/regex -run Differential -patterns 50000.
func TestDifferential(t *testing.T) {
	tried := 0
	for seed := uint64(0); tried < *patterns; seed++ {
		m := maker{rand.New(rand.NewPCG(seed, 7))}
		pattern := m.pattern(4)
		opt := Options{Fold: m.IntN(4) == 0, Word: m.IntN(6) == 0, Literal: m.IntN(12) == 0}
		matcher, err := Compile(pattern, opt)
		if err != nil {
			continue // such as a repetition of a repetition
		}
		tried++
		if seed%16 == 0 && matcher.nfa != nil {
			matcher.literals = nil // the automaton alone
		}
		for range 4 {
			text := m.text()
			if seed%64 == 0 {
				text = append(append(text, '\n'), []byte(strings.Repeat(string(text)+"\n", 40))...) // wide lanes
			}
			check(t, matcher, text)
		}
	}
}

// Small tables are emptied all the time, in the middle of lines and of lanes.
func TestDifferentialSmallTable(t *testing.T) {
	for seed := range uint64(400) {
		m := maker{rand.New(rand.NewPCG(seed, 8))}
		matcher, err := Compile(m.pattern(4), Options{})
		if err != nil || matcher.nfa == nil {
			continue
		}
		matcher.literals = nil
		s := matcher.Scanner()
		s.automaton().room = 5 // states
		text := []byte(strings.Repeat(string(m.text())+"\n", 5))
		s.Reset(text)
		want := byRegexp(matcher, text)
		for i := 0; ; i++ {
			start, end, ok := s.Next()
			if ok != (i < len(want)) || ok && want[i] != (span{start, end}) {
				t.Fatalf("%q in %q: line %d is %d to %d, %v, want %v", matcher.pattern, text, i, start, end, ok, want)
			}
			if !ok {
				break
			}
			s.slow = false
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add(`\bfoo\B`, []byte("foo\xc3\n"), byte(0))
	f.Add(`[^a]$`, []byte("a\r\n"), byte(1))
	f.Fuzz(func(t *testing.T, pattern string, text []byte, options byte) {
		opt := Options{Fold: options&1 != 0, Word: options&2 != 0, Literal: options&4 != 0}
		m, err := Compile(pattern, opt)
		if err != nil {
			return
		}
		check(t, m, text)
		m = compile(t, pattern, opt)
		m.literals = nil // the automaton alone
		check(t, m, text)
	})
}

func BenchmarkScan(b *testing.B) {
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "\tif err := s.writeHeader(w, r%d); err != nil {\n\t\treturn fmt.Errorf(\"header: %%w\", err)\n\t}\n", i)
	}
	for _, pattern := range []string{
		"zzqqxx", "writeHeader", `struct file_operations \w+ = \{`, `\w+_probe_irq_\w+\(`, "ERR_SYS|PME_TURN|LINK_REQ|CFG_BME", "(?i)zzqqxx",
		`\bheader\b`, `[A-Z]+_RESUME`, `\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`, `^\s*[a-z]+\([a-z]+, [0-9]+\);$`,
	} {
		b.Run(pattern, func(b *testing.B) {
			m := compile(b, pattern, Options{})
			data := []byte(text.String())
			s := m.Scanner()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				s.Reset(data)
				for {
					if _, _, ok := s.Next(); !ok {
						break
					}
				}
			}
		})
	}
}
