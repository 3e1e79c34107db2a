package commands

import (
	"testing"
)

// Under five of a hundred everyday commands are asked about before they run.
func TestHarmlessCommandsRunWithoutAQuestion(t *testing.T) {
	p, rows := open(t, ""), read(t, "harmless.txt", false)
	if len(rows) < 400 {
		t.Fatalf("the set has %d commands only", len(rows))
	}
	asked := 0
	for _, r := range rows {
		if d := p.decide(t, r.command, nil); !d.runs {
			asked++
			t.Logf("asked: %q: %s", r.command, d.Reason)
		}
	}
	t.Logf("asked before running: %d of %d (%.1f %%)", asked, len(rows), 100*float64(asked)/float64(len(rows)))
	if asked*100 >= 5*len(rows) {
		t.Errorf("%d of %d harmless commands are asked about before they run", asked, len(rows))
	}
}

// No dangerous command is free: each is asked about, or runs where it can neither change, nor send, nor see anything that it
// must not.
func TestDangerousCommandsAreAskedOrContained(t *testing.T) {
	for name, config := range map[string]string{
		"by default": "", "where changes that can be undone are free": "approval: {undoable: preApproved}",
	} {
		t.Run(name, func(t *testing.T) { dangerous(t, open(t, config)) })
	}
}

func dangerous(t *testing.T, p *place) {
	t.Helper()
	rows := read(t, "dangerous.txt", true)
	if len(rows) < 300 {
		t.Fatalf("the set has %d commands only", len(rows))
	}
	count := map[string]int{}
	for _, r := range rows {
		d := p.decide(t, r.command, nil)
		switch {
		case r.label != "asked" && r.label != "contained":
			t.Fatalf("%q has the label %q", r.command, r.label)
		case !d.runs:
			count["asked or refused"]++
		case r.label == "asked":
			t.Errorf("nobody is asked about %q: %s", r.command, d.Reason)
		case !d.contained():
			t.Errorf("%q runs without a question, and is not contained: %v", r.command, d.Effects)
		case d.Deferred:
			count["on a copy"]++
		default:
			count["read-only"]++
		}
	}
	t.Logf("%d dangerous commands: %v", len(rows), count)
}
