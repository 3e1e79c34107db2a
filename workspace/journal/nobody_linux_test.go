package journal

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs a test on a thread without privileges, which ends with it. Without root we are nobody already.
func asNobody(t *testing.T, test func()) {
	if os.Geteuid() != 0 {
		test()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			t.Errorf("cannot drop privileges: %v", errno)
			return
		}
		test()
	}()
	<-done
}

// open lets everybody reach a directory of the test.
func open(t *testing.T, dir string) {
	if os.Geteuid() == 0 {
		must(t, os.Chmod(filepath.Dir(dir), 0o755))
		must(t, os.Chown(dir, 65534, 65534))
	}
}

func TestUnprivileged(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	state := t.TempDir()
	open(t, dir)
	open(t, state)
	asNobody(t, func() {
		for _, name := range []string{"ro/sub/f", "plain/f"} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o444))
		}
		must(t, os.Chmod(filepath.Join(dir, "ro/sub"), 0o555))
		must(t, os.Chmod(filepath.Join(dir, "ro"), 0o555))
		j, err := Open(Options{Dir: filepath.Join(state, "journal"), NoSync: true})
		must(t, err)
		defer j.Close()
		s := &site{t, dir, j}
		before := snapshot(t, dir)
		x := s.begin()
		must(t, x.Remove(in_("ro"))) // directories that may not be written to
		must(t, x.Dir(in_("new"), State{Mode: 0o555}))
		must(t, x.File(in_("new/f"), State{Mode: 0o400}, strings.NewReader("f")))
		must(t, x.Move(in_("plain"), in_("new/moved")))
		e := s.commit(x)
		after := snapshot(t, dir)
		u := s.undo(*e)
		same(t, "undone", snapshot(t, dir), before)
		s.undo(*u)
		same(t, "redone", snapshot(t, dir), after)
		s.clean()
		for _, d := range []string{"new", "ro", "ro/sub"} {
			_ = os.Chmod(filepath.Join(dir, d), 0o755)
		}
	})
}

// The top of the workspace may belong to somebody else: the stage is as near to it as it can be.
func TestUnprivilegedBelowATopOfOthers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	state := t.TempDir()
	open(t, state)
	must(t, os.Mkdir(filepath.Join(dir, "mine"), 0o755))
	open(t, filepath.Join(dir, "mine"))
	must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	asNobody(t, func() {
		j, err := Open(Options{Dir: filepath.Join(state, "journal"), NoSync: true})
		must(t, err)
		defer j.Close()
		s := &site{t, dir, j}
		e := s.write("mine/f", "f")
		s.has("mine/f", "f")
		s.undo(*e)
		s.clean()
	})
}

// ownMounts runs the test again in a process with mounts of its own, which go with it, and reports whether this is it.
func ownMounts(t *testing.T) bool {
	t.Helper()
	const mark = "TONGS_TEST_MOUNTS"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if _, started := errors.AsType[*exec.ExitError](err); err != nil && !started {
		t.Skip("this machine allows no mounts of our own: ", err)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Files on a file system that is mounted in the workspace, or in another root, are staged there or copied.
func TestOtherFileSystem(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	shm := t.TempDir()
	must(t, unix.Mount("tmpfs", shm, "tmpfs", 0, "size=16M"))
	defer unix.Unmount(shm, unix.MNT_DETACH)
	s := newSite(t, map[string]string{"d/f": "f", "d/sub/g": "g"})
	head := s.head()
	head.Roots["zone"] = shm
	before := snapshot(t, s.dir)
	x, err := s.j.Begin(t.Context(), head)
	must(t, err)
	to := in_("moved")
	to.Root = "zone"
	must(t, x.Move(in_("d"), to))
	e := s.commit(x)
	if got, err := os.ReadFile(filepath.Join(shm, "moved/sub/g")); err != nil || string(got) != "g" {
		t.Errorf("moved: %q, %v", got, err)
	}
	u, err := s.j.Undo(t.Context(), head, []Entry{*e}, nil)
	must(t, err)
	if len(u.Conflicts) > 0 {
		t.Fatal(u.Conflicts)
	}
	s.commit(u.Txn)
	same(t, "undone", snapshot(t, s.dir), before)
	if left, _ := os.ReadDir(shm); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	s.clean()
}

// What belongs to the name rather than to the content stays when a change of the content is undone.
func TestAttributesStay(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one"})
	host := filepath.Join(s.dir, "a")
	must(t, unix.Setxattr(host, "user.tongs", []byte("kept"), 0))
	s.undo(*s.write("a", "two"))
	s.has("a", "one")
	value := make([]byte, 16)
	if n, err := unix.Getxattr(host, "user.tongs", value); err != nil || string(value[:n]) != "kept" {
		t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
	}
}
