package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/internal/owned"
)

// prepareFile makes sure that the file exists, is a regular file of mode 0600, and lies in a directory that nobody
// else can change.
func prepareFile(path string) error {
	dir := filepath.Dir(path)
	opened, err := owned.MakeDir(dir)
	if err != nil {
		return fmt.Errorf("state directory %s cannot be used: %w: or set TONGS_STATE_DIR to another", dir, err)
	}
	defer opened.Close()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("state file %s cannot be made: %w: check the owner and the mode of its directory, and the space on its disk", path, err)
	}
	return checkFile(path)
}

// checkFile tightens an existing file, and refuses what is not one of ours.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("state file %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("state file %s is a %s, not a regular file: remove it, or use another state directory",
			path, info.Mode().Type())
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 || !hasModes {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("state file %s can be read by others and that cannot be changed: %w", path, err)
	}
	return nil
}
