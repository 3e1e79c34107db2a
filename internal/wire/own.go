package wire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/shell"
	"github.com/tongs-ai/tongs/workspace"
)

// Own is a program that a person runs themselves in the sandbox, and what it needs.
type Own struct {
	*confine.Own
	runner    *sandbox.Runner
	workspace *workspace.Workspace
}

// Close ends it.
func (o *Own) Close() {
	if o.runner != nil {
		_ = o.runner.Close()
	}
	if o.workspace != nil {
		_ = o.workspace.Close()
	}
}

// OpenOwn prepares a program that a person runs themselves: with the roots, the limits and the rules of the configuration.
// Only a server keeps a build cache.
func (h Host) OpenOwn(ctx context.Context, cmd *tongs.Command) (_ *Own, err error) {
	o := &Own{}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
	p, err := h.Locate()
	if err != nil {
		return nil, err
	}
	cfg, err := h.Configure(p, nil)
	if err != nil {
		return nil, err
	}
	if err := config.MakeStateDir(p.StateDir); err != nil {
		return nil, err
	}
	repository := findRepository(p.Workspace)
	o.workspace, err = workspace.Open(workspace.Options{
		Dir: p.Workspace, Cap: p.Limit, Roots: zoneRoots(cfg), Private: []string{p.StateDir, p.ConfigDir}, Repository: repository.Dir,
		LockDir: workspace.LockDirOr(p.StateDir),
	})
	if err != nil {
		return nil, err
	}
	if o.runner, err = sandbox.New(sandbox.Options{}); err != nil {
		return nil, err
	}
	var kept sandbox.Caches
	if cmd.Server != "" {
		kept = Caches(p.StateDir)
	}
	confined := confine.New(confine.Options{
		Runner: o.runner, Workspace: o.workspace, Scratch: filepath.Join(p.StateDir, "spill"), Shown: repository.Files,
		Caches: kept, Rules: func() []tongs.Rule { return cfg.Rules }, Limits: commandLimits(cfg), Runs: runsDir(p.StateDir, o.workspace.Dir()),
	})
	o.Own, err = confined.Own(ctx, cmd, ownHost(cfg))
	return o, err
}

// ownHost holds the rules of a configuration against a program that a person runs as the tool shell would.
func ownHost(cfg *config.Config) tongs.PermitHost {
	return policy.Unasked{Input: policy.Input{
		Spec: &tongs.Spec{Name: "shell", Aliases: []string{"bash", "execute_command"}, Toolset: shell.Toolset}, Mode: cfg.Mode, Chain: [][]tongs.Rule{cfg.Rules},
	}}
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
