package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// sameText reports whether JSON keeps every string of a grant as it is.
func sameText(g *policy.Grant) bool {
	texts := []string{g.ID, g.By, g.Key.Tool, g.Key.Roots, g.Key.Session, g.Key.Source.Name, g.Key.Source.Digest, g.RulesDigest}
	texts = append(texts, g.Key.Agents...)
	for _, c := range g.Covers {
		texts = append(texts, c.Pattern, string(c.Version))
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// state is what the tools of one session remember.
type state struct {
	db      *DB
	session string
}

var _ tongs.State = (*state)(nil)

// State returns the state of a session.
func (db *DB) State(session string) tongs.State { return &state{db, session} }

// Load implements tongs.State.
func (s *state) Load(ctx context.Context, key string, v any) (found bool, err error) {
	var value []byte
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "SELECT value FROM state WHERE session = ? AND key = ?", func(stmt *sqlite.Stmt) error {
			value, found = columnBytes(stmt, 0), true
			return nil
		}, s.session, key)
	})
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return true, fmt.Errorf("state %q of session %q cannot be read: %w", key, s.session, err)
	}
	return true, nil
}

// Save implements tongs.State.
func (s *state) Save(ctx context.Context, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("state %q of session %q cannot be kept: %w", key, s.session, err)
	}
	if s.db.saved.before(s.session, key) {
		same, err := s.has(ctx, key, value)
		if err != nil || same {
			return err
		}
	}
	return s.db.store.Share(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn,
			"INSERT INTO state (session, key, at, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET at = ?3, value = ?4",
			nil, s.session, key, time.Now(), value)
	})
}

// freshState is for how long a value is not written again where it did not change. Its age says when it may go.
const freshState = 10 * time.Minute

// has reports whether a value is kept already, and was written not long ago. Looking takes a third of writing.
func (s *state) has(ctx context.Context, key string, value []byte) (same bool, err error) {
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "SELECT value FROM state WHERE session = ? AND key = ? AND at > ?", func(stmt *sqlite.Stmt) error {
			same = bytes.Equal(value, columnBytes(stmt, 0))
			return nil
		}, s.session, key, time.Now().Add(-freshState))
	})
	return same, err
}

// saved knows what this process wrote: only that is worth a look before it is written again.
type saved struct {
	mu    sync.Mutex
	names map[[2]string]struct{}
}

// maxSaved bounds what it remembers. It is a matter of speed alone.
const maxSaved = 4096

// before reports whether a value of that name was written before, and from now on it was.
func (s *saved) before(session, key string) bool {
	name := [2]string{session, key}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.names[name]
	if s.names == nil || len(s.names) >= maxSaved {
		s.names = map[[2]string]struct{}{}
	}
	s.names[name] = struct{}{}
	return ok
}

// Trust keeps which workspaces a person trusts, in which state of their content.
type Trust struct{ db *DB }

// Trusted is a workspace that somebody trusts.
type Trusted struct {
	// Path is the host path of the workspace, Hash that of the content that was reviewed.
	Path string    `json:"path"`
	Hash string    `json:"hash"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"at"`
}

// Trust returns the trust in workspaces.
func (db *DB) Trust() *Trust { return &Trust{db} }

// Set trusts a workspace with this content, and with no other that was trusted before.
func (t *Trust) Set(ctx context.Context, path, hash, by string) error {
	if path == "" || hash == "" {
		return fmt.Errorf("trust needs the path of a workspace and the hash of its content (path %q, hash %q)", path, hash)
	}
	_, err := t.db.write(ctx,
		"INSERT INTO trust (path, hash, by, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET hash = ?2, by = ?3, at = ?4",
		path, hash, by, time.Now())
	return err
}

// Get returns the trust in a workspace and whether there is any. It says nothing about the content: compare the hash.
func (t *Trust) Get(ctx context.Context, path string) (Trusted, bool, error) {
	list, err := t.list(ctx, "SELECT path, hash, by, at FROM trust WHERE path = ?", path)
	if err != nil || len(list) == 0 {
		return Trusted{}, false, err
	}
	return list[0], true, nil
}

// Remove ends the trust in a workspace and reports whether there was any.
func (t *Trust) Remove(ctx context.Context, path string) (bool, error) {
	changed, err := t.db.write(ctx, "DELETE FROM trust WHERE path = ?", path)
	return changed > 0, err
}

// List returns all that is trusted, by path.
func (t *Trust) List(ctx context.Context) ([]Trusted, error) {
	return t.list(ctx, "SELECT path, hash, by, at FROM trust ORDER BY path")
}

func (t *Trust) list(ctx context.Context, sql string, args ...any) ([]Trusted, error) {
	list := []Trusted{}
	err := t.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, sql, func(stmt *sqlite.Stmt) error {
			list = append(list, Trusted{stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(2), fromNanos(stmt.ColumnInt64(3))})
			return nil
		}, args...)
	})
	return list, err
}
