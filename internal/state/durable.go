// Package state keeps what must outlive a process in one SQLite file of the state directory: the audit log, the
// questions, the grants, the state of sessions and the trust in workspaces. Any number of processes share the file.
package state

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// FileName is the name of the file in the state directory.
const FileName = "tongs.db"

// migrations build the file. Never change one that was released: add another.
var migrations = []string{`
CREATE TABLE entries (
	seq  INTEGER PRIMARY KEY,
	row  INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	data BLOB NOT NULL,
	hash BLOB NOT NULL
) STRICT;
CREATE INDEX cuts ON entries (seq) WHERE kind = 4;

CREATE TABLE questions (
	id        TEXT PRIMARY KEY,
	digest    TEXT NOT NULL,
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	opens     INTEGER NOT NULL,
	answered  INTEGER NOT NULL DEFAULT 0,
	redeemed  INTEGER NOT NULL DEFAULT 0,
	withdrawn INTEGER NOT NULL DEFAULT 0,
	scrubbed  INTEGER NOT NULL DEFAULT 0,
	body      BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_digest ON questions (digest);

CREATE TABLE grants (
	id      TEXT PRIMARY KEY,
	scope   TEXT NOT NULL,
	tool    TEXT NOT NULL,
	session TEXT NOT NULL,
	at      INTEGER NOT NULL,
	body    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_tool ON grants (tool);

CREATE TABLE state (
	session TEXT NOT NULL,
	key     TEXT NOT NULL,
	at      INTEGER NOT NULL,
	value   BLOB NOT NULL,
	PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE trust (
	path TEXT PRIMARY KEY,
	hash TEXT NOT NULL,
	by   TEXT NOT NULL,
	at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, factsTable, originTable, sealedQuestions, parkedTable, questionKeys}

// DB is the open file. It is safe for concurrent use, and so is everything it hands out.
type DB struct {
	store *sqlitefile.Store
	opts  Options
	log   *Log
	bell  bell
	seal  *seal
	saved saved
}

// Options configure a DB. Zero values are meaningful.
type Options struct {
	// Environ holds variables (KEY=value) whose secret values are kept out of the log and of questions that are over.
	Environ []string
	// Checkpoint sends the head of the log elsewhere; nil sends it nowhere.
	Checkpoint *Checkpoint
}

// Open opens tongs.db in the directory, making both where they are missing.
func Open(dir string) (*DB, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, opts Options) (*DB, error) {
	if dir == "" {
		return nil, errors.New("the state directory has no name: set TONGS_STATE_DIR")
	}
	s, err := sqlitefile.Open(filepath.Join(dir, FileName), migrations)
	if err != nil {
		return nil, err
	}
	db := &DB{store: s, opts: opts, seal: newSeal(s.Path())}
	db.log = &Log{store: s, redactor: audit.NewRedactor(opts.Environ), head: newHead(s.Path())}
	db.log.checkpoint = newCheckpointer(db.log, s.Path(), opts.Checkpoint)
	return db, nil
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.store.Path() }

// Close waits for running transactions and checkpoints, and closes the file.
func (db *DB) Close() error {
	if c := db.log.checkpoint; c != nil {
		c.running.Wait()
	}
	return errors.Join(db.store.Close(), db.log.head.close())
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// columnBytes returns a copy of a column.
func columnBytes(stmt *sqlite.Stmt, col int) []byte {
	data := make([]byte, stmt.ColumnLen(col))
	stmt.ColumnBytes(col, data)
	return data
}

// write runs one statement in a transaction and returns how many rows it changed.
func (db *DB) write(ctx context.Context, sql string, args ...any) (changed int, err error) {
	err = db.store.Write(ctx, func(conn *sqlite.Conn) error {
		err := sqlitefile.Query(conn, sql, nil, args...)
		changed = conn.Changes()
		return err
	})
	return changed, err
}
