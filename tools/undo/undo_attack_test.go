package undo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// A person pre-approved undo. What is protected is asked about all the same, also inside a directory that comes or goes as a
// whole.
func TestAttackUndoOfProtectedNames(t *testing.T) {
	pre := []tongs.Rule{{Tool: "undo", Decision: tongs.PreApproved, Layer: tongs.LayerUser}}
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want string // at sub/.envrc once it was declined
	}{
		{"comes back with its directory", func(b *bench) {
			b.Put("sub/.envrc", "evil")
			b.ok("delete_file", args{"path": "sub", "recursive": true})
		}, ""},
		{"comes back by itself", func(b *bench) {
			b.Put("sub/.envrc", "evil")
			b.ok("delete_file", args{"path": "sub/.envrc"})
		}, ""},
		{"goes with what was made", func(b *bench) { b.ok("write_file", args{"path": "sub/.envrc", "content": "now"}) }, "now"},
		{"moved away with its directory", func(b *bench) {
			b.Put("other/.envrc", "evil")
			b.ok("move_file", args{"source": "other", "destination": "sub"})
		}, "evil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, pre...)
			c.do(b)
			before := len(b.Asked())
			b.deny = true
			if res := b.Call("undo", args{}); res.OK() || len(b.Asked()) != before+1 {
				t.Errorf("asked %d times: %s", len(b.Asked())-before, res.Content)
			}
			data, _ := os.ReadFile(filepath.Join(b.Dir, "sub/.envrc"))
			if string(data) != c.want {
				t.Errorf("it is %q", data)
			}
		})
	}
}

// A rule about paths holds for what an undo brings back or takes away, at any depth.
func TestAttackUndoAgainstRules(t *testing.T) {
	rules := []tongs.Rule{}
	b := newBench(t, rules...)
	b.Put("sub/locked/a", "a")
	b.Put("sub/open", "open")
	b.ok("delete_file", args{"path": "sub", "recursive": true})
	blocked := []tongs.Rule{
		{Tool: "undo", Decision: tongs.PreApproved, Layer: tongs.LayerUser},
		{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "sub/locked/**", Decision: tongs.Blocked, Layer: tongs.LayerUser},
	}
	c := newBenchOver(t, b, blocked...)
	if res := c.Call("undo", args{}); res.OK() {
		t.Errorf("undone: %s", res.Content)
	}
	if _, err := os.Lstat(filepath.Join(b.Dir, "sub/locked/a")); err == nil {
		t.Error("what is blocked came back")
	}
}

// Directories became links since: nothing is brought back, or taken away, behind them.
func TestAttackUndoBehindLinks(t *testing.T) {
	outside := t.TempDir()
	for name, do := range map[string]func(b *bench){
		"comes back": func(b *bench) { b.Put("sub/a", "a"); b.ok("delete_file", args{"path": "sub/a"}) },
		"goes":       func(b *bench) { b.Put("sub/x", ""); b.ok("write_file", args{"path": "sub/a", "content": "a"}) },
		"changes": func(b *bench) {
			b.Put("sub/a", "old")
			b.ok("write_file", args{"path": "sub/a", "content": "a"})
		},
		"moves": func(b *bench) { b.Put("sub/a", "a"); b.ok("move_file", args{"source": "sub/a", "destination": "b"}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			do(b)
			b.Must(os.RemoveAll(filepath.Join(b.Dir, "sub")))
			b.Must(os.Symlink(outside, filepath.Join(b.Dir, "sub")))
			b.Must(os.WriteFile(filepath.Join(outside, "a"), []byte("a"), 0o644))
			for _, a := range []args{{}, {"partial": true}} {
				if res := b.Call("undo", a); res.OK() {
					t.Errorf("%v: %s", a, res.Content)
				}
			}
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("outside are %v", list)
			}
			data, _ := os.ReadFile(filepath.Join(outside, "a"))
			if string(data) != "a" {
				t.Errorf("outside is %q", data)
			}
		})
	}
}

// The paths of a call cannot lead out, and an ID of one cannot lead anywhere.
func TestAttackUndoArguments(t *testing.T) {
	b := newBench(t)
	b.ok("write_file", args{"path": "a", "content": "a"})
	for _, a := range []args{
		{"paths": []string{"../a"}},
		{"paths": []string{"/etc/passwd"}},
		{"paths": []string{"a\x00"}},
		{"call": "../../done/x"},
		{"call": "e_" + string(filepath.Separator)},
		{"session": "other"},
		{"since": "-1h"},
		{"since": "0s"},
		{"call": "x", "session": "s"},
	} {
		if res := b.Call("undo", a); res.OK() {
			t.Errorf("%v: %s", a, res.Content)
		}
	}
	b.has("a", "a")
	if list, err := b.journal.List(journal.Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// newBenchOver is a bench with other rules over the tree and the journal of another.
func newBenchOver(t *testing.T, over *bench, rules ...tongs.Rule) *bench {
	t.Helper()
	return newBenchIn(t, over.Dir, over.journal, rules...)
}
