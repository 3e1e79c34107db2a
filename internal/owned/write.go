package owned

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Replace gives a file its content, all or nothing: whoever reads it gets the old content or the new one, also after a
// crash. The file is a new one of the user's, with that mode whatever the umask. A link at path is replaced, not followed.
// Its directory must exist.
//
// The workspace and the journal do not use it: they write in directories that agents change meanwhile, by descriptors
// that were checked, and what they write is part of a transaction that a crash must not split.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return place(path, data, mode, func(dir *os.Root, temp, name string) error { return dir.Rename(temp, name) })
}

// Create is [Replace] for a file that does not exist. Of several that create it at once one succeeds; the error of the
// others is [fs.ErrExist].
func Create(path string, data []byte, mode fs.FileMode) error {
	return place(path, data, mode, func(dir *os.Root, temp, name string) error {
		err := dir.Link(temp, name)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// Some file systems have no links.
		if _, there := dir.Lstat(name); !errors.Is(there, fs.ErrNotExist) {
			return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		}
		return dir.Rename(temp, name)
	})
}

// Rewrite is [Replace] for a file that a person keeps, such as a configuration: a link is followed, the mode of what is
// there stays, and directories that are missing are made.
func Rewrite(path string, data []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return Replace(path, data, mode)
}

// place writes a new file and gives it its name. The directory is opened once, so that what was written and what gets
// the name lie in the same, whatever becomes of its path.
func place(path string, data []byte, mode fs.FileMode, give func(dir *os.Root, temp, name string) error) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	temp := ".new-" + strings.ToLower(rand.Text())
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer dir.Remove(temp)
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := give(dir, temp, filepath.Base(path)); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir has the names in a directory survive a crash, where the system can do that.
func syncDir(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// RemoveRecords removes the records about a name that are in a directory: the files NAME.ID.json, whatever the ID is. A
// directory that does not exist has none.
func RemoveRecords(dir, name string) (found bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		of, _, ok := strings.Cut(e.Name(), ".")
		if !ok || of != name || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		found = true
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return found, err
}
