package confine_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func repositoryAt(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	for _, name := range []string{"file.txt", "sub/file.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("first\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
}

// worlds are the ways in which the repository of a workspace is elsewhere. Each returns the workspace.
var worlds = map[string]func(t *testing.T, base string) string{
	"linked worktree": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/main")
		git(t, base+"/main", "worktree", "add", "-q", base+"/ws", "-b", "side")
		return base + "/ws"
	},
	"subdirectory": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/main")
		return base + "/main/sub"
	},
	"subdirectory of a linked worktree": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/main")
		git(t, base+"/main", "worktree", "add", "-q", base+"/ws", "-b", "side")
		return base + "/ws/sub"
	},
	"submodule": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/part")
		repositoryAt(t, base+"/main")
		git(t, base+"/main", "submodule", "--quiet", "add", base+"/part", "deps/part")
		git(t, base+"/main", "commit", "-q", "-m", "part")
		return base + "/main/deps/part"
	},
	"worktree of a bare repository": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/main")
		git(t, base, "clone", "-q", "--bare", "main", "bare.git")
		git(t, base+"/bare.git", "worktree", "add", "-q", base+"/ws", "-b", "side")
		return base + "/ws"
	},
	"worktree in a worktree": func(t *testing.T, base string) string {
		repositoryAt(t, base+"/main")
		git(t, base+"/main", "worktree", "add", "-q", base+"/ws", "-b", "side")
		git(t, base+"/ws", "worktree", "add", "-q", base+"/ws/inner", "-b", "inner")
		return base + "/ws/inner"
	},
}

// inRepository is a bench whose workspace has its repository elsewhere.
func inRepository(t *testing.T, world string, opt confine.Options, rules ...tongs.Rule) (b *bench, base, common string, roots map[string]string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home")
	if err := os.MkdirAll(filepath.Join(home, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := worlds[world](t, base)
	found, ok := gitdir.Elsewhere(dir, home)
	if !ok {
		t.Fatalf("the repository of %s was not found", dir)
	}
	opt.Workspace, err = workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(t.TempDir(), "locks"), Repository: found.Dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opt.Workspace.Close() })
	opt.Shown = found.Files
	roots = map[string]string{}
	for _, r := range opt.Workspace.Roots() {
		roots[r.Name] = r.Dir
	}
	opt.Rules = func() []tongs.Rule { return rules }
	return setupIn(t, dir, opt, rules...), base, found.Dir, roots
}

// snapshot is everything below a directory: what it is, its content and its permissions.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(name)
			what += " -> " + to
		}
		all[strings.TrimPrefix(name, dir)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	same(t, before, snapshot(t, dir))
}

// same fails where two snapshots are not the same.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name := range maps.Keys(after) {
		if before[name] == "" {
			t.Errorf("%s was made: %s", name, after[name])
		}
	}
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s was %s and is %s", name, was, after[name])
		}
	}
}

// ruin is a script that changes, plants and removes whatever it can reach below a directory.
func ruin(base, common string) string {
	return strings.NewReplacer("BASE", base, "COMMON", common).Replace(`
for d in COMMON COMMON/worktrees/* COMMON/info; do for n in config config.worktree commondir attributes new hooks/post-commit; do mkdir -p $d/hooks; echo evil > $d/$n; done; done
find BASE COMMON -type f | while read -r f; do echo evil >> $f; done
find BASE COMMON -type d | while read -r d; do echo evil > $d/planted; done
chmod -R 0777 BASE COMMON
mv COMMON/refs COMMON/gone
rm -rf COMMON/objects BASE/* BASE/.git
true`)
}

// Whatever a program tries, nothing on the host changes unless writing was decided.
func TestAttackTheRepositoryOfAWorkspace(t *testing.T) {
	everyWrite := tongs.Rule{
		Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Pattern: "**", Decision: tongs.Blocked, Layer: tongs.LayerUser,
	}
	for world := range worlds {
		t.Run(world, func(t *testing.T) {
			for name, c := range map[string]struct {
				all     bool // in every world, not only in two of them
				rules   []tongs.Rule
				args    map[string]any
				prepare func(*bench)
				call    tongs.Call
			}{
				"on a copy, declined": {args: map[string]any{"copy": true}, prepare: func(b *bench) { b.say = false }},
				"on a copy, in part": {args: map[string]any{"copy": true}, prepare: func(b *bench) {
					b.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true, Keep: []string{}} }
				}},
				"on a copy, nobody answers":              {args: map[string]any{"copy": true}, prepare: func(b *bench) { b.desk.Channels = nil }},
				"a dry run":                              {args: map[string]any{"copy": true}, call: tongs.Call{DryRun: true}},
				"on a copy, every write blocked":         {args: map[string]any{"copy": true}, rules: []tongs.Rule{everyWrite}},
				"directly, every write blocked":          {all: true, args: map[string]any{}, rules: []tongs.Rule{everyWrite}},
				"read-only":                              {all: true, args: map[string]any{"readOnly": true}},
				"read-only, elsewhere":                   {args: map[string]any{"readOnly": true, "scratch": true}},
				"on a copy, elsewhere, declined":         {args: map[string]any{"copy": true, "scratch": true}, prepare: func(b *bench) { b.say = false }},
				"directly, the git directory is blocked": {args: map[string]any{"readOnly": true}, rules: []tongs.Rule{{Effects: everyWrite.Effects, Pattern: ".git/**", Decision: tongs.Blocked, Layer: tongs.LayerUser}}},
			} {
				if !c.all && world != "linked worktree" && world != "subdirectory" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					b, base, common, _ := inRepository(t, world, withCopies(t), c.rules...)
					if c.prepare != nil {
						c.prepare(b)
					}
					before := snapshot(t, base)
					c.args["script"] = ruin(base, common)
					call := c.call
					call.Tool = "run"
					call.Args, _ = json.Marshal(c.args)
					res := b.Call(t.Context(), &call)
					unchanged(t, base, before)
					if t.Failed() {
						t.Log(res.Content)
					}
				})
			}
		})
	}
}

// A commit on a copy is a part of the outcome: it holds once it is kept, in the repository and in the workspace, and undo
// takes all of it back.
func TestCommitsOnACopyAreKeptAndUndone(t *testing.T) {
	for world := range worlds {
		t.Run(world, func(t *testing.T) {
			opt := withCopies(t)
			b, base, common, roots := inRepository(t, world, opt)
			before := snapshot(t, base)
			commit := `git status --short . && echo second > new.txt && git add new.txt && git -c user.name=A -c user.email=a@example.org commit -q -m second && git log --format=%s`
			out, res := b.run(t, onCopy(commit))
			if res.Error != nil || out.Code != 0 || !strings.HasPrefix(out.Out, "second\n") {
				t.Fatalf("%+v %s", out, res.Content)
			}
			if got := git(t, b.dir, "log", "-1", "--format=%s"); got != "second" {
				t.Errorf("kept, and the newest commit is %q", got)
			}
			git(t, b.dir, "fsck", "--strict")
			if got := git(t, b.dir, "status", "--short", "."); got != "" {
				t.Errorf("kept, and the status is %q", got)
			}
			told := false
			for _, c := range b.asked[0].Changes {
				told = told || c.Repository && c.Path == tongs.Path{Root: tongs.RepositoryRoot, Rel: "."} && c.Protected == "" &&
					len(c.Does) == 1 && strings.HasPrefix(c.Does[0], "commit 1 file to ") && strings.HasSuffix(c.Does[0], ": second")
			}
			if !told || len(b.asked[0].Changes) != 2 {
				t.Errorf("the question does not tell what is done to %s in one line: %+v", common, b.asked[0].Changes)
			}
			entries, err := opt.Changes.List(journal.Filter{})
			if err != nil || len(entries) != 1 {
				t.Fatalf("%+v %v", entries, err)
			}
			undo, err := opt.Changes.Undo(t.Context(), journal.Entry{Call: "u", Tool: "undo", Roots: roots}, entries, nil)
			if err != nil || len(undo.Conflicts) > 0 {
				t.Fatalf("%+v %v", undo, err)
			}
			defer undo.Close()
			if _, err := undo.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := snapshot(t, base)
			for _, tree := range []map[string]string{before, after} { // objects are only ever added
				maps.DeleteFunc(tree, func(name, _ string) bool { return strings.Contains(name, "/objects/") })
			}
			same(t, before, after)
			if got := git(t, b.dir, "status", "--short", "."); got != "" {
				t.Errorf("undone, and the status is %q", got)
			}
			git(t, b.dir, "fsck", "--strict")
		})
	}
}

// A program that may write directly commits, and what git runs or obeys in the repository stays as it is.
func TestAttackWhatGitRunsInTheRepository(t *testing.T) {
	for world := range worlds {
		t.Run(world, func(t *testing.T) {
			b, _, common, _ := inRepository(t, world, confine.Options{})
			b.say = false
			obeyed := map[string]string{}
			parts, err := gitdir.Obeyed(common)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if info, err := os.Lstat(p); err == nil && info.IsDir() {
					for name, what := range snapshot(t, p) {
						obeyed[p+name] = what
					}
				} else {
					obeyed[p] = shape(t, p, "")
				}
			}
			script := `echo second > new.txt && git add new.txt && git -c user.name=A -c user.email=a@example.org commit -q -m second && git log -1 --format=%s
for f in ` + strings.Join(parts, " ") + `; do echo evil >> $f; mkdir -p $f; echo evil > $f/post-commit; done 2>/dev/null; true`
			args, _ := json.Marshal(map[string]any{"script": script})
			out, res := b.run(t, string(args))
			if res.Error != nil || !strings.Contains(out.Out, "second\n") {
				t.Errorf("no commit: %+v %s", out, res.Content)
			}
			for p, was := range obeyed {
				got := "nothing"
				if info, err := os.Lstat(p); err == nil && info.IsDir() {
					got = info.Mode().String()
				} else if was != "nothing" && !strings.HasPrefix(was, "-") {
					got = shape(t, p, "")
				} else if err == nil {
					data, _ := os.ReadFile(p)
					got = fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(data))
				}
				if got != was && !gitdir.Changes(p) {
					t.Errorf("%s was %q and is %q", strings.TrimPrefix(p, common), was, got)
				}
			}
		})
	}
}

// What no call can name is not named by one: the repository is out of reach of file tools.
func TestAttackNamingTheRepository(t *testing.T) {
	for world := range worlds {
		t.Run(world, func(t *testing.T) {
			opt := withCopies(t)
			_, base, common, _ := inRepository(t, world, opt)
			dir := worldDir(base, world)
			ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(t.TempDir(), "locks"), Repository: common})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			if err := os.Symlink(common, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(dir, common)
			for _, spelling := range []string{common, common + "/config", "/.git", "/.git/config", "/.git/../.git/HEAD", rel, rel + "/HEAD", "link/config", "link", "//.git/config", "/./.git/HEAD"} {
				if p, err := ws.Resolve(tongs.Path{Rel: "."}, spelling); tongs.CodeOf(err) != tongs.CodeInvalidPath {
					t.Errorf("%s: %v %v", spelling, p, err)
				}
			}
		})
	}
}

func worldDir(base, world string) string {
	return map[string]string{
		"linked worktree": base + "/ws", "subdirectory": base + "/main/sub", "subdirectory of a linked worktree": base + "/ws/sub",
		"submodule": base + "/main/deps/part", "worktree of a bare repository": base + "/ws", "worktree in a worktree": base + "/ws/inner",
	}[world]
}

// A caller that has only a part of the workspace has nothing of its repository, and one that may only read cannot write to it.
func TestAttackTheRepositoryFromAScope(t *testing.T) {
	part, all := []tongs.Zone{{Path: tongs.Path{Rel: "sub"}, Writable: true}}, []tongs.Zone{{Path: tongs.Path{Rel: "."}}}
	for name, c := range map[string]struct {
		zones []tongs.Zone
		sees  bool
		copy  bool
	}{
		"a part":                   {part, false, false},
		"a part, on a copy":        {part, false, true},
		"all, to read":             {all, true, false},
		"all, to read, on a copy":  {all, true, true},
		"nothing but another root": {[]tongs.Zone{{Path: tongs.Path{Root: "spill", Rel: "."}}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, base, common, _ := inRepository(t, "linked worktree", withCopies(t))
			before := snapshot(t, base)
			caller := b.Within(tongs.Scope{Agent: "helper", Zones: c.zones})
			args, _ := json.Marshal(map[string]any{"script": "test -e " + common + "/HEAD && echo SEEN; " + ruin(base+"/main", common), "scratch": true, "copy": c.copy})
			res := caller.Call(t.Context(), &tongs.Call{Tool: "run", Args: args})
			if got := strings.Contains(res.Content, "SEEN"); got != c.sees {
				t.Errorf("seen: %t\n%s", got, res.Content)
			}
			if c.zones[0].Writable {
				for name, what := range snapshot(t, base+"/main") {
					if before["/main"+name] != what {
						t.Errorf("%s is %s", name, what)
					}
				}
			} else {
				unchanged(t, base, before)
			}
		})
	}
}

// Somebody swaps .git of the workspace, and the repository, while a call is planned: what was found at the start counts, and a
// directory that took the place of the repository is not written to.
func TestAttackSwappingTheRepository(t *testing.T) {
	b, base, common, _ := inRepository(t, "linked worktree", withCopies(t))
	repositoryAt(t, base+"/victim")
	if err := os.WriteFile(filepath.Join(b.dir, ".git"), []byte("gitdir: "+base+"/victim/.git\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, base+"/victim")
	script := "test -e " + base + "/victim && echo SEEN; " + ruin(base+"/victim", base+"/victim/.git")
	for _, args := range []map[string]any{{"script": script}, {"script": script, "copy": true}, {"script": script, "readOnly": true}} {
		data, _ := json.Marshal(args)
		if res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: data}); strings.Contains(res.Content, "SEEN") {
			t.Errorf("the new one is shown: %s", res.Content)
		}
		unchanged(t, base+"/victim", before)
	}
	if err := os.Rename(common, common+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base+"/victim/.git", common); err != nil {
		t.Fatal(err)
	}
	b.say = true
	data, _ := json.Marshal(map[string]any{"script": "rm -rf " + common + "/refs; echo evil > " + common + "/evil", "copy": true})
	b.Call(t.Context(), &tongs.Call{Tool: "run", Args: data})
	unchanged(t, base+"/victim", before)
}
