package confine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrelay"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
)

// Relays reports whether git in programs reaches remotes only through a relay.
func (c *Confiner) Relays() bool { return c.opt.Git != nil }

// relay has git in the program use the relay.
func (p *process) relay(pol *sandbox.Policy) error {
	if p.opt.Git == nil || p.cmd.Build {
		return nil
	}
	in, err := p.opt.Git.Inside()
	if err != nil {
		return err
	}
	pol.Env = append(pol.Env, in.Env...)
	pol.Readable = append(pol.Readable, in.Shown...)
	maps.Copy(pol.Files, in.Files)
	return nil
}

// transfers is what makes the transfers of git in the program.
func (p *process) transfers(guard *network.Guard) *gitrelay.Session {
	if p.opt.Git == nil || p.cmd.Build {
		return nil
	}
	return p.opt.Git.Session(gitrelay.Call{
		Permit: p.permit, Guard: guard, Private: p.opt.Private, Hold: sandbox.Hold,
		Limited: func(host string) bool { return p.opt.Methods(host) != nil }, Undecided: p.undecided,
	})
}

// undecided reports whether one of the commits is only in the copy that the program runs on.
func (p *process) undecided(commits []string) bool {
	if !p.onCopy {
		return false
	}
	for _, root := range p.opt.Workspace.Present() {
		dir := root.Dir
		if root.Name != tongs.RepositoryRoot {
			dir = filepath.Join(dir, ".git")
		}
		has, done := gitrepo.Has(os.DirFS(dir))
		commits = slices.DeleteFunc(slices.Clone(commits), has)
		done()
	}
	return len(commits) > 0
}
