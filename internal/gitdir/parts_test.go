package gitdir_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// repository makes what git takes for a repository.
func repository(t *testing.T, dir string) string {
	t.Helper()
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestObeyedFindsRepositoriesAtAnyDepth(t *testing.T) {
	git := repository(t, filepath.Join(t.TempDir(), ".git"))
	deep := "modules/" + strings.Repeat("a/", 40) + "lib"
	inside := []string{
		".", "modules/one", "modules/one/modules/two", "modules/one/refs/x", "modules/vendor/a/b/c/d", deep,
	}
	for _, dir := range inside {
		repository(t, filepath.Join(git, dir))
	}
	for _, dir := range []string{"worktrees/w", "modules/one/worktrees/w", "worktrees/w/modules/sub"} {
		write(t, filepath.Join(git, dir, "HEAD"), "ref: refs/heads/w\n")
		write(t, filepath.Join(git, dir, "commondir"), "../..\n")
		inside = append(inside, dir)
	}
	paths, err := gitdir.Obeyed(git)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range inside {
		for _, part := range gitdir.PartsOf(filepath.Join(git, dir)) {
			if !slices.Contains(paths, part) {
				t.Errorf("%s is not among the parts", part)
			}
		}
	}
	if want := len(inside) * len(gitdir.Parts()); len(paths) != want {
		t.Errorf("%d paths, want %d", len(paths), want)
	}
}

func TestObeyedNeedsTheDirectory(t *testing.T) {
	if paths, err := gitdir.Obeyed(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Fatalf("an absent git directory has the parts %q", paths)
	}
}
