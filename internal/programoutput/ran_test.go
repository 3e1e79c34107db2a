package programoutput

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestText(t *testing.T) {
	for _, tc := range []struct {
		stdout, stderr string
		remarks        []string
		want           string
	}{
		{"", "", nil, "(no output)"},
		{"out\n", "", nil, "out\n"},
		{"out", "err", nil, "out\n[stderr]\nerr"},
		{"", "err\n", nil, "err\n"},
		{"out", "", []string{"", "exit code 1", "more"}, "out\n(exit code 1)\n(more)"},
	} {
		if got := Text(tc.stdout, tc.stderr, tc.remarks...); got != tc.want {
			t.Errorf("%q %q %q: %q, want %q", tc.stdout, tc.stderr, tc.remarks, got, tc.want)
		}
	}
}

func TestEnded(t *testing.T) {
	for _, tc := range []struct {
		exit tongs.Exit
		want string
	}{
		{tongs.Exit{}, ""},
		{tongs.Exit{Code: 2}, "exit code 2"},
		{tongs.Exit{Code: 137, Signal: "killed"}, "ended by a signal: killed (exit code 137)"},
		{tongs.Exit{Code: 137, Signal: "killed", TimedOut: true}, ""},
	} {
		if got := Ended(&tc.exit); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.exit, got, tc.want)
		}
	}
}

func TestReport(t *testing.T) {
	notes, usage := Read(&tongs.Exit{Report: &tongs.Report{
		LimitsHit: []string{"wall", "memory"}, DeniedHosts: []string{"example.com:443"},
		Usage: tongs.ProgramUsage{User: 2e9, System: 1e6, MaxRSS: 5, Memory: 7},
	}})
	if len(notes) != 2 || !strings.Contains(notes[0], "limit of memory") || !strings.Contains(notes[1], "example.com:443") {
		t.Errorf("notes %q", notes)
	}
	if notes := Settled(&tongs.Settled{Planted: []string{".envrc"}}); len(notes) != 1 || !strings.Contains(notes[0], ".envrc") {
		t.Errorf("notes %q", notes)
	}
	if usage == nil || *usage != (Usage{User: 2000, System: 1, Memory: 7}) {
		t.Errorf("usage %+v", usage)
	}
	if notes, usage := Read(&tongs.Exit{}); notes != nil || usage != nil {
		t.Errorf("no report: %q %v", notes, usage)
	}
}

func TestHeldNamesAreSaid(t *testing.T) {
	list := []tongs.Held{
		{Path: ".envrc", At: "/spill/c/held-1/.envrc", Host: "/state/spill/c/held-1/.envrc", Why: "DENIED: not that."},
		{Path: ".a\x1b[31m", At: "/spill/c/held-1/.a", Host: "/state/x", Question: "q_1", Why: "APPROVAL_REQUIRED: long"},
	}
	notes, _ := Read(&tongs.Exit{Report: &tongs.Report{Outside: []string{"/data"}}})
	notes = append(notes, Settled(&tongs.Settled{Held: list, Approved: []tongs.Held{{Path: ".vscode"}}})...)
	if len(notes) != 4 {
		t.Fatalf("%q", notes)
	}
	for i, want := range []string{
		"/data", "it is now /spill/c/held-1/.envrc (DENIED: not that); copying /state/spill/c/held-1/.envrc there",
		`.a\x1b[31m is a protected name and is held for a person: it is now /spill/c/held-1/.a; once question q_1 is approved`, ".vscode",
	} {
		if !strings.Contains(notes[i], want) {
			t.Errorf("note %d is %q, want ...%q", i, notes[i], want)
		}
	}
	for range 30 {
		list = append(list, list[0])
	}
	if notes = Settled(&tongs.Settled{Held: list}); len(notes) != maxHeld+1 || !strings.Contains(notes[maxHeld], "12 more") {
		t.Errorf("%d notes, the last %q", len(notes), notes[len(notes)-1])
	}
}

func TestColoursAreAllThatIsLeft(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"\x1b[31mred\x1b[0m":                "\x1b[31mred\x1b[0m",
		"\x1b[1;38:5:200mx":                 "\x1b[1;38:5:200mx\x1b[0m",
		"a\x1b]0;title\x07b":                "ab",
		"a\x1b]52;c;ZXZpbA==\x1b\\b":        "ab",
		"a\x1bPq#0\x1b\\b":                  "ab",
		"\x1b[2J\x1b[1;1Hx\x1b[6n\x1b[?25l": "x",
		"a\x1b":                             "a",
		"\x1b]0;never ends \x1b[31mx":       "\x1b[31mx\x1b[0m",
		"10%\r100%\r\n":                     "10%\n100%\n",
		"bell\x07 back\x08 del\x7f nul\x00": "bell back del nul",
		"c1 \u009b31m and \u009d0;t\u009c":  "c1 31m and 0;t",
		"\xff":                              "\uFFFD",
		"\x1b[31\x1b[32mx\x1b[0m":           "31\x1b[32mx\x1b[0m",
		"\x1b\x1b[31mx":                     "\x1b[31mx\x1b[0m",
	} {
		if got := Colours(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzColours(f *testing.F) {
	for _, seed := range []string{"\x1b[31mx", "\x1b]0;\x1b[31m", "\x1b\x1b[[m", "\x1b[\x1b[0mm", "\x1b]\x1b[1m\x07"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Colours(text)
		if left := colour.ReplaceAllString(got, ""); strings.ContainsFunc(left, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
			t.Errorf("%q: %q keeps %q", text, got, left)
		}
	})
}

func TestScreen(t *testing.T) {
	var s Screen
	var out bytes.Buffer
	w := s.Tee(&out)
	io.WriteString(w, "no colours\n")
	if s.Text() != "" || out.String() != "no colours\n" {
		t.Errorf("%q, %q", s.Text(), out.String())
	}
	io.WriteString(w, "\x1b[31mred\x1b[0m")
	if s.Text() != "no colours\n\x1b[31mred\x1b[0m" {
		t.Errorf("%q", s.Text())
	}
	w.Write([]byte{0})
	if s.Text() != "" {
		t.Errorf("binary output is shown: %q", s.Text())
	}
}

func TestScreenIsBounded(t *testing.T) {
	for _, size := range []int{7, 1000, 1 << 20} {
		var s Screen
		w := s.Tee(io.Discard)
		io.WriteString(w, "\x1b[31mfirst\n")
		chunk := bytes.Repeat([]byte("x"), size)
		for n := 0; n < 2<<20; n += size {
			w.Write(chunk)
		}
		io.WriteString(w, "last")
		text := s.Text()
		if len(text) > screenHead+screenTail+100 || !strings.HasPrefix(text, "\x1b[31mfirst") || !strings.Contains(text, "last\x1b[0m") {
			t.Errorf("size %d: %d bytes, %q", size, len(text), text[len(text)-20:])
		}
		if !strings.Contains(text, " bytes left out]") {
			t.Errorf("size %d: the cut is not said", size)
		}
		if cap(s.tail) > 4*screenTail+1<<20 {
			t.Errorf("size %d: keeps %d bytes", size, cap(s.tail))
		}
	}
}

func TestScreenConcurrently(t *testing.T) {
	var s Screen
	var wg sync.WaitGroup
	for i := range 4 {
		w := s.Tee(io.Discard)
		wg.Go(func() {
			for range 50 {
				fmt.Fprintf(w, "\x1b[3%dm line\n", i)
				s.Text()
			}
		})
	}
	wg.Wait()
}

func TestShortAndPlain(t *testing.T) {
	for in, want := range map[string]string{
		"  echo a  ": "echo a", "one\ntwo": "one ...", "long long long": "long long  ...", "a\u202eb\x1b[m": `a\u202eb\x1b[m`, "ä\tb": `ä\tb`,
	} {
		if got := Short(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
