package confine

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

// cache returns the build cache of a program. It follows from what was decided, so that what somebody approves is never made
// of what a program left that nobody decided:
//
//   - a build of ours has the builder's, and is nothing but a program that Tongs keeps;
//   - a tool server has one of its own;
//   - what runs on a copy has its session's;
//   - what may change nothing, or does not say what it is, keeps nothing;
//   - what was decided before it ran, and writes to the roots, has the direct one.
func (p *process) cache() (sandbox.Cache, error) {
	cmd, caches, workspace := p.cmd, p.opt.Caches, p.opt.Workspace.Dir()
	switch {
	case cmd.Build && cmd.Server != "":
		return sandbox.Cache{}, tongs.Errorf(tongs.CodeInternal, "a program cannot be a build and the server %q", cmd.Server)
	case cmd.Build && (!cmd.ReadOnly || p.background || !p.kept(cmd.Argv[0])):
		return sandbox.Cache{}, tongs.Errorf(tongs.CodeInternal, "%q is no build of ours: it must be a program that Tongs keeps, and read only", cmd.Argv[0])
	case cmd.Build:
		return caches.Builder(), nil
	case cmd.Server != "":
		return caches.Server(workspace, cmd.Server), nil
	case p.onCopy:
		return caches.Copy(workspace, p.session()).Over(p.toolchain()), nil
	case cmd.ReadOnly:
		return sandbox.Cache{}, nil
	}
	return caches.Direct(workspace).Over(p.toolchain()), nil
}

// toolchain is the cache of the Go toolchain, for a workspace that has a module of Go.
func (c *Confiner) toolchain() sandbox.Cache {
	dir := c.opt.Workspace.Dir()
	for _, pattern := range []string{"go.mod", "go.work", "*/go.mod"} {
		if found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); err == nil && len(found) > 0 {
			return c.opt.Caches.Toolchain(c.writable()...)
		}
	}
	return sandbox.Cache{}
}

// escapeGlob spells a path as a pattern for exactly it.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Warm compiles the standard library of Go for the commands of a workspace that has a module of Go, unless that is done. It
// takes a minute of processor time, at low priority.
func (c *Confiner) Warm(ctx context.Context) error {
	cache := c.toolchain()
	if cache.Owner() == "" || !c.Full(ctx) {
		return nil
	}
	return c.opt.Runner.Warm(ctx, cache)
}

// kept reports whether a program is one of those that Tongs keeps for itself.
func (c *Confiner) kept(program string) bool {
	return c.opt.Programs != "" && strings.HasPrefix(filepath.Dir(program), c.opt.Programs+string(filepath.Separator))
}

// session names the session whose programs share what they keep on copies.
func (c *commands) session() string {
	if c.opt.Session != "" {
		return c.opt.Session
	}
	return c.permit.Call().Session
}

// Ended removes what programs of a session kept on copies. It is for sessions that are over.
func (c *Confiner) Ended(session string) {
	cache := c.opt.Caches.Copy(c.opt.Workspace.Dir(), session)
	if c.opt.Session != "" || cache.Owner() == "" {
		return
	}
	_ = cache.Remove() // what is left is removed once nobody used it for a day
}
