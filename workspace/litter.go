package workspace

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// tempPrefix starts the names of our temporary files.
const tempPrefix = ".tongs-"

// pathSuffix ends the name of the file, beside an entry, that holds the path of the temporary file.
const pathSuffix = ".path"

func randomName() string { return strings.ToLower(rand.Text()) }

// litter lists the temporary files of running replacements, so that those of a killed process can be removed. Each is
// an entry file that its writer keeps locked; the lock of a dead process is free.
type litter struct{ dir string }

func newLitter(lockDir string) (*litter, error) {
	l := &litter{dir: filepath.Join(lockDir, "litter")}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, config("directory for locks %s: %w", lockDir, plain(err))
	}
	return l, ours(l.dir)
}

// add registers a temporary file before it is made, and directories that will be made for it, the deepest first. done
// is called when the file is gone or in its place.
func (l *litter) add(ctx context.Context, host string, dirs ...string) (done func(), err error) {
	name := filepath.Join(l.dir, randomName())
	f, err := lockFile(ctx, name)
	if err != nil {
		return nil, err
	}
	done = func() {
		_ = os.Remove(name + pathSuffix)
		_ = f.Unlock()
		_ = os.Remove(name)
	}
	// The path is in a file of its own, since some systems let nobody read a locked one.
	if err := os.WriteFile(name+pathSuffix, []byte(strings.Join(append([]string{host}, dirs...), "\x00")), 0o600); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// sweep removes the temporary files whose writers are dead. It removes nothing else: the name must be one of ours,
// in a directory that is not reached through a link.
func (l *litter) sweep() {
	list, err := os.ReadDir(l.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), pathSuffix) {
			l.clear(filepath.Join(l.dir, e.Name()))
		}
	}
}

func (l *litter) clear(entry string) {
	f := flock.New(entry, flock.SetFlag(os.O_RDWR))
	if ok, err := f.TryLock(); err != nil || !ok {
		return
	}
	gone := named(f, entry) && clearPath(entry+pathSuffix)
	_ = f.Unlock()
	if gone {
		_ = os.Remove(entry)
	}
}

// clearPath removes what a path file names and the file itself, and reports whether nothing is left.
func clearPath(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return missing(err)
	}
	list, err := io.ReadAll(io.LimitReader(file, 16<<20))
	_ = file.Close()
	if err != nil {
		return false
	}
	host, dirs, _ := strings.Cut(string(list), "\x00")
	if host != "" && !discard(host) {
		return false // kept for the next sweep
	}
	for dir := range strings.SplitSeq(dirs, "\x00") {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && real == dir {
			removeEmpty(dir)
		}
	}
	return os.Remove(name) == nil
}

// removeEmpty removes a directory that holds nothing, and only that.
func removeEmpty(dir string) {
	if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
		_ = os.Remove(dir)
	}
}

// discard removes a temporary file, or the directory that a move across devices was copied to, and reports whether
// nothing is left.
func discard(host string) bool {
	dir, name := filepath.Split(host)
	if !filepath.IsAbs(host) || !strings.HasPrefix(name, tempPrefix) {
		return true
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		return missing(err) || err == nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return missing(err)
	}
	defer root.Close()
	fi, err := root.Lstat(name)
	if err != nil {
		return missing(err)
	}
	if !fi.Mode().IsRegular() && !fi.IsDir() {
		return true
	}
	return root.RemoveAll(name) == nil
}
