package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func withCopies(t *testing.T) confine.Options {
	t.Helper()
	kept, err := journal.Open(journal.Options{Dir: filepath.Join(t.TempDir(), "journal")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	return confine.Options{Changes: kept, Layers: filepath.Join(t.TempDir(), "layers")}
}

func (b *bench) content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return "(" + filepath.Base(name) + " is not there)"
	}
	return string(data)
}

// What a program does to a copy holds once it was decided, and not before.
func TestProgramsOnACopy(t *testing.T) {
	opt := withCopies(t)
	b := setup(t, opt)
	for name, content := range map[string]string{"old.txt": "old", "gone.txt": "gone", "sub/moved.txt": "moved"} {
		b.write(t, name, content)
	}
	run := `{"copy":true,"script":"echo changed > old.txt; rm gone.txt; mkdir new; echo new > new/a.txt; mv sub/moved.txt new/moved.txt; cat old.txt; exit 3"}`
	b.say = false
	out, res := b.run(t, run)
	if res.Error == nil || res.Error.Code != tongs.CodeDenied || b.content(t, "old.txt") != "old" || b.content(t, "gone.txt") != "gone" || b.content(t, "sub/moved.txt") != "moved" {
		t.Fatalf("dropped: %+v %s", out, res.Content)
	}
	q := b.asked[0]
	if q.ChangeCount != 5 || !strings.Contains(q.Preview, "-old\n") || !strings.Contains(q.Preview, "+changed\n") || !strings.Contains(strings.Join(q.Notes, " "), "exit code 3") {
		t.Errorf("%d changes, preview %s, notes %q", q.ChangeCount, q.Preview, q.Notes)
	}
	b.say = true
	if out, res = b.run(t, run); res.Error != nil || out.Out != "changed\n" || out.Code != 3 {
		t.Fatalf("kept: %+v %s", out, res.Content)
	}
	for name, want := range map[string]string{"old.txt": "changed\n", "new/a.txt": "new\n", "new/moved.txt": "moved", "gone.txt": "(gone.txt is not there)", "sub/moved.txt": "(moved.txt is not there)"} {
		if got := b.content(t, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	entries, err := opt.Changes.List(journal.Filter{})
	if err != nil || len(entries) != 1 || entries[0].Tool != "run" {
		t.Errorf("the journal has %+v, %v", entries, err)
	}
	if left, _ := os.ReadDir(opt.Layers); len(left) != 0 {
		t.Errorf("left in the layers: %v", left)
	}
}

func TestSomeOfTheChangesAreKept(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, "a.txt", "a")
	b.write(t, "b.txt", "b")
	b.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Keep: []string{"a.txt"}}
	}
	if _, res := b.run(t, `{"copy":true,"script":"echo x > a.txt; echo x > b.txt"}`); res.Error != nil {
		t.Fatal(res.Content)
	}
	if b.content(t, "a.txt") != "x\n" || b.content(t, "b.txt") != "b" {
		t.Errorf("a.txt is %q, b.txt %q", b.content(t, "a.txt"), b.content(t, "b.txt"))
	}
}

// A person edits a file while a program that works on a copy changes it: what they wrote stays, and the call says so.
func TestConflictsWithACopy(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, "a.txt", "a")
	b.answer = func(approval.Question) approval.Answer {
		b.write(t, "a.txt", "what a person wrote meanwhile")
		return approval.Answer{Approved: true}
	}
	_, res := b.run(t, `{"copy":true,"script":"echo x > a.txt; echo x > new.txt"}`)
	if res.Error == nil || res.Error.Code != tongs.CodeStaleFile || !strings.Contains(res.Content, "a.txt") {
		t.Errorf("%s", res.Content)
	}
	if b.content(t, "a.txt") != "what a person wrote meanwhile" || !strings.Contains(b.content(t, "new.txt"), "not there") {
		t.Errorf("a.txt is %q, new.txt %q", b.content(t, "a.txt"), b.content(t, "new.txt"))
	}
}

// What is protected is asked about also where everything else that a program makes is free, and secrets stay hidden.
func TestProtectedNamesOnACopy(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, ".env", "SECRET=1")
	b.say = false
	out, res := b.run(t, `{"copy":true,"script":"cat .env; echo evil > .envrc; echo x > new.txt"}`)
	if res.Error == nil || len(b.asked) != 1 || strings.Contains(out.Out+res.Content, "SECRET") || !strings.HasPrefix(b.content(t, ".envrc"), "(") {
		t.Errorf("asked %d times: %s", len(b.asked), res.Content)
	}
	if len(b.asked) == 1 && b.asked[0].Changes[0].Path.Rel != ".envrc" {
		t.Errorf("the protected name is not first: %+v", b.asked[0].Changes)
	}
}
