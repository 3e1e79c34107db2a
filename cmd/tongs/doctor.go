package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// check is one line of the doctor's report.
type check struct {
	Name string `json:"name"`
	// State is ok, warn or fail.
	State  string `json:"state"`
	Detail string `json:"detail"`
}

func (a *app) doctorCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the installation and what the sandbox enforces",
		Long:    "Check the configuration files, the directories, the workspace, the database and what is enforced here. It changes\nnothing. The exit code is 1 if a check fails.",
		Example: "  tongs doctor\n  tongs doctor --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		checks := a.diagnose(cmd.Context())
		for _, c := range checks {
			if c.State == "fail" {
				a.exit = exitFailed
			}
		}
		if format == "json" {
			return a.JSON(checks)
		}
		for _, c := range checks {
			if _, err := fmt.Fprintf(a.Out, "%-4s  %-13s %s\n", c.State, c.Name, terminal.CleanLines(c.Detail)); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}

// diagnose looks at everything, whatever it finds on the way.
func (a *app) diagnose(ctx context.Context) []check {
	checks := []check{{"version", "ok", fmt.Sprintf("tongs %s, %s/%s", version, runtime.GOOS, runtime.GOARCH)}}
	p, err := a.host().Locate()
	if err != nil {
		checks = append(checks, check{"workspace", "fail", err.Error()})
	} else {
		detail := p.Workspace
		if p.Limit != "" {
			detail += " (inside " + p.Limit + ", " + config.EnvCap + ")"
		}
		checks = append(checks, check{"workspace", "ok", detail})
	}
	if p.Workspace != "" && p.ConfigDir != "" && p.StateDir != "" {
		checks = append(checks, a.checkConfig(p)...)
	}
	if p.StateDir != "" {
		checks = append(checks, checkState(ctx, p.StateDir)...)
	}
	checks = append(checks, checkTerminal())
	checks = append(checks, checkSandbox(ctx)...)
	if p.Workspace != "" && p.StateDir != "" {
		checks = append(checks, checkOutcomes(ctx, p.Workspace, p.StateDir))
	}
	return checks
}

// checkOutcomes says whether what commands write to the workspace can be held back until it is approved, by trying.
func checkOutcomes(ctx context.Context, workspace, stateDir string) check {
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return check{"outcomes", "fail", err.Error()}
	}
	defer runner.Close()
	near := stateDir
	for near != filepath.Dir(near) {
		if info, err := os.Stat(near); err == nil && info.IsDir() {
			break
		}
		near = filepath.Dir(near)
	}
	dir, err := os.MkdirTemp(near, ".tongs-probe-")
	if err != nil {
		return check{"outcomes", "warn", "commands are asked about before they run: " + err.Error()}
	}
	defer os.RemoveAll(dir)
	st := runner.ProbeOverlay(ctx, workspace, dir)
	if st.OK {
		return check{"outcomes", "ok", "what a command writes is held back in an overlay until it is kept"}
	}
	detail := "no overlay can be made here: " + st.Reason
	if st.Fix != "" {
		detail += "\n" + st.Fix
	}
	return check{"outcomes", "warn", detail + "\nSmall workspaces are copied instead; for large ones commands are asked about before they run."}
}

func (a *app) checkConfig(p wire.Place) []check {
	cfg, err := a.host().Configure(p, nil)
	if err != nil {
		return []check{{"config", "fail", err.Error()}}
	}
	var checks []check
	for _, f := range cfg.Files {
		c := check{"config", "ok", fmt.Sprintf("%s: %s (%s)", f.Layer, f.Path, "read")}
		switch {
		case !f.Found:
			c.Detail = fmt.Sprintf("%s: %s (not there)", f.Layer, f.Path)
		case f.Narrows:
			c.State = "warn"
			c.Detail = fmt.Sprintf("%s: %s (not trusted: it can only narrow; 'tongs trust' changes that)", f.Layer, f.Path)
		}
		checks = append(checks, c)
	}
	for _, i := range cfg.Ignored {
		checks = append(checks, check{"config", "warn", fmt.Sprintf("%s is ignored: %s: %s", i.Origin, i.What, i.Why)})
	}
	checks = append(checks, check{"mode", "ok", cfg.Mode.String()})
	checks = append(checks, checkRules(cfg)...)
	for _, z := range cfg.Zones {
		if info, err := os.Stat(z.Dir); err != nil || !info.IsDir() {
			checks = append(checks, check{"zone", "fail", fmt.Sprintf("%s: %s is not a directory (%s)", z.Name, z.Dir, z.Origin)})
		}
	}
	return checks
}

// checkRules names rules about tools that this build does not have: a misspelt name blocks nothing.
func checkRules(cfg *config.Config) (checks []check) {
	reg, err := wire.Tools(cfg)
	if err != nil {
		return []check{{"tools", "fail", err.Error()}}
	}
	for _, r := range cfg.Rules {
		if r.Tool == "" || strings.Contains(r.Tool, "*") || reg.Has(r.Tool) {
			continue
		}
		detail := fmt.Sprintf("%s: there is no tool %q here", r.Origin, r.Tool)
		if near := reg.Set().Nearest(r.Tool); len(near) > 0 {
			detail += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		checks = append(checks, check{"rule", "warn", detail})
	}
	return checks
}

func checkState(ctx context.Context, dir string) []check {
	if err := config.CheckStateDir(dir); err != nil {
		return []check{{"state", "fail", err.Error()}}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return []check{{"state", "ok", dir + " (not there yet)"}}
	}
	if err != nil {
		return []check{{"state", "fail", err.Error()}}
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		return []check{{"state", "fail", fmt.Sprintf("%s has mode %04o; run chmod 700 on it", dir, perm)}}
	}
	checks := []check{{"state", "ok", dir}}
	if _, err := os.Stat(filepath.Join(dir, state.FileName)); err != nil {
		if _, err := os.Lstat(filepath.Join(dir, state.HeadName)); err == nil {
			return append(checks, check{"database", "fail", "the database is missing, though there was a log: see \"tongs log verify\""})
		}
		return append(checks, check{"database", "ok", "not there yet"})
	}
	db, err := state.Open(dir)
	if err != nil {
		return append(checks, check{"database", "fail", err.Error()})
	}
	defer db.Close()
	return append(checks, checkLog(ctx, db)...)
}

// checkLog looks at the chain, its head and its last checkpoint.
func checkLog(ctx context.Context, db *state.DB) (checks []check) {
	chain, err := db.Audit().Verify(ctx, "")
	switch {
	case err != nil:
		return []check{{"database", "fail", err.Error()}}
	case chain.Broken != 0:
		return []check{{"database", "fail", fmt.Sprintf("the log is broken at entry %d: %s", chain.Broken, chain.Reason)}}
	}
	for _, l := range chain.Losses {
		switch {
		case l.Alarm():
			checks = append(checks, check{"log", "fail", l.Reason + " (see \"tongs log verify\")"})
		case !l.Accepted:
			checks = append(checks, check{"log", "warn", l.Reason})
		}
	}
	if len(checks) == 0 {
		checks = append(checks, check{"database", "ok", fmt.Sprintf("the log is whole: %d entries", chain.Entries)})
	}
	sent := db.Sent()
	switch {
	case sent.Error != "":
		checks = append(checks, check{"checkpoint", "warn", fmt.Sprintf("the last one failed (%s): %s", sent.Tried.Format(time.DateTime), sent.Error)})
	case sent.Head.Seq > 0:
		checks = append(checks, check{"checkpoint", "ok", fmt.Sprintf("entry %d, sent %s", sent.Head.Seq, sent.Head.At.Format(time.DateTime))})
	}
	return checks
}

func checkTerminal() check {
	t, err := terminal.Open()
	if err != nil {
		return check{"terminal", "warn", "none here: calls that must be approved fail with APPROVAL_REQUIRED"}
	}
	t.Close()
	return check{"terminal", "ok", "calls that must be approved ask here"}
}
