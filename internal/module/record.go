package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// record is what is known of one module.
type record struct {
	Key    string `json:"key"`
	Module string `json:"module"`
	// Digest is what a person approved, empty for nothing. Inputs are the files that had it, as they were last seen.
	Digest string  `json:"digest,omitempty"`
	Inputs []input `json:"inputs,omitempty"`
	// Program is the name of the directory of what runs, and Host identifies the hosts that it was made with.
	Program    string    `json:"program,omitempty"`
	Host       string    `json:"host,omitempty"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ApprovedAt time.Time `json:"approvedAt,omitzero"`
	// Problems say of the tools Checked why they cannot be, as far as that shows without running anything.
	Checked  []string          `json:"checked,omitempty"`
	Problems map[string]string `json:"problems,omitempty"`
	// Tools are those that were exposed when the module said what they are.
	Tools []string `json:"tools,omitempty"`
	// Definitions are what it said, nil where it was not asked yet.
	Definitions *mcpclient.Definitions `json:"definitions,omitempty"`
}

// Names are the names that the tools of a module may have: those that are listed, and those that they gave themselves when they were
// last asked. State is the directory of approvals.
func Names(state string, c Config) []string {
	names := slices.Clone(c.Tools)
	if r, err := (store{state}).load(c.key()); err == nil && r.Definitions != nil {
		for _, name := range reportOf(r.Definitions).Names {
			names = append(names, name)
		}
	}
	return names
}

// maxRecord is how large the file of a record may be.
const maxRecord = 16 << 20

// store keeps records below one private directory. The empty one keeps nothing.
type store struct{ dir string }

func (s store) path(key string) string { return filepath.Join(s.dir, key+".json") }

// load returns the record of a module, an empty one where there is none.
func (s store) load(key string) (*record, error) {
	if s.dir == "" {
		return &record{}, nil
	}
	data, err := owned.ReadFile(s.path(key), owned.User(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil || r.Key != key {
		return nil, fmt.Errorf("%s cannot be read; remove it, and review the module again: %w", s.path(key), err)
	}
	return r, nil
}

// update changes a record. Nobody else changes it meanwhile; a reader sees the old one or the new one.
func (s store) update(key string, change func(*record)) (*record, error) {
	if s.dir == "" {
		return nil, errors.New("there is no place where approvals of modules are kept")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(s.dir, ".lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("the records of modules cannot be locked: %w", err)
	}
	defer lock.Close()
	r, err := s.load(key)
	if err != nil {
		return nil, err
	}
	change(r)
	r.Key = key
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	return r, owned.Replace(s.path(key), data, 0o600)
}

// remove forgets a module.
func (s store) remove(key string) error {
	err := os.Remove(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
