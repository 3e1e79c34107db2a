package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
)

// extender is a runner of commands that asks for a protected name while it runs, showing what it is about.
type extender struct {
	engine.Programs
	permit *tongs.Permit
}

func (e extender) Run(ctx context.Context, _ *tongs.Command) (*tongs.Exit, error) {
	return nil, e.permit.Decide(ctx, tongs.More{
		Reason: "it was found", Preview: func(context.Context) (string, error) { return "the content", nil },
		Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".envrc"}, Version: "held:1"}},
	})
}

func (extender) End(context.Context) (engine.Outcome, error) { return nil, nil }

// What a running tool asks for shows its own preview. Refused, the call goes on as it was approved, and nothing says that
// somebody approved it.
func TestExtendShowing(t *testing.T) {
	var refused error
	asking := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read | tongs.Write},
		func(*tongs.View, echoIn) (*tongs.Plan, error) {
			return &tongs.Plan{
				Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "."}}}, Kind: tongs.KindExecute,
				Preview: func(context.Context) (string, error) { return "the plan", nil },
			}, nil
		},
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			_, refused = env.Commands.Run(ctx, nil)
			return echoOut{in.Text}, nil
		})
	for _, say := range []func(approval.Question) approval.Answer{no, yes} {
		b := setup(t, []tongs.Tool{asking}, func(o *engine.Options) {
			o.Commands = func(p *tongs.Permit) engine.Programs { return extender{permit: p} }
		})
		b.person.answer = say
		res := b.call("echo", `{"text":"x"}`)
		must(t, res, "")
		q := b.person.last()
		if b.person.count() != 1 || q.Preview != "the content" || q.Kind != tongs.KindWrite || len(q.Notes) != 1 || q.Effects[0].Version != "held:1" {
			t.Errorf("asked %d times: %+v", b.person.count(), q)
		}
		_, approved := res.Metadata["approvedBy"]
		if want := say(q).Approved; approved != want || (refused == nil) != want {
			t.Errorf("approved %v, refused %v, want approved %v", approved, refused, want)
		}
	}
}

// contact is a runner of commands that meets a host, and notes what it was allowed.
type contact struct {
	engine.Programs
	permit *tongs.Permit
	unsaid bool
	got    *[]tongs.Effect
}

func (c contact) Run(ctx context.Context, _ *tongs.Command) (*tongs.Exit, error) {
	err := c.permit.Decide(ctx, tongs.More{
		Reason: "it was met", Message: "git would read it", Unsaid: c.unsaid, Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "git.example"}},
	})
	*c.got = c.permit.Effects()
	return nil, err
}

func (contact) End(context.Context) (engine.Outcome, error) { return nil, nil }

// A plan that is free says nothing about a host that is met while it runs. One that comes before a question of its own is not
// asked about, unless somebody said something about it.
func TestExtendByAHost(t *testing.T) {
	free := tongs.PreApproved
	var refused error
	running := tool(t, tongs.Spec{Default: tongs.Ask, Needs: tongs.Read, Optional: tongs.Network},
		func(*tongs.View, echoIn) (*tongs.Plan, error) {
			return &tongs.Plan{Default: &free, Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "."}}}}, nil
		},
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			_, refused = env.Commands.Run(ctx, nil)
			return echoOut{in.Text}, nil
		})
	rule := func(d tongs.Decision) []tongs.Rule {
		return []tongs.Rule{{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "git.example", Decision: d, Layer: tongs.LayerUser}}
	}
	for name, c := range map[string]struct {
		unsaid         bool
		mode           tongs.Mode
		rules          []tongs.Rule
		asked, effects int
		code           tongs.Code
	}{
		"met":                       {asked: 1, effects: 2},
		"before a question":         {unsaid: true, effects: 1},
		"a rule that asks":          {unsaid: true, rules: rule(tongs.Ask), asked: 1, effects: 2},
		"a rule that blocks":        {unsaid: true, rules: rule(tongs.Blocked), effects: 1, code: tongs.CodeBlocked},
		"a mode that always asks":   {unsaid: true, mode: tongs.ModeNone, asked: 2, effects: 2},
		"a mode that never asks":    {mode: tongs.ModeAll, effects: 2},
		"a rule that blocks, asked": {rules: rule(tongs.Blocked), effects: 1, code: tongs.CodeBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			var got []tongs.Effect
			b := setup(t, []tongs.Tool{running}, func(o *engine.Options) {
				o.Mode, o.Rules = c.mode, func() []tongs.Rule { return c.rules }
				o.Commands = func(p *tongs.Permit) engine.Programs { return contact{permit: p, unsaid: c.unsaid, got: &got} }
			})
			b.person.answer = yes
			must(t, b.call("echo", `{"text":"x"}`), "")
			if tongs.CodeOf(refused) != c.code && (refused != nil || c.code != "") {
				t.Errorf("refused: %v", refused)
			}
			if b.person.count() != c.asked || len(got) != c.effects {
				t.Errorf("asked %d times, has %v", b.person.count(), got)
			}
			if c.asked > 0 && b.person.last().Message != "git would read it" {
				t.Errorf("asked %q", b.person.last().Message)
			}
		})
	}
}

// connections is a runner of commands that connects to hosts again and again, and then asks for one that nobody allowed.
type connections struct {
	engine.Programs
	permit *tongs.Permit
	got    *[]tongs.Effect
}

func (c connections) Run(ctx context.Context, _ *tongs.Command) (*tongs.Exit, error) {
	network := func(host string) []tongs.Effect { return []tongs.Effect{{Kind: tongs.EffectNetwork, Host: host}} }
	for i := range 500 {
		host := []string{"a.example", "b.example"}[i%2]
		if err := c.permit.Decide(ctx, tongs.More{Reason: "it connects to " + host, Effects: network(host), Unasked: true}); err != nil {
			return nil, err
		}
	}
	err := c.permit.Decide(ctx, tongs.More{Reason: "it was met", Effects: network("other.example")})
	*c.got = c.permit.Effects()
	return nil, err
}

func (connections) End(context.Context) (engine.Outcome, error) { return nil, nil }

// intents counts what is recorded of decisions.
type intents struct {
	audit.Log
	count int
}

func (l *intents) Intent(ctx context.Context, call string, in *audit.Intent) error {
	l.count++
	return l.Log.Intent(ctx, call, in)
}

// A host that is free is decided and recorded once, however often a program connects to it, and a later question does not tell of it.
func TestManyConnectionsToFreeHosts(t *testing.T) {
	var got []tongs.Effect
	running := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read, Optional: tongs.Network},
		func(*tongs.View, echoIn) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "."}}}}, nil
		},
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			_, err := env.Commands.Run(ctx, nil)
			return echoOut{in.Text}, err
		})
	log := &intents{Log: audit.NewMemory()}
	b := setup(t, []tongs.Tool{running}, func(o *engine.Options) {
		o.Audit = log
		o.Rules = func() []tongs.Rule {
			return []tongs.Rule{
				{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "a.example", Decision: tongs.PreApproved, Layer: tongs.LayerUser},
				{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "b.example", Decision: tongs.PreApproved, Layer: tongs.LayerUser},
				{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "other.example", Decision: tongs.Ask, Layer: tongs.LayerUser},
			}
		}
		o.Commands = func(p *tongs.Permit) engine.Programs { return connections{permit: p, got: &got} }
	})
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	if len(got) != 4 || log.count != 4 { // the plan, two free hosts and the other
		t.Errorf("%d effects, %d times recorded", len(got), log.count)
	}
	if q := b.person.last(); b.person.count() != 1 || !slices.Equal(q.Notes, []string{"it was met"}) {
		t.Errorf("asked %d times, with %d notes", b.person.count(), len(q.Notes))
	}
}
