package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Hash identifies the content of a file, as trust is bound to it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// readRegular reads a regular file of at most one byte more than a configuration file may have. It never waits for
// what is not one. A link is followed where follow is set, else it is an error. check may refuse the opened file.
func readRegular(path string, follow bool, check func(f *os.File) error) ([]byte, error) {
	f, err := openNonblocking(path, follow)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if check != nil {
		if err := check(f); err != nil {
			return nil, err
		}
	}
	if info.Size() > maxFileSize {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", info.Size(), maxFileSize)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, bare(err)
	}
	return data, nil
}

// readManaged reads the administrator's file. A file, or a directory of it, that others could have written is
// refused, and so is a link that leads nowhere: an absent policy must really be absent.
func readManaged(path string, owner int) ([]byte, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, bare(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, bare(err)
	}
	defer dir.Close()
	if err := ownedBy(dir, owner); err != nil {
		return nil, fmt.Errorf("its directory %w", err)
	}
	data, err := readRegular(path, true, func(f *os.File) error { return ownedBy(f, owner) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("is a link to a file that does not exist")
	}
	return data, err
}

// bare takes the path off an error that will be shown with it.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", pe.Err)
	}
	return err
}
