package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// Tracked returns what git ls-files does, for each version of the index, from below, in a linked work tree, and where it
// cannot tell it fails.
func TestTracked(t *testing.T) {
	want := []string{".env", "a/b/c.txt", "a/b/d.txt", "z"}
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--object-format="+format)
		for _, name := range want {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", "-A")
		git(t, dir, "add", "-N", "z")
		git(t, dir, "commit", "-qm", "x")
		linked := filepath.Join(t.TempDir(), "linked")
		git(t, dir, "worktree", "add", "-q", linked)
		for _, version := range []string{"2", "3", "4"} {
			git(t, dir, "update-index", "--index-version", version)
			for _, at := range []string{dir, filepath.Join(dir, "a", "b"), filepath.Join(dir, "nosuch"), linked} {
				if got, err := Tracked(at); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, version %s, %s: %q, %v; want %q", format, version, at, got, err, want)
				}
			}
		}
		git(t, dir, "update-index", "--split-index")
		if got, err := Tracked(dir); err == nil {
			t.Errorf("a split index: %q, want an error", got)
		}
	}
	if got, err := Tracked(t.TempDir()); len(got) > 0 || err != nil {
		t.Errorf("without a repository: %q, %v", got, err)
	}
}

func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	cmd := exec.Command("sh", "-c", "git init -q . && mkdir a && echo x > a/b && echo y > c && git add . && git update-index --index-version 4")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Entries(data)
		if err == nil && slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == "" || strings.Contains(e.Name, "\x00") }) {
			t.Errorf("%+v", entries)
		}
	})
}
