// Package owned opens files that are trusted because of where they are: configuration, policy, state. It opens such a
// file only where nobody but its owner and root can have written it, replaced it, or put another in its place.
//
// A path is walked by descriptor, from the root on, and links are followed here. Each directory, each link and the file
// itself is checked after it was opened, so nothing can be swapped between the check and the use.
package owned

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Error says why a path is not trusted, and how to mend it.
type Error struct {
	// Path is what is not trusted: the file, or a directory or a link on the way to it.
	Path string
	// Problem is what is wrong with it, with the owner or the mode; Fix is what to do.
	Problem, Fix string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s %s; %s", e.Path, e.Problem, e.Fix) }

// ReadFile reads a regular file of at most limit bytes. Its owner must be that user, or root. Where there is no such
// file the error is [fs.ErrNotExist], unless somebody else could have removed it, or a link leads nowhere.
func ReadFile(path string, owner int, limit int64) ([]byte, error) {
	f, err := Open(path, owner)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, Bare(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file has more than %d bytes", limit)
	}
	return data, Bare(err)
}

// Check refuses a file or directory that Open refuses. One that does not exist is fine, where nobody else could make it.
func Check(path string, owner int) error {
	f, err := Open(path, owner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Bare takes the path off an error that will be shown with it.
func Bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", pe.Err)
	}
	return err
}

// User is the one who runs this program.
func User() int { return os.Geteuid() }
