package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// A command names every file that one of its words may mean.
func TestWordsOfCommands(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	for value, want := range map[string][]string{
		`./a.sh`:                               {"a.sh"},
		`./tools/mon.sh --x`:                   {"tools/mon.sh"},
		`"./my tools/mon.sh" x.py`:             {"my tools/mon.sh", "x.py"},
		`sh -c './a.sh | ./b.sh'`:              {"a.sh", "b.sh"},
		`!f() { ./run.sh "$1"; }; f`:           {"run.sh"},
		`FOO=./x ./y`:                          {"x", "y"},
		`prog --config=./c.py`:                 {"c.py"},
		`~/bin/x`:                              {"home/bin/x"},
		`$HOME/bin/x`:                          {"home/bin/x"},
		`"${HOME}/bin/x" %f`:                   {"home/bin/x"},
		`$(git rev-parse --show-toplevel)/t/x`: {"t/x"},
		`cd "sub dir" && ./x; cd two; ./y`:     {"two/y"},
		`.//a/../b`:                            {"b"},
		`!. ./env.sh && true`:                  {"env.sh"},
		`prog -I./inc.sh ${X:-./evil}`:         {"inc.sh", "evil"},
		root + `/abs.sh`:                       {"abs.sh"},
	} {
		env := map[string]string{"GIT_EDITOR": value}
		host := gitdir.Host{Homes: []string{home}, Getenv: func(name string) string { return env[name] }}
		names, _, err := host.Named([]string{root}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, rel := range want {
			if !slices.ContainsFunc(names, func(n gitdir.Name) bool { return n.Path == filepath.Join(root, rel) && !n.Tree }) {
				t.Errorf("%s does not name %s: %v", value, rel, names)
			}
		}
	}
}

// Git knows the hooks that we do: it lists those that are there.
func TestHookNamesAreGits(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := gitdir.Host{Getenv: func(name string) string {
		return map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": root}[name]
	}}
	names, _, err := host.Named([]string{root}, nil)
	if err != nil || len(names) < 25 {
		t.Fatalf("%v, %v", names, err)
	}
	cmd := exec.Command("git", "init", "-q", "--template=", root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, n := range names {
		write(t, filepath.Join(root, ".git/hooks", filepath.Base(n.Path)), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(root, ".git/hooks", filepath.Base(n.Path)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command("git", "bugreport", "-o", root, "-s", "x")
	cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_EDITOR=true"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	report, err := os.ReadFile(filepath.Join(root, "git-bugreport-x.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, hooks, _ := strings.Cut(string(report), "[Enabled Hooks]\n")
	listed := strings.Fields(hooks)
	for _, n := range names {
		name := filepath.Base(n.Path)
		if name != "query-watchman" && !slices.Contains(listed, name) { // the example of a file system monitor
			t.Errorf("git knows no hook %s", name)
		}
	}
}
