package policy_test

import (
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func ExampleDecide() {
	shell := &tongs.Spec{Name: "shell", Toolset: "shell", Needs: tongs.Execute}
	execute := tongs.Kinds(tongs.EffectExecute)
	rules := []tongs.Rule{
		{Layer: tongs.LayerUser, Origin: "config.yaml:4", Toolset: "shell", Effects: execute, Pattern: "git ", Decision: tongs.PreApproved},
		{Layer: tongs.LayerUser, Origin: "config.yaml:6", Effects: execute, Pattern: "git push", Decision: tongs.Blocked},
	}
	for _, argv := range [][]string{{"git", "status"}, {"git", "push", "-f"}, {"make"}} {
		v := policy.Decide(policy.Input{
			Spec: shell, Names: []string{"shell"}, Chain: [][]tongs.Rule{rules},
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: argv}},
		})
		fmt.Println(v.Decision, "-", v.Reason)
	}
	// Output:
	// preApproved - The rule toolset shell execute "git ": preApproved (user, config.yaml:4) allows "execute git status".
	// blocked - The rule tools * execute "git push": blocked (user, config.yaml:6) blocks "execute git push -f".
	// ask - No rule covers "execute make"; shell asks by default.
}

func ExamplePropose() {
	covers := policy.Propose([]tongs.Effect{
		{Kind: tongs.EffectExecute, Argv: []string{"git", "commit", "-m", "a message"}},
		{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "src/a.go"}},
	})
	for _, c := range covers {
		fmt.Println(c)
	}
	wider, err := policy.ParseCover("execute git commit")
	fmt.Println(wider, err)
	_, err = policy.ParseCover("execute *")
	fmt.Println(err)
	// Output:
	// execute = git commit -m 'a message'
	// write src/a.go
	// execute git commit <nil>
	// "execute *" cannot be remembered: it covers more than one program; name the program, and write rules for the rest in the configuration
}

func ExampleMatch() {
	git := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"git", "log", "-1"}}
	for _, pattern := range []string{"git ", "git log", "= git log", "gi"} {
		fmt.Println(pattern, policy.Match(tongs.EffectExecute, pattern, git))
	}
	// Output:
	// git  true
	// git log true
	// = git log false
	// gi false
}

func ExampleCheckExamples() {
	rule := tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "npm run test:*", Decision: tongs.PreApproved}
	fmt.Println(policy.CheckExamples(rule, []string{"npm run test:unit"}, []string{"npm run deploy"}))
	fmt.Println(policy.CheckExamples(rule, []string{"npm test"}, nil))
	// Output:
	// <nil>
	// the pattern "npm run test:*" does not match the example "npm test"
}
