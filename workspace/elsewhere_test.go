package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A repository becomes a root only where it is apart from all others, from what is private, and within the cap.
func TestRepositoryRoot(t *testing.T) {
	for name, c := range map[string]struct {
		options func(base string) Options
		want    bool
	}{
		"apart":                {func(base string) Options { return Options{} }, true},
		"within the cap":       {func(base string) Options { return Options{Cap: base} }, true},
		"outside of the cap":   {func(base string) Options { return Options{Cap: base + "/ws"} }, false},
		"around the state":     {func(base string) Options { return Options{Private: []string{base + "/main/.git/state"}} }, false},
		"in the state":         {func(base string) Options { return Options{Private: []string{base + "/main"}} }, false},
		"the state itself":     {func(base string) Options { return Options{Private: []string{base + "/main/.git"}} }, false},
		"a zone itself":        {func(base string) Options { return Options{Roots: []Root{{Name: "z", Dir: base + "/main/.git"}}} }, false},
		"in a zone":            {func(base string) Options { return Options{Roots: []Root{{Name: "z", Dir: base + "/main"}}} }, false},
		"around a zone":        {func(base string) Options { return Options{Roots: []Root{{Name: "z", Dir: base + "/main/.git/refs"}}} }, false},
		"around the workspace": {func(base string) Options { return Options{Repository: base} }, false},
		"in the workspace":     {func(base string) Options { return Options{Repository: base + "/ws/in"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			for _, dir := range []string{"ws/in", "main/.git/refs"} {
				if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			opt := c.options(base)
			opt.Dir, opt.LockDir = base+"/ws", filepath.Join(t.TempDir(), "locks")
			if opt.Repository == "" {
				opt.Repository = base + "/main/.git"
			}
			w, err := Open(opt)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if got := w.Host(tongs.Path{Root: tongs.RepositoryRoot, Rel: "."}) != ""; got != c.want {
				t.Errorf("it is a root: %t", got)
			}
		})
	}
	base := t.TempDir()
	if _, err := Open(Options{Dir: base, LockDir: filepath.Join(t.TempDir(), "locks"), Roots: []Root{{Name: tongs.RepositoryRoot, Dir: t.TempDir()}}}); tongs.CodeOf(err) != tongs.CodeConfigError {
		t.Errorf("a zone of that name: %v", err)
	}
}

// To names and zones the repository is .git in the workspace.
func TestRepositoryIsJudgedAsGit(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(Options{Dir: t.TempDir(), LockDir: filepath.Join(t.TempDir(), "locks"), Repository: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := tongs.Path{Root: tongs.RepositoryRoot, Rel: "refs/heads/main"}
	if _, protected := w.Protected(p); !protected {
		t.Error("it is not protected")
	}
	for zone, want := range map[string]bool{".": true, ".git": true, ".git/refs": true, "src": false, ".git/hooks": false, ".gitx": false} {
		if got := (tongs.Path{Rel: zone}).Contains(p); got != want {
			t.Errorf("%s contains it: %t", zone, got)
		}
	}
	if (tongs.Path{Root: "z", Rel: "."}).Contains(p) || p.Contains(tongs.Path{Rel: "refs/heads/main"}) {
		t.Error("it is taken for another path")
	}
	if at, ok := w.Place(filepath.Join(w.Host(tongs.Path{Root: tongs.RepositoryRoot, Rel: "."}), "HEAD")); !ok || at != (tongs.Path{Root: tongs.RepositoryRoot, Rel: "HEAD"}) {
		t.Errorf("%v %t", at, ok)
	}
}
