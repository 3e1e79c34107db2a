//go:build !unix

package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const nonblock = 0

func device(fs.FileInfo) string { return "" }

func identity(fs.FileInfo) string { return "" }

func ownerOf(fs.FileInfo) string { return "" }

func foreign(fs.FileInfo) bool { return false }

func linkCount(fs.FileInfo) uint64 { return 1 }

func renameAt(a *os.Root, name string, b *os.Root, newName string, exchange bool) error {
	if exchange {
		return errors.ErrUnsupported
	}
	if _, err := b.Lstat(newName); err == nil {
		return fs.ErrExist
	}
	return os.Rename(filepath.Join(a.Name(), name), filepath.Join(b.Name(), newName))
}

func noExchange(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

func linkAt(_ *os.Root, _ string, _ *os.Root, _ string) error { return errors.ErrUnsupported }
