package wire

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/module"
)

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

// addModules makes the provider of the tools of modules.
func (s *System) addModules() error {
	opt := s.approvals.modules()
	opt.Modules, opt.Workspace, opt.Version, opt.OnChange = s.neededModules(), s.Workspace, s.host.Version, s.refresh
	if s.Confined != nil {
		opt.Commands = func(p *tongs.Permit) tongs.Commands { return s.Confined.Commands(p) }
		opt.Zones = s.Files.Zones()
	}
	var err error
	s.Modules, err = module.New(opt)
	return s.provide(tongs.SourceModule, s.Modules, err)
}

// neededModules are the configured modules, without those that cannot supply the tool that is called.
func (s *System) neededModules() []module.Config {
	state := s.approvals.modules().State
	return slices.DeleteFunc(moduleConfigs(s.Config.Toolsets), func(c module.Config) bool {
		return s.called != nil && !s.opens(module.Names(state, c))
	})
}

// CheckModules reports what is wrong with the modules of the worker and of those that it may call, as far as that shows without running
// them: missing files and exports, and lists that are empty.
func (s *System) CheckModules() error {
	all, err := s.Workers.files.tree(s.opt.Worker)
	errs := []error{err}
	states := s.Modules.States()
	for _, f := range all {
		for _, c := range moduleConfigs(f.Toolsets) {
			i := slices.IndexFunc(states, func(st tongs.SourceState) bool {
				return st.Where == cmp.Or(c.Module, c.Package) && st.Origin == c.Origin
			})
			if i < 0 {
				continue
			}
			if states[i].Status == tongs.StatusBroken {
				errs = append(errs, tongs.Errorf(tongs.CodeConfigError, "%s: %s", c.Origin, states[i].Detail))
				continue
			}
			for _, t := range states[i].Tools {
				if t.Status == tongs.StatusBroken {
					errs = append(errs, tongs.Errorf(tongs.CodeConfigError, "%s: %s", c.Origin, t.Detail))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// LookAt looks at a module by its name or, where none is configured, by its file: worker files name modules too.
func (s *System) LookAt(ctx context.Context, name string) (v *tongs.Review, configured bool, err error) {
	v, err = s.Modules.Look(ctx, name)
	path, pathErr := filepath.Abs(name)
	if tongs.CodeOf(err) != tongs.CodeInvalidArgs || pathErr != nil || !isRegular(path) {
		return v, true, err
	}
	// Which of its tools are exposed is for the worker file to say; what is approved is the whole of it.
	if _, err = s.Modules.Load(module.Config{Module: path, Tools: []string{"tools-of-a-worker"}, Origin: "the command line"}); err != nil {
		return nil, false, err
	}
	v, err = s.Modules.Look(ctx, path)
	return v, false, err
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
