package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/worker"
)

// WriteTranscript prints a session as a person reads it.
func WriteTranscript(ctx context.Context, w io.Writer, store worker.Store, s *worker.Session, entries []worker.Entry) error {
	fmt.Fprintf(w, "%s  %s  %s  %s\n", Clean(s.ID), Clean(strings.Join(s.Agents, " > ")), Clean(s.Model), sessionState(s))
	for _, e := range entries {
		who := "person"
		if e.Message.Role == model.Assistant {
			who = s.Worker
		} else if s.Call != "" {
			who = s.Agents[max(0, len(s.Agents)-2)]
		}
		for _, p := range e.Message.Parts {
			switch {
			case p.Text != "":
				fmt.Fprintf(w, "\n%s:\n", Clean(who))
				for line := range strings.SplitSeq(strings.TrimRight(CleanLines(p.Text), "\n"), "\n") {
					fmt.Fprintln(w, "  "+line)
				}
			case p.Image != nil:
				fmt.Fprintf(w, "  [%s, %d bytes]\n", Clean(p.Image.MIME), len(p.Image.Data))
			}
		}
		for _, c := range e.Calls {
			mark, how := "+", ""
			if c.Code != "" {
				mark, how = "-", " "+string(c.Code)
			}
			if c.Session != "" {
				how += " (session " + c.Session + ")"
			}
			fmt.Fprintf(w, "  %s %s: %s%s\n", mark, Clean(c.Tool), Clean(OneLine(c.Title, 120)), Clean(how))
		}
	}
	fmt.Fprintf(w, "\n%s\n", Clean(sessionSummary(s)))
	children, err := store.List(ctx, worker.Filter{Root: s.Root})
	if err != nil {
		return err
	}
	for _, c := range children {
		if c.Parent == s.ID {
			fmt.Fprintf(w, "called: %s  %s  %s  %s\n", Clean(c.ID), Clean(c.Worker), sessionState(&c), spent(&c))
		}
	}
	return nil
}

// sessionState is the state in a word; one whose process is gone was interrupted.
func sessionState(s *worker.Session) string {
	if s.State == worker.Running && !Alive(s.PID) {
		return "interrupted"
	}
	return string(s.State)
}

// Alive reports whether a process is there.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	if runtime.GOOS == "windows" {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || os.IsPermission(err)
}

// spent is what a session used, in a few words.
func spent(s *worker.Session) string {
	text := fmt.Sprintf("%s, %s tokens", Plural(s.Turns, "turn"), grouped(s.Total.Input+s.Total.Output))
	if s.Priced {
		text += fmt.Sprintf(", $%.4f", s.Cost)
	}
	return text
}

// grouped is a number with its thousands set apart.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// OneLine is the first line of a text, shortened.
func OneLine(text string, width int) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > width {
		line, more = string(r[:width-1]), true
	}
	if more {
		line += "…"
	}
	return line
}

// sessionSummary is a session in one line.
func sessionSummary(s *worker.Session) string {
	text := sessionState(s) + ": " + spent(s)
	if s.Files > 0 {
		text += fmt.Sprintf(", %s and %s changed", Plural(s.Files, "file"), Plural(s.Lines, "line"))
	}
	if s.Why != "" {
		text += ". " + s.Why
	}
	return text
}

// WriteSessions lists sessions, as a table or as lines of JSON.
func WriteSessions(w io.Writer, list []worker.Session, format string) error {
	if format == "json" {
		for _, s := range list {
			if err := WriteJSON(w, s); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{
			s.ID, s.Updated.Format(time.DateTime), strings.Join(s.Agents, " > "), sessionState(&s), spent(&s), OneLine(s.Prompt, 60),
		})
	}
	return WriteTable(w, []string{"SESSION", "CHANGED", "WORKER", "STATE", "SPENT", "PROMPT"}, rows)
}
