package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tongs-ai/tongs/internal/owned"
)

// Hash identifies the content of a file, as trust is bound to it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// readRegular reads a regular file of at most one byte more than a configuration file may have. It never waits for
// what is not one. A link is an error.
func readRegular(path string) ([]byte, error) {
	f, err := openNonblocking(path)
	if err != nil {
		return nil, owned.Bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, owned.Bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if info.Size() > maxFileSize {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", info.Size(), maxFileSize)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	return data, owned.Bare(err)
}

// ReadUser returns the user's own configuration file, to edit it. A missing one is empty; one that others could have
// written is an error, as everywhere.
func ReadUser(path string) ([]byte, error) {
	data, err := readOwned(path, owned.User())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(Problem{File: path, Message: err.Error()})
	}
	return data, nil
}

// readOwned reads a file that counts because of where it is. It must be its owner's, or root's, and so must every
// directory above it: nobody else can have written it, nor removed it.
func readOwned(path string, owner int) ([]byte, error) {
	data, err := owned.ReadFile(path, owner, maxFileSize)
	if e, ok := errors.AsType[*owned.Error](err); ok && e.Path == path {
		return nil, fmt.Errorf("%s; %s", e.Problem, e.Fix) // the path stands before it
	}
	return data, owned.Bare(err)
}
