package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// glass is a terminal: it does what the bytes say, as far as the live screen says anything.
type glass struct {
	t        *testing.T
	width    int
	rows     [][]rune
	row, col int
	writes   int
}

func (g *glass) Write(p []byte) (int, error) {
	g.writes++
	runes := []rune(string(p))
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == 0x1b:
			i = g.sequence(runes, i+1)
		case r == '\r':
			g.col = 0
		case r == '\n':
			g.row++
		default:
			g.put(r)
		}
	}
	return len(p), nil
}

// sequence does an escape sequence and returns where it ends.
func (g *glass) sequence(runes []rune, i int) int {
	if runes[i] != '[' {
		g.t.Fatalf("an escape sequence %q", string(runes[i:min(len(runes), i+10)]))
	}
	from := i + 1
	for i++; runes[i] < 0x40; i++ {
	}
	switch arg := string(runes[from:i]); runes[i] {
	case 'A':
		n, err := strconv.Atoi(arg)
		if err != nil || n > g.row {
			g.t.Fatalf("up %q from row %d", arg, g.row)
		}
		g.row -= n
	case 'J':
		g.line()
		g.rows[g.row] = g.rows[g.row][:min(g.col, len(g.rows[g.row]))]
		g.rows = g.rows[:g.row+1]
	case 'm':
	case 'h', 'l':
		if arg != "?2026" {
			g.t.Fatalf("mode %q", arg)
		}
	default:
		g.t.Fatalf("sequence %q", string(runes[from:i+1]))
	}
	return i
}

func (g *glass) line() {
	for len(g.rows) <= g.row {
		g.rows = append(g.rows, nil)
	}
}

func (g *glass) put(r rune) {
	w := max(1, ansi.StringWidth(string(r)))
	if g.col+w > g.width {
		g.row, g.col = g.row+1, 0
	}
	g.line()
	for len(g.rows[g.row]) <= g.col {
		g.rows[g.row] = append(g.rows[g.row], ' ')
	}
	g.rows[g.row][g.col] = r
	g.col += w
}

func (g *glass) text() string {
	var b strings.Builder
	for _, row := range g.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func newGlass(t *testing.T, width int) (*glass, *liveScreen) {
	g := &glass{t: t, width: width}
	s := stillScreen(g)
	s.out = g
	s.width = func() int { return g.width }
	at := time.Unix(0, 0)
	s.now, s.begun = func() time.Time { return at }, at
	t.Cleanup(s.Close)
	return g, s
}

func snap(turns int) *worker.Session {
	return &worker.Session{ID: "s_1", Worker: "demo", Model: "m", State: worker.Done, Turns: turns, Total: model.Usage{Input: 1200}}
}

func callEvent(typ worker.EventType, id, title string, who ...string) worker.Event {
	return worker.Event{
		Type: typ, Agents: append([]string{"demo"}, who...), At: time.Unix(0, 0),
		Call: &worker.CallEvent{CallNote: worker.CallNote{Call: id, Tool: "read_file", Title: title, Took: time.Millisecond}},
	}
}

// play is a run with everything in it.
func play(s *liveScreen) {
	demo := []string{"demo"}
	s.Event(worker.Event{Type: worker.EventStart, Agents: demo, Snapshot: snap(0)})
	for _, piece := range []string{"# Pl", "an\n\nI will **re", "ad** `a.txt`, and ", "more words than fit on a narrow line.\n- one\n- t", "wo"} {
		s.Event(worker.Event{Type: worker.EventText, Agents: demo, Text: piece})
	}
	s.Event(worker.Event{Type: worker.EventAnswer, Agents: demo})
	s.Event(worker.Event{Type: worker.EventTodos, Agents: demo, Todos: []todo.Item{{Content: "Read", Status: todo.InProgress, ActiveForm: "Reading"}}})
	for i := range 12 {
		s.Event(callEvent(worker.EventCall, fmt.Sprint("c", i), fmt.Sprintf("Read the file number %d, which has a long name 你好", i)))
	}
	s.Event(callEvent(worker.EventCall, "k", "Read x", "child"))
	s.Event(worker.Event{Type: worker.EventUpdate, Agents: demo, Call: &worker.CallEvent{CallNote: worker.CallNote{Call: "c1"}}, Update: &tongs.Update{Title: "half way"}})
	s.Event(callEvent(worker.EventResult, "k", "x", "child"))
	for i := range 12 {
		e := callEvent(worker.EventResult, fmt.Sprint("c", i), fmt.Sprint("file ", i))
		if i == 3 {
			e.Call.Code, e.Call.Content = tongs.CodeDenied, "DENIED: \x1b[2Ja person declined"
		}
		if i == 4 {
			e.Call.Changed = []worker.Change{{Path: "a", Added: 1, Removed: 1, Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n"}}
		}
		s.Event(e)
	}
	s.Event(worker.Event{Type: worker.EventTurn, Agents: demo, Snapshot: snap(1)})
	s.Event(worker.Event{Type: worker.EventText, Agents: demo, Text: "Done."})
	s.End(snap(2))
	s.Close()
}

// Whatever the width, what is settled stays as it was printed, and nothing of the region is left behind.
func TestLiveScreenAtEveryWidth(t *testing.T) {
	for _, width := range []int{1, 2, 5, 10, 20, 33, 80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			g, s := newGlass(t, width)
			play(s)
			text := g.text()
			flat := strings.NewReplacer("\n", "", " ", "").Replace(text)
			for _, want := range []string{"Plan", "Iwillreada.txt,andmorewords", "•one", "•two", "file11", "Done.", "sessions_1"} {
				if !strings.Contains(flat, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			for _, left := range []string{"halfway", "1,200tokens·", "Reading…", "andmore("} {
				if strings.Contains(flat, left) {
					t.Errorf("%q is left in:\n%s", left, text)
				}
			}
			if n := strings.Count(flat, "file7"); n != 1 {
				t.Errorf("a result is shown %d times:\n%s", n, text)
			}
		})
	}
}

func TestLiveScreen(t *testing.T) {
	g, s := newGlass(t, 60)
	play(s)
	want := `Plan

I will read a.txt, and more words than fit on a narrow
line.
• one
• two

✓ child › read_file: x 1ms
✓ read_file: file 0 1ms
✓ read_file: file 1 1ms
✓ read_file: file 2 1ms
✗ read_file: file 3 (DENIED) 1ms
  DENIED: \x1b[2Ja person declined
✓ read_file: file 4 +1 -1 1ms
  │ --- a
  │ +++ b
  │ @@ -1 +1 @@
  │ -old
  │ +new
✓ read_file: file 5 1ms
✓ read_file: file 6 1ms
✓ read_file: file 7 1ms
✓ read_file: file 8 1ms
✓ read_file: file 9 1ms
✓ read_file: file 10 1ms
✓ read_file: file 11 1ms

Done.

  ▸ Reading

done: 2 turns, 1,200 tokens, 0ms
session s_1`
	if got := g.text(); got != want {
		t.Errorf("the screen shows\n%s", got)
	}
}

// While calls run, each has a line with its title, and the footer is below them; what does not change is not drawn again.
func TestLiveRegion(t *testing.T) {
	g, s := newGlass(t, 60)
	s.Event(worker.Event{Type: worker.EventStart, Agents: []string{"demo"}, Snapshot: snap(0)})
	s.Event(callEvent(worker.EventCall, "a", "Read a.txt"))
	s.Event(callEvent(worker.EventCall, "b", "Search", "child"))
	want := "• Read a.txt 0s\n• child › Search 0s\ndemo · m · 1,200 tokens · 0s"
	if g.text() != want {
		t.Errorf("the screen shows\n%s", g.text())
	}
	writes := g.writes
	s.Event(worker.Event{Type: worker.EventThinking, Agents: []string{"demo"}, Text: "hm"})
	if g.writes != writes {
		t.Error("it was drawn again")
	}
	// The screen becomes narrower: what was drawn takes more rows now.
	g.width = 20
	g.rows, g.row, g.col = nil, 0, 0
	for i, line := range strings.Split(want, "\n") {
		if i > 0 {
			g.row, g.col = g.row+1, 0
		}
		for _, r := range line {
			g.put(r)
		}
	}
	s.Event(callEvent(worker.EventResult, "a", "a.txt"))
	if got := strings.Split(g.text(), "\n"); got[0] != "✓ read_file: a.txt" || !slices.Contains(got, "• child › Search 0s") || len(got) != 4 {
		t.Errorf("the screen shows\n%s", g.text())
	}
}

// While somebody else uses the terminal nothing is written; what happened meanwhile is shown afterwards.
func TestLiveScreenPauses(t *testing.T) {
	g, s := newGlass(t, 60)
	s.Event(callEvent(worker.EventCall, "a", "Read a.txt"))
	resume, again := s.pause(), s.pause()
	if g.text() != "" {
		t.Errorf("the screen shows\n%s", g.text())
	}
	writes := g.writes
	s.Event(callEvent(worker.EventResult, "a", "a.txt"))
	s.Note("something")
	resume()
	if g.writes != writes {
		t.Error("it was written to")
	}
	again()
	if want := "✓ read_file: a.txt 1ms\nNote: something\n0s"; g.text() != want {
		t.Errorf("the screen shows\n%s", g.text())
	}
}

func TestMarkdown(t *testing.T) {
	m := newMarkdown()
	var got []string
	for line := range strings.SplitSeq("# Title\n**bold** and `code` and *it*\n1. first item that is long enough\n> said\n---\n```go\nfunc **not bold** {\n```\n**bold", "\n") {
		got = append(got, m.line(line, 20)...)
	}
	want := []string{"Title", "bold and code and it", "1. first item", "   that is long", "   enough", "│ said", strings.Repeat("─", 20), "```go", "func **not bold** {", "```", "**bold"}
	if text := ansi.Strip(strings.Join(got, "\n")); text != strings.Join(want, "\n") {
		t.Errorf("got\n%s", text)
	}
	var b bytes.Buffer
	b.WriteString(strings.Join(got, "\n"))
	if !strings.Contains(b.String(), "\x1b[1m") {
		t.Error("nothing is bold")
	}
}
