//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A link to a program of the system gives nothing away; one to anything else may.
func TestPublic(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(tmp, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	if !Public(sh) {
		t.Errorf("%s is not public", sh)
	}
	for _, path := range []string{
		tmp, home, home + "/.bashrc", "/etc/passwd", "/etc/shadow", "/etc/ssl/private/key.pem", "/proc/self/exe", "/proc/1/environ", "/dev/null",
		"/usr", "/usr/bin", "/usr/bin/no-such-program", "/usr/bin/../bin/sh", "/usr/../" + home, "usr/bin/sh", "bin/sh", "", "/", "/usr/bin/",
		"/var/run/docker.sock", "/tmp/x",
	} {
		if Public(path) {
			t.Errorf("%s is public", path)
		}
	}
	t.Setenv("HOME", filepath.Dir(sh))
	if Public(sh) {
		t.Errorf("%s is public, and in a home", sh)
	}
}

// What others can change, or exchange by a directory on the way, is not the administrator's alone.
func TestAdministered(t *testing.T) {
	if administered(t.TempDir()) { // /tmp is anybody's
		t.Error("a temporary directory is the administrator's")
	}
	if !administered("/") {
		t.Skip("the root of this machine is not its administrator's")
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil || !administered(sh) {
		t.Errorf("%s is not the administrator's: %v", sh, err)
	}
}
