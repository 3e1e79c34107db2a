package gitrepo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

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

// Locked returns a lock by which git shows that it is changing a git directory, "" where there is none.
func Locked(files fs.FS) string {
	for _, name := range []string{"index.lock", "HEAD.lock", "packed-refs.lock"} {
		if _, err := fs.Stat(files, name); err == nil {
			return name
		}
	}
	return ""
}
