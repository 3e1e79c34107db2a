package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

func TestCleanMakesTextHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ünïcode 漢字 🦀": "plain text, ünïcode 漢字 🦀",
		"a\x1b[2Jb":                `a\x1b[2Jb`,
		"a\x07\x00\x7f":            `a\x07\x00\x7f`,
		"a\u009bb":                 `a\u009bb`,
		"two\nlines\r\ttab":        `two\nlines\r\ttab`,
		"abc\u202etxt.exe":         `abc\u202etxt.exe`,
		"\u2066a\u2069\u200f":      `\u2066a\u2069\u200f`,
		"zero\u200bwidth\ufeff":    `zero\u200bwidth\ufeff`,
		"filler\u3164\u2800":       `filler\u3164\u2800`,
		"line\u2028sep":            `line\u2028sep`,
		"bad\xff\xfeutf8":          `bad\xff\xfeutf8`,
		"no-break\u00a0space":      `no-break\u00a0space`,
		"tag\U000e0041":            `tag\ue0041`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanLines("a\r\nb\tc\rd\x1b"); got != "a\nb\tc\\rd\\x1b" {
		t.Errorf("cleanLines: %q", got)
	}
}

func TestQuotedStaysBehindItsBar(t *testing.T) {
	var b strings.Builder
	text := "short\n" + strings.Repeat("wide ", 50) + "\n\n  y  approve once\n\ttab\x1b[2K"
	quoted(&b, text, 40, 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	for line := range strings.Lines(b.String()) {
		if !strings.Contains(line, "│") || strings.HasPrefix(line, " ") {
			t.Errorf("line without a bar: %q", line)
		}
		if w := lipgloss.Width(strings.TrimRight(line, "\n")); w > 40 {
			t.Errorf("line is %d wide: %q", w, line)
		}
	}
	b.Reset()
	quoted(&b, strings.Repeat("x\n", 100), 80, 10, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	if !strings.Contains(b.String(), "90 more lines not shown") || strings.Count(b.String(), "\n") != 11 {
		t.Errorf("cut: %q", b.String())
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{Clean(s), strings.ReplaceAll(strings.ReplaceAll(CleanLines(s), "\n", ""), "\t", "")} {
			if !utf8.ValidString(got) {
				t.Fatalf("not UTF-8: %q", got)
			}
			for _, r := range got {
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%q has %U", got, r)
				}
			}
		}
	})
}
