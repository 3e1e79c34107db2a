package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs/internal/owned"
)

// record is what is known of one tool.
type record struct {
	Tool string `json:"tool"`
	// Dir is the directory that the tool is in: one of the same name elsewhere is another tool.
	Dir string `json:"dir"`
	// Digest is what a person approved, empty for nothing. Files are those that had it, as they were last seen.
	Digest     string    `json:"digest,omitempty"`
	Files      []file    `json:"files,omitempty"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ApprovedAt time.Time `json:"approvedAt,omitzero"`
	// Versions are what the tool was, the oldest first.
	Versions []Version `json:"versions,omitempty"`
	// Disabled tools are not offered.
	Disabled bool `json:"disabled,omitempty"`
}

// store keeps records, copies of approved tools, and builds, below one private directory.
type store struct{ dir string }

const maxRecord = 16 << 20

func (s store) records() string         { return filepath.Join(s.dir, "records") }
func (s store) path(name string) string { return filepath.Join(s.records(), name+".json") }

// programs is where what runs is kept; copyOf is the copy of what has the digest.
func (s store) programs() string { return filepath.Join(s.dir, "programs") }

func (s store) copyOf(digest string) string {
	return filepath.Join(s.programs(), strings.TrimPrefix(digest, "sha256:"))
}

// sweep removes copies for single calls and builds that killed processes left. A call that is still running is younger.
func (s store) sweep(now time.Time) {
	entries, err := os.ReadDir(s.programs())
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "once-") && !strings.HasPrefix(e.Name(), "build-") {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(filepath.Join(s.programs(), e.Name()))
		}
	}
}

// load returns the record of a tool, an empty one where there is none.
func (s store) load(name, dir string) (*record, error) {
	none := &record{Tool: name, Dir: dir}
	if s.dir == "" {
		return none, nil
	}
	data, err := owned.ReadFile(s.path(name), owned.User(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s cannot be read; remove it, and approve the tool again: %w", s.path(name), err)
	}
	if r.Tool != name || r.Dir != dir {
		return none, nil
	}
	return r, nil
}

// update changes the record of a tool. Nobody else changes it meanwhile; a reader sees the old one or the new one.
func (s store) update(name, dir string, change func(*record)) error {
	if s.dir == "" {
		return errors.New("there is no place where approvals are kept")
	}
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(s.dir, ".lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("the records of custom tools cannot be locked: %w", err)
	}
	defer lock.Close()
	r, err := s.load(name, dir)
	if err != nil {
		return err
	}
	change(r)
	return writeJSON(s.path(name), r)
}

// remove forgets a tool.
func (s store) remove(name string) error {
	err := os.Remove(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeJSON gives a private file its content, all or nothing.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return owned.Replace(path, data, 0o600)
}
