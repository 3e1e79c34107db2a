package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

// long returns a text of many blocks with some lines in it, each in another place.
func long(end string, lines ...string) string {
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, "line %d of many%s", i, end)
		if i%1500 == 750 && i/1500 < len(lines) {
			b.WriteString(lines[i/1500] + end)
		}
	}
	return b.String()
}

// Of files that are long only parts are read, and what is found is the same.
func TestParts(t *testing.T) {
	b := newBench(t, live.Options{})
	b.service.SetSettle(-time.Hour) // what was just written may be searched in parts
	rest := long("\n", "a needle", "the Needle", "needle, needle", "käse")
	put(t, b.top, map[string]string{
		"plain": rest, "crlf": long("\r\n", "a needle", "needle"), "mark": "\ufeffneedle first\n" + rest, "last": rest + "the last needle",
		"controls": "needle \x01\x02\x03\x04\x05\x06\x0e\x0f\n" + rest, "control": "one\n" + rest + "needle \x01\n", "latin": rest + "caf\xe9 needle\n",
		"kelvin": rest + "tas\u212a\n", "one line": strings.Repeat("x", 300<<10) + "needle\n" + rest, "first": "needle\n" + rest, "short": "needle\n",
		"zero": rest + "needle \x00\n", "dense": strings.Repeat("needle\n", 10000), "other": long("\n", "nee dle eed edl", "nothing"),
	})
	b.ready()
	m, err := regex.Compile("needle", regex.Options{})
	must(t, err)
	if n := b.service.Narrowed(t.Context(), live.Tree{Host: b.top, Top: b.top}, m); n < 5 {
		t.Fatalf("of %d files parts are read", n)
	}
	for _, pattern := range []string{"needle", "^needle first", "^needle", "needle$", "last needle", "käse", "task", "eedle|nothing", "x{40}needle", "line 4000 of"} {
		for _, opt := range []regex.Options{{}, {Fold: true}, {Word: true}} {
			for _, q := range []grep.Query{{}, {Limit: 3}, {Limit: 3, Offset: 2}, {Before: 2, After: 1}, {Mode: grep.Files}, {Mode: grep.Count}, {Columns: true, LineChars: 20}} {
				b.compare(ask{pattern: pattern, opt: opt, q: q})
			}
		}
	}
	b.compare(ask{pattern: `needle\nline`, opt: regex.Options{Multiline: true}})
}

// A file that was searched in parts is searched as it is once it changed.
func TestPartsOfWhatChanged(t *testing.T) {
	b := newBench(t, live.Options{Strict: true})
	b.service.SetSettle(-time.Hour)
	put(t, b.top, map[string]string{"a": long("\n", "a needle"), "b": long("\n", "x", "y", "a needle")})
	b.ready()
	all := ask{pattern: "needle"}
	b.compare(all)
	put(t, b.top, map[string]string{"a": "one more line\n" + long("\n", "b needle", "needle")})
	must(t, os.Truncate(filepath.Join(b.top, "b"), 100))
	b.compare(all)
	must(t, b.service.Reindex(t.Context(), b.top))
	if res := b.compare(all); res.Matches != 2 {
		t.Errorf("%+v", res)
	}
}

// Who waited while another brought the table up to date need not do it again, unless that began before.
func TestUpToDate(t *testing.T) {
	b := newBench(t, live.Options{Strict: true})
	put(t, b.top, map[string]string{"a": "needle"})
	b.ready()
	before := time.Now()
	b.finds("needle", "a")
	n := b.service.Sweeps(b.top)
	must(t, b.service.UpToDate(b.top, before))
	if got := b.service.Sweeps(b.top); got != n {
		t.Errorf("%d looks at every file instead of %d", got, n)
	}
	must(t, b.service.UpToDate(b.top, time.Now()))
	if got := b.service.Sweeps(b.top); got != n+1 {
		t.Errorf("%d looks at every file instead of %d", got, n+1)
	}
}

// Where events are lost, files whose last change their times do not tell are looked at anew.
func TestDoubt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no events to lose on this system")
	}
	b := newBench(t, live.Options{})
	b.service.SetSettle(time.Hour)
	put(t, b.top, map[string]string{"a": "needle", "b": "needle"})
	if st := b.ready(); st.Strict != "" || st.Direct != 0 {
		t.Fatalf("%+v", st)
	}
	b.service.BecomeStrict(b.top)
	b.finds("needle", "a b")
	if st := b.service.Status()[0]; st.Direct != 2 {
		t.Errorf("%d files are searched directly, not 2", st.Direct)
	}
}
