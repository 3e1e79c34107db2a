// Package sessions keeps the sessions of workers in a SQLite file of the state directory, where any number of processes
// read and continue them. What was saved outlives the process at any moment.
package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/internal/sqlitefile"
	"github.com/tongs-ai/tongs/worker"
)

// FileName is the name of the file in the state directory.
const FileName = "sessions.db"

// migrations build the file. Never change one that was released: add another.
var migrations = []string{`
CREATE TABLE sessions (
	id        TEXT PRIMARY KEY,
	root      TEXT NOT NULL,
	parent    TEXT NOT NULL,
	worker    TEXT NOT NULL,
	workspace TEXT NOT NULL,
	state     TEXT NOT NULL,
	updated   INTEGER NOT NULL,
	body      BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_updated ON sessions (updated);
CREATE INDEX sessions_root ON sessions (root);

CREATE TABLE entries (
	session TEXT NOT NULL,
	seq     INTEGER NOT NULL,
	body    BLOB NOT NULL,
	PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
`}

// DB is the open file. It is safe for concurrent use.
type DB struct{ store *sqlitefile.Store }

var _ worker.Store = (*DB)(nil)

// Open opens sessions.db in the directory, making both where they are missing.
func Open(dir string) (*DB, error) {
	s, err := sqlitefile.Open(filepath.Join(dir, FileName), migrations)
	if err != nil {
		return nil, err
	}
	return &DB{s}, nil
}

// Close waits for running transactions and closes the file.
func (db *DB) Close() error { return db.store.Close() }

// Save implements worker.Store.
func (db *DB) Save(ctx context.Context, s worker.Session, add ...worker.Entry) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("session %s cannot be kept: %w", s.ID, err)
	}
	bodies := make([][]byte, len(add))
	for i, e := range add {
		if bodies[i], err = json.Marshal(e); err != nil {
			return fmt.Errorf("entry %d of session %s cannot be kept: %w", e.Seq, s.ID, err)
		}
	}
	return db.store.Write(ctx, func(conn *sqlite.Conn) error {
		err := sqlitefile.Query(conn, `INSERT INTO sessions (id, root, parent, worker, workspace, state, updated, body)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET state = ?6, updated = ?7, body = ?8`,
			nil, s.ID, s.Root, s.Parent, s.Worker, s.Workspace, string(s.State), s.Updated.UnixNano(), body)
		for i, e := range add {
			if err != nil {
				return err
			}
			err = sqlitefile.Query(conn, "INSERT INTO entries (session, seq, body) VALUES (?, ?, ?)", nil, s.ID, int64(e.Seq), bodies[i])
		}
		return err
	})
}

// List implements worker.Sessions.
func (db *DB) List(ctx context.Context, f worker.Filter) ([]worker.Session, error) {
	sql, args := "SELECT body FROM sessions WHERE 1", []any{}
	only := func(column, value string) {
		if value != "" {
			sql, args = sql+" AND "+column+" = ?", append(args, value)
		}
	}
	only("root", f.Root)
	only("worker", f.Worker)
	only("workspace", f.Workspace)
	only("state", string(f.State))
	if f.Outermost {
		sql += " AND parent = ''"
	}
	sql += " ORDER BY updated DESC, id DESC"
	if f.Limit > 0 {
		sql, args = sql+" LIMIT ?", append(args, int64(f.Limit))
	}
	list := []worker.Session{}
	err := db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, sql, func(stmt *sqlite.Stmt) error {
			var s worker.Session
			if err := json.Unmarshal(column(stmt, 0), &s); err != nil {
				return fmt.Errorf("a session cannot be read: %w", err)
			}
			list = append(list, s)
			return nil
		}, args...)
	})
	return list, err
}

// Load implements worker.Sessions.
func (db *DB) Load(ctx context.Context, id string, from int) (s *worker.Session, entries []worker.Entry, err error) {
	err = db.store.Read(ctx, func(conn *sqlite.Conn) error {
		err := sqlitefile.Query(conn, "SELECT body FROM sessions WHERE id = ?", func(stmt *sqlite.Stmt) error {
			s = &worker.Session{}
			return json.Unmarshal(column(stmt, 0), s)
		}, id)
		if err != nil || s == nil {
			return err
		}
		return sqlitefile.Query(conn, "SELECT body FROM entries WHERE session = ? AND seq >= ? ORDER BY seq", func(stmt *sqlite.Stmt) error {
			var e worker.Entry
			if err := json.Unmarshal(column(stmt, 0), &e); err != nil {
				return err
			}
			entries = append(entries, e)
			return nil
		}, id, int64(from))
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("session %s cannot be read: %w", id, err)
	case s == nil:
		return nil, nil, fmt.Errorf("%s: %w", id, worker.ErrNoSession)
	}
	return s, entries, nil
}

// Prune implements worker.Store.
func (db *DB) Prune(ctx context.Context, before time.Time) (n int, err error) {
	err = db.store.Write(ctx, func(conn *sqlite.Conn) error {
		const old = "SELECT root FROM sessions GROUP BY root HAVING max(updated) < ?"
		err := sqlitefile.Query(conn, "DELETE FROM entries WHERE session IN (SELECT id FROM sessions WHERE root IN ("+old+"))", nil, before.UnixNano())
		if err != nil {
			return err
		}
		err = sqlitefile.Query(conn, "DELETE FROM sessions WHERE root IN ("+old+")", nil, before.UnixNano())
		n = conn.Changes()
		return err
	})
	return n, err
}

func column(stmt *sqlite.Stmt, col int) []byte {
	data := make([]byte, stmt.ColumnLen(col))
	stmt.ColumnBytes(col, data)
	return data
}
