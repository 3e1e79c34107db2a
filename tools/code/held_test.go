package code

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// A program that may change the workspace still cannot plant what others obey.
func TestPlantedNamesAreHeld(t *testing.T) {
	approve := false
	b := newBench(t, setup{answer: func(q approval.Question) approval.Answer {
		for _, e := range q.Effects {
			if e.Kind == tongs.EffectWrite && !e.Unknown {
				return approval.Answer{Approved: approve}
			}
		}
		return approval.Answer{Approved: true}
	}})
	program := `import os
os.makedirs(os.environ["WORKSPACE"] + "/.vscode")
open(os.environ["WORKSPACE"] + "/.vscode/tasks.json", "w").write("EVIL")
open(os.environ["WORKSPACE"] + "/plain", "w").write("x")`
	for _, approve = range []bool{false, true} {
		res, _ := b.ok("python", program, args{"write": true})
		b.Equal("questions", len(b.Questions()), 2)
		b.Equal("plain", b.Exists("plain"), true)
		b.Equal("in its place", b.Exists(".vscode/tasks.json"), approve)
		if !approve {
			b.Contains("content", res.Content, ".vscode is a protected name and is held")
		}
	}
}
