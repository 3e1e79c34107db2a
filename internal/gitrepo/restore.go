package gitrepo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// IndexDigest identifies what an index lists, without what git notes there to see changes of files sooner. It is empty for what is
// no index that can be read.
func IndexDigest(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxIndex+1))
	if err != nil || len(data) > maxIndex {
		return "", err
	}
	list, err := gitdir.Entries(data)
	if err != nil {
		return "", nil
	}
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%q %o %s %d %t %t\n", e.Name, e.Mode, e.ID, e.Stage, e.Hidden, e.Intent)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Has returns what reports whether a git directory has an object, and what closes it. One that borrows objects from elsewhere is
// taken to have all.
func Has(files fs.FS) (has func(id string) bool, done func()) {
	o := newObjects(files)
	_, err := fs.Stat(files, "objects/info/alternates")
	borrows := !errors.Is(err, fs.ErrNotExist)
	return func(id string) bool { return borrows || o.has(id) }, o.close
}

// locks are the files by which git shows that it is changing something of a worktree, or of the repository.
var locks = []string{"index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"}

// Locked returns a lock by which git shows that it is changing a git directory, "" where there is none.
func Locked(files fs.FS) (lock string) {
	trees := []string{"."}
	dirs, _ := fs.ReadDir(files, "worktrees") // most have none
	for _, d := range dirs {
		trees = append(trees, path.Join("worktrees", d.Name()))
	}
	for _, tree := range trees {
		for _, name := range locks {
			if name = path.Join(tree, name); lock == "" && exists(files, name) {
				lock = name
			}
		}
		_ = fs.WalkDir(files, path.Join(tree, "refs"), func(name string, d fs.DirEntry, err error) error {
			if err == nil && lock == "" && !d.IsDir() && strings.HasSuffix(name, ".lock") {
				lock = name
			}
			return nil // what cannot be read is told by whoever reads refs
		})
	}
	return lock
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}
