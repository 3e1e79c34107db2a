package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/custom"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/workspace"
)

// EnvForge names the directory of custom tools.
const EnvForge = "FORGE_TOOLS_DIR"

// forgePoll is how often a program that lives on looks for tools that changed by other hands than its own.
const forgePoll = 2 * time.Second

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

// Forge is the custom tools of a system, and which of them are offered.
type Forge struct {
	*custom.Set
	mu      sync.Mutex
	offered map[string]tongs.Tool
	// problems say which tools could not be offered, and why.
	problems map[string]string
	stop     chan struct{}
}

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
	return []workspace.Root{{Name: custom.Root, Dir: dir, Writable: true, Lazy: true}}
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
		custom.Root + " in your own configuration, or make the tool with tongs forge new"
}

// forgeZone is the zone that somebody gave the name that the forge has elsewhere, nil where nobody did.
func (s *System) forgeZone() *config.Zone {
	i := slices.IndexFunc(s.Config.Zones, func(z config.Zone) bool { return z.Name == custom.Root })
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
	return []string{custom.Root}
}

// addForge makes the custom tools part of the registry, now and whenever they change.
func (s *System) addForge(opt *engine.Options) error {
	dir, err := s.host.findForge()
	if err != nil {
		return err
	}
	f := &Forge{offered: map[string]tongs.Tool{}, problems: map[string]string{}}
	tools := s.approvals.forge(dir)
	tools.Timeout, tools.Watch, tools.Closed = s.Config.Limits.CustomTimeout, s.opt.Lives, s.closedForge()
	tools.OnChange, tools.Taken = s.swapForge, s.TakenName
	set, err := custom.New(tools)
	if err != nil {
		return err
	}
	f.Set, s.Forge = set, f
	list, err := set.Builtins()
	if err != nil {
		return err
	}
	if err := s.Registry.RegisterAll(list...); err != nil {
		return err
	}
	opt.Refresh = s.refreshForge
	opt.OnResult = func(*tongs.Call, *tongs.Result) { s.refreshForge() } // so that clients are told before their next call
	return nil
}

// followForge watches the forge, in a program that lives on.
func (s *System) followForge() {
	if s.opt.Lives {
		s.Forge.stop = make(chan struct{})
		go s.watchForge(s.Forge.stop)
	}
}

// TakenName says why no new custom tool can have a name, empty where it can. A built-in tool that is no control tool may be
// replaced by one, by its name and with a warning.
func (s *System) TakenName(name string) string {
	if strings.Contains(name, "__") {
		return "names with __ are those of tools of MCP servers"
	}
	entry, ok := s.Registry.Set().Lookup(name)
	if !ok {
		return ""
	}
	spec := entry.Tool.Spec()
	switch {
	case spec.Name != name:
		return fmt.Sprintf("it is another name of the tool %s", spec.Name)
	case spec.Source.Kind == tongs.SourceCustom:
		return ""
	case !spec.Source.BuiltIn():
		return fmt.Sprintf("there is a %s of that name", spec.Source.Kind)
	case spec.Control:
		return "it is the name of a tool that nothing may replace"
	}
	return ""
}

// reviewed reports whether a person approved a tool of this source.
func (s *System) reviewed(src tongs.Source) bool {
	return s.MCP.Reviewed(src) || s.Forge.Reviewed(src) || s.Workers.trusts(src) || s.Modules.reviewed(src)
}

func (s *System) refreshForge() {
	if changed, err := s.Forge.Refresh(); err == nil && changed {
		s.swapForge()
	}
}

// watchForge takes up what people change in the forge.
func (s *System) watchForge(stop <-chan struct{}) {
	tick := time.NewTicker(forgePoll)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.refreshForge()
		}
	}
}

// swapForge takes up tools that changed. One that cannot be used does not take the name of a built-in.
func (s *System) swapForge() {
	f := s.Forge
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[string]tongs.Tool{}
	var fresh []tongs.Tool
	for _, t := range f.Tools() {
		name := t.Spec().Name
		if t.Spec().Source.Digest == "" && s.builtIn(name) {
			continue
		}
		next[name] = t
		if f.offered[name] != t {
			fresh = append(fresh, t)
		}
	}
	for name := range f.offered {
		if next[name] == nil {
			s.Registry.Unregister(name)
		}
	}
	f.problems = map[string]string{}
	if len(f.offered) > 0 || s.Registry.RegisterAll(fresh...) != nil {
		for _, t := range fresh {
			if err := s.Registry.Replace(t); err != nil {
				delete(next, t.Spec().Name)
				f.problems[t.Spec().Name] = err.Error()
			}
		}
	}
	f.offered = next
}

// States returns what is known of each custom tool. One that cannot be offered is broken.
func (f *Forge) States() []custom.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states()
}

// states is States with the forge locked.
func (f *Forge) states() []custom.State {
	list := f.Set.States()
	for i := range list {
		if why := f.problems[list[i].Name]; why != "" {
			list[i].Status, list[i].Detail = custom.Broken, why
		}
	}
	return list
}

// builtIn reports whether a name is that of a built-in tool, shadowed or not.
func (s *System) builtIn(name string) bool {
	entry, ok := s.Registry.Set().Lookup(name)
	return ok && (entry.Tool.Spec().Source.BuiltIn() || entry.Shadowed != nil)
}

// close ends the watch over the forge.
func (f *Forge) close() {
	if f == nil {
		return
	}
	if f.stop != nil {
		close(f.stop)
	}
	f.Close()
}

// warnings are what a person should know about the tools that are not offered.
func (f *Forge) warnings() (list []string) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.states() {
		if st.Status == custom.Broken {
			list = append(list, fmt.Sprintf("the custom tool %s cannot be used: %s", st.Name, st.Detail))
		}
	}
	slices.Sort(list)
	return list
}

// OpenForge opens the custom tools alone.
func (h Host) OpenForge() (*custom.Set, error) {
	p, err := h.Locate()
	if err != nil {
		return nil, err
	}
	dir, err := h.findForge()
	if err != nil {
		return nil, err
	}
	return custom.New(p.approvals.forge(dir))
}
