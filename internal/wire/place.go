package wire

import (
	"errors"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

// Place is where one run works: the directories, none of them opened.
type Place struct {
	Workspace, Limit, ConfigDir, StateDir string
	// ownForge says that custom tools are where the user or the program says, rather than the environment of a server.
	ownForge  bool
	approvals approvals
}

// Locate finds the directories and refuses a workspace that tools could change their own rules in.
func (h Host) Locate() (Place, error) {
	var p Place
	var err error
	if p.Workspace, p.Limit, err = config.FindWorkspace(h.Workspace); err != nil {
		return p, err
	}
	if p.ConfigDir, err = named("Config", h.ConfigDir, config.FindConfigDir); err != nil {
		return p, err
	}
	state, err := h.StatePlace()
	if err != nil {
		return p, err
	}
	p.StateDir, p.approvals, p.ownForge = state.StateDir, state.approvals, h.ownForge()
	return p, config.Apart(p.Workspace, p.ConfigDir, p.StateDir)
}

// StatePlace finds the state alone, for commands that need no workspace.
func (h Host) StatePlace() (Place, error) {
	dir, err := named("State", h.StateDir, config.FindStateDir)
	if err != nil {
		return Place{}, err
	}
	return Place{StateDir: dir, approvals: h.trust(dir)}, nil
}

// named returns the directory that a program named, or the one that is found without.
func named(option, dir string, find func() (string, error)) (string, error) {
	if dir == "" {
		found, err := find()
		if err != nil {
			return "", tongs.Errorf(tongs.CodeConfigError, "%w", err)
		}
		return found, nil
	}
	if !filepath.IsAbs(dir) {
		return "", tongs.Errorf(tongs.CodeConfigError, "%s is %q; it must be an absolute path", option, dir)
	}
	return filepath.Clean(dir), nil
}

// Configure reads the configuration. The state file is opened only where a workspace file may be trusted.
func (h Host) Configure(p Place, mode *tongs.Mode) (*config.Config, error) {
	if err := config.CheckStateDir(p.StateDir); err != nil {
		return nil, err
	}
	var trustErr error
	cfg, err := config.Load(config.Options{
		Workspace: p.Workspace, ConfigDir: p.ConfigDir, Mode: mode, Unattended: !h.Attended, Own: h.ConfigDir != "",
		Managed: h.Managed, ManagedOwner: h.ManagedOwner, Home: h.Home,
		Trusted: func(path, hash string) bool {
			trusted, err := p.approvals.vouched(path, hash)
			trustErr = err
			return trusted
		},
	})
	return cfg, errors.Join(err, trustErr)
}
