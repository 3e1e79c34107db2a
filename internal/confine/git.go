package confine

import (
	"maps"

	"github.com/tongs-ai/tongs/internal/gitrelay"
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
		Limited: func(host string) bool { return p.opt.Methods(host) != nil },
	})
}
