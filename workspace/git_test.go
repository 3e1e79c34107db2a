package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// gitBench is a workspace with a repository, and a home of its own.
func gitBench(t *testing.T, setup string) (*workspace.Workspace, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, home := filepath.Join(base, "ws"), filepath.Join(base, "home")
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	cmd := exec.Command("sh", "-ec", "git init -q --template= .; "+setup)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", setup, err, out)
	}
	w, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(base, "locks")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, dir
}

// What git's configuration names is asked for, whatever names it and however it is spelled; what is beside it is not.
func TestWhatGitIsConfiguredToRunIsProtected(t *testing.T) {
	for _, c := range []struct{ name, setup, asked, free string }{
		{"hooks", `git config core.hooksPath tools/hooks/`, "tools/hooks tools/hooks/post-commit tools/hooks/lib/x tools/Hooks/post-commit tools", "tools/other tools2/hooks"},
		{"hooks in the top", `git config core.hooksPath "$PWD"`, "post-commit pre-push", "main.go src/post-commit hooks"},
		{"hooks of the user", `git config --global core.hooksPath shared`, "shared/post-commit", "post-commit"},
		{"hooks behind a link", `mkdir real; ln -s real hk; git config core.hooksPath hk`, "real/post-commit real", "other/post-commit"},
		{"a hook that is a link", `mkdir -p scripts .git/hooks; ln -s ../../scripts/check.sh .git/hooks/pre-commit`, "scripts/check.sh scripts", "scripts/other.sh check.sh"},
		{"a configured hook that is a link", `mkdir -p scripts hk; ln -s ../scripts/check.sh hk/pre-commit; git config core.hooksPath hk`, "scripts/check.sh", "scripts/other.sh"},
		{"hooks that are a link", `mkdir -p scripts; ln -s ../scripts .git/hooks`, "scripts/pre-commit scripts/lib/x", "script/x"},
		{"a configuration that is a link", `mv .git/config cfg; ln -s ../cfg .git/config`, "cfg", "cfg2"},
		{"a link to a .git file", `mv .git real; echo "gitdir: real" > dotgit; ln -s dotgit .git`, "dotgit", "dotgit2"},
		{"a command with arguments", `git config core.fsmonitor './tools/mon.sh --x'`, "tools/mon.sh TOOLS/MON.SH", "tools/x.sh"},
		{"an interpreter", `git config filter.x.clean 'python3 clean.py %f'`, "clean.py", "clean.go src/clean.py"},
		{"an alias of the user", `git config --global alias.x '!cd ops && ./run.sh'`, "ops/run.sh", "ops/other.sh"},
		{"an included file", `git config include.path ../team.cfg; printf '[core]\nhooksPath = inc' > team.cfg`, "team.cfg inc/pre-push", "team.txt"},
		{"the user's include", `git config --global include.path "$PWD/u.cfg"`, "u.cfg", "a.cfg"},
		{"attributes", `git config core.attributesFile attrs`, "attrs", "attrs2"},
		{"a repository inside", `git init -q --template= in; git -C in config core.hooksPath ../shared`, "shared/post-commit", "in/src/x"},
		{"a deep submodule", `git init -q --template= deep; mkdir -p .git/modules/a/b/c; mv deep/.git .git/modules/a/b/c/d; echo "gitdir: ../.git/modules/a/b/c/d" > deep/.git; git -C deep config core.worktree ../../../../../../deep; git -C deep config core.sshCommand ./s.sh`, "deep/s.sh", "s.sh"},
		{"an external transport", `git config remote.o.url 'ext::sh ./t.sh'`, "t.sh", "o"},
		{"a place", `git config remote.o.url https://example.com/x.git`, "", "x.git example.com"},
		{"plain settings", `git config user.name main.go; git config commit.template tpl.txt; git config init.defaultBranch trunk`, "", "main.go tpl.txt trunk"},
		{"a directory that an alias is about", `mkdir test; git config alias.t '!make test'`, "", "test/a_test.go src/test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := gitBench(t, c.setup)
			for rel := range strings.FieldsSeq(c.asked) {
				effects, err := w.Check([]tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: rel}}})
				if err != nil && tongs.CodeOf(err) != tongs.CodeInvalidPath || err == nil && (!effects[0].MustAsk || !strings.Contains(effects[0].Why, "git ")) {
					t.Errorf("writing %s is not asked for: %+v, %v", rel, effects, err)
				}
			}
			for rel := range strings.FieldsSeq(c.free) {
				if why, protected := w.Protected(tongs.Path{Rel: rel}); protected {
					t.Errorf("%s is protected: %s", rel, why)
				}
			}
		})
	}
}

// A person changes the configuration while the workspace is open.
func TestConfigurationThatChanges(t *testing.T) {
	w, dir := gitBench(t, `mkdir tools`)
	at := tongs.Path{Rel: "tools/post-commit"}
	if why, protected := w.Protected(at); protected {
		t.Fatal(why)
	}
	config := filepath.Join(dir, ".git/config")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := os.WriteFile(config, append(text[:len(text):len(text)], "[core]\n\thooksPath = tools\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, protected := w.Protected(at); !protected {
			t.Errorf("round %d: the new directory of hooks is not protected", i)
		}
		if err := os.WriteFile(config, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if why, protected := w.Protected(at); protected {
			t.Errorf("round %d: %s", i, why)
		}
	}
	for _, step := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(dir, "new/.git"), 0o755) },
		func() error {
			return os.WriteFile(filepath.Join(dir, "new/.git/config"), []byte("[core]\nfsmonitor = ./mon.sh\n"), 0o644)
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, protected := w.Protected(tongs.Path{Rel: "new/mon.sh"}); !protected {
		t.Error("what a new repository names is not protected")
	}
}

// A directory with something in it that git runs is not deleted like any other.
func TestDeletingWhatGitIsConfiguredToRun(t *testing.T) {
	w, _ := gitBench(t, `mkdir -p a/b c; echo > a/b/mon.sh; echo > c/x; git config core.fsmonitor a/b/mon.sh`)
	for rel, want := range map[string]bool{"a": true, "a/b": true, "c": false} {
		effects, err := w.Check([]tongs.Effect{{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: rel}}})
		if err != nil || effects[0].MustAsk != want {
			t.Errorf("deleting %s: %+v, %v", rel, effects, err)
		}
	}
}

// A configuration that is too large to be read is a question, not a way around.
func TestConfigurationThatIsTooLarge(t *testing.T) {
	w, dir := gitBench(t, `true`)
	text := "[core]\n\tfsmonitor = ./mon.sh\n" + strings.Repeat("# x\n", 2<<20)
	if err := os.WriteFile(filepath.Join(dir, ".git/config"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if why, protected := w.Protected(tongs.Path{Rel: "main.go"}); !protected || !strings.Contains(why, "larger") {
		t.Errorf("%v %q", protected, why)
	}
}

// A hook that becomes a link counts from then on.
func TestAHookThatBecomesALink(t *testing.T) {
	w, dir := gitBench(t, `mkdir -p scripts .git/hooks; echo > scripts/check.sh`)
	check := tongs.Path{Rel: "scripts/check.sh"}
	if why, protected := w.Protected(check); protected {
		t.Fatal(why)
	}
	if err := os.Symlink("../../scripts/check.sh", filepath.Join(dir, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	if _, protected := w.Protected(check); !protected {
		t.Error("what a new hook leads to is not protected")
	}
}
