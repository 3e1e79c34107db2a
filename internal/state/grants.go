package state

import (
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// Grants keeps remembered approvals.
type Grants struct{ db *DB }

var _ policy.Book = (*Grants)(nil)

// Grants returns the book of grants.
func (db *DB) Grants() *Grants { return &Grants{db} }

// Find implements policy.Book.
func (g *Grants) Find(ctx context.Context, key policy.Key) ([]policy.Grant, error) {
	list, err := g.selectGrants(ctx, "SELECT body FROM grants WHERE tool = ? ORDER BY at, id", key.Tool)
	if err != nil {
		return nil, err
	}
	var found []policy.Grant
	for _, grant := range list {
		if grant.Fits(key) {
			found = append(found, grant)
		}
	}
	return found, nil
}

func (g *Grants) selectGrants(ctx context.Context, sql string, args ...any) ([]policy.Grant, error) {
	list := []policy.Grant{}
	err := g.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, sql, func(stmt *sqlite.Stmt) error {
			var grant policy.Grant
			if err := json.Unmarshal(columnBytes(stmt, 0), &grant); err != nil {
				return fmt.Errorf("a grant in the state file cannot be read: %w", err)
			}
			list = append(list, grant)
			return nil
		}, args...)
	})
	return list, err
}

// Add implements policy.Book. A grant that would not be read back as it is (over a name that is not UTF-8) is refused.
func (g *Grants) Add(ctx context.Context, grant policy.Grant) error {
	if err := grant.Validate(); err != nil {
		return err
	}
	body, err := json.Marshal(&grant)
	if err != nil {
		return fmt.Errorf("grant %s cannot be kept: %w", grant.ID, err)
	}
	if !sameText(&grant) {
		return fmt.Errorf("grant %s cannot be kept: it holds a name that is not UTF-8", grant.ID)
	}
	changed, err := g.db.write(ctx,
		"INSERT INTO grants (id, scope, tool, session, at, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		grant.ID, string(grant.Scope), grant.Key.Tool, grant.Key.Session, grant.At, body)
	if err != nil {
		return err
	}
	if changed == 0 {
		return fmt.Errorf("there is a grant %s already", grant.ID)
	}
	return nil
}

// List implements policy.Book.
func (g *Grants) List(ctx context.Context) ([]policy.Grant, error) {
	return g.selectGrants(ctx, "SELECT body FROM grants ORDER BY at DESC, id DESC")
}

// Revoke implements policy.Book.
func (g *Grants) Revoke(ctx context.Context, id string) (bool, error) {
	changed, err := g.db.write(ctx, "DELETE FROM grants WHERE id = ?", id)
	return changed > 0, err
}
