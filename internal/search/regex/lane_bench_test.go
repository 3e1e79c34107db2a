package regex

import (
	"strings"
	"testing"
)

// BenchmarkLanes compares one walk with four at a time.
func BenchmarkLanes(b *testing.B) {
	text := []byte(strings.Repeat("\tif err := s.writeHeader(w, r); err != nil {\n\t\treturn fmt.Errorf(\"header: %w\", err)\n\t}\n", 700))
	d := newDFA(compile(b, `\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`, Options{}).nfa)
	b.Run("one", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for start := 0; start < len(text); {
				next := lineAfter(text, start, len(text))
				d.line(text[start : next-1])
				start = next
			}
		}
	})
	b.Run("four", func(b *testing.B) {
		w := walker{dfa: d}
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			w.appendLines(nil, text, 0, len(text))
		}
	})
}
