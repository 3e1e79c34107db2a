package packages

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/test/packages/mirror"
)

// call makes a call of another tool than shell.
func (b *bench) call(tool string, args map[string]any) *tongs.Result {
	b.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	return b.Call(context.Background(), &tongs.Call{Tool: tool, Args: raw, Session: "s1", Agents: []string{"test"}})
}

// installs makes a call of install_package that succeeds, and returns the questions that it asked.
func (b *bench) installs(says string, args map[string]any) []approval.Question {
	b.Helper()
	res := b.call("install_package", args)
	if res.Error != nil || !strings.Contains(res.Content, says) {
		b.Fatalf("%v: %s", args, res.Content)
	}
	return b.questions()
}

// refuses makes a call of install_package that fails.
func (b *bench) refuses(code tongs.Code, says string, args map[string]any) {
	b.Helper()
	if res := b.call("install_package", args); res.Error == nil || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%v: %s", args, res.Content)
	}
}

// questions are those since the last time.
func (b *bench) questions() []approval.Question {
	b.person.mu.Lock()
	defer b.person.mu.Unlock()
	asked := b.person.asked
	b.person.asked = nil
	return asked
}

func (b *bench) read(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.opt.Workspace, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// needs fails a test without programs that 'make test' installs, and shows those of npm.
func needs(t testing.TB, programs ...string) {
	t.Helper()
	bin, err := filepath.Abs("../../bin/managers/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("the test needs %s; test/scripts/needs installs it", name)
		}
	}
}

// The first question tells what is installed, from where, and that no script runs; the second shows what changed in the lock file.
// Install scripts are asked about each time, as they are, and run on a copy.
func TestInstallWithNpmAndItsRelatives(t *testing.T) {
	for _, manager := range []struct{ name, lock, field string }{
		{"npm", "package-lock.json", ""}, {"pnpm", "pnpm-lock.yaml", "pnpm@10.34.9"}, {"yarn", "yarn.lock", "yarn@1.22.22"},
	} {
		t.Run(manager.name, func(t *testing.T) {
			needs(t, "npm", "pnpm", "yarn")
			m := newMirror(t, name(t))
			b := newBench(t, "")
			b.write("package.json", `{"name": "shop", "version": "1.0.0", "packageManager": "`+manager.field+`"}`)
			b.write(".npmrc", "registry="+m.URL+"/npm/\n")
			asked := b.installs(manager.name+" installed one 1.0.0", map[string]any{"packages": []string{"one@1.0.0"}})
			if len(asked) != 2 {
				t.Fatalf("%d questions: %+v", len(asked), asked)
			}
			for _, want := range []string{"one 1.0.0", "registry: " + m.URL + "/npm/ (named by .npmrc of this project)", "install scripts of the packages do not run", "--ignore-scripts"} {
				if !strings.Contains(asked[0].Preview, want) {
					t.Errorf("the first question lacks %q:\n%s", want, asked[0].Preview)
				}
			}
			if !strings.Contains(asked[0].Message, "Install one 1.0.0 with "+manager.name+" from "+m.URL) || !slices.ContainsFunc(asked[0].Effects, isHost) {
				t.Errorf("the first question: %s %+v", asked[0].Message, asked[0].Effects)
			}
			if !slices.ContainsFunc(asked[1].Changes, func(c tongs.Change) bool { return c.Path.Rel == manager.lock }) || !strings.Contains(asked[1].Preview, "+++ b/package.json") {
				t.Errorf("the second question: %+v\n%s", asked[1].Changes, asked[1].Preview)
			}

			asked = b.installs("not run: scripted@1.0.0 postinstall: "+mirror.Script, map[string]any{"packages": []string{"scripted"}, "dev": true})
			if len(asked) != 1 || strings.Contains(b.read("package.json"), `"devDependencies"`) == false {
				t.Errorf("%d questions, %s", len(asked), b.read("package.json"))
			}
			if _, err := os.Stat(filepath.Join(b.opt.Workspace, "node_modules/scripted/ran")); err == nil {
				t.Error("a script ran that nobody approved")
			}

			asked = b.installs("ran scripted-too@1.0.0 postinstall: ", map[string]any{"packages": []string{"scripted-too"}, "scripts": true})
			shown := slices.ContainsFunc(asked, func(q approval.Question) bool {
				return slices.ContainsFunc(q.Effects, func(e tongs.Effect) bool {
					return e.Kind == tongs.EffectExecute && e.MustAsk && e.Why == "postinstall script of scripted-too@1.0.0" && slices.Equal(e.Argv, []string{"sh", "-c", mirror.Script})
				})
			})
			if !shown {
				t.Errorf("the script is in no question: %+v", asked)
			}
			if b.read("node_modules/scripted-too/ran") != "yes" {
				t.Error("an approved script did not run")
			}
			if _, err := os.Stat(filepath.Join(b.opt.Workspace, "node_modules/scripted/ran")); err == nil {
				t.Error("the script of another package ran")
			}
			b.refuses(tongs.CodeNoMatch, "has no such package or version: "+mirror.Missing+"-one", map[string]any{"packages": []string{mirror.Missing + "-one"}})
			b.refuses(tongs.CodeNoMatch, "has no such package or version: two@9.9.9", map[string]any{"packages": []string{"two@9.9.9"}})
		})
	}
}

// A person who declines the scripts has nothing installed.
func TestDeclinedScripts(t *testing.T) {
	m := newMirror(t, name(t))
	b := newBench(t, "approval: {mode: all}\n")
	b.write("package.json", `{"name": "shop"}`)
	b.write(".npmrc", "registry="+m.URL+"/npm/\n")
	b.person.deny = func(q approval.Question) bool {
		return slices.ContainsFunc(q.Effects, func(e tongs.Effect) bool { return strings.Contains(e.Why, "postinstall") })
	}
	b.refuses(tongs.CodeDenied, "", map[string]any{"packages": []string{"scripted"}, "scripts": true})
	if got := b.read("package.json"); got != `{"name": "shop"}` {
		t.Errorf("package.json: %s", got)
	}
}

func TestInstallWithPip(t *testing.T) {
	host := name(t)
	m := newMirror(t, host)
	b := newBench(t, "")
	b.write("requirements.txt", "--index-url "+m.URL+"/pypi/simple/\n--trusted-host "+host+"\n")
	b.refuses(tongs.CodeConfigError, "python3 -m venv .venv", map[string]any{"packages": []string{"tiny"}})
	if out, err := exec.Command("python3", "-m", "venv", filepath.Join(b.opt.Workspace, ".venv")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.write(".venv/pip.conf", "[global]\nindex-url = "+m.URL+"/pypi/simple/\ntrusted-host = "+host+"\n")
	asked := b.installs("pip installed tiny 1.0.0", map[string]any{"packages": []string{"tiny==1.0.0"}})
	if len(asked) == 0 || !strings.Contains(asked[0].Preview, "build scripts of packages that have no wheel do not run") || !strings.Contains(asked[0].Preview, "registry: "+m.URL) {
		t.Errorf("asked: %+v", asked)
	}
	b.ok(".venv/bin/python -c 'import tiny; print(tiny.name())'", "tiny")
	b.questions()
	asked = b.installs("pip installed small 1.0.0", map[string]any{"packages": []string{"small"}, "scripts": true})
	if len(asked) == 0 || !slices.ContainsFunc(asked[0].Effects, func(e tongs.Effect) bool { return e.MustAsk && strings.Contains(e.Why, "build scripts") }) {
		t.Errorf("asked: %+v", asked)
	}
	b.refuses(tongs.CodeNoMatch, "has no such package or version", map[string]any{"packages": []string{mirror.Missing}})
}

func TestInstallWithGoAndCargo(t *testing.T) {
	needs(t, "go", "cargo")
	m := newMirror(t, name(t))
	t.Setenv("GOPROXY", m.URL+"/go")
	t.Setenv("GONOSUMDB", "*")
	b := newBench(t, "")
	b.write("go/go.mod", "module example.org/shop\n\ngo 1.21\n")
	b.write("rust/Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	b.write("rust/src/lib.rs", "")
	b.write("rust/.cargo/config.toml", "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = \"sparse+"+m.URL+"/cargo/index/\"\n")
	asked := b.installs("go installed example.org/greet v1.0.0", map[string]any{"packages": []string{"example.org/greet@v1.0.0"}, "path": "go"})
	if len(asked) != 2 || !strings.Contains(asked[0].Preview, "registry: "+m.URL+"/go (named by GOPROXY)") || !strings.Contains(asked[1].Preview, "+require example.org/greet v1.0.0") {
		t.Errorf("asked: %+v", asked)
	}
	b.refuses(tongs.CodeNoMatch, "has no such package or version", map[string]any{"packages": []string{"example.org/" + mirror.Missing}, "path": "go"})
	b.refuses(tongs.CodeInvalidArgs, "runs no scripts", map[string]any{"packages": []string{"example.org/other"}, "path": "go", "scripts": true})
	b.questions()
	b.installs("cargo installed tiny-crate 1.0.0", map[string]any{"packages": []string{"tiny-crate"}, "path": "rust"})
	if !strings.Contains(b.read("rust/Cargo.toml"), `tiny-crate = "1.0.0"`) || !strings.Contains(b.read("rust/Cargo.lock"), "tiny-crate") {
		t.Errorf("%s\n%s", b.read("rust/Cargo.toml"), b.read("rust/Cargo.lock"))
	}
	b.refuses(tongs.CodeNoMatch, "has no such package or version", map[string]any{"packages": []string{mirror.Missing + "-crate"}, "path": "rust"})
}

// Nothing that a call names becomes an option, a file, a repository or an address, and nothing is asked about it.
func TestNamesThatAreNoPackages(t *testing.T) {
	b := newBench(t, "")
	b.write("node/package.json", `{}`)
	b.write("go/go.mod", "module x\n")
	b.write("py/requirements.txt", "")
	b.write("py/.venv/bin/python", "")
	b.write("rust/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n")
	for dir, names := range map[string][]string{
		"node": {
			"--global", "-g", "--registry=http://evil.example", "../x", "./x", "/etc", "file:../x", "git+https://evil.example/x", "https://evil.example/x.tgz",
			"evil/repo", "github:evil/repo", "npm:evil@1", "one two", "one;id", "one\n--global", "one@file:../x", "one@npm:evil", "one@https://evil.example/x.tgz", "one@--global", "one@", "@/x", "", ".",
		},
		"go":   {"-insecure", "./x", "../x", "all", "x", "example.org/../x", "example.org/x@-u", "example.org/x -u", "cmd", "std", "tool"},
		"py":   {"-r/etc/passwd", "--index-url=http://evil.example", "./x", "x.whl/..", "git+https://evil.example/x", "x @ https://evil.example/x.whl", "x;python_version<'4'", "-e.", "x==1,<2"},
		"rust": {"--path=/x", "--git=https://evil.example", "../x", "./x", "x@--git", "https://evil.example/x"},
	} {
		for _, text := range names {
			res := b.call("install_package", map[string]any{"packages": []string{text}, "path": dir})
			if res.Error == nil || res.Error.Code != tongs.CodeInvalidArgs {
				t.Errorf("%s: %q: %s", dir, text, res.Content)
			}
		}
	}
	if asked := b.questions(); len(asked) > 0 {
		t.Errorf("asked: %+v", asked)
	}
}

// What format_code changes is shown as a diff before it is kept, and can be undone.
func TestFormattingIsSettledAndUndone(t *testing.T) {
	b := newBench(t, "")
	b.write("go.mod", "module x\n")
	b.write("a.go", "package a\n\nfunc  F() {}\n")
	res := b.call("format_code", nil)
	asked := b.questions()
	if res.Error != nil || len(asked) != 1 || !strings.Contains(asked[0].Preview, "-func  F() {}\n+func F() {}") || b.read("a.go") != "package a\n\nfunc F() {}\n" {
		t.Fatalf("%s\n%+v", res.Content, asked)
	}
	if res := b.call("undo", nil); res.Error != nil || b.read("a.go") != "package a\n\nfunc  F() {}\n" {
		t.Errorf("undo: %s\n%s", res.Content, b.read("a.go"))
	}
	b.questions()
	b.person.deny = func(approval.Question) bool { return true }
	if res := b.call("format_code", nil); res.Error == nil || res.Error.Code != tongs.CodeDenied || b.read("a.go") != "package a\n\nfunc  F() {}\n" {
		t.Errorf("declined: %s", res.Content)
	}
	b.questions()
	if res := b.call("format_code", map[string]any{"check": true}); res.Error != nil || len(b.questions()) != 0 || !strings.Contains(res.Content, "+func F() {}") {
		t.Errorf("a check asks: %s", res.Content)
	}
}
