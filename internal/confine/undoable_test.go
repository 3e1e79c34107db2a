package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// freely is a bench whose workspace has a journal, and where what can be undone is free.
func freely(t *testing.T, opt journal.Options, more ...tongs.Rule) (*bench, *journal.Journal) {
	t.Helper()
	opt.Dir = filepath.Join(t.TempDir(), "journal")
	kept, err := journal.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	ws, err := workspace.Open(workspace.Options{Dir: t.TempDir(), LockDir: filepath.Join(t.TempDir(), "locks"), Journal: kept})
	if err != nil {
		t.Fatal(err)
	}
	more = append(more, tongs.Rule{
		Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Undoable: true, Decision: tongs.PreApproved,
	})
	b := setup(t, confine.Options{Workspace: ws, Changes: kept, Layers: filepath.Join(t.TempDir(), "layers")}, more...)
	b.write(t, "a.txt", "a")
	b.write(t, "b.txt", "b")
	return b, kept
}

func (b *bench) takeBack(t *testing.T, j *journal.Journal) {
	t.Helper()
	list, err := j.Select(journal.Selector{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := j.Undo(t.Context(), journal.Entry{Roots: map[string]string{"": b.dir}}, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := u.Commit(t.Context()); err != nil || len(u.Conflicts) > 0 {
		t.Fatalf("%v, conflicts %v", err, u.Conflicts)
	}
}

// What a program did to a copy is kept without a question where it can be undone, and nothing else is.
func TestUndoableChangesOfPrograms(t *testing.T) {
	b, j := freely(t, journal.Options{CallFiles: 2})
	out, res := b.run(t, `{"script":"echo two > a.txt; rm b.txt; echo n > new.txt","copy":true}`)
	if res.Error != nil || len(b.asked) != 0 || b.content(t, "a.txt") != "two\n" || b.has("b.txt") || !b.has("new.txt") {
		t.Fatalf("%+v, asked %d times: %s", out, len(b.asked), res.Content)
	}
	if b.takeBack(t, j); b.content(t, "a.txt") != "a" || b.content(t, "b.txt") != "b" || b.has("new.txt") {
		t.Error("it was not taken back")
	}
	b.say = false
	for name, script := range map[string]string{
		"bulk":       `touch c; echo 1 > a.txt; echo 2 > b.txt; rm -r d`,
		"protected":  `echo x > a.txt; echo x > .envrc`,
		"agents":     `echo x > a.txt; echo x > AGENTS.md`,
		"a link out": `rm a.txt; ln -s /etc/passwd a.txt`,
	} {
		b.asked = nil
		b.write(t, "d/x", "x")
		if _, res := b.run(t, `{"script":"`+script+`","copy":true}`); len(b.asked) != 1 || res.Error == nil || b.content(t, "a.txt") != "a" || b.has(".envrc") {
			t.Errorf("%s: asked %d times, a.txt is %q: %s", name, len(b.asked), b.content(t, "a.txt"), res.Content)
		}
	}
}

// A path that a rule asks for or blocks is not free since it can be undone.
func TestRulesGoBeforeUndoableChanges(t *testing.T) {
	for d, asked := range map[tongs.Decision]int{tongs.Ask: 1, tongs.Blocked: 0} {
		b, _ := freely(t, journal.Options{}, tongs.Rule{
			Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Pattern: "d/keep/**", Decision: d,
		})
		b.say = false
		b.write(t, "d/keep/x", "x")
		_, res := b.run(t, `{"script":"rm -r d","copy":true}`)
		if res.Error == nil || len(b.asked) != asked || !b.has("d/keep/x") {
			t.Errorf("%s: asked %d times: %s", d, len(b.asked), res.Content)
		}
	}
}

// Changes that were free since they could be undone, and cannot be by the time they are made, are asked about.
func TestChangesThatCannotBeUndoneAfterAll(t *testing.T) {
	for _, say := range []bool{true, false} {
		b, j := freely(t, journal.Options{HourFiles: 1})
		b.say = say
		decided := 0
		b.intended = func(*audit.Intent) {
			if decided++; decided != 2 { // the first is about running the program
				return
			}
			head := journal.Entry{Roots: map[string]string{"": b.dir}, Whole: []tongs.Effect{{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: "b.txt"}}}}
			x, err := j.Begin(t.Context(), head)
			if err == nil {
				defer x.Close()
				err = x.Remove(tongs.Path{Rel: "b.txt"})
			}
			if err == nil {
				_, err = x.Commit(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		}
		_, res := b.run(t, `{"script":"echo two > a.txt","copy":true}`)
		if len(b.asked) != 1 || !strings.Contains(strings.Join(b.asked[0].Notes, "\n"), "a.txt: it could not be undone: in the last hour 1 files") {
			t.Fatalf("asked %+v: %s", b.asked, res.Content)
		}
		want := map[bool]string{true: "two\n", false: "a"}[say]
		if got := b.content(t, "a.txt"); got != want || (res.Error == nil) != say {
			t.Errorf("say %v: a.txt is %q: %s", say, got, res.Content)
		}
	}
}

// A secret is not free to delete, alone or with its directory.
func TestSecretsAreNotUndoable(t *testing.T) {
	b, j := freely(t, journal.Options{})
	b.write(t, "sub/.env", "KEY=1")
	if err := os.WriteFile(filepath.Join(b.dir, ".gitignore"), []byte(".env\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(workspace.Options{Dir: b.dir, LockDir: filepath.Join(t.TempDir(), "locks"), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	why := ws.Undoable(t.Context(), []tongs.Effect{
		{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: "sub"}},
		{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "sub/.env"}},
		{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: "a.txt"}},
	})
	if why[0] != "sub/.env: it looks like a secret" || why[1] != "it looks like a secret" || why[2] != "" {
		t.Errorf("got %q", why)
	}
}
