package confine

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

// Own is a program that a person runs themselves: it is kept from what rules, limits and protected names keep programs of
// calls from, but nobody is asked about it and nothing of it is logged.
type Own struct {
	// Policy is what it may do: write to the roots directly, unless it only reads, and reach no host. The person may add
	// to it.
	Policy sandbox.Policy

	p *process
}

// Own prepares a program of a person's own. Rules say which paths are ruled.
func (c *Confiner) Own(cmd *tongs.Command, rules workspace.Ruler) (*Own, error) {
	g := ownGrant{rules, &tongs.Call{ID: "own_" + strings.ToLower(rand.Text()[:12])}, []tongs.Effect{{Kind: tongs.EffectExecute, Argv: cmd.Argv}}}
	p := &process{commands: &commands{c, g}, cmd: cmd, effects: g.effects, denied: map[string]bool{}}
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
func (o *Own) Finish(res *sandbox.Result) (held []Held, left []string) {
	defer o.p.entry.end()
	o.p.held.add(o.p.hold(res.Report.Planted, nil))
	for _, p := range o.p.held.list {
		held = append(held, p.Held)
	}
	return held, o.p.held.left
}

// ownGrant is what a person decided who runs a program themselves.
type ownGrant struct {
	workspace.Ruler
	call    *tongs.Call
	effects []tongs.Effect
}

func (g ownGrant) Call() *tongs.Call       { return g.call }
func (g ownGrant) Effects() []tongs.Effect { return g.effects }
func (g ownGrant) Sent(string)             {}

func (g ownGrant) Extend(context.Context, string, ...tongs.Effect) error {
	return tongs.Errorf(tongs.CodeApprovalRequired, "nobody is asked about a program that a person runs themselves")
}
