package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
)

func TestUnified(t *testing.T) {
	p := tongs.Path{Rel: "f"}
	tests := []struct{ name, old, new, want string }{
		{"middle", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"first", "a\nb\n", "A\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"},
		{"added to the end", "a\n", "a\nb\n", "@@ -1 +1,2 @@\n a\n+b\n"},
		{"line end of the last line", "a", "a\n", "-a\n\\ No newline at end of file\n+a\n"},
		{"same start and end of lines", "xax\n", "xbx\n", "-xax\n+xbx\n"},
		{"line ends do not count", "a\r\nb\r\n", "a\r\nc\r\n", " a\n-b\n+c\n"},
		{"repeated line removed", "a\na\na\n", "a\na\n", "-a\n"},
	}
	for _, tt := range tests {
		diff := unified(p, tt.old, tt.new, false)
		if !strings.HasPrefix(diff, "--- a/f\n+++ b/f\n") || !strings.Contains(diff, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, diff, tt.want)
		}
		lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		if got, err := udiff.ApplyUnified(diff, lf(tt.old)); err == nil && got != lf(tt.new) && tt.name != "line end of the last line" {
			t.Errorf("%s: applied gives %q", tt.name, got)
		}
	}
	if diff := unified(p, "", "a\n", true); !strings.HasPrefix(diff, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n") {
		t.Errorf("new file: %q", diff)
	}
	huge := strings.Repeat("x\n", maxDiffed)
	if diff := unified(p, "a\n"+huge, "a\ny\n", false); !strings.Contains(diff, "too much to show") {
		t.Errorf("%.200q", diff)
	}
}

func TestBounded(t *testing.T) {
	for _, tt := range []struct {
		diff         string
		lines, bytes int
		want         string
	}{
		{"a\nb\n", 2, 100, "a\nb\n"},
		{"a\nb\nc\n", 2, 100, "a\nb\n[1 more line of the difference left out]\n"},
		{"aaa\nbbb\nccc\n", 9, 8, "aaa\nbbb\n[1 more line of the difference left out]\n"},
		{"a\nb", 2, 100, "a\nb"},
		{"long line\nx\n", 9, 3, "[2 more lines of the difference left out]\n"},
		{"", 2, 100, ""},
	} {
		if got := bounded(tt.diff, tt.lines, tt.bytes); got != tt.want {
			t.Errorf("bounded(%q) = %q, want %q", tt.diff, got, tt.want)
		}
	}
}

// BenchmarkUnifiedWorst compares texts that have nothing in common.
func BenchmarkUnifiedWorst(b *testing.B) {
	var old, new strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&old, "line %d of the old text, which goes\n", i)
		fmt.Fprintf(&new, "line %d of the new text, which comes\n", i)
	}
	for b.Loop() {
		unified(tongs.Path{Rel: "f"}, old.String(), new.String(), false)
	}
}
