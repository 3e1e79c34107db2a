package confine_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
)

func script(text string) string {
	data, _ := json.Marshal(runIn{Script: text})
	return string(data)
}

// where returns the path at which a name is held.
func where(t *testing.T, out runOut, name string) string {
	t.Helper()
	for _, h := range out.Held {
		if path, host, _ := strings.Cut(h, " "); path == name {
			return host
		}
	}
	t.Fatalf("%s is not held: %+v", name, out)
	return ""
}

func (b *bench) has(name string) bool {
	_, err := os.Lstat(filepath.Join(b.dir, name))
	return err == nil
}

// Each protected name that a program makes is taken away until a person said yes, and is then as it was made.
func TestPlantedNamesAreHeld(t *testing.T) {
	for _, test := range []struct{ name, file, before string }{
		{".envrc", ".envrc", ""},
		{".mcp.json", ".mcp.json", ""},
		{"tongs.yaml", "tongs.yaml", ""},
		{"sub/evil.worker", "sub/evil.worker", ""},
		{".vscode", ".vscode/tasks.json", ""},
		{".github/workflows", ".github/workflows/x.yml", ""},
		{".gitlab-ci.yml", ".gitlab-ci.yml", ""},
		{"deep/er/.claude", "deep/er/.claude/settings.json", ""},
		{".git/hooks", ".git/hooks/pre-commit", "git init -q --template= ."},
		{"bare/hooks", "bare/hooks/post-receive", "git init -q --bare --template= bare"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, confine.Options{})
			if test.before != "" {
				b.host(t, test.before)
			}
			plant := script("mkdir -p " + filepath.Dir(test.file) + "; echo EVIL > " + test.file + "; chmod 755 " + test.file + "; cat " + test.file)
			b.say = false
			out, res := b.run(t, plant)
			if res.Error != nil || out.Out != "EVIL\n" || b.has(test.file) || len(b.asked) != 1 {
				t.Fatalf("asked %d times, %+v: %s", len(b.asked), out, res.Content)
			}
			q := b.asked[0]
			if len(q.Effects) != 1 || !q.Effects[0].MustAsk || q.Effects[0].String() != "write "+test.name || len(q.Remember) != 0 {
				t.Errorf("asked about %+v", q)
			}
			if !strings.Contains(q.Preview, "EVIL") || !strings.Contains(q.Preview, test.file) || !strings.Contains(q.Preview, "executable") {
				t.Errorf("the preview is %q", q.Preview)
			}
			held := filepath.Join(where(t, out, test.name), strings.TrimPrefix(test.file, test.name))
			if data, err := os.ReadFile(held); err != nil || string(data) != "EVIL\n" {
				t.Errorf("held: %q, %v", data, err)
			}
			b.say = true
			if out, res = b.run(t, plant); len(out.Held) != 0 || len(out.Approved) != 1 {
				t.Fatalf("%+v: %s", out, res.Content)
			}
			if info, err := os.Stat(filepath.Join(b.dir, test.file)); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// host runs a command as a person would, outside of the sandbox.
func (b *bench) host(t *testing.T, text string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return string(out)
}

// Whatever was planted in one run is one question.
func TestPlantedNamesAreOneQuestion(t *testing.T) {
	b := setup(t, confine.Options{})
	out, res := b.run(t, script(`echo 1 > .envrc; mkdir .vscode; echo 2 > .vscode/a; ln -s /etc/passwd .mcp.json; head -c 3000 /dev/urandom > tongs.yaml; mkfifo .bashrc`))
	if res.Error != nil || len(b.asked) != 1 || len(b.asked[0].Effects) != 5 || len(out.Approved) != 5 {
		t.Fatalf("asked %d times, %+v: %s", len(b.asked), out, res.Content)
	}
	preview := b.asked[0].Preview
	for _, want := range []string{".envrc", "link to /etc/passwd", "not text", "no regular file"} {
		if !strings.Contains(preview, want) {
			t.Errorf("the preview lacks %q:\n%s", want, preview)
		}
	}
	if to, err := os.Readlink(filepath.Join(b.dir, ".mcp.json")); err != nil || to != "/etc/passwd" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// What a person made while they were asked stays theirs.
func TestHeldNamesReplaceNothing(t *testing.T) {
	b := setup(t, confine.Options{})
	b.meanwhile = func() { b.write(t, ".envrc", "mine") }
	out, _ := b.run(t, script(`echo theirs > .envrc`))
	if data, _ := os.ReadFile(filepath.Join(b.dir, ".envrc")); string(data) != "mine" {
		t.Errorf(".envrc is %q", data)
	}
	if data, _ := os.ReadFile(where(t, out, ".envrc")); string(data) != "theirs\n" {
		t.Errorf("held %q", data)
	}
}

// Another name of the same file does not reach what a person approved, nor what is held.
func TestHeldNamesShareNothing(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "notes.txt", "harmless")
	b.meanwhile = func() { b.write(t, "notes.txt", "EVIL") }
	if out, res := b.run(t, script(`ln notes.txt .envrc; mkdir .vscode; ln notes.txt .vscode/tasks.json`)); len(out.Approved) != 2 {
		t.Fatalf("%+v: %s", out, res.Content)
	}
	for _, name := range []string{".envrc", ".vscode/tasks.json"} {
		if data, _ := os.ReadFile(filepath.Join(b.dir, name)); string(data) != "harmless" {
			t.Errorf("%s is %q", name, data)
		}
	}
}

// With nobody to ask it stays held. Once the question is approved the same call puts it in its place. Another content is
// another question, and spends the approval of what it was before.
func TestHeldNamesWaitForAnAnswer(t *testing.T) {
	b := setup(t, confine.Options{})
	b.desk.Channels = nil
	plant := script(`cp content .envrc`)
	b.write(t, "content", "one")
	out, res := b.run(t, plant)
	if where(t, out, ".envrc"); b.has(".envrc") {
		t.Fatalf("%+v: %s", out, res.Content)
	}
	approve := func(want int) {
		list, err := b.desk.Store.List(t.Context(), true)
		if err != nil || len(list) != want {
			t.Fatalf("%d questions, %v; want %d", len(list), err, want)
		}
		for _, q := range list {
			if err := b.desk.Store.Answer(t.Context(), q.ID, approval.Answer{Approved: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	approve(1)
	b.write(t, "content", "two")
	if out, _ = b.run(t, plant); b.has(".envrc") {
		t.Fatalf("another content was accepted: %+v", out)
	}
	b.write(t, "content", "one")
	if out, _ = b.run(t, plant); b.has(".envrc") {
		t.Fatalf("an approval that was spent was accepted: %+v", out)
	}
	approve(2)
	if out, res = b.run(t, plant); !b.has(".envrc") {
		t.Fatalf("%+v: %s", out, res.Content)
	}
}

// A name that was decided before the run is not asked about again, and only that.
func TestDecidedNamesAreNotHeld(t *testing.T) {
	b := setup(t, confine.Options{}, tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: ".mcp.json", Decision: tongs.Blocked, Layer: tongs.LayerUser})
	b.say = false
	out, _ := b.run(t, script(`echo x > .mcp.json`))
	if where(t, out, ".mcp.json"); b.has(".mcp.json") || len(b.asked) != 0 {
		t.Errorf("asked %d times: %+v", len(b.asked), out)
	}
}

// A repository that git makes is used at once; what in it names a program is for a person.
func TestNewRepositories(t *testing.T) {
	for _, test := range []struct {
		name, script string
		held         string // empty where nobody is asked
	}{
		{"init", `git init -q . && git commit -q --allow-empty -m a && git status`, ""},
		{"below", `git init -q new && cd new && git commit -q --allow-empty -m a`, ""},
		{"clone", `git clone -q old new && cd new && git log`, ""},
		{"bare", `git clone -q --bare old new.git`, ""},
		{"worktree", `cd old && git worktree add -q ../tree && cd ../tree && git status`, ""},
		{"worktree of a submodule", `git init -q new && git -C new commit -q --allow-empty -m a && mkdir -p old/.git/modules/a/b && mv new/.git old/.git/modules/a/b/c && cd old/.git/modules/a/b/c && git worktree add -q ../../../../../tree`, ""},
		{"rebase", `cd old && echo 1 > b && git add b && git commit -qm b && GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i HEAD~1`, ""},
		{"cherry-pick", `cd old && git checkout -qb f && echo 1 > b && git add b && git commit -qm b && echo 2 > b && git commit -qam c && git checkout -q - && echo 3 > b && git add b && git commit -qm d && ! git cherry-pick -x f~1 f`, ""},
		{"patch", `cd old && git format-patch -q --root -o /tmp/p && echo 3 > a && ! git am /tmp/p/*`, ""},
		{"rebase with exec", `cd old && echo 1 > b && git add b && git commit -qm b && GIT_SEQUENCE_EDITOR='printf "break\nexec evil\n" >' git rebase -i HEAD~1`, "old/.git/rebase-merge/git-rebase-todo"},
		{"worktree that leads away", `cd old && git worktree add -q ../tree && cp -r .git ../evil && echo ../../../../evil > .git/worktrees/tree/commondir && rm -r ../evil ../tree .git/worktrees/tree/gitdir`, "old/.git/worktrees/tree/commondir"},
		{"identity", `git init -q new && cd new && git config user.name x && git config user.email x@y`, ""},
		{"fsmonitor", `git init -q new && git -C new config core.fsmonitor ./evil`, "new/.git/config"},
		{"hooksPath", `git init -q new && git -C new config core.hooksPath evil`, "new/.git/config"},
		{"alias", `git init -q new && git -C new config alias.st '!evil'`, "new/.git/config"},
		{"filter", `git init -q new && git -C new config filter.a.clean evil`, "new/.git/config"},
		{"include", `git init -q new && git -C new config include.path ../evil`, "new/.git/config"},
		{"credential", `git init -q new && git -C new config credential.helper '!evil'`, "new/.git/config"},
		{"ssh", `git init -q new && git -C new config core.sshCommand evil`, "new/.git/config"},
		{"ext", `git init -q new && git -C new config remote.origin.url 'ext::evil'`, "new/.git/config"},
		{"one line", `git init -q new && echo '[core] fsmonitor = evil' >> new/.git/config`, "new/.git/config"},
		{"continued", `git init -q new && printf '[user]\n name = x\\\n[core]\n' >> new/.git/config`, "new/.git/config"},
		{"hook", `git init -q new && echo evil > new/.git/hooks/pre-commit`, "new/.git/hooks"},
		{"linked hook", `git init -q new && ln -s ../../evil new/.git/hooks/pre-commit.sample2`, "new/.git/hooks"},
		{"linked config", `git init -q new && mv new/.git/config x && ln -s ../../x new/.git/config`, "new/.git/config"},
		{"hard link", `git init -q new && ln new/.git/config x`, "new/.git/config"},
		{"pointer", `mkdir -p new evil && echo 'gitdir: ../evil' > new/.git`, "new/.git"},
		{"bare hook", `git init -q --bare new && echo evil > new/hooks/update`, "new/hooks"},
		{"commondir", `mkdir a && echo ref: refs/heads/x > a/HEAD && echo ../b > a/commondir && git init -q --bare b && rm b/HEAD`, "a/commondir"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, confine.Options{})
			b.say = false
			b.host(t, `git init -q old && cd old && echo a > a && git add a && git commit -q -m a`)
			out, res := b.run(t, script(`export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; `+test.script))
			if res.Error != nil || out.Code != 0 {
				t.Fatalf("%+v: %s", out, res.Content)
			}
			if test.held == "" {
				if len(out.Held) != 0 || len(b.asked) != 0 {
					t.Errorf("asked %d times, held %q", len(b.asked), out.Held)
				}
				return
			}
			if where(t, out, test.held); b.has(test.held) || len(b.asked) != 1 || len(out.Held) != 1 {
				t.Errorf("asked %d times, held %q", len(b.asked), out.Held)
			}
		})
	}
}

// A process that is killed while its command runs cannot leave planted names behind as if somebody had accepted them.
func TestNamesOfKilledRunsAreHeld(t *testing.T) {
	dir, runs, scratch := t.TempDir(), t.TempDir(), t.TempDir()
	if args := os.Getenv("TONGS_TEST_PLANT"); args != "" {
		parts := strings.Split(args, "\n")
		b := setupIn(t, parts[0], confine.Options{Runs: parts[1], Scratch: parts[2]})
		b.run(t, script(`echo EVIL > .envrc; touch started; sleep 1000`))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNamesOfKilledRunsAreHeld$")
	cmd.Env = append(os.Environ(), "TONGS_TEST_PLANT="+dir+"\n"+runs+"\n"+scratch)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, filepath.Join(dir, "started"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	b := setupIn(t, dir, confine.Options{Runs: runs, Scratch: scratch})
	b.say = false
	if !b.has(".envrc") {
		t.Fatal("nothing was planted")
	}
	out, res := b.run(t, `{"script":"ls -A","readOnly":true}`)
	if where(t, out, ".envrc"); b.has(".envrc") || strings.Contains(out.Out, ".envrc") || len(b.asked) != 1 {
		t.Fatalf("asked %d times, %+v: %s", len(b.asked), out, res.Content)
	}
	if q := b.asked[0]; !strings.Contains(strings.Join(q.Notes, " "), "cut off") || !strings.Contains(q.Preview, "EVIL") {
		t.Errorf("%+v", q)
	}
	if out, _ = b.run(t, script(`true`)); len(out.Held) != 0 || len(b.asked) != 1 {
		t.Errorf("asked %d times, %+v", len(b.asked), out)
	}
	if left, err := os.ReadDir(runs); err != nil || len(left) != 0 {
		t.Errorf("left in the journal: %v, %v", left, err)
	}
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not appear", name)
		}
	}
}

// What a command plants that still runs is left to its own end, also where another one was killed.
func TestNamesOfRunningCommandsAreLeftToThem(t *testing.T) {
	runs := t.TempDir()
	b := setup(t, confine.Options{Runs: runs})
	b.say = false
	done := make(chan runOut)
	go func() {
		out, _ := b.run(t, script(`echo 1 > .envrc; touch started; while test ! -e go; do sleep 0.01; done; cat .envrc`))
		done <- out
	}()
	awaitFile(t, filepath.Join(b.dir, "started"))
	if err := os.WriteFile(filepath.Join(runs, "dead.json"), []byte(`{"call":"c","argv":["x"],"roots":["`+b.dir+`"],"had":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write(t, ".mcp.json", "") // by nobody knows whom, and not there when the other one began
	if out, res := b.run(t, script(`true`)); len(out.Held) != 0 {
		t.Errorf("%+v: %s", out, res.Content)
	}
	b.write(t, "go", "")
	if out := <-done; out.Out != "1\n" || len(out.Held) != 2 || b.has(".envrc") {
		t.Errorf("%+v", out)
	}
}

// A place on another file system takes what is held as well.
func TestHeldOnAnotherFileSystem(t *testing.T) {
	scratch, err := os.MkdirTemp("/dev/shm", "held-")
	if err != nil {
		scratch = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(scratch) })
	b := setup(t, confine.Options{Scratch: scratch})
	plant := script(`mkdir -p .vscode/a; echo x > .vscode/a/b; chmod 750 .vscode/a/b; ln -s a .vscode/l; mkfifo .vscode/f`)
	b.say = false
	out, _ := b.run(t, plant)
	if data, err := os.ReadFile(filepath.Join(where(t, out, ".vscode"), "a/b")); err != nil || string(data) != "x\n" || b.has(".vscode") {
		t.Fatalf("%q, %v", data, err)
	}
	b.say = true
	b.run(t, plant)
	if info, err := os.Stat(filepath.Join(b.dir, ".vscode/l/b")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info, err)
	}
}

// A call that is cancelled leaves what it planted held; nobody is asked on its behalf.
func TestCancelledCallsLeaveNamesHeld(t *testing.T) {
	b := setup(t, confine.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		awaitFile(t, filepath.Join(b.dir, "started"))
	}()
	res := b.Call(ctx, &tongs.Call{Tool: "run", Args: []byte(script(`echo 1 > .envrc; touch started; sleep 1000`))})
	if res.Error == nil || b.has(".envrc") || len(b.asked) != 0 {
		t.Errorf("asked %d times: %s", len(b.asked), res.Content)
	}
}
