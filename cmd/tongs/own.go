package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/builtin/shell"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/confine"
	"github.com/tongs-ai/tongs/policy"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

// own is a program that a person runs themselves in the sandbox, and what it needs.
type own struct {
	*confine.Own
	runner    *sandbox.Runner
	workspace *workspace.Workspace
}

func (o *own) close() {
	if o.runner != nil {
		_ = o.runner.Close()
	}
	if o.workspace != nil {
		_ = o.workspace.Close()
	}
}

// openOwn prepares a program that a person runs themselves: with the roots, the limits and the rules of the configuration.
// Only a server keeps a build cache.
func (a *app) openOwn(cmd *tongs.Command) (_ *own, err error) {
	o := &own{}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	p, err := a.locate()
	if err != nil {
		return nil, err
	}
	cfg, err := a.configure(p, wiring{})
	if err != nil {
		return nil, err
	}
	if err := config.MakeStateDir(p.stateDir); err != nil {
		return nil, err
	}
	repository := findRepository(p.workspace)
	o.workspace, err = workspace.Open(workspace.Options{
		Dir: p.workspace, Cap: p.limit, Roots: zoneRoots(cfg), Private: []string{p.stateDir, p.configDir}, Repository: repository.Dir,
	})
	if err != nil {
		return nil, err
	}
	if o.runner, err = sandbox.New(sandbox.Options{}); err != nil {
		return nil, err
	}
	var kept sandbox.Caches
	if cmd.Server != "" {
		kept = caches(p.stateDir)
	}
	confined := confine.New(confine.Options{
		Runner: o.runner, Workspace: o.workspace, Scratch: filepath.Join(p.stateDir, "spill"), Shown: repository.Files,
		Caches: kept, Rules: func() []tongs.Rule { return cfg.Rules }, Limits: commandLimits(cfg), Runs: runsDir(p.stateDir, o.workspace.Dir()),
	})
	o.Own, err = confined.Own(cmd, ownRuler{cfg})
	return o, err
}

// ownRuler tells which paths the rules of a configuration name, for a program that a person runs as the tool shell would.
type ownRuler struct{ cfg *config.Config }

// Ruled implements workspace.Ruler.
func (r ownRuler) Ruled(kind tongs.EffectKind, p tongs.Path) bool {
	return policy.Ruled(policy.Input{
		Spec: &tongs.Spec{Name: "shell", Aliases: []string{"bash", "execute_command"}, Toolset: shell.Toolset}, Mode: r.cfg.Mode, Chain: [][]tongs.Rule{r.cfg.Rules},
	}, tongs.Effect{Kind: kind, Path: p})
}

// reportHeld says which protected names a program made, and where they are.
func (a *app) reportHeld(held []confine.Held, left []string) {
	for _, h := range held {
		fmt.Fprintln(a.err, "tongs: "+clean(fmt.Sprintf("the command made %s, which other programs run or obey; it is in %s now", h.Path, h.Host)))
	}
	for _, why := range left {
		fmt.Fprintln(a.err, "tongs: "+clean("the command made a protected name that is still there: "+why))
	}
}

// zoneRoots are the roots of the configured zones.
func zoneRoots(cfg *config.Config) (roots []workspace.Root) {
	for _, z := range cfg.Zones {
		roots = append(roots, workspace.Root{Name: z.Name, Dir: z.Dir, Writable: z.Writable})
	}
	return roots
}

// commandLimits bound each program.
func commandLimits(cfg *config.Config) sandbox.Limits {
	l := cfg.Limits
	return sandbox.Limits{
		CPU: l.CommandCPU, Memory: l.CommandMemory, PIDs: l.CommandProcesses, FileSize: l.CommandFileSize, Disk: l.CommandDisk,
		Files: l.CommandFiles, Tmp: l.CommandTmp, Descriptors: l.CommandDescriptors, Output: l.CommandOutput,
	}
}

// runsDir is where the programs that run in a workspace are remembered.
func runsDir(stateDir, workspace string) string {
	return filepath.Join(stateDir, "runs", fmt.Sprintf("%x", sha256.Sum256([]byte(workspace)))[:16])
}
