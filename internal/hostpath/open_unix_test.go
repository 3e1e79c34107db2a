//go:build unix

package hostpath_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// What is not of the kind that is wanted is refused without waiting for anybody.
func TestOpenOnlyWhatIsMeant(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), nil, 0o600), os.Mkdir(at("dir"), 0o700), unix.Mkfifo(at("fifo"), 0o600),
		os.Symlink("file", at("link")), os.Symlink("dir", at("dirlink")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "dir", "fifo", "link", "dirlink", "none"} {
		for kind, open := range map[string]func(string) (*os.File, error){"file": hostpath.OpenFile, "dir": hostpath.OpenDir} {
			f, err := open(at(name))
			if err == nil {
				_ = f.Close()
			}
			if (err == nil) != (name == kind) {
				t.Errorf("%s as a %s: %v", name, kind, err)
			}
		}
	}
}
