package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func instructions(rel string) tongs.Effect {
	e := write(rel)
	e.Steers, e.Why = true, "instructions: agents follow it"
	return e
}

// Instructions for agents are asked for whatever rules and defaults say, in every mode that asks.
func TestInstructionsAreAskedFor(t *testing.T) {
	free := input(tool("write_file", "filesystem", tongs.Write, tongs.PreApproved), effects(instructions("AGENTS.md")))
	v := want(t, free, tongs.Ask, policy.StepSteers)
	if !v.Rememberable || !v.SessionOnly || v.Deferrable {
		t.Errorf("%+v", v)
	}
	path := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "**", Decision: tongs.PreApproved}
	for _, rule := range []tongs.Rule{appliesToTool("edit", tongs.PreApproved), path, fallback("filesystem", tongs.PreApproved)} {
		want(t, input(edit(), effects(instructions("sub/CLAUDE.md")), rule), tongs.Ask, policy.StepSteers)
	}
	want(t, input(edit(), effects(instructions("AGENTS.md")), appliesToTool("edit", tongs.Blocked)), tongs.Blocked, policy.StepBlocked)
	free.Mode = tongs.ModeAll
	want(t, free, tongs.PreApproved, policy.StepMode)
	free.Mode = tongs.ModeNone
	if v := want(t, free, tongs.Ask, policy.StepMode); v.Rememberable {
		t.Error("mode none remembers")
	}
	if v := want(t, input(edit(), effects(write("a.go"), instructions("AGENTS.md"))), tongs.Ask, policy.StepSteers); !v.SessionOnly {
		t.Error("remembered beyond the session, beside another effect")
	}
}

// An approval is remembered for the session, and for the file that was shown.
func TestInstructionsAreRememberedForTheSession(t *testing.T) {
	in := input(edit(), effects(instructions("AGENTS.md")))
	g := grantFor(t, in)
	want(t, granted(in, g), tongs.Ask, policy.StepSteers) // always
	g.Scope, g.Key.Session = policy.ScopeSession, "s"
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	want(t, granted(input(edit(), effects(instructions("sub/AGENTS.md"))), g), tongs.Ask, policy.StepSteers)
	wide := anyGrant(in)
	wide.Covers = []policy.Cover{{Kind: tongs.EffectWrite, Pattern: "**"}}
	want(t, granted(in, wide), tongs.Ask, policy.StepSteers)
	wide.Scope, wide.Key.Session = policy.ScopeSession, "s"
	want(t, granted(in, wide), tongs.Ask, policy.StepSteers)
}
