package shell

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// plant makes a protected name in a way that the command does not tell beforehand.
const plant = `python3 -c 'open(".en"+"vrc","w").write("EVIL")'`

// onlyCommands approves commands, and no protected names.
func onlyCommands(q approval.Question) approval.Answer {
	for _, e := range q.Effects {
		if e.Kind == tongs.EffectWrite && e.MustAsk {
			return approval.Answer{Reason: "not that"}
		}
	}
	return approval.Answer{Approved: true}
}

func TestPlantedNamesAreHeldAndSaid(t *testing.T) {
	for _, how := range []args{{}, {"pty": true}, {"persist": true}} {
		b := newBench(t, setup{answer: onlyCommands})
		res := b.shell(plant, how)
		b.Equal("planted", b.Exists(".envrc"), false)
		for _, want := range []string{".envrc is a protected name and is held", "/spill/", "not that", "copying"} {
			b.Contains("content", res.Content, want)
		}
		asked := b.Questions()
		b.Equal("questions", len(asked), 2)
		b.Contains("preview", asked[1].Preview, "EVIL")
		if strings.Contains(asked[1].Preview, "python3") {
			t.Errorf("the second question shows the command again: %s", asked[1].Preview)
		}
	}
}

// What is held can be put in its place by a command, which asks for exactly that.
func TestHeldNamesCanBeCopiedBack(t *testing.T) {
	approve := false
	b := newBench(t, setup{answer: func(q approval.Question) approval.Answer {
		if approve {
			return approval.Answer{Approved: true}
		}
		return onlyCommands(q)
	}})
	_, rest, _ := strings.Cut(b.shell(plant).Content, "copying ")
	host, _, _ := strings.Cut(rest, " there")
	b.fails(tongs.CodeDenied, "not that", "shell", args{"command": "cp " + host + " .envrc"})
	approve = true
	b.Questions()
	b.shell("cp " + host + " .envrc")
	b.Equal("questions", len(b.Questions()), 1)
	b.Equal(".envrc", b.Get(".envrc"), "EVIL")
}

func TestPlantedNamesOfTimedOutCommands(t *testing.T) {
	b := newBench(t, setup{answer: onlyCommands})
	var res *tongs.Result
	for timeout := 1; timeout < 100; timeout *= 4 { // until it had the time to plant it
		res = b.fails(tongs.CodeTimeout, "killed", "shell", args{"command": plant + "; sleep 1000", "timeout": timeout})
		if strings.Contains(res.Content, "held") {
			break
		}
	}
	b.Contains("content", res.Content, ".envrc is a protected name and is held")
	b.Equal("planted", b.Exists(".envrc"), false)
}

// A job is asked about by the call that learns of its end.
func TestPlantedNamesOfJobs(t *testing.T) {
	approve := false
	b := newBench(t, setup{Options: Options{Background: true}, answer: func(q approval.Question) approval.Answer {
		if approve {
			return approval.Answer{Approved: true}
		}
		return onlyCommands(q)
	}})
	for _, approve = range []bool{false, true} {
		out := b.sh(plant+"; echo planted; cat", args{"background": true})
		b.expect(out.Job, 0, "planted")
		b.Equal("while it runs", b.Exists(".envrc"), true)
		b.Questions()
		b.Call("shell_jobs", args{"action": "write", "id": out.Job, "eof": true})
		res := b.Call("shell_jobs", args{"action": "wait", "id": out.Job})
		asked := b.Questions()
		b.Equal("questions", len(asked), 1)
		b.Equal("in its place", b.Exists(".envrc"), approve)
		if !approve {
			b.Contains("content", res.Content, ".envrc is a protected name and is held")
		}
		b.Call("shell_jobs", args{"action": "read", "id": out.Job})
		b.Equal("questions", len(b.Questions()), 0)
	}
}

// A job that ends at once is asked about by the call that started it.
func TestPlantedNamesOfShortJobs(t *testing.T) {
	b := newBench(t, setup{Options: Options{Background: true, Settle: 1 << 40}, answer: onlyCommands})
	res := b.shell(plant, args{"background": true})
	b.Contains("content", res.Content, ".envrc is a protected name and is held")
	b.Equal("questions", len(b.Questions()), 2)
	b.Equal("planted", b.Exists(".envrc"), false)
}
