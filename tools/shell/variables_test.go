package shell

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// What a session exported in an earlier call decides what a later one runs, so it belongs to that one's effects.
func TestVariablesOfTheSessionBelongToLaterCommands(t *testing.T) {
	b := newBench(t, setup{
		rules:  rules(tongs.PreApproved, "= ./run.sh", "= bash -c ./run.sh"),
		answer: func(approval.Question) approval.Answer { return approval.Answer{} },
	})
	b.Put("run.sh", "#!/bin/sh\n${TOOL:-true}\n", 0o755)
	b.Put("evil.sh", "touch made\n", 0o644)
	b.sh("export TOOL='sh evil.sh' LANG=C", persist)
	for _, command := range []string{"./run.sh", "bash -c ./run.sh", "cd . && ./run.sh"} {
		b.fails(tongs.CodeDenied, "declined", "shell", args{"command": command, "persist": true})
	}
	b.Equal("made", b.Exists("made"), false)
	b.sh("./run.sh")
	b.sh("export TOOL=", persist)
	b.fails(tongs.CodeDenied, "declined", "shell", args{"command": "./run.sh", "persist": true})
	b.sh("unset TOOL", persist)
	b.sh("./run.sh", persist)
	b.Equal("made", b.Exists("made"), false)
}

// A job keeps its variables from one input to the next.
func TestVariablesOfAJobBelongToWhatIsWrittenNext(t *testing.T) {
	for name, steps := range map[string][]string{
		"exported":       {"export TOOL='sh evil.sh'\n"},
		"exported later": {"TOOL='sh evil.sh'\n", "export TOOL\n"},
		"declared":       {"declare -x TOOL='sh evil.sh'\n", "cd .\n"},
		"at its start":   {},
	} {
		t.Run(name, func(t *testing.T) {
			approve := true
			b := newBench(t, setup{
				Options: Options{Background: true}, rules: rules(tongs.PreApproved, "= make test", "cd"),
				answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: approve} },
			})
			b.Put("Makefile", "TOOL ?= true\ntest:\n\t$(TOOL)\n", 0o644)
			b.Put("evil.sh", "touch made\n", 0o644)
			start := "bash"
			if len(steps) == 0 {
				start = "TOOL='sh evil.sh' bash"
			}
			out := b.sh(start, args{"background": true})
			for _, step := range steps {
				if res := b.Call("shell_jobs", args{"action": "write", "id": out.Job, "input": step}); !res.OK() {
					t.Fatal(res.Error)
				}
			}
			approve = false
			b.fails(tongs.CodeDenied, "declined", "shell_jobs", args{"action": "write", "id": out.Job, "input": "make test\n", "eof": true})
			b.Equal("made", b.Exists("made"), false)
		})
	}
}

// A rule that names a variable allows it, at its value.
func TestRulesThatNameVariables(t *testing.T) {
	b := newBench(t, setup{
		rules:  rules(tongs.PreApproved, "= B=2 A='1 1' ./run.sh", "*=* head", "N=* ./run.sh x"),
		answer: func(approval.Question) approval.Answer { return approval.Answer{} },
	})
	b.Put("run.sh", "#!/bin/sh\n:\n", 0o755)
	for command, want := range map[string]tongs.Decision{
		"A='1 1' B=2 ./run.sh": tongs.PreApproved, "B=2 env A='1 1' ./run.sh": tongs.PreApproved, "export B=2; A='1 1' ./run.sh": tongs.PreApproved,
		"A='1 1' ./run.sh": tongs.Ask, "./run.sh": tongs.Ask, "A='1 1' B=2 C=3 ./run.sh": tongs.Ask, "A='1 1' B=2 ./run.sh x": tongs.Ask,
		"A='1 1' B=22 ./run.sh": tongs.Ask, "A='1 1' CI=1 B=2 ./run.sh": tongs.PreApproved, "X=1 Y=2 head": tongs.PreApproved, "head": tongs.PreApproved,
		"N=5 ./run.sh x y": tongs.PreApproved, "N=5 M=1 ./run.sh x": tongs.Ask, "N=$Q ./run.sh x": tongs.Ask,
	} {
		if e := b.Explain("shell", args{"command": command}); e.Decision != want {
			t.Errorf("%s is %s: %s", command, e.Decision, e.Rule)
		}
	}
}
