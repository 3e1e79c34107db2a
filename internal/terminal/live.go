package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// liveScreen shows a run to a person at a terminal: what is settled scrolls up, and below it stays a small region that
// changes: the line that arrives, the calls that run, the todos, and what was spent.
//
// It is lines and a cursor that goes up, and no program that owns the terminal: questions are asked by the same prompt
// as everywhere, which reads keys by itself; Ctrl-C stays a signal, so that it works whatever hangs; and what is shown stays
// in the scrollback. It is drawn only when it differs, in one write that the terminal shows at once, so that it does not flicker.
type liveScreen struct {
	out   io.Writer
	width func() int
	now   func() time.Time

	mu     sync.Mutex
	md     *markdown
	text   string // of the answer, after the last whole line
	blank  bool   // the last settled line was empty
	spoke  bool   // the last settled line was of an answer
	calls  []*liveCall
	todos  []todo.Item
	status *worker.Session
	begun  time.Time
	busy   string // what the model does
	// Paused counts those who use the terminal; waiting are the events that came meanwhile.
	Paused  int
	waiting []worker.Event
	drawn   []string
	drawnAt int // the width for which it was drawn
	stop    chan struct{}
	stopped sync.WaitGroup
	ended   bool
}

// liveCall is a call that runs.
type liveCall struct {
	id, who, title string
	begun          time.Time
}

// How much of the region is what.
const (
	maxLiveCalls = 8
	maxLiveTodos = 8
	maxLiveText  = 6
	maxDiffLines = 24
	liveTick     = 200 * time.Millisecond
)

func plainTerminal() bool {
	t := os.Getenv("TERM")
	return t == "" || t == "dumb"
}

func newLiveScreen(out io.Writer) *liveScreen {
	s := stillScreen(out)
	s.stopped.Go(s.tick)
	return s
}

// stillScreen is a live screen that is drawn by events alone.
func stillScreen(out io.Writer) *liveScreen {
	return &liveScreen{
		out: colorprofile.NewWriter(out, os.Environ()), md: newMarkdown(), now: time.Now, begun: time.Now(), stop: make(chan struct{}),
		width: func() int {
			if f, ok := out.(*os.File); ok {
				if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
					return w
				}
			}
			return 80
		},
	}
}

// tick keeps the times that are shown up to date.
func (s *liveScreen) tick() {
	t := time.NewTicker(liveTick)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.mu.Lock()
			s.draw(nil)
			s.mu.Unlock()
		}
	}
}

func (s *liveScreen) Event(e worker.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Paused > 0 {
		s.waiting = append(s.waiting, e)
		return
	}
	s.take(e)
}

// take shows an event. The lock is held.
func (s *liveScreen) take(e worker.Event) {
	outer := len(e.Agents) <= 1
	switch e.Type {
	case worker.EventStart:
		if outer {
			s.status, s.busy = e.Snapshot, "thinking"
		}
	case worker.EventText:
		if outer {
			s.busy = ""
			s.write(e.Text)
			return
		}
	case worker.EventThinking:
		if outer {
			s.busy = "thinking"
		}
	case worker.EventRetry:
		s.flush()
		s.settle(s.md.warn.Render("Trying again" + after(e.Wait) + ": " + Clean(OneLine(e.Text, 200))))
		return
	case worker.EventAnswer:
		if outer {
			s.flush()
			s.busy = ""
		}
	case worker.EventCall:
		s.begin(e)
	case worker.EventUpdate:
		s.update(e)
	case worker.EventResult:
		s.finish(e)
		return
	case worker.EventTodos:
		if outer {
			s.todos = e.Todos
		}
	case worker.EventNote:
		s.settle(s.md.faint.Render(Clean("Note: " + e.Text)))
		return
	case worker.EventTurn:
		if outer {
			s.status, s.busy = e.Snapshot, "thinking"
		}
	}
	s.draw(nil)
}

// write adds to the answer: whole lines settle, the rest stays in the region.
func (s *liveScreen) write(text string) {
	s.text += text
	var lines []string
	for {
		line, rest, whole := strings.Cut(s.text, "\n")
		if !whole {
			break
		}
		s.text = rest
		lines = append(lines, s.md.line(CleanLines(line), s.columns())...)
	}
	s.draw(s.separateAnswer(lines))
}

// separateAnswer sets lines of an answer apart from what came before.
func (s *liveScreen) separateAnswer(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	if !s.spoke && s.status != nil && s.status.Turns > 0 {
		lines = append([]string{""}, lines...)
	}
	s.spoke = true
	return s.spaced(lines)
}

// flush settles what is left of the answer.
func (s *liveScreen) flush() {
	if s.text == "" {
		return
	}
	lines := s.md.line(CleanLines(s.text), s.columns())
	s.text, s.md.fence = "", false
	s.draw(s.separateAnswer(lines))
}

// spaced leaves out empty lines after empty ones.
func (s *liveScreen) spaced(lines []string) (out []string) {
	for _, line := range lines {
		empty := strings.TrimSpace(ansi.Strip(line)) == ""
		if !empty || !s.blank {
			out = append(out, line)
		}
		s.blank = empty
	}
	return out
}

// settle prints lines above the region.
func (s *liveScreen) settle(lines ...string) {
	var out []string
	if s.spoke {
		out, s.spoke = append(out, ""), false
	}
	for _, line := range lines {
		out = append(out, split(ansi.Wrap(line, s.columns(), ""))...)
	}
	s.draw(s.spaced(out))
}

// columns is the width to use: the last column stays empty, so that no line can wrap.
func (s *liveScreen) columns() int { return max(1, s.width()-1) }

func (s *liveScreen) begin(e worker.Event) {
	s.flush()
	title := e.Call.Title
	if title == "" {
		title = e.Call.Tool
	}
	s.calls = append(s.calls, &liveCall{id: e.Call.Call, who: workerName(e), title: title, begun: e.At})
}

// workerName names the worker of an event, where it is not the outermost.
func workerName(e worker.Event) string {
	if len(e.Agents) <= 1 {
		return ""
	}
	return strings.Join(e.Agents[1:], " › ") + " › "
}

func (s *liveScreen) update(e worker.Event) {
	for _, c := range s.calls {
		if c.id == e.Call.Call && e.Update.Title != "" {
			c.title = e.Update.Title
		}
	}
}

// finish settles a call that ended, with the difference that it made.
func (s *liveScreen) finish(e worker.Event) {
	s.calls = slices.DeleteFunc(s.calls, func(c *liveCall) bool { return c.id == e.Call.Call })
	mark := s.md.added.Render("✓")
	if e.Call.Code != "" {
		mark = s.md.removed.Render("✗")
	}
	lines := []string{mark + " " + s.dim(workerName(e)) + Clean(resultLine(e.Call))}
	if e.Call.Code != "" {
		lines = append(lines, s.md.faint.Render("  "+Clean(OneLine(e.Call.Content, 300))))
	}
	left := maxDiffLines
	for _, ch := range e.Call.Changed {
		lines = append(lines, s.diff(ch.Diff, &left)...)
	}
	if len(e.Call.Changed) == 0 && e.Call.Display != "" {
		lines = append(lines, s.some(CleanLines(programoutput.Uncoloured(e.Call.Display)), &left, func(line string) string { return line })...)
	}
	s.settle(lines...)
}

// dim is text in the background; nothing stays nothing.
func (s *liveScreen) dim(text string) string {
	if text == "" {
		return ""
	}
	return s.md.faint.Render(Clean(text))
}

// diff is a difference in colour, as much as may be shown.
func (s *liveScreen) diff(text string, left *int) []string {
	style := diffStyle(s.md.palette)
	return s.some(CleanLines(text), left, func(line string) string { return style(line).Render(line) })
}

// some are the lines of a text, as many as may be shown, each at most as wide as the screen.
func (s *liveScreen) some(text string, left *int, render func(string) string) (lines []string) {
	all := split(strings.TrimRight(text, "\n"))
	for i, line := range all {
		if *left <= 0 {
			return append(lines, s.md.faint.Render(fmt.Sprintf("  │ … %s", Plural(len(all)-i, "more line"))))
		}
		*left--
		line = ansi.Truncate(strings.ReplaceAll(line, "\t", "    "), max(1, s.columns()-4), "…")
		lines = append(lines, s.md.faint.Render("  │ ")+render(line))
	}
	return lines
}

// region is what stays below: at most as wide as the screen, so that each is one row.
func (s *liveScreen) region() (lines []string) {
	width := s.columns()
	if s.text != "" {
		partial := s.md.partial(CleanLines(s.text), width)
		lines = append(lines, partial[max(0, len(partial)-maxLiveText):]...)
	}
	for i, c := range s.calls {
		if i == maxLiveCalls {
			lines = append(lines, s.md.faint.Render(fmt.Sprintf("  … and %d more", len(s.calls)-i)))
			break
		}
		elapsed := s.now().Sub(c.begun).Truncate(time.Second)
		lines = append(lines, fmt.Sprintf(
			"%s %s%s %s", s.md.hotkey.Render("•"), s.dim(c.who), Clean(OneLine(c.title, 200)), s.dim(elapsed.String())))
	}
	lines = append(lines, s.todoLines(maxLiveTodos)...)
	lines = append(lines, s.md.faint.Render(s.footer()))
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], width, "…")
	}
	return lines
}

// todoLines are the todos: those around the one in progress where there are many.
func (s *liveScreen) todoLines(most int) (lines []string) {
	from := 0
	if len(s.todos) > most {
		at := slices.IndexFunc(s.todos, func(i todo.Item) bool { return i.Status == todo.InProgress || i.Status == todo.Pending })
		from = min(max(0, at-1), len(s.todos)-most)
	}
	for i, item := range s.todos[from:] {
		if i == most {
			break
		}
		mark, style := "☐", lipgloss.NewStyle()
		switch item.Status {
		case todo.InProgress:
			mark, style = "▸", s.md.title
		case todo.Completed:
			mark, style = "☑", s.md.faint
		case todo.Cancelled:
			mark, style = "☒", s.md.faint
		}
		lines = append(lines, "  "+style.Render(mark+" "+Clean(OneLine(item.Label(), 200))))
	}
	return lines
}

// footer says who works and what was spent.
func (s *liveScreen) footer() string {
	parts := []string{}
	if st := s.status; st != nil {
		parts = append(parts, st.Worker, st.Model[strings.LastIndexByte(st.Model, '/')+1:], grouped(st.Total.Input+st.Total.Output)+" tokens")
		if st.Priced {
			parts = append(parts, fmt.Sprintf("$%.4f", st.Cost))
		}
	}
	parts = append(parts, s.now().Sub(s.begun).Truncate(time.Second).String())
	if s.busy != "" && len(s.calls) == 0 && s.text == "" {
		parts = append(parts, s.busy)
	}
	return Clean(strings.Join(parts, " · "))
}

// draw prints settled lines and the region below them, where anything differs. The lock is held.
func (s *liveScreen) draw(settled []string) {
	if s.Paused > 0 || s.ended {
		return
	}
	region := s.region()
	if len(settled) == 0 && slices.Equal(region, s.drawn) && s.drawnAt == s.columns() {
		return
	}
	var b strings.Builder
	b.WriteString("\x1b[?2026h" + s.erase())
	for _, line := range settled {
		b.WriteString(line + "\r\n")
	}
	b.WriteString(strings.Join(region, "\r\n") + "\x1b[?2026l")
	s.drawn, s.drawnAt = region, s.columns()
	_, _ = io.WriteString(s.out, b.String())
}

// erase takes the region off the screen. Lines that were drawn for a wider screen take several rows by now.
func (s *liveScreen) erase() string {
	if len(s.drawn) == 0 {
		return ""
	}
	rows, width := 0, s.width()
	for _, line := range s.drawn {
		rows += max(1, (ansi.StringWidth(line)+width-1)/width)
	}
	up := ""
	if rows > 1 {
		up = fmt.Sprintf("\x1b[%dA", rows-1)
	}
	return "\r" + up + "\x1b[J"
}

func (s *liveScreen) Note(text string) {
	s.Event(worker.Event{Type: worker.EventNote, Text: text})
}

func (s *liveScreen) pause() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Paused == 0 {
		_, _ = io.WriteString(s.out, s.erase())
		s.drawn = nil
	}
	s.Paused++
	return s.resume
}

func (s *liveScreen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Paused--; s.Paused > 0 {
		return
	}
	waiting := s.waiting
	s.waiting = nil
	for _, e := range waiting {
		s.take(e)
	}
	s.draw(nil)
}

// End settles the todos and what was spent.
func (s *liveScreen) End(e *worker.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	lines := s.todoLines(len(s.todos))
	s.calls, s.todos = nil, nil
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	style := s.md.added
	if e.State != worker.Done {
		style = s.md.warn
	}
	took := s.now().Sub(s.begun)
	lines = append(lines, "", style.Render(Clean(fmt.Sprintf(
		"%s, %s", sessionSummary(e), short(took)))), s.md.faint.Render("session "+e.ID))
	s.settle(lines...)
}

func (s *liveScreen) Close() {
	s.mu.Lock()
	if !s.ended {
		_, _ = io.WriteString(s.out, s.erase())
		s.ended, s.drawn = true, nil
		close(s.stop)
	}
	s.mu.Unlock()
	s.stopped.Wait()
}
