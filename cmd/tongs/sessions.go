package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/worker/sessions"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := a.sessionsListCommand("sessions", "List what workers did, and show it")
	cmd.AddCommand(a.sessionsListCommand("list", "List sessions"), a.sessionsShowCommand())
	return cmd
}

func (a *app) sessionsListCommand(name, short string) *cobra.Command {
	var format string
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		Long:    "List the sessions of workers in this workspace, the one that changed last first. 'tongs run --continue=ID' goes on with one.",
		Example: "  tongs sessions\n  tongs sessions list --all --format json\n  tongs sessions show s_06ezk1vq8b3m",
	}
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().BoolVar(&all, "all", false, "those of other workspaces and of called workers, too")
	cmd.Flags().IntVar(&limit, "limit", 20, "how many; 0 for all")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		return a.withSessions(func(store worker.Store, p wire.Place) error {
			f := worker.Filter{Outermost: !all, Limit: limit}
			if !all {
				f.Workspace = p.Workspace
			}
			list, err := store.List(cmd.Context(), f)
			if err != nil {
				return err
			}
			return a.printSessions(list, format)
		})
	})
	return cmd
}

func (a *app) withSessions(f func(worker.Store, wire.Place) error) error {
	var p wire.Place
	var err error
	if p.Workspace, p.Limit, err = config.FindWorkspace(a.flags.workspace); err != nil {
		return err
	}
	if p.StateDir, err = config.FindStateDir(); err != nil {
		return tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	store := &wire.Sessions{Dir: p.StateDir}
	defer store.Close()
	return f(store, p)
}

func (a *app) printSessions(list []worker.Session, format string) error {
	if format == "json" {
		for _, s := range list {
			if err := a.json(s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(a.err, "There are no sessions here. 'tongs run' begins one.")
		return nil
	}
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{
			s.ID, s.Updated.Format(time.DateTime), strings.Join(s.Agents, " > "), sessionState(&s), spent(&s), oneLine(s.Prompt, 60),
		})
	}
	return a.table([]string{"SESSION", "CHANGED", "WORKER", "STATE", "SPENT", "PROMPT"}, rows)
}

// pruneSessions removes sessions of workers that did not change for as long as they are kept; zero keeps them.
func pruneSessions(ctx context.Context, stateDir string, keep time.Duration) (int, error) {
	if _, err := os.Stat(filepath.Join(stateDir, sessions.FileName)); err != nil || keep == 0 {
		return 0, nil
	}
	store := &wire.Sessions{Dir: stateDir}
	defer store.Close()
	return store.Prune(ctx, time.Now().Add(-keep))
}

// sessionState is the state in a word; one whose process is gone was interrupted.
func sessionState(s *worker.Session) string {
	if s.State == worker.Running && !alive(s.PID) {
		return "interrupted"
	}
	return string(s.State)
}

// alive reports whether a process is there.
func alive(pid int) bool {
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
	text := fmt.Sprintf("%s, %s tokens", plural(s.Turns, "turn"), grouped(s.Total.Input+s.Total.Output))
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

// oneLine is the first line of a text, shortened.
func oneLine(text string, width int) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > width {
		line, more = string(r[:width-1]), true
	}
	if more {
		line += "…"
	}
	return line
}

func (a *app) sessionsShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show what was said and done in a session", Args: cobra.ExactArgs(1),
		Example: "  tongs sessions show s_06ezk1vq8b3m\n  tongs sessions show s_06ezk1vq8b3m --format json",
	}
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.withSessions(func(store worker.Store, _ wire.Place) error {
			s, entries, err := store.Load(cmd.Context(), args[0], 0)
			if err != nil {
				return tongs.Errorf(tongs.CodeInvalidArgs, "%w; 'tongs sessions' lists them", err)
			}
			if format == "json" {
				if err := a.json(s); err != nil {
					return err
				}
				for _, e := range entries {
					if err := a.json(e); err != nil {
						return err
					}
				}
				return nil
			}
			return a.printTranscript(cmd.Context(), store, s, entries)
		})
	})
	return cmd
}

// printTranscript prints a session as a person reads it.
func (a *app) printTranscript(ctx context.Context, store worker.Store, s *worker.Session, entries []worker.Entry) error {
	fmt.Fprintf(a.out, "%s  %s  %s  %s\n", clean(s.ID), clean(strings.Join(s.Agents, " > ")), clean(s.Model), sessionState(s))
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
				fmt.Fprintf(a.out, "\n%s:\n", clean(who))
				for line := range strings.SplitSeq(strings.TrimRight(cleanLines(p.Text), "\n"), "\n") {
					fmt.Fprintln(a.out, "  "+line)
				}
			case p.Image != nil:
				fmt.Fprintf(a.out, "  [%s, %d bytes]\n", clean(p.Image.MIME), len(p.Image.Data))
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
			fmt.Fprintf(a.out, "  %s %s: %s%s\n", mark, clean(c.Tool), clean(oneLine(c.Title, 120)), clean(how))
		}
	}
	fmt.Fprintf(a.out, "\n%s\n", clean(sessionSummary(s)))
	children, err := store.List(ctx, worker.Filter{Root: s.Root})
	if err != nil {
		return err
	}
	for _, c := range children {
		if c.Parent == s.ID {
			fmt.Fprintf(a.out, "called: %s  %s  %s  %s\n", clean(c.ID), clean(c.Worker), sessionState(&c), spent(&c))
		}
	}
	return nil
}

// sessionSummary is a session in one line.
func sessionSummary(s *worker.Session) string {
	text := sessionState(s) + ": " + spent(s)
	if s.Files > 0 {
		text += fmt.Sprintf(", %s and %s changed", plural(s.Files, "file"), plural(s.Lines, "line"))
	}
	if s.Why != "" {
		text += ". " + s.Why
	}
	return text
}
