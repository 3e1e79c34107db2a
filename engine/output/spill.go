package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Spill keeps what is too long to show, one directory a call, readable as /spill/... by the file tools.
type Spill struct {
	dir string
}

// Root is the name of the root under which spilled files are read.
const Root = "spill"

// OpenSpill returns the spill below dir, which it creates for this user alone.
func OpenSpill(dir string) (*Spill, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spill directory: %w", err)
	}
	return &Spill{dir: dir}, nil
}

// Dir returns the host directory.
func (s *Spill) Dir() string { return s.dir }

// create makes the file for a stream of a call and returns it with its path below /spill.
func (s *Spill) create(call, name string) (*os.File, string, error) {
	dir, file := safe(call), safe(name)
	if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
		return nil, "", err
	}
	for n := 1; ; n++ {
		base := file + ".txt"
		if n > 1 {
			base = fmt.Sprintf("%s-%d.txt", file, n)
		}
		f, err := os.OpenFile(filepath.Join(s.dir, dir, base), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		return f, path.Join("/", Root, dir, base), nil
	}
}

// Save keeps data as a file of the call and returns its path below /spill.
func (s *Spill) Save(call, name string, data []byte) (string, error) {
	f, where, err := s.create(call, name)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return where, nil
}

// Prune removes the files of calls that were last written before the given time and returns how many bytes that freed.
func (s *Spill) Prune(before time.Time) (freed int64, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		dir := filepath.Join(s.dir, entry.Name())
		files, err := os.ReadDir(dir)
		if err != nil {
			return freed, err
		}
		for _, file := range files {
			if info, err := file.Info(); err == nil {
				freed += info.Size()
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// safe makes a name of letters, digits, _ and - out of any string.
func safe(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	if name = name[:min(len(name), 100)]; name == "" {
		return "output"
	}
	return name
}
