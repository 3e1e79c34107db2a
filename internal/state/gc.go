package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// Retention says how long things are kept. Zero keeps them for ever.
type Retention struct {
	// Rows is the age at which audit rows go.
	Rows time.Duration
	// Questions is the age at which questions go that are over.
	Questions time.Duration
	// Grants is the age at which grants of scope session go. Those of scope always stay until they are revoked.
	Grants time.Duration
	// State is how long the state of a session stays after its last change.
	State time.Duration
	// Late is the late-answer time of the questions; 0 is the default.
	Late time.Duration
}

// Report is what a collection removed.
type Report struct {
	// Rows are the audit rows, Entries the links of the chain that they were made of.
	Rows    int64 `json:"rows"`
	Entries int64 `json:"entries"`
	// Questions were removed, Scrubbed ones lost their arguments and previews.
	Questions int `json:"questions"`
	Scrubbed  int `json:"scrubbed"`
	Grants    int `json:"grants"`
	// State is how many values of sessions were removed.
	State int `json:"state"`
}

// GC removes what is older than the retention, and scrubs questions that are over. The audit chain stays whole: the
// entry that records a cut holds the hash of what it builds on.
func (db *DB) GC(ctx context.Context, keep Retention) (rep Report, err error) {
	now := time.Now()
	if keep.Rows > 0 {
		if err := db.cutEntries(ctx, now.Add(-keep.Rows), &rep); err != nil {
			return rep, err
		}
	}
	if err := db.scrubQuestions(ctx, keep, now, &rep); err != nil {
		return rep, err
	}
	if _, err := db.write(ctx, "DELETE FROM parked WHERE expires <= ?", now); err != nil {
		return rep, err
	}
	if keep.Questions > 0 {
		before := now.Add(-keep.Questions)
		rep.Questions, err = db.write(ctx,
			"DELETE FROM questions WHERE created < ?1 AND scrubbed = 1", before)
		if err != nil {
			return rep, err
		}
	}
	if keep.Grants > 0 {
		rep.Grants, err = db.write(ctx, "DELETE FROM grants WHERE scope = ? AND at < ?",
			string(policy.ScopeSession), now.Add(-keep.Grants))
		if err != nil {
			return rep, err
		}
	}
	if keep.State > 0 {
		rep.State, err = db.write(ctx,
			"DELETE FROM state WHERE session IN (SELECT session FROM state GROUP BY session HAVING max(at) < ?)", now.Add(-keep.State))
	}
	return rep, err
}

// cutBatch is how many entries one transaction removes at most, so that writers need not wait long.
const cutBatch = 3000

// cutEntries removes the entries before the first row that is young or still runs.
func (db *DB) cutEntries(ctx context.Context, before time.Time, rep *Report) error {
	chain, err := db.log.Verify(ctx, "")
	if err != nil {
		return err
	}
	through, rows, err := db.cutPoint(ctx, before, chain.Alarms())
	if err != nil || through == 0 {
		return err
	}
	for done := false; !done; {
		var end point
		err := db.store.Write(ctx, func(conn *sqlite.Conn) error {
			first, err := firstEntry(conn)
			if err != nil || first == 0 || first > through {
				done = true
				return err
			}
			last := min(through, first+cutBatch-1)
			done = last == through
			rep.Entries += last - first + 1
			end, err = db.log.cut(conn, last)
			return err
		})
		if err == nil && end.seq > 0 {
			err = db.log.head.advance(end)
		}
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	rep.Rows += rows
	return nil
}

// opened is an old row that may go.
type opened struct {
	seq, last int64 // last is the entry before the next row
	pid       int
	started   time.Time
}

// cutPoint returns the last entry that can go and how many rows that are. Rows of calls that still run stay, and with
// them what came after. A chain that does not hold is not cut, nor is a loss that nobody accepted: that would hide what is
// wrong.
func (db *DB) cutPoint(ctx context.Context, before time.Time, alarms []audit.Loss) (through, rows int64, err error) {
	err = db.store.Read(ctx, func(conn *sqlite.Conn) error {
		old, err := oldRows(conn, before, alarms)
		if err != nil || len(old) == 0 {
			return err
		}
		closed := map[int64]bool{}
		err = sqlitefile.Query(conn, "SELECT row FROM entries WHERE kind = 3", func(stmt *sqlite.Stmt) error {
			closed[stmt.ColumnInt64(0)] = true
			return nil
		})
		if err != nil {
			return err
		}
		for _, o := range old {
			if !closed[o.seq] && audit.Alive(o.pid, o.started) {
				break
			}
			through, rows = o.last, rows+1
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("audit log: %w", err)
	}
	return through, rows, nil
}

// oldRows returns the rows at the start of the chain that were opened before the given time, and before a loss that
// nobody accepted.
func oldRows(conn *sqlite.Conn, before time.Time, alarms []audit.Loss) (old []opened, err error) {
	start, err := lastCut(conn)
	if err != nil {
		return nil, err
	}
	check, err := audit.NewChecker(start, "")
	if err != nil {
		return nil, err
	}
	err = sqlitefile.Query(conn, "SELECT seq, row, kind, data, hash FROM entries ORDER BY seq", func(stmt *sqlite.Stmt) error {
		e := readEntry(stmt)
		if !check.Add(&e) {
			return fmt.Errorf("nothing was removed, since the chain is broken: %s", check.Chain().Reason)
		}
		if slices.ContainsFunc(alarms, func(l audit.Loss) bool { return l.Seq == e.Seq }) {
			return errStop
		}
		if e.Kind == audit.EntryOpen {
			var row audit.Row
			if err := json.Unmarshal(e.Data, &row); err != nil {
				return fmt.Errorf("entry %d: %w", e.Seq, err)
			}
			if !row.Started.Before(before) {
				return errStop
			}
			old = append(old, opened{seq: e.Seq, pid: row.PID, started: row.Started})
		}
		if n := len(old); n > 0 {
			old[n-1].last = e.Seq
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return old, err
}

// cutData is a cut and when it was made.
type cutData struct {
	audit.Cut
	At time.Time `json:"at"`
}

func firstEntry(conn *sqlite.Conn) (first int64, err error) {
	err = sqlitefile.Query(conn, "SELECT min(seq) FROM entries", func(stmt *sqlite.Stmt) error {
		first = stmt.ColumnInt64(0)
		return nil
	})
	return first, err
}

// cut removes the entries up to the given one, after it wrote one that says so, which it returns.
func (l *Log) cut(conn *sqlite.Conn, through int64) (end point, err error) {
	c := cutData{Cut: audit.Cut{Through: through}, At: time.Now()}
	found := false
	err = sqlitefile.Query(conn, "SELECT hash FROM entries WHERE seq = ?", func(stmt *sqlite.Stmt) error {
		found = stmt.ColumnBytes(0, c.Hash[:]) == len(c.Hash)
		return nil
	}, through)
	if err != nil {
		return end, err
	}
	if !found {
		return end, fmt.Errorf("entry %d is missing or damaged: run \"tongs log verify\"", through)
	}
	data, err := json.Marshal(&c)
	if err != nil {
		return end, err
	}
	if end, err = l.extend(conn, audit.EntryCut, 0, data); err != nil {
		return end, err
	}
	if err := sqlitefile.Query(conn, "DELETE FROM facts WHERE row <= ?", nil, through); err != nil {
		return end, err
	}
	return end, sqlitefile.Query(conn, "DELETE FROM entries WHERE seq <= ?", nil, through)
}

// scrubQuestions takes arguments and previews out of the questions that nobody can use any more.
func (db *DB) scrubQuestions(ctx context.Context, keep Retention, now time.Time, rep *Report) error {
	s := db.Questions(approval.Options{Late: keep.Late})
	return s.write(ctx, func(conn *sqlite.Conn) error {
		list, err := s.query(conn, "WHERE scrubbed = 0")
		if err != nil {
			return err
		}
		for _, q := range list {
			if !approval.Over(&q, s.late, now) {
				continue
			}
			q = s.scrub.Scrub(q)
			if err := s.update(conn, &q, true); err != nil {
				return err
			}
			rep.Scrubbed++
		}
		return nil
	})
}
