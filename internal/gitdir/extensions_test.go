package gitdir_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// work is a repository for one test.
type work struct {
	*testing.T
	dir string
}

func (w *work) git(input string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func (w *work) index() []byte {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, ".git", "index"))
	if err != nil {
		w.Fatal(err)
	}
	return data
}

func newWork(t *testing.T) *work {
	w := &work{t, t.TempDir()}
	w.git("", "init", "-q", "-b", "main")
	for _, name := range []string{"a.txt", "sub/s.txt", "sub/deep/x.txt", "sub.txt", "sub-b/y.txt"} {
		at := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.git("", "add", ".")
	w.git("", "commit", "-qm", "one")
	return w
}

// resum returns an index with the checksum of its content.
func resum(data []byte) []byte {
	data = data[:len(data)-sha1.Size]
	sum := sha1.Sum(data)
	return append(bytes.Clone(data), sum[:]...)
}

func TestIndexesOfGitAreConsistent(t *testing.T) {
	w := newWork(t)
	check := func(when string) {
		t.Helper()
		if !gitdir.Consistent(w.index(), nil) {
			t.Errorf("%s: the index is not consistent", when)
		}
	}
	check("after a commit")
	if !bytes.Contains(w.index(), []byte("TREE")) {
		t.Fatal("git remembers no trees")
	}
	w.git("", "update-index", "--index-version", "4")
	check("version 4")
	w.git("", "update-index", "--index-version", "2")
	if err := os.WriteFile(filepath.Join(w.dir, "sub", "new.txt"), []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git("", "add", "-N", "sub/new.txt")
	check("after add -N")
	w.git("", "add", "sub/new.txt")
	check("after add")
	w.git("", "rm", "-q", "--cached", "sub-b/y.txt")
	check("after rm")
	w.git("", "checkout", "-q", "-b", "other")
	w.git("", "commit", "-qm", "two")
	check("on another branch")
	var many strings.Builder
	id := w.git("", "rev-parse", "HEAD:a.txt")
	for i := range 25_000 {
		fmt.Fprintf(&many, "100644 %s\tmany/%02d/%05d\n", id, i%50, i)
	}
	w.git(many.String(), "-c", "index.threads=4", "update-index", "--index-info")
	if !bytes.Contains(w.index(), []byte("IEOT")) {
		t.Fatal("git wrote no blocks")
	}
	check("with blocks")
	w.git("", "commit", "-qm", "many")
	check("with blocks and trees")
}

func TestAttackIndexThatRemembersOtherTrees(t *testing.T) {
	w := newWork(t)
	blob := w.git("EVIL\n", "hash-object", "-w", "--stdin")
	evil, err := hex.DecodeString(w.git("100644 blob "+blob+"\ts.txt\n", "mktree"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := hex.DecodeString(w.git("", "rev-parse", "HEAD:sub/deep"))
	if err != nil {
		t.Fatal(err)
	}
	data := w.index()
	for name, forged := range map[string][]byte{
		"another tree":     bytes.Replace(data, own, evil, 1),
		"another count":    bytes.Replace(data, []byte("deep\x001 0\n"), []byte("deep\x002 0\n"), 1),
		"another name":     bytes.Replace(data, []byte("deep\x001 0\n"), []byte("deeq\x001 0\n"), 1),
		"an unknown part":  bytes.Replace(data, []byte("TREE"), []byte("XREE"), 1),
		"an untracked one": bytes.Replace(data, []byte("TREE"), []byte("UNTR"), 1),
	} {
		if bytes.Equal(forged, data) {
			t.Fatalf("%s: nothing was forged", name)
		}
		if gitdir.Consistent(resum(forged), data) {
			t.Errorf("%s: the index is consistent", name)
		}
	}
}
