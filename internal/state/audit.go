package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// Log is the audit log. The chain is extended under the file's write lock, so that any number of processes make one.
type Log struct {
	store    *sqlitefile.Store
	redactor *audit.Redactor
	calls    audit.OpenCalls
	head     *head
	// checkpoint is nil where none is configured.
	checkpoint *checkpointer
}

var (
	_ audit.Log      = (*Log)(nil)
	_ audit.Streamer = (*Log)(nil)
	_ audit.Follower = (*Log)(nil)
)

// Audit returns the audit log.
func (db *DB) Audit() *Log { return db.log }

// Open implements audit.Log.
func (l *Log) Open(ctx context.Context, row *audit.Row) error {
	data, err := l.redactor.Open(row)
	if err != nil {
		return err
	}
	return l.calls.Begin(row.Call, func() (int64, error) {
		seq, err := l.append(ctx, audit.EntryOpen, 0, data)
		if err == nil {
			row.Seq = seq
		}
		return seq, err
	})
}

// Intent implements audit.Log.
func (l *Log) Intent(ctx context.Context, call string, in *audit.Intent) error {
	data, err := l.redactor.Intent(in)
	if err != nil {
		return err
	}
	row, err := l.calls.Row(call)
	if err != nil {
		return err
	}
	if _, err = l.append(ctx, audit.EntryIntent, row, data); err != nil {
		return err
	}
	return l.checkpoint.beforeRun(ctx)
}

// Close implements audit.Log.
func (l *Log) Close(ctx context.Context, call string, c *audit.Closing) error {
	data, err := l.redactor.Close(c)
	if err != nil {
		return err
	}
	err = l.calls.End(call, func(row int64) error {
		_, err := l.append(context.WithoutCancel(ctx), audit.EntryClose, row, data)
		return err
	})
	if err == nil {
		l.checkpoint.afterRun()
	}
	return err
}

// append adds an entry to the chain and returns its number; row 0 means its own. The head file names the entry, or a later
// one, when it returns.
func (l *Log) append(ctx context.Context, kind audit.EntryKind, row int64, data json.RawMessage) (int64, error) {
	var end point
	err := l.store.Share(ctx, func(conn *sqlite.Conn) (err error) {
		end, err = l.extend(conn, kind, row, data)
		return err
	})
	if err == nil {
		err = l.head.advance(end)
	}
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	return end.seq, nil
}

// extend adds an entry inside a write transaction and returns it, after one that tells of a loss where there was one. The
// caller has the head advance to it when it is committed.
func (l *Log) extend(conn *sqlite.Conn, kind audit.EntryKind, row int64, data []byte) (end point, err error) {
	if end, err = readHead(conn); err != nil {
		return end, err
	}
	loss, err := l.head.before(conn, end)
	if err != nil {
		return end, err
	}
	if loss != nil {
		loss.At = time.Now()
		told, err := json.Marshal(loss)
		if err != nil {
			return end, err
		}
		if end, err = insertEntry(conn, end, audit.Entry{Kind: audit.EntryLoss, Data: told}); err != nil {
			return end, err
		}
	}
	return insertEntry(conn, end, audit.Entry{Kind: kind, Row: row, Data: data})
}

// insertEntry adds an entry after the one that is the end so far.
func insertEntry(conn *sqlite.Conn, end point, e audit.Entry) (point, error) {
	e.Seq = end.seq + 1
	if e.Row == 0 {
		e.Row = e.Seq
	}
	e.Hash = e.Link(end.hash)
	stmt, err := conn.Prepare("INSERT INTO entries (seq, row, kind, data, hash) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return end, err
	}
	stmt.BindInt64(1, e.Seq)
	stmt.BindInt64(2, e.Row)
	stmt.BindInt64(3, int64(e.Kind))
	stmt.BindBytes(4, e.Data)
	stmt.BindBytes(5, e.Hash[:])
	_, err = stmt.Step()
	return point{e.Seq, e.Hash}, errors.Join(err, stmt.Reset())
}

// readHead returns the last entry, zero where there is none.
func readHead(conn *sqlite.Conn) (end point, err error) {
	stmt, err := conn.Prepare("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")
	if err != nil {
		return end, err
	}
	found, err := stmt.Step()
	if found {
		end.seq = stmt.ColumnInt64(0)
		stmt.ColumnBytes(1, end.hash[:])
	}
	return end, errors.Join(err, stmt.Reset())
}

func readEntry(stmt *sqlite.Stmt) audit.Entry {
	e := audit.Entry{
		Seq:  stmt.ColumnInt64(0),
		Row:  stmt.ColumnInt64(1),
		Kind: audit.EntryKind(max(0, min(stmt.ColumnInt64(2), 255))),
		Data: columnBytes(stmt, 3),
	}
	if stmt.ColumnLen(4) == len(e.Hash) {
		stmt.ColumnBytes(4, e.Hash[:])
	}
	return e
}

// errStop ends a query early.
var errStop = errors.New("stop")

// Entries yields the entries of the chain, oldest first: what is needed to check it elsewhere.
func (l *Log) Entries(ctx context.Context) iter.Seq2[audit.Entry, error] {
	return l.entries(ctx, "SELECT seq, row, kind, data, hash FROM entries ORDER BY seq")
}

func (l *Log) entries(ctx context.Context, sql string) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		err := l.store.Read(ctx, func(conn *sqlite.Conn) error {
			return sqlitefile.Query(conn, sql, func(stmt *sqlite.Stmt) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !yield(readEntry(stmt), nil) {
					return errStop
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(audit.Entry{}, fmt.Errorf("audit log: %w", err))
		}
	}
}

// Last implements audit.Follower.
func (l *Log) Last(ctx context.Context) (seq int64, err error) {
	err = l.store.Read(ctx, func(conn *sqlite.Conn) error {
		end, err := readHead(conn)
		seq = end.seq
		return err
	})
	return seq, err
}

// After implements audit.Follower.
func (l *Log) After(ctx context.Context, seq int64, limit int) ([]audit.Entry, error) {
	entries := []audit.Entry{}
	err := l.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "SELECT seq, row, kind, data, hash FROM entries WHERE seq > ? ORDER BY seq LIMIT ?", func(stmt *sqlite.Stmt) error {
			entries = append(entries, readEntry(stmt))
			return nil
		}, seq, int64(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return entries, nil
}

// Rows implements audit.Log.
func (l *Log) Rows(ctx context.Context, f audit.Filter) ([]audit.Row, error) {
	return audit.Collect(l.Stream(ctx, f))
}

// Stream implements audit.Streamer. The log must not be closed, nor many others streamed, before it ended.
func (l *Log) Stream(ctx context.Context, f audit.Filter) iter.Seq2[audit.Row, error] {
	if f.Call != "" || f.Session != "" {
		return audit.Assemble(l.entriesOf(ctx, f), f)
	}
	return audit.Assemble(l.entries(ctx, "SELECT seq, row, kind, data, hash FROM entries ORDER BY seq DESC"), f)
}

// Verify implements audit.Log. It also compares the chain with the head file.
func (l *Log) Verify(ctx context.Context, head string) (chain audit.Chain, err error) {
	outside := l.head.look() // before the transaction, which then holds at least what this names
	err = l.store.Read(ctx, func(conn *sqlite.Conn) error {
		start, err := lastCut(conn)
		if err != nil {
			return err
		}
		check, err := audit.NewChecker(start, head)
		if err != nil {
			return err
		}
		err = sqlitefile.Query(conn, "SELECT seq, row, kind, data, hash FROM entries ORDER BY seq", func(stmt *sqlite.Stmt) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			e := readEntry(stmt)
			if !check.Add(&e) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
		chain = check.Chain()
		return outside.add(conn, &chain)
	})
	if err != nil {
		return audit.Chain{}, fmt.Errorf("audit log: %w", err)
	}
	return chain, nil
}

// lastCut returns what the newest cut says was removed, zero where nothing was.
func lastCut(conn *sqlite.Conn) (cut audit.Cut, err error) {
	err = sqlitefile.Query(conn, "SELECT data FROM entries WHERE kind = 4 ORDER BY seq DESC LIMIT 1", func(stmt *sqlite.Stmt) error {
		// A cut that cannot be read was tampered with: the chain is then checked from its first entry, and found broken.
		_ = json.Unmarshal(columnBytes(stmt, 0), &cut)
		return nil
	})
	return cut, err
}
