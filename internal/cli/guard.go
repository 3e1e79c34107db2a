package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/internal/guard/install"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/treestate"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Kept is the host with the workspace of the kept project that it is in, unless it names one.
func Kept(h wire.Host) wire.Host {
	if h.Workspace != "" {
		return h
	}
	p, err := h.StatePlace()
	if err != nil {
		return h
	}
	if dir, err := os.Getwd(); err == nil {
		if top := guard.Top(p.StateDir, dir); top != dir {
			h.Workspace = top
		}
	}
	return h
}

// Agree has a person say yes.
type Agree func(ctx context.Context, yes bool, what string) error

// GuardCommand are the commands that protect work from the tools that agents bring along.
func (p *Printer) GuardCommand(run Run, host func() wire.Host, agree Agree) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", Short: "Make an agent's own tools undoable",
		Long: "Agents such as Claude Code and Codex have tools of their own: a shell, an editor. Tongs does not see those calls unless its " +
			"hooks are installed in the agent.\n\n" +
			"With --undo-only the hooks keep the project before each call. Nothing is blocked, and nothing is asked: 'tongs undo' restores " +
			"what the agent changed, including rm -rf and git reset --hard.",
		Example: "  tongs guard install claude-code --undo-only\n  tongs guard status\n  tongs guard remove claude-code",
	}
	cmd.AddCommand(p.guardInstall(run, host, agree), p.guardStatus(run, host), p.guardRemove(run, host))
	return cmd
}

func (p *Printer) guardInstall(run Run, host func() wire.Host, agree Agree) *cobra.Command {
	var undoOnly, project, user, yes bool
	cmd := &cobra.Command{
		Use: "install CLIENT", Short: "Install hooks in an agent", Args: cobra.ExactArgs(1),
		Long: "Install the hooks of Tongs in claude-code, codex, gemini, opencode or copilot. The change is shown first, and you are asked. " +
			"By default it is for all your projects.\n\n" +
			"--undo-only is required: it is the level that is available.",
		Example: "  tongs guard install claude-code --undo-only\n  tongs guard install claude-code --undo-only --project\n  tongs guard install codex --undo-only --yes",
	}
	cmd.Flags().BoolVar(&undoOnly, "undo-only", false, "keep the project before each call; block nothing")
	cmd.Flags().BoolVar(&project, "project", false, "for this project only")
	cmd.Flags().BoolVar(&user, "user", false, "for all your projects (default)")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.RunE = run(func(cmd *cobra.Command, args []string) error {
		if !undoOnly || project && user {
			return Usagef("use --undo-only, with --user or --project")
		}
		c, at, err := guardPlace(host(), args[0], project)
		if err != nil {
			return err
		}
		changes, err := install.Plan(c, at)
		if err != nil {
			return tongs.Errorf(tongs.CodeConfigError, "%w", err)
		}
		changed := false
		for _, ch := range changes {
			if !bytes.Equal(ch.Before, ch.After) {
				changed = true
				fmt.Fprint(p.Out, terminal.CleanLines(udiff.Unified(ch.Path, ch.Path, string(ch.Before), string(ch.After))))
			}
		}
		if !changed {
			fmt.Fprintf(p.Err, "The hooks are installed in %s already.\n", c.Title)
			return nil
		}
		if err := agree(cmd.Context(), yes, "change the settings of "+c.Title); err != nil {
			return err
		}
		if err := install.Install(c, at, changes); err != nil {
			return err
		}
		fmt.Fprintf(p.Err, "Installed. From the next session on, 'tongs undo' restores what %s changes in a project; nothing is blocked.\n", c.Title)
		fmt.Fprintf(p.Err, "Not kept: %s, and files outside the project. See 'tongs guard status'.\n", strings.Join(treestate.Recreated(), ", "))
		return nil
	})
	return cmd
}

// guardPlace finds the client and where its settings are.
func guardPlace(h wire.Host, name string, project bool) (c guard.Client, at install.Place, err error) {
	if c, err = guard.ClientNamed(name); err != nil {
		return c, at, Usage(err)
	}
	state, err := h.StatePlace()
	if err != nil {
		return c, at, err
	}
	at.StateDir = state.StateDir
	if at.Home, err = os.UserHomeDir(); err != nil {
		return c, at, err
	}
	if at.Program, err = self(); err != nil {
		return c, at, err
	}
	if project {
		place, err := h.Locate()
		if err != nil {
			return c, at, err
		}
		at.Project = place.Workspace
	}
	return c, at, nil
}

// self is the absolute path of this program: by the name that it is found under, which stays when it is updated.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath(os.Args[0])
	if err != nil {
		return exe, nil
	}
	if found, err = filepath.Abs(found); err != nil {
		return exe, nil
	}
	a, err1 := os.Stat(exe)
	b, err2 := os.Stat(found)
	if err1 == nil && err2 == nil && os.SameFile(a, b) {
		return found, nil
	}
	return exe, nil
}

func (p *Printer) guardRemove(run Run, host func() wire.Host) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use: "remove CLIENT", Short: "Remove the hooks from an agent", Args: cobra.ExactArgs(1),
		Long: "Remove the hooks of Tongs from an agent's settings. A file that nobody changed since is restored byte for byte; from others only " +
			"the entries of Tongs are removed. What was kept of your projects stays until 'tongs gc' removes it.",
		Example: "  tongs guard remove claude-code\n  tongs guard remove claude-code --project",
	}
	cmd.Flags().BoolVar(&project, "project", false, "those of this project")
	cmd.RunE = run(func(_ *cobra.Command, args []string) error {
		c, at, err := guardPlace(host(), args[0], project)
		if err != nil {
			return err
		}
		err = install.Remove(c, at)
		if errors.Is(err, install.ErrNotInstalled) {
			return tongs.Errorf(tongs.CodeInvalidArgs, "no hooks are installed in %s there; 'tongs guard status' shows where they are", c.Title)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Err, "Removed the hooks from %s.\n", c.Title)
		return nil
	})
	return cmd
}

func (p *Printer) guardStatus(run Run, host func() wire.Host) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "status", Short: "Show where hooks are installed and what is kept", Args: cobra.NoArgs,
		Example: "  tongs guard status\n  tongs guard status --format json",
	}
	FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = run(func(cmd *cobra.Command, _ []string) error { return p.guardState(cmd.Context(), Kept(host()), format) })
	return cmd
}

// guardReport is what status tells.
type guardReport struct {
	Installed []guardInstalled `json:"installed"`
	// Project is the directory that is kept, empty where nothing is.
	Project string             `json:"project,omitempty"`
	Files   int                `json:"files,omitempty"`
	Bytes   int64              `json:"bytes,omitempty"`
	Unkept  []journal.Conflict `json:"unkept,omitempty"`
	Apart   []tongs.Path       `json:"leftOut,omitempty"`
}

type guardInstalled struct {
	Client  string            `json:"client"`
	Level   string            `json:"level"`
	Project string            `json:"project,omitempty"`
	Program string            `json:"program"`
	Broken  string            `json:"broken,omitempty"`
	Files   map[string]string `json:"files"`
}

func (p *Printer) guardState(ctx context.Context, h wire.Host, format string) error {
	at, err := h.Locate()
	if err != nil {
		return err
	}
	list, err := install.List(at.StateDir)
	if err != nil {
		return err
	}
	rep := guardReport{Installed: []guardInstalled{}}
	for _, in := range list {
		g := guardInstalled{Client: in.Client, Level: in.Level, Project: in.Project, Program: in.Program, Files: map[string]string{}}
		if info, err := os.Stat(in.Program); err != nil || info.Mode()&0o111 == 0 {
			g.Broken = "the program is gone; install it again"
		}
		for _, f := range in.Files {
			g.Files[f.Path] = string(f.State())
		}
		rep.Installed = append(rep.Installed, g)
	}
	if journal.Watched(filepath.Join(at.StateDir, "journal"), at.Workspace) {
		err := withJournal(h, func(j *journal.Journal, top string) error {
			w, err := j.Watch(ctx, top)
			if err != nil {
				return err
			}
			defer w.Close()
			rep.Project = top
			rep.Files, rep.Bytes = w.Size()
			rep.Unkept, rep.Apart = w.Unkept()
			return nil
		})
		if err != nil {
			return err
		}
	}
	if format == "json" {
		return p.JSON(rep)
	}
	p.guardText(&rep, at.Workspace)
	return nil
}

// maxUnkept is how many files and directories the text names.
const maxUnkept = 10

func (p *Printer) guardText(rep *guardReport, dir string) {
	if len(rep.Installed) == 0 {
		fmt.Fprintln(p.Out, "No hooks are installed. 'tongs guard install CLIENT --undo-only' installs them.")
	}
	for _, in := range rep.Installed {
		where := "all projects"
		if in.Project != "" {
			where = in.Project
		}
		fmt.Fprintf(p.Out, "%s: undo only, for %s\n", in.Client, terminal.Clean(where))
		for path, state := range in.Files {
			fmt.Fprintf(p.Out, "  %s (%s)\n", terminal.Clean(path), state)
		}
		if in.Broken != "" {
			fmt.Fprintf(p.Out, "  %s: %s\n", terminal.Clean(in.Program), in.Broken)
		}
	}
	if rep.Project == "" {
		fmt.Fprintf(p.Out, "%s is not kept yet: that begins with the first session there.\n", terminal.Clean(dir))
		return
	}
	fmt.Fprintf(p.Out, "%s is kept (%d files, %d bytes).\n", terminal.Clean(rep.Project), rep.Files, rep.Bytes)
	for i, f := range rep.Unkept {
		if i == maxUnkept {
			fmt.Fprintf(p.Out, "  %d more files are not kept\n", len(rep.Unkept)-i)
			break
		}
		fmt.Fprintf(p.Out, "  not kept: %s (%s)\n", terminal.Clean(f.Path.String()), terminal.Clean(f.Why))
	}
	for i, d := range rep.Apart {
		if i == maxUnkept {
			fmt.Fprintf(p.Out, "  %d more directories are left out\n", len(rep.Apart)-i)
			break
		}
		fmt.Fprintf(p.Out, "  left out: %s\n", terminal.Clean(d.String()))
	}
}
