package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs/internal/owned"
)

// Record is what is known of one server.
type Record struct {
	Server string `json:"server"`
	// Identity is the digest of the server's configuration: another command under the same name is another server.
	Identity string `json:"identity"`
	// Seen is what the server said of itself when it was last asked.
	Seen   *Definitions `json:"seen,omitempty"`
	SeenAt time.Time    `json:"seenAt,omitzero"`
	// Approved is what a person looked at and approved.
	Approved *Definitions `json:"approved,omitempty"`
	// Program is what was approved to run, nil where it is not pinned; SeenProgram is what ran when the server was last asked.
	Program     *Program  `json:"program,omitempty"`
	SeenProgram *Program  `json:"seenProgram,omitempty"`
	ApprovedBy  string    `json:"approvedBy,omitempty"`
	ApprovedAt  time.Time `json:"approvedAt,omitzero"`
}

// Store keeps records. Implementations are safe for concurrent use, also by several processes.
type Store interface {
	// Load returns the record of a server, nil where there is none.
	Load(server, identity string) (*Record, error)
	// Update changes the record of a server, a new one where there is none. Nobody else changes it meanwhile.
	Update(server, identity string, change func(r *Record)) error
	// Remove forgets every record of the server and reports whether there was one.
	Remove(server string) (bool, error)
}

// NewMemory returns a Store that lasts as long as the process.
func NewMemory() Store { return &memory{records: map[string][]byte{}} }

type memory struct {
	mu      sync.Mutex
	records map[string][]byte
}

func (m *memory) Load(server, identity string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.load(server, identity)
}

func (m *memory) load(server, identity string) (*Record, error) {
	data, ok := m.records[server+" "+identity]
	if !ok {
		return nil, nil
	}
	return decodeRecord(data, server, identity)
}

func (m *memory) Update(server, identity string, change func(*Record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.load(server, identity)
	if err != nil {
		return err
	}
	data, err := json.Marshal(changed(r, server, identity, change))
	if err != nil {
		return err
	}
	m.records[server+" "+identity] = data
	return nil
}

// changed applies a change to a record, which may be nil. Whose it is cannot change.
func changed(r *Record, server, identity string, change func(*Record)) *Record {
	if r == nil {
		r = &Record{}
	}
	change(r)
	r.Server, r.Identity = server, identity
	return r
}

func (m *memory) Remove(server string) (found bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.records {
		if strings.HasPrefix(key, server+" ") {
			delete(m.records, key)
			found = true
		}
	}
	return found, nil
}

// Directory is a Store of one file for each server, which nobody else can read or write.
type Directory string

// maxRecord is how large a file may be.
const maxRecord = 8 << 20

func (d Directory) path(server, identity string) (string, error) {
	id := strings.TrimPrefix(identity, "sha256:")
	if !serverName.MatchString(server) || len(id) < 16 || strings.ContainsAny(id, `/\.`) {
		return "", fmt.Errorf("the record of the MCP server %q has no name of a file", server)
	}
	return filepath.Join(string(d), server+"."+id[:16]+".json"), nil
}

// Load implements Store.
func (d Directory) Load(server, identity string) (*Record, error) {
	path, err := d.path(server, identity)
	if err != nil {
		return nil, err
	}
	data, err := owned.ReadFile(path, owned.User(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w; or remove it, and review the server again", path, err)
	}
	r, err := decodeRecord(data, server, identity)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and review the server again", path, err)
	}
	return r, nil
}

func decodeRecord(data []byte, server, identity string) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Server != server || r.Identity != identity {
		return nil, fmt.Errorf("it is the record of %q", r.Server)
	}
	return r, nil
}

// Update implements Store. A reader sees the old record or the new one.
func (d Directory) Update(server, identity string, change func(*Record)) error {
	path, err := d.path(server, identity)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(string(d), ".lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("the records of MCP servers cannot be locked: %w", err)
	}
	defer lock.Close()
	r, err := d.Load(server, identity)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(changed(r, server, identity, change), "", " ")
	if err != nil {
		return err
	}
	return owned.Replace(path, data, 0o600)
}

// Remove implements Store.
func (d Directory) Remove(server string) (found bool, err error) {
	return owned.RemoveRecords(string(d), server)
}
