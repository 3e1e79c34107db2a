package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs/internal/owned"
)

// Secret is text that no print and no log shows. It is written as it is by encoding/json, for the store.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Client is what an authorization server knows us as.
type Client struct {
	ID     string `json:"id"`
	Secret Secret `json:"secret,omitempty"`
	// Method is how we prove it: none, client_secret_basic or client_secret_post.
	Method string `json:"method"`
}

// Login is what came of logging in to a resource.
type Login struct {
	Server   string `json:"server"`
	Identity string `json:"identity"`
	// URL is where the token is sent, and nowhere else.
	URL string `json:"url"`
	// Resource is what the token was asked for, Issuer who issued it.
	Resource string `json:"resource,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	// TokenEndpoint renews tokens, RevocationEndpoint ends them; it may be empty.
	TokenEndpoint      string   `json:"tokenEndpoint,omitempty"`
	RevocationEndpoint string   `json:"revocationEndpoint,omitempty"`
	Client             Client   `json:"client"`
	Access             Secret   `json:"access,omitempty"`
	Refresh            Secret   `json:"refresh,omitempty"`
	Scopes             []string `json:"scopes,omitempty"`
	// Expires is when Access ends; zero is not known.
	Expires time.Time `json:"expires,omitzero"`
	// Wanted are scopes that the resource asked for since; the next login asks for them too.
	Wanted []string `json:"wanted,omitempty"`
	// Hosts are those of this machine or network that the person allowed.
	Hosts []string  `json:"hosts,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Store keeps logins. Implementations are safe for concurrent use, also by several processes.
type Store interface {
	// Load returns the login to a server, nil where there is none.
	Load(server, identity string) (*Login, error)
	// Update replaces the login to a server by what change makes of it. Login is nil where there is none; nil removes
	// it. Nobody else changes it meanwhile, however long that takes; ctx bounds the wait for one's turn.
	Update(ctx context.Context, server, identity string, change func(l *Login) (*Login, error)) error
	// Remove forgets every login to the server and reports whether there was one.
	Remove(server string) (bool, error)
}

// NewMemory returns a Store that lasts as long as the process.
func NewMemory() Store { return &memory{logins: map[string][]byte{}} }

type memory struct {
	mu     sync.Mutex
	turn   sync.Mutex
	logins map[string][]byte
}

// Load implements Store.
func (m *memory) Load(server, identity string) (*Login, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.logins[server+" "+identity]
	if !ok {
		return nil, nil
	}
	return decode(data, server, identity)
}

// Update implements Store.
func (m *memory) Update(_ context.Context, server, identity string, change func(*Login) (*Login, error)) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	l, err := m.Load(server, identity)
	if err != nil {
		return err
	}
	data, err := encode(l, server, identity, change)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if data == nil {
		delete(m.logins, server+" "+identity)
		return nil
	}
	m.logins[server+" "+identity] = data
	return nil
}

// Remove implements Store.
func (m *memory) Remove(server string) (found bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.logins {
		if strings.HasPrefix(key, server+" ") {
			delete(m.logins, key)
			found = true
		}
	}
	return found, nil
}

// encode applies a change. Whose login it is cannot change.
func encode(l *Login, server, identity string, change func(*Login) (*Login, error)) ([]byte, error) {
	l, err := change(l)
	if err != nil || l == nil {
		return nil, err
	}
	l.Server, l.Identity = server, identity
	return json.MarshalIndent(l, "", " ")
}

func decode(data []byte, server, identity string) (*Login, error) {
	l := &Login{}
	if json.Unmarshal(data, l) != nil { // what is wrong with it could quote it
		return nil, errors.New("it is not a login")
	}
	if l.Server != server || l.Identity != identity {
		return nil, fmt.Errorf("it is the login to %.100q", l.Server)
	}
	return l, nil
}

// Directory is a Store of one file for each login, which nobody else can read or write.
type Directory string

var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

func (d Directory) path(server, identity string) (string, error) {
	id := strings.TrimPrefix(identity, "sha256:")
	if !serverName.MatchString(server) || len(id) < 32 || strings.ContainsAny(id, `/\.`) {
		return "", fmt.Errorf("the login to the MCP server %q has no name of a file", server)
	}
	return filepath.Join(string(d), server+"."+id[:32]+".json"), nil
}

// Load implements Store.
func (d Directory) Load(server, identity string) (*Login, error) {
	path, err := d.path(server, identity)
	if err != nil {
		return nil, err
	}
	data, err := owned.ReadFile(path, owned.User(), maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var l *Login
	if err == nil {
		l, err = decode(data, server, identity)
	}
	if err != nil {
		return nil, failed("%s cannot be used: %w; log out with 'tongs mcp logout %s', and log in again", path, err, server)
	}
	return l, nil
}

// Update implements Store. A reader sees the old login or the new one.
func (d Directory) Update(ctx context.Context, server, identity string, change func(*Login) (*Login, error)) error {
	path, err := d.path(server, identity)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	lock := flock.New(strings.TrimSuffix(path, ".json")+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("the login to the MCP server %s cannot be locked: %w", server, err)
	}
	defer lock.Close()
	l, err := d.Load(server, identity)
	if err != nil {
		return err
	}
	data, err := encode(l, server, identity, change)
	if err != nil {
		return err
	}
	if data == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return owned.Replace(path, data, 0o600)
}

// Remove implements Store. Locks stay: another process can have one.
func (d Directory) Remove(server string) (found bool, err error) {
	return owned.RemoveRecords(string(d), server)
}
