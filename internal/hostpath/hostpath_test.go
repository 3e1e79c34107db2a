//go:build unix

package hostpath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		dir, path string
		want      bool
	}{
		{"/a", "/a", true},
		{"/a", "/a/b", true},
		{"/a", "/ab", false},
		{"/a/b", "/a", false},
		{"/", "/", true},
		{"/", "/a", true},
	} {
		if got := hostpath.Within(tt.dir, tt.path); got != tt.want {
			t.Errorf("Within(%s, %s) is %t", tt.dir, tt.path, got)
		}
	}
}

func TestFollow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.MkdirAll(at("a/b"), 0o700), os.MkdirAll(at("c"), 0o700), os.Symlink("../a/b", at("c/link")),
		os.Symlink(at("c"), at("abs")), os.Symlink("loop", at("loop")))
	if err != nil {
		t.Fatal(err)
	}
	// What ".." means depends on where the link before it leads.
	real, links, err := hostpath.Follow(at("abs")+"/./link/..", hostpath.ReadLink)
	want := []hostpath.Link{{At: at("abs"), To: at("c")}, {At: at("c/link"), To: "../a/b"}}
	if err != nil || real != at("a") || !slices.Equal(links, want) {
		t.Errorf("%s, %v, %v", real, links, err)
	}
	if real, _, err := hostpath.Follow(at("c/missing/x"), hostpath.ReadLink); !errors.Is(err, fs.ErrNotExist) || real != at("c/missing") {
		t.Errorf("%s, %v", real, err)
	}
	if _, _, err := hostpath.Follow(at("loop"), hostpath.ReadLink); !errors.Is(err, hostpath.ErrLinks) {
		t.Errorf("%v", err)
	}
}
