package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/workspace/journal"
)

const rfc3339 = time.RFC3339Nano

func momentNow(text string) (time.Time, error) { return moment(text, time.Now()) }

func (a *app) changesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "changes", Short: "List file changes that undo can revert",
		Example: "  tongs changes list\n  tongs changes show c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m",
	}
	cmd.AddCommand(a.changesListCommand(), a.changesShowCommand(), a.changesDiffCommand())
	return cmd
}

// readJournal runs f with the journal and the directory of the workspace.
func (a *app) readJournal(f func(j *journal.Journal, top string) error) error {
	p, err := a.host().Locate()
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
	return f(j, top)
}

func (a *app) changesListCommand() *cobra.Command {
	var format, since string
	var f journal.Filter
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List changes, newest first", Args: cobra.NoArgs,
		Example: "  tongs changes list\n  tongs changes list --session s1 --since 2h\n  tongs changes list --all --format json",
	}
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().StringVar(&f.Session, "session", "", "only changes by this session `ID`")
	cmd.Flags().StringVar(&since, "since", "", "only changes since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "list at most `N`, 0 for all")
	cmd.Flags().BoolVar(&all, "all", false, "changes in all workspaces")
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		var err error
		if f.Since, err = momentNow(since); err != nil {
			return err
		}
		return a.readJournal(func(j *journal.Journal, top string) error {
			if !all {
				f.Top = top
			}
			list, err := j.List(f)
			if err != nil {
				return err
			}
			if format == "json" {
				if list == nil {
					list = []journal.Entry{}
				}
				return a.json(list)
			}
			return a.printChanges(j, list)
		})
	})
	return cmd
}

// maxPaths is how many paths a line of the list names.
const maxPaths = 3

func (a *app) printChanges(j *journal.Journal, list []journal.Entry) error {
	if len(list) == 0 {
		fmt.Fprintln(a.err, "No changes yet.")
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		var paths []string
		for c, err := range j.Changes(e.ID) {
			if err != nil {
				return err
			}
			if paths = append(paths, described(&c)); len(paths) == maxPaths {
				break
			}
		}
		what := strings.Join(paths, ", ")
		if left := e.Changes - len(paths); left > 0 {
			what += fmt.Sprintf(" and %d more", left)
		}
		call := e.Call
		if call == "" {
			call = e.ID
		}
		rows = append(rows, []string{e.Time.Format(time.DateTime), call, e.Tool, what})
	}
	return a.table([]string{"TIME", "CALL", "TOOL", "WHAT"}, rows)
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
	for i, k := 0, len(list)-1; i < k; i, k = i+1, k-1 {
		list[i], list[k] = list[k], list[i]
	}
	return list, err
}

func (a *app) changesShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show CALL", Short: "Show which paths a call changed", Args: cobra.ExactArgs(1),
		Example: "  tongs changes show c_06ezk1vq8b3m\n  tongs changes show c_06ezk1vq8b3m --format json",
	}
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(_ *cobra.Command, args []string) error {
		return a.readJournal(func(j *journal.Journal, _ string) error {
			list, err := entriesOf(j, args[0])
			if err != nil {
				return err
			}
			for _, e := range list {
				if err := a.showEntry(j, &e, format); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return cmd
}

// showEntry prints one entry: as text, or as a line of JSON for it and for each of its changes.
func (a *app) showEntry(j *journal.Journal, e *journal.Entry, format string) error {
	if format == "json" {
		if err := a.json(e); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "%s  %s  %s  session %s  %s\n", e.Time.Format(time.DateTime), terminal.Clean(e.Tool), terminal.Clean(e.Call), terminal.Clean(e.Session), e.ID)
		for _, u := range e.Undoes {
			fmt.Fprintf(a.out, "  undoes %s\n", u.ID)
		}
		if by, err := j.UndoneBy(e.ID); err == nil && by != nil {
			fmt.Fprintf(a.out, "  undone by %s\n", terminal.Clean(by.Call))
		}
	}
	for c, err := range j.Changes(e.ID) {
		if err != nil {
			return err
		}
		if format == "json" {
			if err := a.json(c); err != nil {
				return err
			}
			continue
		}
		line := "  " + described(&c)
		if c.Before.Lost != "" {
			line += "  (cannot be restored: " + c.Before.Lost + ")"
		}
		fmt.Fprintln(a.out, terminal.Clean(line))
	}
	return nil
}

func (a *app) changesDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff CALL [PATH ...]", Short: "Show what a call changed, as a diff", Args: cobra.MinimumNArgs(1),
		Example: "  tongs changes diff c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m src/a.go",
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			return a.readJournal(func(j *journal.Journal, _ string) error {
				list, err := entriesOf(j, args[0])
				if err != nil {
					return err
				}
				for _, e := range list {
					for c, err := range j.Changes(e.ID) {
						if err != nil {
							return err
						}
						if !wanted(c.Path, args[1:]) {
							continue
						}
						before, after := j.Sides(&e, &c)
						if _, err := fmt.Fprint(a.out, terminal.CleanLines(journal.Diff(c.Path, c.From, before, after))); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}),
	}
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
