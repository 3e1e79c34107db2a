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
	"github.com/tongs-ai/tongs/module"
)

// Modules are the module tools of a system, and which of them are offered.
type Modules struct {
	*module.Set
	mu      sync.Mutex
	offered map[string]tongs.Tool
	// problems say which tools could not be offered, and why.
	problems map[string]string
	stop     chan struct{}
}

// moduleConfigs are the modules that a configuration or a worker file names.
func moduleConfigs(t config.Toolsets) (list []module.Config) {
	disabled := func(e config.Entry) string {
		if e.Untrusted {
			return "its file is not trusted, or it changed since you trusted it; run 'tongs trust'"
		}
		return ""
	}
	for _, c := range t.Custom {
		list = append(list, module.Config{
			Module: c.Module, Tools: c.Tools, Network: c.Network, Origin: c.Origin, Disabled: disabled(c.Entry),
		})
	}
	for _, e := range t.External {
		list = append(list, module.Config{
			Package: e.Package, Import: e.Import, Dir: e.Dir, Tools: e.Tools, Network: e.Network, Origin: e.Origin, Disabled: disabled(e.Entry),
		})
	}
	return list
}

// modulePrograms is where what runs of modules is kept, among the programs that the sandbox lets see their directory.
func modulePrograms(stateDir string) string {
	return filepath.Join(forgeState(stateDir), "programs", "modules")
}

// addModules makes the tools of the configured modules part of the registry, now and whenever they change.
func (s *System) addModules() error {
	opt := s.approvals.modules()
	opt.Modules, opt.Workspace, opt.Version, opt.OnChange = moduleConfigs(s.Config.Toolsets), s.Workspace, s.host.Version, s.swapModules
	if s.Confined != nil {
		opt.Commands, opt.Zones = s.Confined.Commands, s.Files.Zones()
	}
	set, err := module.New(opt)
	if err != nil {
		return err
	}
	s.Modules = &Modules{Set: set, offered: map[string]tongs.Tool{}}
	s.swapModules()
	if s.opt.Lives && len(opt.Modules) > 0 {
		s.Modules.stop = make(chan struct{})
		go s.watchModules(s.Modules.stop)
	}
	return nil
}

// watchModules takes up what people change in modules, and what they approve.
func (s *System) watchModules(stop <-chan struct{}) {
	tick := time.NewTicker(forgePoll)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if s.Modules.Refresh() {
				s.swapModules()
			}
		}
	}
}

// swapModules takes up tools that changed. One that cannot be used does not take the name of a built-in, and none takes
// that of another custom tool.
func (s *System) swapModules() {
	m := s.Modules
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, problems := map[string]tongs.Tool{}, map[string]string{}
	for _, t := range m.Tools() {
		spec := t.Spec()
		before := m.offered[spec.Name]
		if next[spec.Name] != nil {
			problems[spec.Name] = fmt.Sprintf("the tool %s of the module %s is not offered: another module has one of that name", spec.Name, spec.Source.Name)
			continue
		}
		if spec.Source.Digest == "" && before == nil && s.builtIn(spec.Name) {
			problems[spec.Name] = fmt.Sprintf("the tool %s of the module %s is not offered in place of the built-in one until somebody approved it", spec.Name, spec.Source.Name)
			continue
		}
		err := error(nil)
		if before != nil {
			err = s.Registry.Replace(t)
		} else {
			err = s.Registry.Register(t)
		}
		if err != nil {
			problems[spec.Name] = fmt.Sprintf("the tool %s of the module %s is not offered: %v", spec.Name, spec.Source.Name, err)
			continue
		}
		next[spec.Name] = t
	}
	for name := range m.offered {
		if next[name] == nil {
			s.Registry.Unregister(name)
		}
	}
	m.offered, m.problems = next, problems
}

// LookAt looks at a module by its name or, where none is configured, by its file: worker files name modules too.
func (s *System) LookAt(name string) (v *module.Review, configured bool, err error) {
	v, err = s.Modules.Look(name)
	path, pathErr := filepath.Abs(name)
	if tongs.CodeOf(err) != tongs.CodeInvalidArgs || pathErr != nil || !isRegular(path) {
		return v, true, err
	}
	// Which of its tools are exposed is for the worker file to say; what is approved is the whole of it.
	if _, err = s.Modules.Load(module.Config{Module: path, Tools: []string{"tools-of-a-worker"}, Origin: "the command line"}); err != nil {
		return nil, false, err
	}
	v, err = s.Modules.Look(path)
	return v, false, err
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// close ends the hosts of modules, and the watch over them.
func (m *Modules) close() {
	if m == nil {
		return
	}
	if m.stop != nil {
		close(m.stop)
	}
	m.Close()
}

// reviewed reports whether a person approved a module tool of this source.
func (m *Modules) reviewed(src tongs.Source) bool { return m != nil && m.Reviewed(src) }

// warnings are what a person should know about modules whose tools are not offered, or cannot be used.
func (m *Modules) warnings() (list []string) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	for _, why := range m.problems {
		list = append(list, why)
	}
	m.mu.Unlock()
	for _, st := range m.States() {
		switch st.Status {
		case module.Broken, module.Disabled:
			list = append(list, fmt.Sprintf("the module %s cannot be used: %s", st.Name, strings.SplitN(st.Detail, "\n", 2)[0]))
		case module.Ready:
			for _, t := range st.Tools {
				if t.Status == module.Broken {
					list = append(list, fmt.Sprintf("the tool %s cannot be used: %s", t.Name, strings.SplitN(t.Detail, "\n", 2)[0]))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
