//go:build !unix

package hostpath

import (
	"io/fs"
	"os"
)

// OpenFile opens a regular file for reading, and OpenDir a directory. Anything else is an error.
func OpenFile(path string) (*os.File, error) { return open(path, fs.FileMode.IsRegular) }

// OpenDir is described at OpenFile.
func OpenDir(path string) (*os.File, error) { return open(path, fs.FileMode.IsDir) }

func open(path string, is func(fs.FileMode) bool) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !is(info.Mode()) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return os.Open(path)
}
