package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// OpenPrivate opens a file beside an open database, whose directory was checked, for reading and writing, and makes it
// with mode 0600 where create is set and it is missing. It refuses what is not a regular file of the user; a file that is
// missing is fs.ErrNotExist.
func OpenPrivate(path string, create bool) (f *os.File, created bool, err error) {
	err = checkFile(path)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && create:
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
		if err == nil {
			return f, true, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, false, fmt.Errorf("state file %s cannot be made: %w", path, err)
		}
		if err := checkFile(path); err != nil { // another process was first
			return nil, false, err
		}
	default:
		return nil, false, err
	}
	if f, err = os.OpenFile(path, os.O_RDWR|noFollow, 0); err != nil {
		return nil, false, fmt.Errorf("state file %s cannot be opened: %w", path, err)
	}
	return f, false, nil
}
