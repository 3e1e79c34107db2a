package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/test/packages/mirror"
)

func TestMain(m *testing.M) { workbench.Main(m) }

type args = workbench.Args

// registryName is a name of the registries of the tests. The guard of the bench has it lead to this machine.
const registryName = "registry.example"

// newRegistry starts package registries, in the real protocols.
func newRegistry(t testing.TB) *mirror.Mirror {
	t.Helper()
	m, err := mirror.Start("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.URL = strings.Replace(m.URL, "127.0.0.1", registryName, 1)
	return m
}

// readRegistries are those that the project names, and nothing of whoever runs the test.
func readRegistries(dir string) []registries.Named {
	return registries.Place{Project: dir, Getenv: func(string) string { return "" }}.Read()
}

type setup struct {
	Options
	rules  []tongs.Rule
	answer func(q approval.Question) approval.Answer
	limits sandbox.Limits
}

// newBench is a workspace with the tools in it, whose programs are real ones.
func newBench(t testing.TB, s setup) *workbench.Bench {
	t.Helper()
	b, opt := workbench.New(t, workbench.Options{Rules: append(Rules(), s.rules...), Answer: s.answer, Limits: s.limits, Cached: true, Private: []string{registryName}})
	if s.Registries == nil {
		s.Registries = readRegistries
	}
	tools, err := Tools(s.Options)
	b.Must(err)
	b.Build(opt, tools...)
	return b
}

// needs fails a test without the programs that it runs: 'make test' installs them.
func needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("the test needs %s; test/scripts/needs installs it", name)
		}
	}
}

// put writes the files of a project.
func put(b *workbench.Bench, files map[string]string) {
	b.Helper()
	for name, text := range files {
		b.Put(name, text)
	}
}

// environment makes a Python environment that sees the packages of the system.
func environment(b *workbench.Bench) {
	b.Helper()
	out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip", filepath.Join(b.Dir, ".venv")).CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// modules has a project use packages of npm that test/scripts/needs installed.
func modules(b *workbench.Bench, names ...string) {
	b.Helper()
	from, err := filepath.Abs("../../bin/npm/node_modules")
	b.Must(err)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(from, name, "package.json")); err != nil {
			b.Fatalf("the test needs the npm package %s; test/scripts/needs installs it: %v", name, err)
		}
	}
	link(b, from, "node_modules")
}

// link puts a tree of files into the workspace, by links where the file system has them.
func link(b *workbench.Bench, from, name string) {
	b.Helper()
	if exec.Command("cp", "-al", from, filepath.Join(b.Dir, name)).Run() == nil {
		return
	}
	if out, err := exec.Command("cp", "-a", from, filepath.Join(b.Dir, name)).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

func git(b *workbench.Bench, command ...string) {
	b.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, command...)...)
	cmd.Dir = b.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", command, err, out)
	}
}

// ran is the value of a call of run_tests that succeeds as a call.
func ran(b *workbench.Bench, a args) TestOutput {
	b.Helper()
	return workbench.Value[TestOutput](b, b.OK("run_tests", a))
}

// counts checks the figures of a run.
func counts(b *workbench.Bench, out TestOutput, passed, failed, skipped int) {
	b.Helper()
	if out.Passed != passed || out.Failed != failed || out.Skipped != skipped || !out.Counted {
		b.Errorf("%s: %d passed, %d failed, %d skipped, counted %v; want %d, %d, %d\n%+v", out.Runner, out.Passed, out.Failed, out.Skipped, out.Counted,
			passed, failed, skipped, out.Failures)
	}
}

// failure checks one failure, by its name.
func failure(b *workbench.Bench, out TestOutput, name, file string, line int, says string) {
	b.Helper()
	for _, f := range out.Failures {
		if f.Name != name {
			continue
		}
		if f.File != file || f.Line != line || !contains(f.Message, says) {
			b.Errorf("%s is at %s:%d, says %q; want %s:%d, %q", name, f.File, f.Line, f.Message, file, line, says)
		}
		return
	}
	b.Errorf("%s is not among the failures: %+v", name, out.Failures)
}
