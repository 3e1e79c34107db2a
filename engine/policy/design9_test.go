package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestDesign9_AliasesAreNamesInRules(t *testing.T) {
	spec := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	spec.Aliases = []string{"read"}
	want(t, input(spec, effects(read("a")), appliesToTool("read", tongs.Blocked)), tongs.Blocked, policy.StepBlocked)
}

func TestDesign9_WriteFileAsksOnOverwrite(t *testing.T) {
	spec := tool("write_file", "filesystem", tongs.Write, tongs.Ask)
	in := input(spec, effects(write("new")))
	in.Default = decision(tongs.PreApproved) // what the plan says of a file that is not there yet
	want(t, in, tongs.PreApproved, policy.StepDefault)
	in.Default = decision(tongs.Ask)
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Default, in.Chain = decision(tongs.PreApproved), [][]tongs.Rule{{appliesToTool("write_file", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepRule)
}

func TestDesign9_NeedsApprovalBeatsDefaultsAndTheStrictestWordWins(t *testing.T) {
	in := input(outside(tongs.SourceModule, "fib", tongs.Ask), nil, fallback("custom", tongs.Ask))
	in.Say, in.Reviewed = decision(tongs.PreApproved), true
	want(t, in, tongs.PreApproved, policy.StepRule)
	in.Chain[0] = append(in.Chain[0], appliesToTool("fib", tongs.Ask))
	want(t, in, tongs.Ask, policy.StepRule)
	in.Say, in.Chain = decision(tongs.Ask), [][]tongs.Rule{{fallback("custom", tongs.PreApproved), appliesToTool("fib", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepRule)
}

func TestDesign9_WebFetchOffTheAllowListAsks(t *testing.T) {
	fetch := tool("web_fetch", "web", tongs.Network, tongs.Ask)
	host := tongs.Rule{Toolset: "web", Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.example.com", Decision: tongs.PreApproved}
	want(t, input(fetch, effects(get("api.example.com")), host), tongs.PreApproved, policy.StepRule)
	want(t, input(fetch, effects(get("example.org")), host), tongs.Ask, policy.StepDefault)
}

func TestDesign9_ShellWithoutAMatchingRuleAsks(t *testing.T) {
	git := command("git", tongs.PreApproved)
	want(t, input(shell(), effects(run("make")), git), tongs.Ask, policy.StepDefault)
	def := fallback("shell", tongs.Blocked)
	def.Effects = tongs.Kinds(tongs.EffectExecute)
	in := input(shell(), effects(run("make")), git, def)
	want(t, in, tongs.Blocked, policy.StepBlocked)
	in.Mode = tongs.ModeAll
	want(t, in, tongs.Blocked, policy.StepBlocked)
	want(t, input(shell(), effects(unknown(tongs.EffectExecute)), git, def), tongs.Blocked, policy.StepBlocked)
}

func TestDesign9_BlockedMeansBlockedInEveryMode(t *testing.T) {
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe, tongs.ModeNone, 9, -9} {
		in := input(shell(), effects(run("rm x")), command("rm", tongs.Blocked))
		in.Mode = mode
		want(t, in, tongs.Blocked, policy.StepBlocked)
	}
}
