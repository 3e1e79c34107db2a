//go:build unix

package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always", "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// place is a directory with a repository, a linked worktree of it, and a home.
func place(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/project/sub", "main/sub/deep", "empty"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, base, "init", "-q", "main")
	runGit(t, base+"/main", "commit", "-q", "--allow-empty", "-m", "first")
	runGit(t, base+"/main", "worktree", "add", "-q", base+"/ws")
	return base
}

// fake makes what looks like the repository of a worktree at dir, which points back to git.
func fake(t *testing.T, dir, git string) {
	t.Helper()
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir+"/HEAD", "ref: refs/heads/x\n")
	put(t, dir+"/worktrees/x/commondir", "../..\n")
	put(t, dir+"/worktrees/x/gitdir", git+"\n")
}

func TestElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		// make changes what is there, and says which directory to look from.
		make func(t *testing.T, base string) string
		// want is the repository, below the base; "" is none.
		want, file string
	}{
		"the main work tree": {func(_ *testing.T, base string) string { return base + "/main" }, "", ""},
		"a linked worktree":  {func(_ *testing.T, base string) string { return base + "/ws" }, "main/.git", ""},
		"a directory":        {func(_ *testing.T, base string) string { return base + "/main/sub" }, "main/.git", ""},
		"a deep directory":   {func(_ *testing.T, base string) string { return base + "/main/sub/deep" }, "main/.git", ""},
		"no repository":      {func(_ *testing.T, base string) string { return base + "/empty" }, "", ""},
		"nothing is there":   {func(_ *testing.T, base string) string { return base + "/absent" }, "", ""},
		"a directory by a link": {func(t *testing.T, base string) string {
			symlink(t, base+"/main/sub", base+"/link")
			return base + "/link"
		}, "main/.git", ""},
		"a directory of a worktree": {func(t *testing.T, base string) string {
			put(t, base+"/ws/d/f", "")
			return base + "/ws/d"
		}, "main/.git", "ws/.git"},
		"a submodule": {func(t *testing.T, base string) string {
			runGit(t, base, "init", "-q", "top")
			runGit(t, base+"/top", "submodule", "--quiet", "add", base+"/main", "a/b/c")
			return base + "/top/a/b/c"
		}, "top/.git/modules/a/b/c", ""},
		"a worktree of a bare repository": {func(t *testing.T, base string) string {
			runGit(t, base, "clone", "-q", "--bare", "main", "bare.git")
			runGit(t, base+"/bare.git", "worktree", "add", "-q", base+"/of-bare", "-b", "side")
			return base + "/of-bare"
		}, "bare.git", ""},

		"a home that is a repository": {func(t *testing.T, base string) string {
			runGit(t, base+"/home", "init", "-q")
			return base + "/home/project/sub"
		}, "", ""},
		"above a home": {func(t *testing.T, base string) string { runGit(t, base, "init", "-q"); return base + "/home/project" }, "", ""},
		"in a home": {func(t *testing.T, base string) string {
			runGit(t, base+"/home/project", "init", "-q")
			return base + "/home/project/sub"
		}, "home/project/.git", ""},
		"a claim": {func(t *testing.T, base string) string {
			put(t, base+"/empty/.git", "gitdir: "+base+"/main/.git/worktrees/ws\n")
			return base + "/empty"
		}, "", ""},
		"a claim on a repository": {func(t *testing.T, base string) string {
			put(t, base+"/empty/.git", "gitdir: "+base+"/main/.git\n")
			return base + "/empty"
		}, "", ""},
		"a claim above": {func(t *testing.T, base string) string {
			put(t, base+"/main/sub/.git", "gitdir: "+base+"/main/.git/worktrees/ws\n")
			return base + "/main/sub/deep"
		}, "", ""},
		"a link to a repository": {func(t *testing.T, base string) string {
			symlink(t, base+"/main/.git", base+"/empty/.git")
			return base + "/empty"
		}, "", ""},
		"a link to a file": {func(t *testing.T, base string) string {
			symlink(t, base+"/ws/.git", base+"/empty/.git")
			return base + "/empty"
		}, "", ""},
		"a repository whose common directory is a sibling": {func(t *testing.T, base string) string {
			runGit(t, base, "init", "-q", "sibling")
			put(t, base+"/main/.git/worktrees/ws/commondir", base+"/sibling/.git\n")
			return base + "/ws"
		}, "", ""},
		"a common directory that leads further": {func(t *testing.T, base string) string {
			put(t, base+"/main/.git/commondir", base+"/sibling/.git\n")
			return base + "/ws"
		}, "", ""},
		"a git directory above that leads elsewhere": {func(t *testing.T, base string) string {
			put(t, base+"/main/.git/commondir", "../../ws\n")
			return base + "/main/sub"
		}, "", ""},
		"a common directory that is a home": {func(t *testing.T, base string) string {
			fake(t, base+"/home", base+"/empty/.git")
			put(t, base+"/empty/.git", "gitdir: "+base+"/home/worktrees/x\n")
			return base + "/empty"
		}, "", ""},
		"a common directory around the workspace": {func(t *testing.T, base string) string {
			fake(t, base, base+"/empty/.git")
			put(t, base+"/empty/.git", "gitdir: "+base+"/worktrees/x\n")
			return base + "/empty"
		}, "", ""},
		"a common directory in the workspace": {func(t *testing.T, base string) string {
			fake(t, base+"/empty/inside", base+"/empty/.git")
			put(t, base+"/empty/.git", "gitdir: inside/worktrees/x\n")
			return base + "/empty"
		}, "", ""},
		"two lines": {func(t *testing.T, base string) string {
			put(t, base+"/ws/.git", "gitdir: "+base+"/main/.git/worktrees/ws\ngitdir: /\n")
			return base + "/ws"
		}, "", ""},
		"a submodule whose repository names another work tree": {func(t *testing.T, base string) string {
			runGit(t, base, "init", "-q", "other")
			runGit(t, base+"/other", "config", "core.worktree", base+"/ws")
			put(t, base+"/empty/.git", "gitdir: "+base+"/other/.git\n")
			return base + "/empty"
		}, "", ""},
		"a FIFO": {func(t *testing.T, base string) string {
			if out, err := exec.Command("mkfifo", base+"/empty/.git").CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
			return base + "/empty"
		}, "", ""},
		"an endless file": {func(t *testing.T, base string) string {
			put(t, base+"/empty/.git", "gitdir: "+strings.Repeat("x", 1<<20))
			return base + "/empty"
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := place(t)
			dir := c.make(t, base)
			// What the environment says of repositories does not matter.
			for _, v := range []string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"} {
				t.Setenv(v, base+"/main/.git")
			}
			r, ok := Elsewhere(dir, base+"/home")
			got := strings.TrimPrefix(r.Dir, base+"/")
			if got != c.want || ok != (c.want != "") {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if files := strings.TrimPrefix(strings.Join(r.Files, " "), base+"/"); files != c.file {
				t.Errorf("files %q, want %q", files, c.file)
			}
		})
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// What belongs to somebody else is not used.
func TestElsewhereLeavesOthersAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to somebody else")
	}
	for _, name := range []string{"main/.git", "main/.git/HEAD", "main/.git/objects", "ws/.git"} {
		base := place(t)
		if err := os.Lchown(filepath.Join(base, name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if r, ok := Elsewhere(base+"/ws", base+"/home"); ok {
			t.Errorf("%s is somebody else's, and %s was found", name, r.Dir)
		}
	}
}
