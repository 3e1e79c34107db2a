package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// What is on another mount than its root cannot be brought back, also where that is the same file system.
func TestMountsAreNotUndoable(t *testing.T) {
	const mark = "TONGS_TEST_MOUNTS"
	if os.Getuid() != 0 {
		t.Skip("it takes root to have mounts of its own")
	}
	if os.Getenv(mark) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), mark+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := openOn(t, Options{Dir: tree(t, map[string]string{"m/x": "x", "file": "x", "plain/x": "x"}), LockDir: t.TempDir(), Journal: &recorder{}}, openHandle)
	other := tree(t, map[string]string{"f": "x", "d/g": "x"})
	for at, from := range map[string]string{"m": other, "file": filepath.Join(other, "f")} {
		at = filepath.Join(w.Dir(), at)
		must(t, syscall.Mount(from, at, "", syscall.MS_BIND, ""))
		t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	}
	for rel, want := range map[string]bool{
		"m/f": false, "m/new": false, "m/a/b/new": false, "m/d": false, "m/f/below": false, "file": false, "m": false,
		"plain/x": true, "plain/new": true, "a/b/new": true, "plain/x/below": true,
	} {
		for _, e := range []tongs.Effect{writing(in(rel)), deleting(in(rel))} {
			if why := w.Undoable(t.Context(), []tongs.Effect{e})[0]; (why == "") != want {
				t.Errorf("%s: %q", &e, why)
			}
		}
	}
}
