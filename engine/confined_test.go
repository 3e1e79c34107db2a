package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

// A read that only the sandbox makes harmless waits for the run on a copy, where programs run so, and stays bound to the
// sandbox. What somebody allowed is not bound, and what was said about reads is asked before.
func TestConfinedReads(t *testing.T) {
	read := tongs.Effect{Kind: tongs.EffectRead, Unknown: true, Confined: true}
	reads := tongs.Kinds(tongs.EffectRead)
	for _, c := range []struct {
		name                   string
		change                 func(*engine.Options)
		asked, deferred, bound bool
	}{
		{"nobody said anything", rules(), false, true, true},
		{"no copies here", func(o *engine.Options) { o.Outcomes = nil }, true, false, false},
		{"direct writes", func(o *engine.Options) { o.Direct = true }, true, false, false},
		{"mode all", mode(tongs.ModeAll), false, false, false},
		{"mode none", mode(tongs.ModeNone), true, false, false},
		{"the tool is allowed", rules(tongs.Rule{Tool: "echo", Decision: tongs.PreApproved}), false, false, false},
		{"a blocked path", rules(tongs.Rule{Effects: reads, Pattern: "keys/**", Decision: tongs.Blocked}), true, false, false},
		{"an asked path", rules(tongs.Rule{Effects: reads, Pattern: "keys/**", Decision: tongs.Ask}), true, false, false},
		{"an asked path of an untrusted workspace", rules(tongs.Rule{Layer: tongs.LayerWorkspace, Untrusted: true, Effects: reads, Pattern: "keys/**", Decision: tongs.Ask}), true, false, false},
		{"an asked path of the administrator", rules(tongs.Rule{Layer: tongs.LayerManaged, Effects: reads, Pattern: "keys/**", Decision: tongs.Ask}), true, false, false},
		{"reads are asked", rules(tongs.Rule{Effects: reads, Decision: tongs.Ask}), true, false, false},
		{"reads are asked by default", rules(tongs.Rule{Effects: reads, Decision: tongs.Ask, Fallback: true}), true, false, false},
		{"a rule about another kind", rules(tongs.Rule{Effects: tongs.Kinds(tongs.EffectDelete), Pattern: "keys/**", Decision: tongs.Blocked}), false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &copying{}
			bound := false
			b := setup(t, []tongs.Tool{contained(t, read)}, onCopies(run), func(o *engine.Options) {
				o.Commands = func(p *tongs.Permit) engine.Programs {
					bound = slices.ContainsFunc(p.Effects(), func(e tongs.Effect) bool { return e.Confined })
					return run.commands(p)
				}
			}, c.change)
			b.person.answer = yes
			must(t, b.call("echo", `{"text":"x"}`), "")
			if asked := b.person.count() == 1; asked != c.asked || run.deferred != c.deferred || bound != c.bound || run.runs != 1 {
				t.Errorf("asked %t, deferred %t, bound %t, ran %d times", asked, run.deferred, bound, run.runs)
			}
		})
	}
}

// What a program met while it ran is asked about: it ran before, and nothing is free any more.
func TestConfinedReadsThatComeLater(t *testing.T) {
	run := &copying{}
	met := false
	again := tool(t, tongs.Spec{Needs: tongs.Execute, Optional: tongs.Read}, func(*tongs.View, echoIn) (*tongs.Plan, error) {
		return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"./x"}}}, Contained: true}, nil
	}, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		if !met {
			met = true
			return echoOut{}, &tongs.Need{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Unknown: true, Confined: true}}, Reason: "it reads more"}
		}
		_, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"./x"}})
		return echoOut{in.Text}, err
	})
	b := setup(t, []tongs.Tool{again}, onCopies(run))
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	if b.person.count() != 1 || run.deferred {
		t.Errorf("asked %d times, deferred %t", b.person.count(), run.deferred)
	}
}
