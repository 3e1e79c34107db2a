package changeset_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that forges the marks of an overlay does not change what is read of its layer: it cannot make something look
// removed, or whole directories new, or lead the reader elsewhere.
func TestForgedMarks(t *testing.T) {
	need(t, "python3")
	b := newBed(t)
	b.write(map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c": "c\n"})
	s := b.sh(`cat > forge.py <<'EOF'
import os, stat
def attempt(f, *args):
    try: f(*args)
    except OSError: pass
for name in ("dir", "a", "new"):
    if name == "new": open(name, "w").close()
    for mark, value in (("opaque", b"y"), ("whiteout", b"y"), ("redirect", b"/etc"), ("metacopy", b""), ("origin", b"x"), ("overlay.opaque", b"y")):
        attempt(os.setxattr, name, "user.overlay." + mark, value)
attempt(os.mknod, "zero", stat.S_IFCHR | 0o600, os.makedev(0, 0))
attempt(os.mknod, "dir/c2", stat.S_IFCHR | 0o600, os.makedev(0, 0))
attempt(os.symlink, "/etc", "out")
EOF
python3 forge.py; rm forge.py`)
	want := []string{"added new", "added out"}
	if got := lines(s); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.commit(s)
	if b.read("a") != "a\n" || b.read("dir/b") != "b\n" || b.read("dir/c") != "c\n" {
		t.Error("the tree changed")
	}
	var buf [1024]byte
	for _, name := range []string{"a", "dir", "new"} {
		if n, err := unix.Llistxattr(filepath.Join(b.ws, name), buf[:]); err == nil && strings.Contains(string(buf[:n]), "overlay") {
			t.Errorf("%s has marks: %q", name, buf[:n])
		}
	}
	if to, err := os.Readlink(filepath.Join(b.ws, "out")); err != nil || to != "/etc" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	asUser(t, t.Name())
}

// Many files that are changed in one directory by several programs at once, each of whose sets is committed: all of them
// survive, for they are not the same files.
func TestSetsSideBySide(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"dir/a": "a", "dir/b": "b", "dir/both": "0"})
	one, two := b.sh("echo 1 > dir/a; echo 1 > dir/both"), b.sh("echo 2 > dir/b; echo 2 > dir/both")
	b.commit(one)
	if _, err := b.tryCommit(two); err == nil || !strings.Contains(err.Error(), "dir/both") {
		t.Errorf("what another set changed was overwritten: %v", err)
	}
	b.commit(two, "dir/b")
	if b.read("dir/a") != "1\n" || b.read("dir/b") != "2\n" || b.read("dir/both") != "1\n" {
		t.Error("one of the sets is not there")
	}
}
