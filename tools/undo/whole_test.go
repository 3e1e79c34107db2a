package undo_test

import (
	"fmt"
	"testing"

	"github.com/tongs-ai/tongs"
)

// protectedIn are the protected names below a directory of the tests, and what instructs agents.
var protectedIn = []string{".envrc", ".vscode/settings.json", "CLAUDE.md", "sub/.npmrc", "sub/.vscode/tasks.json"}

// An undo that touches protected names is one question that names all of them, however many there are and wherever they are.
func TestProtectedNamesAreOneQuestion(t *testing.T) {
	b := newBench(t)
	for _, name := range protectedIn {
		b.Put("proj/"+name, "1\n")
	}
	for i := range 120 {
		b.Put(fmt.Sprintf("proj/many/%d/.envrc", i), "export A=1\n")
	}
	b.Put("proj/f", "f\n")
	before := b.snapshot()
	b.ok("delete_file", args{"path": "proj", "recursive": true})
	after := b.snapshot()
	for _, tool := range []string{"undo", "redo", "undo"} {
		b.Questions()
		b.ok(tool, args{})
		asked := b.Questions()
		if len(asked) != 1 {
			t.Fatalf("%s asked %d times", tool, len(asked))
		}
		named := map[string]bool{}
		for _, e := range asked[0].Effects {
			named[e.Path.Rel] = e.ByName()
		}
		for _, name := range append(protectedIn, "many/0/.envrc", "many/119/.envrc") {
			if !named["proj/"+name] {
				t.Errorf("%s: the question does not name %s: %v", tool, name, named)
			}
		}
		if named["proj/f"] || !asked[0].Elsewhere {
			t.Errorf("%s: asked about %v, elsewhere %t", tool, named, asked[0].Elsewhere)
		}
		if want := map[bool]string{true: before, false: after}[tool == "undo"]; b.snapshot() != want {
			b.same(tool, b.snapshot(), want)
		}
	}
}

// Rules about many files of a directory that comes back are asked about as well, and do not make it give up.
func TestManyFilesThatRulesCover(t *testing.T) {
	b := newBench(t, tongs.Rule{
		Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Pattern: "d/**/*.go", Decision: tongs.Ask,
	})
	for i := range 260 {
		b.Put(fmt.Sprintf("d/%d/f.go", i), "package f\n")
	}
	before := b.snapshot()
	free := newBenchIn(t, b.Dir, b.journal)
	free.ok("delete_file", args{"path": "d", "recursive": true})
	b.ok("undo", args{})
	b.same("undone", b.snapshot(), before)
	b.ok("redo", args{})
	b.ok("undo", args{})
	b.same("undone again", b.snapshot(), before)
}

// After its own undo a session can go on with what it took back. What others change is still looked at.
func TestSessionGoesOnAfterItsOwnUndo(t *testing.T) {
	b := newBench(t)
	b.Put("a.txt", "one\n")
	b.Put("gone.txt", "gone\n")
	b.Put("from.txt", "from\n")
	for _, name := range []string{"a.txt", "gone.txt", "from.txt"} {
		b.ok("read_file", args{"path": name})
	}
	b.ok("edit", args{"path": "a.txt", "oldString": "one", "newString": "two and more"})
	b.ok("undo", args{})
	b.ok("edit", args{"path": "a.txt", "oldString": "one", "newString": "three"})
	b.ok("undo", args{})
	b.ok("redo", args{})
	b.ok("edit", args{"path": "a.txt", "oldString": "three", "newString": "four"})
	b.has("a.txt", "four\n")
	b.ok("delete_file", args{"path": "gone.txt"})
	b.ok("undo", args{})
	b.ok("edit", args{"path": "gone.txt", "oldString": "gone", "newString": "back"})
	b.ok("move_file", args{"from": "from.txt", "to": "to.txt"})
	b.ok("edit", args{"path": "to.txt", "oldString": "from", "newString": "to"})
	b.ok("undo", args{"session": "s"})
	b.has("from.txt", "from\n")
	b.ok("edit", args{"path": "from.txt", "oldString": "from", "newString": "again"})
	b.Put("a.txt", "by a person\n")
	b.fails(tongs.CodeStaleFile, "changed since this session last saw it", "edit",
		args{"path": "a.txt", "oldString": "by", "newString": "for"})
}

// The undo of another session, or of a person, does change files behind the back of a session.
func TestUndoOfOthersIsSeen(t *testing.T) {
	b := newBench(t)
	b.Put("a.txt", "one\n")
	b.ok("read_file", args{"path": "a.txt"})
	id := b.ok("edit", args{"path": "a.txt", "oldString": "one", "newString": "two"})
	if res := b.CallIn(t.Context(), "person", "undo", args{"call": id}); !res.OK() {
		t.Fatal(res.Error)
	}
	b.fails(tongs.CodeStaleFile, "changed since this session last saw it", "write_file", args{"path": "a.txt", "content": "x"})
}
