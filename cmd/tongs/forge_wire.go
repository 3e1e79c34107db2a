package main

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

// envForge names the directory of custom tools.
const envForge = "FORGE_TOOLS_DIR"

// forgePoll is how often a program that lives on looks for tools that changed by other hands than its own.
const forgePoll = 2 * time.Second

// findForge returns the directory of custom tools, which need not exist.
func findForge() (string, error) {
	if dir := os.Getenv(envForge); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", tongs.Errorf(tongs.CodeConfigError, "%s is %q; it must be an absolute path", envForge, dir)
		}
		return filepath.Clean(dir), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", tongs.Errorf(tongs.CodeConfigError, "no directory for custom tools: %w; set %s", err, envForge)
	}
	return forgeOf(home), nil
}

// forgeOf is where the custom tools of the user with that home directory are.
func forgeOf(home string) string { return filepath.Join(home, ".forge", "tools") }

// forge is the custom tools of a system, and which of them are offered.
type forge struct {
	*custom.Set
	mu      sync.Mutex
	offered map[string]tongs.Tool
	// problems say which tools could not be offered, and why.
	problems map[string]string
	stop     chan struct{}
}

// forgeState is where approvals and copies of custom tools are kept.
func forgeState(stateDir string) string { return filepath.Join(stateDir, "forge") }

// ownForge reports whether the directory of custom tools is that of the user, rather than one that the environment names.
func (a *app) ownForge() bool {
	dir, err := findForge()
	if err != nil {
		return false
	}
	home, err := config.OwnHome(a.home)
	return err == nil && config.SamePlace(dir, forgeOf(home))
}

// forgeRoot returns the root that file tools find custom tools in, none where there cannot be one. Nobody who makes no
// tools gets a directory for them.
func (s *system) forgeRoot(w wiring) []workspace.Root {
	dir, err := findForge()
	if err != nil || config.Apart(dir, s.configDir, s.stateDir) != nil || s.forgeZone() != nil || s.closedForge(w) != "" {
		return nil
	}
	return []workspace.Root{{Name: custom.Root, Dir: dir, Writable: true, Lazy: true}}
}

// closedForge says why no tools can be made in the forge, empty where they can. Whoever names a directory to a program that
// serves others does not thereby let them read and write in it.
func (s *system) closedForge(w wiring) string {
	dir, err := findForge()
	if err != nil {
		return ""
	}
	if zone := s.forgeZone(); zone != nil {
		if !config.SamePlace(zone.Dir, dir) {
			return fmt.Sprintf("the zone %s of the configuration is %s, and custom tools are in %s; make them one, or rename the zone", zone.Name, zone.Dir, dir)
		}
		return ""
	}
	if !w.unattended || s.ownForge {
		return ""
	}
	return "the environment names the directory of custom tools, and a server lets nobody write there on its word; give it a zone named " +
		custom.Root + " in your own configuration, or make the tool with tongs forge new"
}

// forgeZone is the zone that somebody gave the name that the forge has elsewhere, nil where nobody did.
func (s *system) forgeZone() *config.Zone {
	i := slices.IndexFunc(s.cfg.Zones, func(z config.Zone) bool { return z.Name == custom.Root })
	if i < 0 {
		return nil
	}
	return &s.cfg.Zones[i]
}

// sealed are the roots that programs do not change by the way.
func (s *system) sealed() []string {
	if s.forgeZone() != nil {
		return nil
	}
	return []string{custom.Root}
}

// addForge makes the custom tools part of the registry, now and whenever they change.
func (s *system) addForge(a *app, w wiring, opt *engine.Options) error {
	dir, err := findForge()
	if err != nil {
		return err
	}
	f := &forge{offered: map[string]tongs.Tool{}, problems: map[string]string{}}
	set, err := custom.New(custom.Options{
		Dir: dir, State: forgeState(s.stateDir), NoApprovals: w.unattended && !a.ownState(s.stateDir), OnChange: s.swapForge,
		Timeout: s.cfg.Limits.CustomTimeout, Watch: w.lives, Closed: s.closedForge(w), Taken: s.takenName,
	})
	if err != nil {
		return err
	}
	f.Set, s.forge = set, f
	list, err := set.Builtins()
	if err != nil {
		return err
	}
	if err := s.registry.RegisterAll(list...); err != nil {
		return err
	}
	opt.Refresh = s.refreshForge
	opt.OnResult = func(*tongs.Call, *tongs.Result) { s.refreshForge() } // so that clients are told before their next call
	return nil
}

// followForge watches the forge, in a program that lives on.
func (s *system) followForge(w wiring) {
	if w.lives {
		s.forge.stop = make(chan struct{})
		go s.watchForge(s.forge.stop)
	}
}

// takenName says why no new custom tool can have a name, empty where it can. A built-in tool that is no control tool may be
// replaced by one, by its name and with a warning.
func (s *system) takenName(name string) string {
	if strings.Contains(name, "__") {
		return "names with __ are those of tools of MCP servers"
	}
	entry, ok := s.registry.Set().Lookup(name)
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
func (s *system) reviewed(src tongs.Source) bool {
	return s.mcp.Reviewed(src) || s.forge.Reviewed(src) || s.workers.trusts(src) || s.modules.reviewed(src)
}

func (s *system) refreshForge() {
	if changed, err := s.forge.Refresh(); err == nil && changed {
		s.swapForge()
	}
}

// watchForge takes up what people change in the forge.
func (s *system) watchForge(stop <-chan struct{}) {
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
func (s *system) swapForge() {
	f := s.forge
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
			s.registry.Unregister(name)
		}
	}
	f.problems = map[string]string{}
	if len(f.offered) > 0 || s.registry.RegisterAll(fresh...) != nil {
		for _, t := range fresh {
			if err := s.registry.Replace(t); err != nil {
				delete(next, t.Spec().Name)
				f.problems[t.Spec().Name] = err.Error()
			}
		}
	}
	f.offered = next
}

// States returns what is known of each custom tool. One that cannot be offered is broken.
func (f *forge) States() []custom.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states()
}

// states is States with the forge locked.
func (f *forge) states() []custom.State {
	list := f.Set.States()
	for i := range list {
		if why := f.problems[list[i].Name]; why != "" {
			list[i].Status, list[i].Detail = custom.Broken, why
		}
	}
	return list
}

// builtIn reports whether a name is that of a built-in tool, shadowed or not.
func (s *system) builtIn(name string) bool {
	entry, ok := s.registry.Set().Lookup(name)
	return ok && (entry.Tool.Spec().Source.BuiltIn() || entry.Shadowed != nil)
}

// close ends the watch over the forge.
func (f *forge) close() {
	if f == nil {
		return
	}
	if f.stop != nil {
		close(f.stop)
	}
	f.Close()
}

// warnings are what a person should know about the tools that are not offered.
func (f *forge) warnings() (list []string) {
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
