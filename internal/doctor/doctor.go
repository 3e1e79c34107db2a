// Package doctor checks an installation: the configuration, the directories, the database, and what the sandbox enforces.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// Check is one line of the report.
type Check struct {
	Name string `json:"name"`
	// State is ok, warn or fail.
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// Diagnose looks at everything, whatever it finds on the way, and changes nothing.
func Diagnose(ctx context.Context, host wire.Host) []Check {
	checks := []Check{{"version", "ok", fmt.Sprintf("tongs %s, %s/%s", host.Version, runtime.GOOS, runtime.GOARCH)}}
	p, err := host.Locate()
	if err != nil {
		checks = append(checks, Check{"workspace", "fail", err.Error()})
	} else {
		detail := p.Workspace
		if p.Limit != "" {
			detail += " (inside " + p.Limit + ", " + config.EnvCap + ")"
		}
		checks = append(checks, Check{"workspace", "ok", detail})
	}
	if p.Workspace != "" && p.ConfigDir != "" && p.StateDir != "" {
		checks = append(checks, checkConfig(host, p)...)
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
func checkOutcomes(ctx context.Context, workspace, stateDir string) Check {
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return Check{"outcomes", "fail", err.Error()}
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
		return Check{"outcomes", "warn", "commands are asked about before they run: " + err.Error()}
	}
	defer os.RemoveAll(dir)
	st := runner.ProbeOverlay(ctx, workspace, dir)
	if st.OK {
		return Check{"outcomes", "ok", "what a command writes is held back in an overlay until it is kept"}
	}
	detail := "no overlay can be made here: " + st.Reason
	if st.Fix != "" {
		detail += "\n" + st.Fix
	}
	return Check{"outcomes", "warn", detail + "\nSmall workspaces are copied instead; for large ones commands are asked about before they run."}
}

// Contained says what keeps commands from running on copies in the sandbox here; nil where nothing does.
func Contained(ctx context.Context, p wire.Place) (problems []string) {
	for _, c := range append(checkSandbox(ctx), checkOutcomes(ctx, p.Workspace, p.StateDir)) {
		if c.State != "ok" {
			problems = append(problems, c.Detail)
		}
	}
	return problems
}

func checkConfig(host wire.Host, p wire.Place) []Check {
	cfg, err := host.Configure(p, nil)
	if err != nil {
		return []Check{{"config", "fail", err.Error()}}
	}
	var checks []Check
	for _, f := range cfg.Files {
		c := Check{"config", "ok", fmt.Sprintf("%s: %s (%s)", f.Layer, f.Path, "read")}
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
		checks = append(checks, Check{"config", "warn", fmt.Sprintf("%s is ignored: %s: %s", i.Origin, i.What, i.Why)})
	}
	checks = append(checks, Check{"mode", "ok", cfg.Mode.String()})
	checks = append(checks, checkRules(cfg)...)
	for _, z := range cfg.Zones {
		if info, err := os.Stat(z.Dir); err != nil || !info.IsDir() {
			checks = append(checks, Check{"zone", "fail", fmt.Sprintf("%s: %s is not a directory (%s)", z.Name, z.Dir, z.Origin)})
		}
	}
	return checks
}

// checkRules names rules about tools that this build does not have: a misspelt name blocks nothing.
func checkRules(cfg *config.Config) (checks []Check) {
	reg, err := wire.Tools(cfg)
	if err != nil {
		return []Check{{"tools", "fail", err.Error()}}
	}
	for _, r := range cfg.Rules {
		if r.Tool == "" || strings.Contains(r.Tool, "*") || reg.Has(r.Tool) {
			continue
		}
		detail := fmt.Sprintf("%s: there is no tool %q here", r.Origin, r.Tool)
		if near := reg.Set().Nearest(r.Tool); len(near) > 0 {
			detail += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		checks = append(checks, Check{"rule", "warn", detail})
	}
	return checks
}

func checkState(ctx context.Context, dir string) []Check {
	if err := config.CheckStateDir(dir); err != nil {
		return []Check{{"state", "fail", err.Error()}}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return []Check{{"state", "ok", dir + " (not there yet)"}}
	}
	if err != nil {
		return []Check{{"state", "fail", err.Error()}}
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		return []Check{{"state", "fail", fmt.Sprintf("%s has mode %04o; run chmod 700 on it", dir, perm)}}
	}
	checks := []Check{{"state", "ok", dir}}
	if _, err := os.Stat(filepath.Join(dir, state.FileName)); err != nil {
		if _, err := os.Lstat(filepath.Join(dir, state.HeadName)); err == nil {
			return append(checks, Check{"database", "fail", "the database is missing, though there was a log: see \"tongs log verify\""})
		}
		return append(checks, Check{"database", "ok", "not there yet"})
	}
	db, err := state.Open(dir)
	if err != nil {
		return append(checks, Check{"database", "fail", err.Error()})
	}
	defer db.Close()
	return append(checks, checkLog(ctx, db)...)
}

// checkLog looks at the chain, its head and its last checkpoint.
func checkLog(ctx context.Context, db *state.DB) (checks []Check) {
	chain, err := db.Audit().Verify(ctx, "")
	switch {
	case err != nil:
		return []Check{{"database", "fail", err.Error()}}
	case chain.Broken != 0:
		return []Check{{"database", "fail", fmt.Sprintf("the log is broken at entry %d: %s", chain.Broken, chain.Reason)}}
	}
	for _, l := range chain.Losses {
		switch {
		case l.Alarm():
			checks = append(checks, Check{"log", "fail", l.Reason + " (see \"tongs log verify\")"})
		case !l.Accepted:
			checks = append(checks, Check{"log", "warn", l.Reason})
		}
	}
	if len(checks) == 0 {
		checks = append(checks, Check{"database", "ok", fmt.Sprintf("the log is whole: %d entries", chain.Entries)})
	}
	sent := db.Sent()
	switch {
	case sent.Error != "":
		checks = append(checks, Check{"checkpoint", "warn", fmt.Sprintf("the last one failed (%s): %s", sent.Tried.Format(time.DateTime), sent.Error)})
	case sent.Head.Seq > 0:
		checks = append(checks, Check{"checkpoint", "ok", fmt.Sprintf("entry %d, sent %s", sent.Head.Seq, sent.Head.At.Format(time.DateTime))})
	}
	return checks
}

func checkTerminal() Check {
	t, err := terminal.Open()
	if err != nil {
		return Check{"terminal", "warn", "none here: calls that must be approved fail with APPROVAL_REQUIRED"}
	}
	t.Close()
	return Check{"terminal", "ok", "calls that must be approved ask here"}
}

// checkSandbox says what the sandbox enforces here, by trying.
func checkSandbox(ctx context.Context) []Check {
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return []Check{{"sandbox", "fail", err.Error()}}
	}
	defer runner.Close()
	probe := runner.Probe(ctx)
	var checks []Check
	best := ""
	for _, t := range probe.Tiers {
		switch {
		case best != "": // a lesser tier, which is not needed
		case !t.OK:
			checks = append(checks, Check{"sandbox", "warn", fmt.Sprintf("tier %s does not work: %s\n%s", t.Tier, t.Reason, t.Fix)})
		default:
			best = t.Tier
			checks = append(checks, Check{"sandbox", "ok", fmt.Sprintf("tier %s enforces %s", t.Tier, strings.Join(t.Layers, ", "))})
			for _, missing := range t.Missing {
				checks = append(checks, Check{"sandbox", "warn", "without " + missing})
			}
		}
	}
	switch best {
	case sandbox.TierA:
	case "":
		checks = append(checks, Check{"sandbox", "fail", string(tongs.CodeSandboxUnavailable) + ": nothing here can contain a program, so none is run"})
	default:
		checks = append(checks, Check{"sandbox", "warn", "tier " + best + " is not the full sandbox: what is free there is asked for here"})
	}
	return checks
}
