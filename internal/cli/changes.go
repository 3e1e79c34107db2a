package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// maxPaths is how many paths a line of the list names.
const maxPaths = 3

// ChangeList says which changes are listed: all workspaces or that of the host, of a session, since a time, at most so many.
type ChangeList struct {
	Session string
	Since   time.Time
	Limit   int
	All     bool
}

// withJournal runs f with the journal of changes and the directory of the workspace.
func withJournal(h wire.Host, f func(j *journal.Journal, top string) error) error {
	p, err := h.Locate()
	if err != nil {
		return err
	}
	st, err := wire.OpenState(p.StateDir, nil) // makes the directory as it should be
	if err != nil {
		return err
	}
	defer st.Close()
	j, err := wire.OpenJournal(p.StateDir, nil)
	if err != nil {
		return err
	}
	defer j.Close()
	top, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil {
		return err
	}
	if err := guard.Settle(context.Background(), j, top); err != nil && h.Warn != nil {
		h.Warn("the newest changes of agents may be missing: " + err.Error())
	}
	return f(j, top)
}

// Changes lists changes, newest first.
func (p *Printer) Changes(h wire.Host, l ChangeList, format string) error {
	return withJournal(h, func(j *journal.Journal, top string) error {
		f := journal.Filter{Session: l.Session, Since: l.Since, Limit: l.Limit}
		if !l.All {
			f.Top = top
		}
		list, err := j.List(f)
		if err != nil {
			return err
		}
		if format == "json" {
			return p.JSON(List(list))
		}
		return p.entries(j, list)
	})
}

// entries lists entries of the journal, each with a few of its paths.
func (p *Printer) entries(j *journal.Journal, list []journal.Entry) error {
	if len(list) == 0 {
		fmt.Fprintln(p.Err, "No changes yet.")
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		what, err := summary(j, &e)
		if err != nil {
			return err
		}
		call := e.Call
		if call == "" {
			call = e.ID
		}
		rows = append(rows, []string{e.Time.Format(time.DateTime), call, toolOf(&e), what})
	}
	return p.Table([]string{"TIME", "CALL", "TOOL", "WHAT"}, rows)
}

// toolOf names the tool of an entry, and whose it is where it is not one of ours.
func toolOf(e *journal.Entry) string {
	if e.Client == "" {
		return e.Tool
	}
	return e.Client + " " + e.Tool
}

// summary says what an entry did: what it did to repositories, and a few of its paths.
func summary(j *journal.Journal, e *journal.Entry) (string, error) {
	what := e.Does()
	shown, left := 0, 0
	for c, err := range j.Changes(e.ID) {
		switch {
		case err != nil:
			return "", err
		case e.Recorded(c.Path):
		case shown == maxPaths:
			left++
		default:
			what = append(what, described(&c))
			shown++
		}
	}
	text := strings.Join(what, ", ")
	if left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text, nil
}

// described says what was done to a path.
func described(c *journal.Change) string {
	switch {
	case c.From != nil:
		return fmt.Sprintf("%s → %s", c.From, c.Path)
	case c.Before.Type == journal.Absent:
		return "+" + c.Path.String()
	case c.After.Type == journal.Absent:
		return "-" + c.Path.String()
	default:
		return c.Path.String()
	}
}

// entriesOf returns the entries of a call, or the one of that name, oldest first.
func entriesOf(j *journal.Journal, call string) ([]journal.Entry, error) {
	list, err := j.List(journal.Filter{Call: call})
	if err == nil && len(list) == 0 {
		list, err = j.List(journal.Filter{ID: call})
	}
	if err == nil && len(list) == 0 {
		err = tongs.Errorf(tongs.CodeInvalidArgs, "call %q changed no files; 'tongs changes list' shows all changes", call)
	}
	slices.Reverse(list)
	return list, err
}

// Change prints what a call changed.
func (p *Printer) Change(h wire.Host, call, format string) error {
	return withJournal(h, func(j *journal.Journal, _ string) error {
		list, err := entriesOf(j, call)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := p.entry(j, &e, format); err != nil {
				return err
			}
		}
		return nil
	})
}

// Diff prints what a call changed at or below the paths, all of it where there are none.
func (p *Printer) Diff(h wire.Host, call string, paths []string) error {
	return withJournal(h, func(j *journal.Journal, _ string) error { return p.diff(j, call, paths) })
}

func (p *Printer) diff(j *journal.Journal, call string, paths []string) error {
	list, err := entriesOf(j, call)
	if err != nil {
		return err
	}
	for _, e := range list {
		if len(paths) == 0 {
			for _, does := range e.Does() {
				fmt.Fprintln(p.Out, "git: "+terminal.Clean(does))
			}
		}
		for c, err := range j.Changes(e.ID) {
			if err != nil {
				return err
			}
			if !wanted(c.Path, paths) || len(paths) == 0 && e.Recorded(c.Path) {
				continue
			}
			before, after := j.Sides(&e, &c)
			if _, err := fmt.Fprint(p.Out, terminal.CleanLines(journal.Diff(c.Path, c.From, before, after))); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry prints one entry: as text, or as a line of JSON for it and for each of its changes.
func (p *Printer) entry(j *journal.Journal, e *journal.Entry, format string) error {
	if format == "json" {
		if err := p.JSON(e); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.Out, "%s  %s  %s  session %s  %s\n", e.Time.Format(time.DateTime), terminal.Clean(toolOf(e)), terminal.Clean(e.Call), terminal.Clean(e.Session), e.ID)
		if e.Prompt != "" {
			fmt.Fprintf(p.Out, "  prompt %s\n", e.Prompt)
		}
		for _, u := range e.Undoes {
			fmt.Fprintf(p.Out, "  undoes %s\n", u.ID)
		}
		if by, err := j.UndoneBy(e.ID); err == nil && by != nil {
			fmt.Fprintf(p.Out, "  undone by %s\n", terminal.Clean(by.Call))
		}
		for _, does := range e.Does() {
			fmt.Fprintln(p.Out, "  "+terminal.Clean(does))
		}
	}
	for c, err := range j.Changes(e.ID) {
		if err != nil {
			return err
		}
		if format == "json" {
			if err := p.JSON(c); err != nil {
				return err
			}
			continue
		}
		if e.Recorded(c.Path) {
			continue
		}
		line := "  " + described(&c)
		if c.Before.Lost != "" {
			line += "  (cannot be restored: " + c.Before.Lost + ")"
		}
		fmt.Fprintln(p.Out, terminal.Clean(line))
	}
	return nil
}

// wanted reports whether a path is one of those that were named, or below it.
func wanted(p tongs.Path, names []string) bool {
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
		if s := p.String(); s == name || strings.HasPrefix(s, name+"/") {
			return true
		}
	}
	return len(names) == 0
}
