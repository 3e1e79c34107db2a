package changeset_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// need returns the path of a program that the test is about.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed here", name)
	}
	return path
}

// What people run all day works held back, and leaves the same as directly.
func TestGitAndMake(t *testing.T) {
	need(t, "git")
	need(t, "make")
	b := newBed(t)
	b.policy = func(p *sandbox.Policy) {
		p.Env = append(p.Env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
		p.ProtectedNames = []string{".git"}
	}
	b.write(map[string]string{"a.txt": "one\n", "Makefile": "out: a.txt\n\tmkdir -p build\n\tcp a.txt build/out\n\techo done > out\n"})
	if out, err := exec.Command("git", "-C", b.ws, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := b.sh("git add -A && git commit -qm first && echo two >> a.txt && git commit -qam second && git gc -q && git status --porcelain && make -s")
	if out, err := exec.Command("git", "-C", b.ws, "log", "--oneline").CombinedOutput(); err == nil {
		t.Fatalf("the commit is there before it was kept:\n%s", out)
	}
	entry := b.commit(s)
	out, err := exec.Command("git", "-C", b.ws, "-c", "safe.directory=*", "log", "--format=%s").CombinedOutput()
	if err != nil || string(out) != "second\nfirst\n" {
		t.Errorf("log %q, %v", out, err)
	}
	if out, err := exec.Command("git", "-C", b.ws, "-c", "safe.directory=*", "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
	if b.read("build/out") != "one\ntwo\n" || b.read("out") != "done\n" {
		t.Error("make's result is not there")
	}
	undo(t, b, entry, nil)
	if b.read("a.txt") != "one\n" {
		t.Error("undo left the change")
	}
}

func TestVenv(t *testing.T) {
	need(t, "python3")
	b := newBed(t)
	b.commit(b.sh(`python3 -m venv --without-pip env && ./env/bin/python -c 'print("venv")'`))
	out, err := exec.Command(filepath.Join(b.ws, "env/bin/python"), "-c", "import sys; print(sys.prefix)").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != filepath.Join(b.ws, "env") {
		t.Errorf("the environment: %q, %v", out, err)
	}
}

// TONGS_OUTCOME_BUILD switches it on: it compiles the standard library.
func TestGoBuild(t *testing.T) {
	if os.Getenv("TONGS_OUTCOME_BUILD") == "" {
		return
	}
	goBin := need(t, "go")
	root, err := exec.Command(goBin, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t)
	goroot := strings.TrimSpace(string(root))
	b.policy = func(p *sandbox.Policy) {
		p.Readable = append(p.Readable, goroot)
		p.Env = append(p.Env, "GOROOT="+goroot, "GOCACHE="+filepath.Join(b.ws, ".cache"), "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOTOOLCHAIN=local")
		p.Limits.Memory = 3 << 30
	}
	b.write(map[string]string{"go.mod": "module x\n\ngo 1.21\n", "main.go": "package main\n\nfunc main() { println(\"built\") }\n"})
	s := b.sh(filepath.Join(goroot, "bin/go") + ` build -o app . && ./app 2>&1`)
	b.commit(s)
	out, err := exec.Command(filepath.Join(b.ws, "app")).CombinedOutput()
	if err != nil || string(out) != "built\n" {
		t.Errorf("the program that was built: %q, %v", out, err)
	}
}

// As many files as a package manager installs are read, listed, committed and undone in bounded memory.
// TONGS_OUTCOME_FILES is how many.
func TestManyFiles(t *testing.T) {
	count := 1000
	if n := os.Getenv("TONGS_OUTCOME_FILES"); n != "" {
		if _, err := fmt.Sscan(n, &count); err != nil {
			t.Fatal(err)
		}
	}
	b := newBed(t)
	b.write(map[string]string{"package.json": "{}\n"})
	res := b.run(b.ws, true, "sh", "-c", fmt.Sprintf(
		`i=0; while [ $i -lt %d ]; do d=node_modules/p$((i/50)); [ -d $d ] || mkdir -p $d; echo "module.exports = $i" > $d/f$i.js; i=$((i+1)); done; echo '{"n":1}' > package.json`, count))
	before := heap()
	s := b.set(res)
	if n := s.Counts(); n.Added < count || n.Modified != 1 {
		t.Fatalf("%+v", n)
	}
	if p := s.Preview(8000); len(p) > 8200 {
		t.Errorf("the preview has %d bytes", len(p))
	}
	entry := b.commit(s)
	listed := 0
	for _, err := range b.journal.Changes(entry.ID) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if listed < count {
		t.Errorf("%d of %d changes are listed", listed, count)
	}
	used := heap() - before
	t.Logf("%d files: %d changes, %d kB of heap, journal %d kB", count, listed, used>>10, size(b.journal.Dir())>>10)
	if perFile := used / int64(count); perFile > 8192 {
		t.Errorf("%d bytes of memory are held for a file", perFile)
	}
	undo(t, b, entry, nil)
	if _, err := os.Lstat(filepath.Join(b.ws, "node_modules")); err == nil {
		t.Error("undo left node_modules")
	}
	list, err := b.journal.List(journal.Filter{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func size(dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

func TestCommitIsCancelled(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"a": "a"})
	s := b.sh("echo x > a; echo y > b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Commit(ctx, b.journal, journal.Entry{Roots: map[string]string{"": b.ws}}, nil); err == nil {
		t.Error("a cancelled commit was made")
	}
	if b.read("a") != "a" {
		t.Error("the tree changed")
	}
	b.commit(s)
	if b.read("a") != "x\n" || b.read("b") != "y\n" {
		t.Error("a later commit of the same set does not work")
	}
}
