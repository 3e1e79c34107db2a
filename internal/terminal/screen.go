package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs/worker"
)

// screen shows a run. Its methods are safe for concurrent use and do not block for long.
type screen interface {
	Event(worker.Event)
	Note(text string)
	// pause keeps the screen still until what it returns is called: somebody else uses the terminal.
	pause() (resume func())
	End(s *worker.Session)
	Close()
}

// NewScreen chooses how a run is shown: as JSON, for a person at a terminal, or plainly.
func NewScreen(format string, out, errs io.Writer) screen {
	switch {
	case format == "json":
		return &jsonScreen{enc: json.NewEncoder(out)}
	case IsTerminal(out) && IsTerminal(errs) && !plainTerminal():
		return newLiveScreen(out)
	}
	return &plainScreen{out: out, err: errs}
}

// jsonScreen prints every event as one line.
type jsonScreen struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (s *jsonScreen) Event(e worker.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.enc.Encode(e)
}

func (s *jsonScreen) Note(text string) {
	s.Event(worker.Event{Type: worker.EventNote, At: time.Now(), Text: text})
}
func (s *jsonScreen) pause() func()       { return func() {} }
func (s *jsonScreen) End(*worker.Session) {}
func (s *jsonScreen) Close()              {}

// plainScreen prints answers to standard output, whole, and what happens to standard error, a line each. It is for pipes
// and files, and for terminals that can do no more.
type plainScreen struct {
	mu       sync.Mutex
	out, err io.Writer
}

func (s *plainScreen) Event(e worker.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := ""
	if len(e.Agents) > 1 {
		who = strings.Join(e.Agents[1:], " > ") + ": "
	}
	say := func(format string, args ...any) { fmt.Fprintln(s.err, Clean(who+fmt.Sprintf(format, args...))) }
	switch e.Type {
	case worker.EventAnswer:
		text := strings.TrimSpace(e.Text)
		if text != "" && who == "" {
			if IsTerminal(s.out) {
				text = CleanLines(text)
			}
			fmt.Fprintln(s.out, text)
		}
	case worker.EventRetry:
		say("trying again%s: %s", after(e.Wait), e.Text)
	case worker.EventNote:
		say("note: %s", e.Text)
	case worker.EventResult:
		say("%s", resultLine(e.Call))
	case worker.EventTodos:
		for _, item := range e.Todos {
			say("todo: %s (%s)", item.Label(), item.Status)
		}
	}
}

func after(wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	return " in " + wait.Round(100*time.Millisecond).String()
}

// resultLine is a call that ended, in one line.
func resultLine(c *worker.CallEvent) string {
	text := c.Tool
	if title := OneLine(c.Title, 160); title != "" {
		text += ": " + title
	}
	if c.Code != "" {
		text += fmt.Sprintf(" (%s)", c.Code)
	}
	added, removed := 0, 0
	for _, ch := range c.Changed {
		added, removed = added+ch.Added, removed+ch.Removed
	}
	if len(c.Changed) > 0 {
		text += fmt.Sprintf(" +%d -%d", added, removed)
	}
	return text + " " + short(c.Took)
}

// short is a time as people say it.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func (s *plainScreen) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.err, "note: "+Clean(text))
}

func (s *plainScreen) pause() func() { return func() {} }

func (s *plainScreen) End(e *worker.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.err, "%s, session %s\n", Clean(sessionSummary(e)), e.ID)
}

func (s *plainScreen) Close() {}
