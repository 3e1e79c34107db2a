// Package confine turns what was decided for a call into a sandbox: the roots as they may be used, the protected names
// among them, and the hosts that were decided, each reached through the network guard. A program that failed because
// the sandbox stopped it becomes a *tongs.Need with the narrowest effects that would have let it through. Protected names
// that a program made where there were none are held until a person decides.
package confine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/gitrelay"
	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Options are what commands run with.
type Options struct {
	Runner    *sandbox.Runner
	Workspace *workspace.Workspace
	// Guard makes the connections of programs; nil is a plain one.
	Guard *network.Guard
	// Private reports whether special addresses may be reached under this name, because a rule or a person meant this
	// very host. Nil means that they never may.
	Private func(host string) bool
	// Git makes the transfers of git in programs; nil leaves them to the proxy, without credentials.
	Git *gitrelay.Relay
	// Known tells a person what a host is, such as "npm's registry", and Methods which methods of plain HTTP a rule limits it to,
	// nil for no limit. Both may be nil.
	Known   func(host string) string
	Methods func(host string) []string
	// Mirrors are registries that the user's or the project's configuration expects at localhost; nil is none.
	Mirrors func() []network.Target
	// Caches are where build caches are kept, each apart from those of others; the zero value keeps none.
	Caches sandbox.Caches
	// Session names the session whose programs share what they keep on copies, for a process that ends with its call. Empty
	// is the session of each call.
	Session string
	// Scratch is the directory of the spill: scratch directories, and what a program planted and a person must look at, are
	// kept in the part of the call. Empty refuses the former, and leaves the latter where they are, with a remark.
	Scratch string
	// Programs is a private directory of programs that tools keep. One that is started from there sees the directory it is in.
	Programs string
	// Shown are files outside the roots that every program can read: the .git of a work tree that the workspace is a part of.
	Shown []string
	// Sealed names roots that a program writes to only if it starts there, or a write there was decided for its call: the
	// directories of custom tools are nothing that a build should change by the way. On a copy of the files it may.
	Sealed []string
	// Runs is a private directory, one for each workspace, in which the programs that run are remembered, so that what one planted is looked at
	// even if this process is killed meanwhile. Empty remembers nothing.
	Runs string
	// Changes keeps what programs change that run on a copy, and Layers is a private directory for such copies, on a disk.
	// Without them no program runs so. Through are directories of the roots that such programs write to directly.
	Changes *journal.Journal
	Layers  string
	Through []string
	// Rules are those in force, so that paths they name are kept from programs. Nil means none.
	Rules func() []tongs.Rule
	// Limits bound each program; zero fields are the sandbox's defaults.
	Limits sandbox.Limits
}

// Confiner runs commands for calls. It is safe for concurrent use.
type Confiner struct {
	opt  Options
	jobs sharing
}

// New returns a Confiner.
func New(opt Options) *Confiner {
	if opt.Guard == nil {
		opt.Guard = &network.Guard{}
	}
	if opt.Rules == nil {
		opt.Rules = func() []tongs.Rule { return nil }
	}
	if opt.Known == nil {
		opt.Known = func(string) string { return "" }
	}
	if opt.Mirrors == nil {
		opt.Mirrors = func() []network.Target { return nil }
	}
	if opt.Methods == nil {
		opt.Methods = func(string) []string { return nil }
	}
	if opt.Private == nil {
		opt.Private = func(string) bool { return false }
	}
	if real, err := filepath.EvalSymlinks(opt.Scratch); err == nil {
		opt.Scratch = real
	}
	return &Confiner{opt: opt}
}

// Commands is what engine.Options.Commands wants.
func (c *Confiner) Commands(p *tongs.Permit) engine.Programs { return c.commands(p) }

func (c *Confiner) commands(p *tongs.Permit) *commands { return &commands{Confiner: c, permit: p} }

// Full reports whether this machine enforces all that the sandbox can.
func (c *Confiner) Full(ctx context.Context) bool {
	for _, tier := range c.opt.Runner.Probe(ctx).Tiers {
		if tier.OK && tier.Tier == sandbox.TierA {
			return true
		}
	}
	return false
}

// writing is what becomes of what a program writes to the roots; nil keeps it from writing there.
type writing func(dir string) sandbox.Mount

func (p *process) writing() writing {
	switch {
	case p.cmd.ReadOnly:
		return nil
	case p.onCopy:
		return sandbox.Layered
	}
	return sandbox.Decided
}

// policy is what the program of a call may do.
func (p *process) policy() (sandbox.Policy, error) {
	cmd := p.cmd
	cache, err := p.cache()
	if err != nil {
		return sandbox.Policy{}, err
	}
	pol := sandbox.Default(p.opt.Workspace.Dir(), sandbox.PresetOptions{Cache: cache})
	if cmd.Build { // of what is beside its program, and of nothing else
		pol.Dir = filepath.Dir(cmd.Argv[0])
	} else {
		p.roots(&pol, p.writing())
		pol.Dir = p.opt.Workspace.Host(cmd.Dir)
	}
	p.names(&pol, p.effects)
	if p.onCopy {
		pol.Exempt = append(pol.Exempt, p.configurations()...)
	}
	if p.scratch != "" {
		pol.Writable = append(pol.Writable, sandbox.Private(p.scratch))
		pol.Dir = p.scratch
		pol.Env = append(pol.Env, "WORKSPACE="+p.opt.Workspace.Dir())
	}
	if p.kept(cmd.Argv[0]) {
		pol.Readable = append(pol.Readable, filepath.Dir(cmd.Argv[0]))
	}
	pol.Env = append(pol.Env, cmd.Env...)
	pol.Limits = p.opt.Limits
	if cmd.Timeout > 0 {
		pol.Limits.Wall = cmd.Timeout
	}
	if p.background {
		pol.Limits.Wall = -1
	}
	pol.Redact = registries.Redact
	if cmd.Full || slices.ContainsFunc(p.effects, func(e tongs.Effect) bool { return e.Confined }) {
		pol.Require = sandbox.Properties()
	}
	if p.onCopy {
		p.overlay(&pol)
	} else {
		p.seal(&pol, cmd, p.effects)
	}
	pol.Network = sandbox.Network{Mode: sandbox.NetworkProxy, Serve: p.proxy(), Forwards: p.forwards()}
	pol.Found = p.found
	if err := p.relay(&pol); err != nil {
		return sandbox.Policy{}, err
	}
	return pol, p.ruled(&pol, p.permit)
}

// placed refuses a program whose working directory is not in the zones of the call.
func (c *commands) placed(cmd *tongs.Command) error {
	if cmd.Scratch {
		return nil
	}
	var names []string
	for _, zone := range c.permit.Zones() {
		if zone.Path.Contains(cmd.Dir) {
			return nil
		}
		names = append(names, zone.Path.String())
	}
	if len(names) == 0 {
		return tongs.Errorf(tongs.CodePermissionDenied, "this caller may touch no files, and %s is the working directory", cmd.Dir)
	}
	return tongs.Errorf(tongs.CodePermissionDenied,
		"the working directory %s is outside what this caller may touch; name one in: %s", cmd.Dir, strings.Join(names, ", "))
}

// roots gives the program the zones of the call: writable ones as such, unless it may not write at all.
func (c *commands) roots(p *sandbox.Policy, write writing) {
	p.Readable = append(p.Readable, c.opt.Shown...)
	if c.opt.Workspace.Host(tongs.Path{Root: tongs.RepositoryRoot, Rel: "."}) != "" {
		p.Env = append(p.Env, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1") // each root is a mount
	}
	zones := c.permit.Zones()
	for _, root := range c.opt.Workspace.Present() {
		for _, at := range root.Spellings {
			if hostpath.Within(sandbox.Home, at) && len(leaves(zones, root.Name)) > 0 {
				p.Links = map[string]string{at: root.Dir}
			}
		}
		for _, part := range leaves(zones, root.Name) {
			if dir := c.opt.Workspace.Host(part.Path); root.Writable && part.Writable && write != nil {
				p.Writable = append(p.Writable, write(dir))
			} else {
				p.ReadOnly = append(p.ReadOnly, dir)
			}
		}
	}
}

// leaves are the parts of a root that zones leave. The repository of the workspace is left whole, by a zone that would
// contain its .git, or not at all.
func leaves(zones []tongs.Zone, root string) (parts []tongs.Zone) {
	whole := tongs.Path{Root: root, Rel: "."}
	for _, z := range zones {
		switch {
		case z.Path.Root == root:
			parts = append(parts, z)
		case root == tongs.RepositoryRoot && z.Path.Contains(whole):
			parts = append(parts, tongs.Zone{Path: whole, Writable: z.Writable})
		}
	}
	return parts
}

// place is where something on this machine is in the words of calls. What is in the repository of the workspace has such a
// place, although no call can name it. Entry means the name itself where it is a link.
func (c *Confiner) place(host string, entry bool) (tongs.Path, error) {
	if p, ok := c.opt.Workspace.Place(host); ok && p.Root == tongs.RepositoryRoot {
		return p, nil
	}
	if entry {
		return c.opt.Workspace.ResolveEntry(tongs.Path{Rel: "."}, host)
	}
	return c.opt.Workspace.Resolve(tongs.Path{Rel: "."}, host)
}

// seal leaves a program that writes to the roots themselves those that it has business in.
func (c *commands) seal(p *sandbox.Policy, cmd *tongs.Command, effects []tongs.Effect) {
	for _, root := range c.opt.Workspace.Present() {
		starts := !cmd.Scratch && cmd.Dir.Root == root.Name
		if !slices.Contains(c.opt.Sealed, root.Name) || starts || slices.ContainsFunc(effects, func(e tongs.Effect) bool {
			return (e.Kind == tongs.EffectWrite || e.Kind == tongs.EffectDelete) && !e.Unknown && e.Path.Root == root.Name
		}) {
			continue
		}
		p.Writable = slices.DeleteFunc(p.Writable, func(m sandbox.Mount) bool {
			below := hostpath.Within(root.Dir, m.Path())
			if below {
				p.ReadOnly = append(p.ReadOnly, m.Path())
			}
			return below
		})
	}
}

// names protects and hides the names of the one list, and what links with such names lead to, except what was approved for this call by name.
func (c *Confiner) names(p *sandbox.Policy, effects []tongs.Effect) {
	p.OpenNames = append(p.OpenNames, workspace.OpenNames()...)
	for _, name := range workspace.ProtectedNames() {
		if name.Kind == workspace.KindSecret {
			p.HiddenNames = append(p.HiddenNames, name.Pattern)
		} else {
			p.ProtectedNames = append(p.ProtectedNames, name.Pattern)
		}
	}
	for _, e := range effects {
		if !e.Kind.OnPath() || !e.ByName() || e.Unknown {
			continue
		}
		p.Exempt = append(p.Exempt, c.opt.Workspace.Host(e.Path))
	}
	p.HiddenPlaces, p.ProtectedPlaces = c.opt.Workspace.LinkedNames()
}

// callDir makes a directory beside the output of a call.
func (c *Confiner) callDir(call *tongs.Call, prefix string) (string, error) {
	if c.opt.Scratch == "" {
		return "", tongs.Errorf(tongs.CodeConfigError, "there is no place for the files of calls in this program")
	}
	parent := filepath.Join(c.opt.Scratch, call.ID)
	if filepath.Dir(parent) != filepath.Clean(c.opt.Scratch) {
		return "", tongs.Errorf(tongs.CodeInvalidArgs, "call ID %q cannot name a directory", call.ID)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, prefix)
}
