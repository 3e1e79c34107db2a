package engine_test

import (
	"context"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
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
