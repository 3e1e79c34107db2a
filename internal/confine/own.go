package confine

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

// Own is a program that a person runs themselves: it is kept from what rules, limits and protected names keep programs of
// calls from, but nobody is asked about it and nothing of it is logged.
type Own struct {
	// Policy is what it may do: write to the roots directly, unless it only reads, and reach no host. The person may add
	// to it.
	Policy sandbox.Policy

	p *process
}

// Own prepares a program of a person's own, in the whole roots. It is over with ctx. Of the host it is told which paths are
// ruled.
func (c *Confiner) Own(ctx context.Context, cmd *tongs.Command, host tongs.PermitHost) (*Own, error) {
	effects := []tongs.Effect{{Kind: tongs.EffectExecute, Argv: cmd.Argv}}
	call := &tongs.Call{ID: "own_" + strings.ToLower(rand.Text()[:12])}
	permit := tongs.NewPermit(ctx, call, effects, c.opt.Workspace.Zones(), host)
	p := &process{commands: c.commands(permit), cmd: cmd, effects: effects}
	policy, err := p.policy()
	if err != nil {
		return nil, err
	}
	policy.Network = sandbox.Network{}
	return &Own{Policy: policy, p: p}, nil
}

// Start starts it with the policy and with the streams of run.
func (o *Own) Start(ctx context.Context, run *sandbox.Cmd) (*sandbox.Process, error) {
	run.Argv, run.Policy = o.p.cmd.Argv, o.Policy
	if err := o.p.begin(ctx, run); err != nil {
		return nil, err
	}
	return o.p.inner, nil
}

// Finish looks at what it planted, once it is gone: protected names that it made where there were none are taken away. It
// returns where they are, and what could not be taken away with the reason.
func (o *Own) Finish(res *sandbox.Result) (held []tongs.Held, left []string) {
	defer o.p.entry.end()
	o.p.held.add(o.p.hold(res.Report.Planted, nil))
	for _, p := range o.p.held.list {
		held = append(held, p.Held)
	}
	return held, o.p.held.left
}
