package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

// EnvForge names the directory of custom tools.
const EnvForge = "FORGE_TOOLS_DIR"

// findForge returns the directory of custom tools, which need not exist.
func (h Host) findForge() (string, error) {
	if h.ForgeDir != "" {
		return named("CustomTools", h.ForgeDir, nil)
	}
	if dir := os.Getenv(EnvForge); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", tongs.Errorf(tongs.CodeConfigError, "%s is %q; it must be an absolute path", EnvForge, dir)
		}
		return filepath.Clean(dir), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", tongs.Errorf(tongs.CodeConfigError, "no directory for custom tools: %w; set %s", err, EnvForge)
	}
	return forgeOf(home), nil
}

// forgeOf is where the custom tools of the user with that home directory are.
func forgeOf(home string) string { return filepath.Join(home, ".forge", "tools") }

// forgeState is where approvals and copies of custom tools are kept.
func forgeState(stateDir string) string { return filepath.Join(stateDir, "forge") }

// ownForge reports whether the directory of custom tools is where the user or the program says, rather than the environment of
// a server.
func (h Host) ownForge() bool {
	if h.Attended || h.ForgeDir != "" {
		return true
	}
	dir, err := h.findForge()
	if err != nil {
		return false
	}
	home, err := config.OwnHome(h.Home)
	return err == nil && config.SamePlace(dir, forgeOf(home))
}

// forgeRoot returns the root that file tools find custom tools in, none where there cannot be one. Nobody who makes no
// tools gets a directory for them.
func (s *System) forgeRoot() []workspace.Root {
	dir, err := s.host.findForge()
	if err != nil || config.Apart(dir, s.ConfigDir, s.StateDir) != nil || s.forgeZone() != nil || s.closedForge() != "" {
		return nil
	}
	return []workspace.Root{{
		Name: forge.Root, Dir: dir, Writable: true, Lazy: true, Spellings: []string{"~/.forge/tools", forgeOf(sandbox.Home)},
	}}
}

// closedForge says why no tools can be made in the forge, empty where they can. Whoever names a directory to a program that
// serves others does not thereby let them read and write in it.
func (s *System) closedForge() string {
	dir, err := s.host.findForge()
	if err != nil {
		return ""
	}
	if zone := s.forgeZone(); zone != nil {
		if !config.SamePlace(zone.Dir, dir) {
			return fmt.Sprintf("the zone %s of the configuration is %s, and custom tools are in %s; make them one, or rename the zone", zone.Name, zone.Dir, dir)
		}
		return ""
	}
	if s.ownForge {
		return ""
	}
	return "the environment names the directory of custom tools, and a server lets nobody write there on its word; give it a zone named " +
		forge.Root + " in your own configuration, or make the tool with tongs forge new"
}

// forgeZone is the zone that somebody gave the name that the forge has elsewhere, nil where nobody did.
func (s *System) forgeZone() *config.Zone {
	i := slices.IndexFunc(s.Config.Zones, func(z config.Zone) bool { return z.Name == forge.Root })
	if i < 0 {
		return nil
	}
	return &s.Config.Zones[i]
}

// sealed are the roots that programs do not change by the way.
func (s *System) sealed() []string {
	if s.forgeZone() != nil {
		return nil
	}
	return []string{forge.Root}
}

// addForge makes the provider of custom tools, and registers the tools that make and run them.
func (s *System) addForge() error {
	dir, err := s.host.findForge()
	if err != nil {
		return err
	}
	tools := s.approvals.forge(dir)
	tools.Timeout, tools.Watch, tools.Closed = s.Config.Limits.ForgeTimeout, s.opt.Lives, s.closedForge()
	tools.Taken = s.TakenName
	s.Forge, err = forge.New(tools)
	if err := s.provide(tongs.SourceForge, s.Forge, err); err != nil {
		return err
	}
	list, err := s.Forge.Builtins()
	if err != nil {
		return err
	}
	return s.builtIn.RegisterAll(list...)
}

// TakenName says why no new custom tool can have a name, empty where it can. A built-in tool that is no control tool may be
// replaced by one, by its name and with a warning.
func (s *System) TakenName(name string) string {
	if strings.Contains(name, "__") {
		return "names with __ are those of tools of MCP servers"
	}
	set := s.builtIn.Set()
	if e := s.ready.Load(); e != nil {
		set = e.Set()
	}
	entry, ok := set.Lookup(name)
	if !ok {
		return ""
	}
	spec := entry.Tool.Spec()
	switch {
	case spec.Name != name:
		return fmt.Sprintf("it is another name of the tool %s", spec.Name)
	case spec.Source.Kind == tongs.SourceForge:
		return ""
	case !spec.Source.BuiltIn():
		return fmt.Sprintf("there is a %s of that name", spec.Source.Kind)
	case spec.Control:
		return "it is the name of a tool that nothing may replace"
	}
	return ""
}

// OpenForge opens the custom tools alone.
func (h Host) OpenForge() (*forge.Set, error) {
	p, err := h.Locate()
	if err != nil {
		return nil, err
	}
	dir, err := h.findForge()
	if err != nil {
		return nil, err
	}
	return forge.New(p.approvals.forge(dir))
}
