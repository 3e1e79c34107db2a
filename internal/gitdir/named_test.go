package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// A configuration that is made to keep us busy is an error, and soon.
func TestConfigurationsThatAreTooLarge(t *testing.T) {
	var includes, chain, dirs, words strings.Builder
	for i := range 20_000 {
		n := strconv.Itoa(i)
		includes.WriteString("[include]\npath = x" + n + "\n")
		dirs.WriteString("cd d" + n + " && ./f; ")
		words.WriteString("./w" + n + " ")
	}
	for _, link := range []string{"l1", "l2", "l3"} { // links to the directory itself
		chain.WriteString("[include]\npath = " + link + "/config\n")
	}
	for name, c := range map[string]struct {
		config string
		fails  bool
	}{
		"includes":                      {includes.String(), true},
		"directories of a command":      {"[alias]\nx = \"!" + dirs.String() + "\"\n", true},
		"words of a command":            {"[alias]\nx = !" + words.String() + "\n", true},
		"itself through links":          {chain.String(), false},
		"a file of more than its bound": {strings.Repeat("#\n", 3<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(root, ".git/config"), c.config+"[core]\nhooksPath = hk\n")
			for _, link := range []string{"l1", "l2", "l3"} {
				if err := os.Symlink(".", filepath.Join(root, ".git", link)); err != nil {
					t.Fatal(err)
				}
			}
			host := gitdir.Host{Getenv: func(string) string { return "" }}
			names, _, err := host.Named([]string{root}, []gitdir.Repository{{Dir: filepath.Join(root, ".git"), Top: root}})
			if c.fails != (err != nil) {
				t.Errorf("error %v", err)
			}
			if !c.fails && !slices.ContainsFunc(names, func(n gitdir.Name) bool { return n.Path == filepath.Join(root, "hk") }) {
				t.Errorf("names %v", names)
			}
		})
	}
}

// What an included file includes is beside where that file is, also where a link and ".." are on the way there.
func TestIncludesThroughLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, ".git/config"), "[include]\npath = ../lnk/../inc/a\n")
	write(t, filepath.Join(root, "far/inc/a"), "[include]\npath = b\n")
	write(t, filepath.Join(root, "far/inc/b"), "[core]\nhooksPath = hk\n")
	write(t, filepath.Join(root, "far/away/x"), "")
	if err := os.Symlink("far/away", filepath.Join(root, "lnk")); err != nil {
		t.Fatal(err)
	}
	host := gitdir.Host{Getenv: func(string) string { return "" }}
	names, _, err := host.Named([]string{root}, []gitdir.Repository{{Dir: filepath.Join(root, ".git"), Top: root}})
	if err != nil {
		t.Fatal(err)
	}
	for _, rel := range []string{"hk", "lnk", "far/inc/a", "far/inc/b"} {
		if !slices.ContainsFunc(names, func(n gitdir.Name) bool { return n.Path == filepath.Join(root, rel) && n.Tree }) {
			t.Errorf("%s is not among %v", rel, names)
		}
	}
}
