package terminal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func paging(text string) *untrusted {
	return &untrusted{ReaderAt: strings.NewReader(text), size: int64(len(text)), style: func(string) lipgloss.Style { return lipgloss.NewStyle() }}
}

// read pages through a text, and returns what was on the screens, without their bars.
func read(t *testing.T, u *untrusted, count, width int) (rows []string, screens int) {
	t.Helper()
	for at := (spot{}); at.at < u.size; screens++ {
		screen, next, err := u.rows(at, count, width)
		if err != nil || next.at <= at.at || len(screen) > count {
			t.Fatalf("at %+v: %d rows, next %+v, %v", at, len(screen), next, err)
		}
		for _, row := range screen {
			row = ansi.Strip(row)
			if ansi.StringWidth(row) > max(22, width) {
				t.Fatalf("%q is wider than %d", row, width)
			}
			rows = append(rows, strings.TrimPrefix(row, "│ "))
		}
		at = next
	}
	return rows, screens
}

// Every character of a text comes on the screen, whatever its size and the length of its lines, and nothing that a terminal acts on.
func TestEverythingIsPagedThrough(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000) + "END"
	for name, text := range map[string]string{
		"short": "one\ntwo\n", "no line end": "one\ntwo", "one long line": long, "long among short": "a\n+" + long + "\nb\n",
		"wide": strings.Repeat("漢字", 30_000), "escapes": strings.Repeat("\x1b]0;title\x07\x1b[2J\x9b31m\u202e", 5000),
		"broken": strings.Repeat("\xff\xfe\xe2\x82", 9000), "carriage": strings.Repeat("a\r\nb\rc\n", 9000), "tabs": strings.Repeat("\ta", 9000),
		"empty lines": strings.Repeat("\n", 5000), "a character at the end of a read": strings.Repeat("x", 32<<10-1) + "€" + strings.Repeat("€", 9000),
	} {
		for _, width := range []int{20, 100, 317} {
			rows, _ := read(t, paging(text), 23, width)
			got := strings.Join(rows, "")
			want := strings.ReplaceAll(strings.ReplaceAll(CleanLines(text), "\n", ""), "\t", "    ")
			if got != want {
				t.Errorf("%s at %d: %d characters came, not %d: %.60q and %.60q", name, width, len(got), len(want), got, want)
			}
			if strings.ContainsAny(got, "\x1b\x07\r\n") {
				t.Errorf("%s: something for the terminal is in it", name)
			}
		}
	}
}

// From the end, and from anywhere one comes back to, the same rows are seen.
func TestTheEndOfALongText(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "+line %d %s\n", i, strings.Repeat("x", rand.IntN(300)))
	}
	b.WriteString("+THE LAST LINE\n")
	u := paging(b.String())
	from, err := u.last(30, 80)
	if err != nil {
		t.Fatal(err)
	}
	rows, next, err := u.rows(from, 30, 80)
	if err != nil || next.at != u.size || len(rows) < 25 || !strings.Contains(rows[len(rows)-1], "THE LAST LINE") {
		t.Errorf("%d rows to %d of %d, %v: %q", len(rows), next.at, u.size, err, rows[len(rows)-1])
	}
}

// A text that became shorter than it was is an error, and no endless loop.
func TestATextThatBecameShorter(t *testing.T) {
	for _, text := range []string{"", "a", "short", "a longer text\nof two lines"} {
		u := &untrusted{ReaderAt: strings.NewReader(text), size: 1 << 20, style: func(string) lipgloss.Style { return lipgloss.NewStyle() }}
		var err error
		for at := (spot{}); err == nil; {
			_, at, err = u.rows(at, 3, 80)
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
