package changeset_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// ownMounts runs the test again in a process with mounts of its own, which go with it, and reports whether this is it.
func ownMounts(t *testing.T) bool {
	t.Helper()
	const mark = "TONGS_TEST_MOUNTS"
	if os.Getuid() != 0 {
		t.Skip("it takes root to have mounts of its own")
	}
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("--- SKIP: "+t.Name())) {
		t.Skipf("%s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// tmpfs mounts a file system of a size over a directory.
func tmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o755), syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// tryRun runs a script, held back, that may fail.
func (b *bed) tryRun(script string) (*sandbox.Result, error) {
	b.t.Helper()
	return b.runner.Run(context.Background(), &sandbox.Cmd{Argv: []string{"/bin/sh", "-c", script}, Policy: sandbox.Policy{
		Readable: []string{"/usr", "/bin", "/lib", "/lib64"}, Writable: []sandbox.Mount{sandbox.Layered(b.ws)}, Dir: b.ws, Env: []string{"PATH=/usr/bin:/bin"},
		Overlay: &sandbox.Overlay{Dir: b.layers},
	}})
}

// A layer that is full stops the program, not what it did before, and nothing of the tree changes by itself.
func TestAttackFullLayer(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	for _, copied := range []bool{false, true} {
		b := newBed(t)
		b.copies(copied)
		tmpfs(t, b.layers, "2M")
		b.write(map[string]string{"old": "old", "kept": "kept", "large": strings.Repeat("large", 100_000)})
		start := photograph(t, b.ws, true)
		res, err := b.tryRun(`echo first > first; head -c 5000000 /dev/zero > big; echo more >> large; rm kept; echo new > old; exit 7`)
		if err != nil || res.ExitCode != 7 {
			t.Fatalf("copied %v: %+v, %v", copied, res, err)
		}
		if d := compare(nil, start, photograph(t, b.ws, false)); len(d) > 0 {
			t.Fatalf("copied %v: the tree changed: %v", copied, d)
		}
		s := b.set(res)
		if p := s.Preview(1 << 16); !strings.Contains(p, "first") {
			t.Errorf("copied %v: %s", copied, p)
		}
		e := b.commit(s)
		if got := b.read("first"); got != "first\n" {
			t.Errorf("copied %v: %q", copied, got)
		}
		for _, c := range s.Changes() { // what it says is what it did, however little that was
			if info, err := os.Lstat(filepath.Join(b.ws, c.Path.Rel)); c.After.Type == journal.File && (err != nil || info.Size() != c.After.Size) {
				t.Errorf("copied %v: %s: %v, %v, want %d bytes", copied, c.Path, info, err, c.After.Size)
			}
		}
		undo(t, b, e, nil)
		if d := compare(nil, start, photograph(t, b.ws, false)); len(d) > 0 {
			t.Errorf("copied %v: after undo: %v", copied, d)
		}
		if err := s.Drop(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(b.layers); len(left) > 0 {
			t.Errorf("copied %v: left %v", copied, left)
		}
	}
}

// Where there is no room for a layer at all, the program is not run, or changes nothing.
func TestAttackNoRoomForALayer(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	for _, copied := range []bool{false, true} {
		b := newBed(t)
		b.copies(copied)
		tmpfs(t, b.layers, "64K")
		b.write(map[string]string{"old": strings.Repeat("old", 10_000)})
		full, err := os.Create(filepath.Join(b.layers, "full"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = full.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		_ = full.Close()
		start := photograph(t, b.ws, true)
		if res, err := b.tryRun(`echo new > new; echo more >> old; rm old`); err == nil {
			s := b.set(res)
			b.commit(s)
			for _, c := range s.Changes() {
				delete(start, c.Path.Rel)
			}
		}
		end := photograph(t, b.ws, false)
		for path := range start {
			if d := compare(nil, map[string]object{path: start[path]}, map[string]object{path: end[path]}); len(d) > 0 {
				t.Errorf("copied %v: %v", copied, d)
			}
		}
	}
}

// A journal that is full leaves the tree as it is.
func TestAttackFullJournal(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	b := newBed(t)
	state := filepath.Join(filepath.Dir(b.ws), "small")
	tmpfs(t, state, "256K")
	_ = b.journal.Close()
	var err error
	if b.journal, err = journal.Open(journal.Options{Dir: filepath.Join(state, "journal")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.journal.Close() })
	random := make([]byte, 2_000_000)
	_, _ = rand.Read(random)
	b.write(map[string]string{"old": string(random), "gone": "gone"})
	start := photograph(t, b.ws, true)
	s := b.sh(`head -c 1500000 /dev/urandom > old; rm gone; echo new > new`)
	if _, err := b.tryCommit(s); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("committed: %v", err)
	}
	if d := compare(nil, start, photograph(t, b.ws, false)); len(d) > 0 {
		t.Errorf("the tree changed: %v", d)
	}
}

// overlaid mounts an overlay over a directory: what is in it becomes the lower layer.
func overlaid(t *testing.T, dir string) {
	t.Helper()
	options := "lowerdir=" + dir
	for _, layer := range []string{"upper", "work"} {
		at := dir + "-" + layer
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		options += "," + layer + "dir=" + at
	}
	if err := syscall.Mount("overlay", dir, "overlay", 0, options); err != nil {
		t.Skip("the kernel has no overlays here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// Where the workspace is on an overlay already, as in a container, it is the lower layer of another one, or is copied.
func TestAttackOverlayOnOverlay(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	for _, both := range []bool{false, true} { // only the workspace, and the layers, too
		b := newBed(t)
		b.write(map[string]string{"old": "old", "gone": "gone", "d/f": "f"})
		overlaid(t, b.ws)
		if both {
			overlaid(t, b.layers)
		}
		b.write(map[string]string{"d/above": "above"})
		start := photograph(t, b.ws, true)
		res, err := b.tryRun(`echo new > new; echo more >> old; rm gone; echo more >> d/f; mv d/f d/g; echo x >> d/above; mkdir -p x/y; echo z > x/y/z`)
		if err != nil {
			t.Fatalf("layers too %v: %v", both, err)
		}
		t.Logf("layers too %v: copied %v", both, res.Overlay.List[0].Copied)
		if d := compare(nil, start, photograph(t, b.ws, false)); len(d) > 0 {
			t.Fatalf("layers too %v: the tree changed before the commit: %v", both, d)
		}
		e := b.commit(b.set(res))
		for name, want := range map[string]string{"new": "new\n", "old": "oldmore\n", "d/g": "fmore\n", "d/above": "abovex\n", "x/y/z": "z\n"} {
			if got := b.read(name); got != want {
				t.Errorf("layers too %v: %s is %q", both, name, got)
			}
		}
		for _, name := range []string{"gone", "d/f"} {
			if _, err := os.Lstat(filepath.Join(b.ws, name)); err == nil {
				t.Errorf("layers too %v: %s is there", both, name)
			}
		}
		undo(t, b, e, nil)
		if d := compare(nil, start, photograph(t, b.ws, true)); len(d) > 0 {
			t.Errorf("layers too %v: after undo: %v", both, d)
		}
	}
}
