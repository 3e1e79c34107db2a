package changeset_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) == 4 && os.Args[1] == "programs" {
		first, _ := strconv.Atoi(os.Args[2])
		count, _ := strconv.Atoi(os.Args[3])
		syscall.Exit(runPrograms(".", first, count))
	}
	os.Exit(m.Run())
}

const nobody = 65534

// asUser runs a test again as an ordinary user, in a process of its own.
func asUser(t *testing.T, test string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	dir, err := os.MkdirTemp("", "tongs-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// A copy of this program, where that user can reach it.
	self := filepath.Join(dir, "bin", "outcome.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err := errors.Join(err, os.Chown(dir, nobody, nobody), os.Mkdir(filepath.Dir(self), 0o755), os.WriteFile(self, data, 0o755)); err != nil {
		t.Fatal(err)
	}
	limit := time.Duration(0) // none
	if ends, ok := t.Deadline(); ok {
		limit = max(time.Until(ends)-5*time.Second, time.Second)
	}
	cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.v", "-test.timeout="+limit.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCACHE="+filepath.Join(dir, "go-build"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// bed is where outcome runs are tried: a workspace, a directory for layers, a journal.
type bed struct {
	t       testing.TB
	ws      string
	layers  string
	runner  *sandbox.Runner
	journal *journal.Journal
	policy  func(*sandbox.Policy)
}

func newBed(t testing.TB) *bed {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, ws: filepath.Join(top, "ws"), layers: filepath.Join(top, "layers")}
	for _, dir := range []string{b.ws, b.layers} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if b.journal, err = journal.Open(journal.Options{Dir: filepath.Join(top, "journal"), NoSync: true}); err != nil {
		t.Fatal(err)
	}
	if b.runner, err = sandbox.New(sandbox.Options{Tiers: []string{sandbox.TierA}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.runner.Close()
		b.journal.Close()
		_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return b
}

// copies makes the bed one in which trees are copied, as where no overlay can be made.
func (b *bed) copies(yes bool) {
	b.t.Helper()
	if !yes {
		return
	}
	_ = b.runner.Close()
	var err error
	if b.runner, err = sandbox.New(sandbox.Options{Tiers: []string{sandbox.TierA}, NoOverlay: true}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) write(files map[string]string) {
	b.t.Helper()
	for name, content := range files {
		path := filepath.Join(b.ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bed) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.ws, name))
	if err != nil {
		b.t.Error(err)
	}
	return string(data)
}

// run runs a program in a directory. Held says to hold back what it writes.
func (b *bed) run(dir string, held bool, argv ...string) *sandbox.Result {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	pol := sandbox.Policy{
		Readable: slices.DeleteFunc([]string{"/usr", "/bin", "/lib", "/lib64", filepath.Dir(self)}, func(p string) bool {
			_, err := os.Stat(p)
			return err != nil
		}),
		Writable: []sandbox.Mount{sandbox.Decided(dir)}, Dir: dir, Env: []string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"},
		Require: sandbox.Properties(),
	}
	if held {
		pol.Writable = []sandbox.Mount{sandbox.Layered(dir)}
		pol.Overlay = &sandbox.Overlay{Dir: b.layers}
	}
	if b.policy != nil {
		b.policy(&pol)
	}
	var out bytes.Buffer
	res, err := b.runner.Run(context.Background(), &sandbox.Cmd{Argv: argv, Policy: pol, Stdout: &out, Stderr: &out})
	if err != nil {
		b.t.Fatalf("%v\n%s", err, out.String())
	}
	if res.ExitCode != 0 {
		b.t.Fatalf("%q: exit %d %+v\n%s", argv, res.ExitCode, res.Report.LimitsHit, out.String())
	}
	return res
}

// set reads what a program left.
func (b *bed) set(res *sandbox.Result) *changeset.Set {
	b.t.Helper()
	opt := changeset.Options{Drop: res.Overlay.Close}
	for _, l := range res.Overlay.List {
		opt.Layers = append(opt.Layers, changeset.Layer{Layer: l, At: tongs.Path{Rel: "."}})
	}
	s, err := changeset.Read(context.Background(), opt)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Drop() })
	return s
}

// sh runs a script in the workspace, held back, and reads what it left.
func (b *bed) sh(script string) *changeset.Set {
	b.t.Helper()
	return b.set(b.run(b.ws, true, "sh", "-c", "set -e\n"+script))
}

func (b *bed) commit(s *changeset.Set, keep ...string) *journal.Entry {
	b.t.Helper()
	e, err := b.tryCommit(s, keep...)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func (b *bed) tryCommit(s *changeset.Set, keep ...string) (*journal.Entry, error) {
	return s.Commit(context.Background(), b.journal, journal.Entry{Call: "c", Tool: "shell", Roots: map[string]string{"": b.ws}}, keep)
}
