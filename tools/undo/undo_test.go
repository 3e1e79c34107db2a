package undo_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/tools/tooltest"
	"github.com/tongs-ai/tongs/tools/undo"
	"github.com/tongs-ai/tongs/workspace/journal"
)

type args = base.Args

// bench is a workspace with a journal, and the file tools and undo in it.
type bench struct {
	*base.Bench
	journal *journal.Journal
	deny    bool
}

func newBench(t testing.TB, rules ...tongs.Rule) *bench {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(t.TempDir(), "journal"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return newBenchIn(t, base.RealDir(t), j, rules...)
}

// newBenchIn is newBench over a tree and a journal that are there.
func newBenchIn(t testing.TB, dir string, j *journal.Journal, rules ...tongs.Rule) *bench {
	t.Helper()
	b := &bench{journal: j}
	var opt engine.Options
	b.Bench, opt = base.New(t, base.Options{Dir: dir, Rules: rules, Journal: j, Answer: func(approval.Question) approval.Answer {
		return approval.Answer{Approved: !b.deny}
	}})
	list, err := files.Tools(files.Options{})
	b.Must(err)
	more, err := undo.Tools(undo.Options{Journal: j, Roots: map[string]string{"": dir}})
	b.Must(err)
	b.Build(opt, append(list, more...)...)
	return b
}

// ok calls a tool, which must succeed, and returns the ID of the call.
func (b *bench) ok(tool string, a args) string {
	b.Helper()
	return b.OK(tool, a).Metadata["call"].(string)
}

func (b *bench) fails(code tongs.Code, says, tool string, a args) {
	b.Helper()
	b.Fails(code, says, b.Call(tool, a))
}

func (b *bench) has(name, want string) {
	b.Helper()
	got, err := os.ReadFile(filepath.Join(b.Dir, name))
	if err != nil || string(got) != want {
		b.Errorf("%s = %q, %v; want %q", name, got, err, want)
	}
}

// snapshot is everything that undo promises.
func (b *bench) snapshot() string {
	b.Helper()
	var lines []string
	b.Must(filepath.WalkDir(b.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", strings.TrimPrefix(name, b.Dir), fi.Mode())
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", fi.ModTime().UnixNano(), sha256.Sum256(data))
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	}))
	return strings.Join(lines, "\n")
}

func (b *bench) same(what, got, want string) {
	b.Helper()
	have, wanted := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, l := range have {
		if !slices.Contains(wanted, l) {
			b.Errorf("%s: has   %s", what, l)
		}
	}
	for _, l := range wanted {
		if !slices.Contains(have, l) {
			b.Errorf("%s: lacks %s", what, l)
		}
	}
}

func TestSpecs(t *testing.T) {
	tools, err := undo.Tools(undo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Snapshot(t, "testdata/specs", tools...)
}

func TestUndoIsACall(t *testing.T) {
	b := newBench(t)
	b.Put("a.txt", "one\n")
	b.ok("edit", args{"path": "a.txt", "oldString": "one", "newString": "two"})
	b.Questions()
	res := b.Call("undo", args{})
	if !res.OK() || res.Content != "Undid 1 call: restored a.txt." {
		t.Errorf("%v %q", res.Error, res.Content)
	}
	b.has("a.txt", "one\n")
	if len(b.Asked()) != 1 || !strings.Contains(b.Asked()[0].Preview, "-two\n+one\n") || !strings.Contains(b.Asked()[0].Message, "restore a.txt") {
		t.Fatalf("asked: %+v", b.Asked())
	}
	if e := b.Asked()[0].Effects; len(e) != 1 || e[0].Kind != tongs.EffectWrite || e[0].Version == "" {
		t.Errorf("effects: %+v", e)
	}
	b.fails(tongs.CodeInvalidArgs, "nothing to undo", "undo", args{})
	b.ok("redo", args{})
	b.has("a.txt", "two\n")
	b.ok("undo", args{})
	b.has("a.txt", "one\n")
}

func TestRefused(t *testing.T) {
	b := newBench(t)
	b.Put("a.txt", "one\n")
	b.Put("b.txt", "one\n")
	a := b.ok("write_file", args{"path": "a.txt", "content": "two\n"})
	b.deny = true
	b.fails(tongs.CodeDenied, "", "undo", args{})
	b.has("a.txt", "two\n")
	b.deny = false
	b.Put("a.txt", "by a person\n")
	b.fails(tongs.CodeStaleFile, "a.txt: its size was 4 and is 12", "undo", args{"call": a})
	b.has("a.txt", "by a person\n")
	b.fails(tongs.CodeInvalidArgs, "changed no file here", "undo", args{"call": "c_nope"})
	b.fails(tongs.CodeInvalidArgs, "is no time", "undo", args{"since": "yesterday"})
	c := b.ok("write_file", args{"path": "b.txt", "content": "two\n"})
	b.ok("undo", args{"call": c})
	b.fails(tongs.CodeStaleFile, "undone already", "undo", args{"call": c})
	b.fails(tongs.CodeStaleFile, "set partial", "undo", args{"since": "1h"})
	b.fails(tongs.CodeInvalidArgs, "everything is as it was already", "undo", args{"since": "1h", "partial": true})
	b.Put("b.txt", "by a person\n")
	b.ok("write_file", args{"path": "c.txt", "content": "c\n"})
	res := b.Call("undo", args{"since": "1h", "partial": true})
	if !res.OK() || !strings.HasPrefix(res.Content, "Undid 4 calls: deleted c.txt.\nLeft alone: ") {
		t.Errorf("%v: %q", res.Error, res.Content)
	}
}

func TestRulesHoldForUndo(t *testing.T) {
	b := newBench(t, tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "locked/**", Decision: tongs.Blocked})
	b.Put("locked/a", "a")
	b.Put("locked/b", "b")
	id := b.ok("delete_file", args{"path": "locked", "recursive": true})
	b.fails(tongs.CodeBlocked, "", "undo", args{"call": id})
	if _, err := os.Lstat(filepath.Join(b.Dir, "locked")); err == nil {
		t.Error("it came back")
	}
}

// What is protected is asked about by its own name, also where its directory comes back as a whole.
func TestProtectedNames(t *testing.T) {
	b := newBench(t)
	b.Put("proj/.envrc", "export A=1\n")
	b.Put("proj/f", "f\n")
	id := b.ok("delete_file", args{"path": "proj", "recursive": true})
	b.Questions()
	b.ok("undo", args{"call": id})
	var names []string
	for _, q := range b.Asked() {
		for _, e := range q.Effects {
			if e.MustAsk {
				names = append(names, e.Path.Rel)
			}
		}
	}
	if !slices.Contains(names, "proj/.envrc") {
		t.Errorf("asked about %v", names)
	}
	b.has("proj/.envrc", "export A=1\n")
}

// A directory that comes or goes as a whole is one effect, however much is in it, and few words.
func TestManyFilesAreFewEffects(t *testing.T) {
	b := newBench(t)
	for i := range 300 {
		b.Put(fmt.Sprintf("d/%d/f%d", i/30, i), fmt.Sprint(i))
	}
	before := b.snapshot()
	b.ok("delete_file", args{"path": "d", "recursive": true})
	for _, tool := range []string{"undo", "redo", "undo"} {
		b.Questions()
		res := b.Call(tool, args{})
		if !res.OK() || len(res.Content) > 200 {
			t.Errorf("%s: %v, %q", tool, res.Error, res.Content)
		}
		if len(b.Asked()) != 1 || len(b.Asked()[0].Effects) != 1 || len(b.Asked()[0].Message) > 300 {
			t.Errorf("%s asked: %+v", tool, b.Asked())
		}
	}
	b.same("undone", b.snapshot(), before)
}

// Names that no path of a call can have come back with their directory.
func TestOddNames(t *testing.T) {
	b := newBench(t)
	b.Put("d/f\nname", "f")
	b.Put("d/"+string([]byte{'x', 0xff, 0xfe}), "bytes")
	b.Must(os.Symlink(string([]byte{0xfd, '/', 'y'}), filepath.Join(b.Dir, "d", "l")))
	before := b.snapshot()
	b.ok("delete_file", args{"path": "d", "recursive": true})
	after := b.snapshot()
	b.ok("undo", args{})
	b.same("undone", b.snapshot(), before)
	b.ok("redo", args{})
	b.same("redone", b.snapshot(), after)
}

// The state of a repository is none of its business.
func TestGitIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.Put(".git/HEAD", "ref: refs/heads/main\n")
	b.Put(".git/index", "index")
	b.Put("f", "one\n")
	before := b.snapshot()
	b.ok("write_file", args{"path": "f", "content": "two\n"})
	b.ok("delete_file", args{"path": "f"})
	b.ok("undo", args{"session": "s"})
	b.same("undone", b.snapshot(), before)
}

func TestTreesAndMoves(t *testing.T) {
	b := newBench(t)
	b.Put("d/a", "a")
	b.Put("d/sub/b", "b")
	b.Must(os.Symlink("a", filepath.Join(b.Dir, "d", "l")))
	b.Must(os.Chmod(filepath.Join(b.Dir, "d/sub/b"), 0o751))
	b.Put("x", "x")
	states := []string{b.snapshot()}
	var calls []string
	step := func(tool string, a args) {
		calls = append(calls, b.ok(tool, a))
		states = append(states, b.snapshot())
	}
	step("move_file", args{"from": "d", "to": "new/place"})
	step("write_file", args{"path": "new/place/sub/b", "content": "bb"})
	step("move_file", args{"from": "x", "to": "new/place/a", "overwrite": true})
	step("delete_file", args{"path": "new", "recursive": true})
	step("write_file", args{"path": "deep/er/f", "content": "f"})
	for i := len(calls) - 1; i >= 0; i-- {
		b.ok("undo", args{})
		b.same(fmt.Sprintf("before %d", i), b.snapshot(), states[i])
	}
	for i := range calls {
		b.ok("redo", args{})
		b.same(fmt.Sprintf("after %d", i), b.snapshot(), states[i+1])
	}
	b.ok("undo", args{"session": "s"})
	b.same("all at once", b.snapshot(), states[0])
}

// Random sequences of calls, undone one by one, at once, and out of order where nothing stands against it.
func TestRandomCalls(t *testing.T) {
	rounds := uint64(6)
	if os.Getenv("TONGS_JOURNAL_MANY") != "" {
		rounds = 300
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.Put("a/a/a", "0\n")
		b.Put("b/c", "1\n")
		b.Put("d", "2\n")
		names := []string{"a", "b", "c", "d", "a/a", "a/b", "b/a", "b/c", "c/d", "a/a/a", "a/b/c", "b/c/d"}
		pick := func() string { return names[r.IntN(len(names))] }
		states := []string{b.snapshot()}
		var calls []string
		for range 12 {
			var res *tongs.Result
			switch r.IntN(5) {
			case 0, 1:
				res = b.Call("write_file", args{"path": pick(), "content": fmt.Sprintf("%d\n", r.IntN(5))})
			case 2:
				res = b.Call("edit", args{"path": pick(), "oldString": "1", "newString": "1\nmore 1", "replaceAll": true})
			case 3:
				res = b.Call("delete_file", args{"path": pick(), "recursive": r.IntN(2) == 0})
			case 4:
				res = b.Call("move_file", args{"from": pick(), "to": pick(), "overwrite": r.IntN(2) == 0})
			}
			if now := b.snapshot(); res.OK() && now != states[len(states)-1] {
				calls = append(calls, res.Metadata["call"].(string))
				states = append(states, now)
			}
		}
		n := len(calls)
		for i := n - 1; i >= n/2; i-- {
			b.ok("undo", args{"call": calls[i]})
			b.same(fmt.Sprintf("seed %d: before %d", seed, i), b.snapshot(), states[i])
		}
		for i := n / 2; i < n; i++ {
			b.ok("redo", args{})
			b.same(fmt.Sprintf("seed %d: after %d", seed, i), b.snapshot(), states[i+1])
		}
		if n > 0 {
			b.outOfOrder(r, calls)
			if b.snapshot() == states[0] {
				b.fails(tongs.CodeInvalidArgs, "everything is as it was already", "undo", args{"session": "s"})
				continue
			}
			b.ok("undo", args{"session": "s"})
			b.same(fmt.Sprintf("seed %d: all at once", seed), b.snapshot(), states[0])
		}
		if t.Failed() {
			return
		}
	}
}

// outOfOrder undoes some call. Where that is refused nothing changes, otherwise redo brings it back.
func (b *bench) outOfOrder(r *rand.Rand, calls []string) {
	b.Helper()
	before := b.snapshot()
	res := b.Call("undo", args{"call": calls[r.IntN(len(calls))]})
	if !res.OK() {
		b.same("refused", b.snapshot(), before)
		return
	}
	b.ok("redo", args{})
	b.same("there and back", b.snapshot(), before)
}
