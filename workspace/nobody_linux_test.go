package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
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

func TestPermissions(t *testing.T) {
	dir, locks := tree(t, map[string]string{"ro": "ro", "closed": "c", "sealed/f": "f", "free": "free"}), t.TempDir()
	at := func(rel string) string { return filepath.Join(dir, rel) }
	if os.Geteuid() == 0 {
		must(t, os.Chmod(filepath.Dir(dir), 0o755))
		must(t, os.Chmod(filepath.Dir(locks), 0o755))
		for _, host := range []string{dir, locks, at("ro"), at("closed"), at("sealed"), at("sealed/f")} {
			must(t, os.Chown(host, 65534, 65534))
		}
		must(t, os.Chmod(at("free"), 0o666)) // belongs to root
	}
	must(t, os.Chmod(at("ro"), 0o444))
	must(t, os.Chmod(at("closed"), 0))
	must(t, os.Chmod(at("sealed"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(at("sealed"), 0o755) })
	root := os.Geteuid() == 0
	asNobody(t, func() {
		w, err := Open(Options{Dir: dir, LockDir: locks})
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close()
		files := unknownFiles(w)
		refused := []string{"ro", "closed", "sealed/f", "sealed/new"}
		if root {
			refused = append(refused, "free") // its owner cannot be kept
		}
		for _, rel := range refused {
			_, err := files.Replace(t.Context(), in(rel), tongs.Replacing{}, content("x"))
			if tongs.CodeOf(err) != tongs.CodePermissionDenied {
				t.Errorf("%s: got %v", rel, err)
			}
		}
		_, err = files.Remove(t.Context(), in("sealed/f"), false)
		if tongs.CodeOf(err) != tongs.CodePermissionDenied {
			t.Errorf("got %v", err)
		}
		_, err = files.Open(in("closed"))
		if tongs.CodeOf(err) != tongs.CodePermissionDenied {
			t.Errorf("got %v", err)
		}
		// It changed just now, and nobody can tell whether it will be the same.
		if v, err := files.Version(in("closed")); tongs.CodeOf(err) != tongs.CodePermissionDenied {
			t.Errorf("got %s, %v", v, err)
		}
	})
	for rel, want := range map[string]string{"ro": "ro", "sealed/f": "f", "free": "free"} {
		if b, err := os.ReadFile(at(rel)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", rel, b, err)
		}
	}
}

func TestAttributesAreKept(t *testing.T) {
	w := newWorkspace(t, map[string]string{"a": "a"})
	host := filepath.Join(w.Dir(), "a")
	if err := unix.Setxattr(host, "user.note", []byte("kept"), 0); err != nil {
		t.Logf("no extended attributes here: %v", err)
		return
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(host, 1234, 5678))
	}
	files, _ := decide(t, w, writing(in("a")))
	_, err := files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("b"))
	must(t, err)
	buf := make([]byte, 16)
	n, err := unix.Getxattr(host, "user.note", buf)
	if err != nil || string(buf[:n]) != "kept" {
		t.Errorf("attribute is %q, %v", buf[:max(n, 0)], err)
	}
	var st unix.Stat_t
	must(t, unix.Stat(host, &st))
	if os.Geteuid() == 0 && (st.Uid != 1234 || st.Gid != 5678) {
		t.Errorf("owner is %d:%d", st.Uid, st.Gid)
	}
}

// TestDeepTree removes and moves a tree that is deeper than a path can be long.
func TestDeepTree(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/": ""})
	h, err := w.directory(in("d"))
	must(t, err)
	for range 600 {
		must(t, h.mkdir("deep-directory-name", 0o700))
		next, err := h.walk("deep-directory-name")
		must(t, err)
		h.close()
		h = next
	}
	h.close()
	files, _ := decide(t, w, deleting(in("d")), writing(in("e")))
	w.copyAlways = true
	must(t, files.Rename(t.Context(), in("d"), in("e"), tongs.Renaming{}))
	files, _ = decide(t, w, deleting(in("e")))
	gone, err := files.Remove(t.Context(), in("e"), true)
	must(t, err)
	if len(gone) != 601 {
		t.Errorf("%d removed", len(gone))
	}
}
