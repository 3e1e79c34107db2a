package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// pollEvery is how often a waiting call looks for an answer from another process.
const pollEvery = 75 * time.Millisecond

// sealedQuestions removes open questions that were kept in clear.
const sealedQuestions = `DELETE FROM questions WHERE scrubbed = 0;`

// questionKeys lets a call find an approval that it has outdated.
const questionKeys = `
ALTER TABLE questions ADD COLUMN key TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_key ON questions (key) WHERE key != '';
`

// Questions keeps questions. They are kept whole while somebody can use them, sealed with a key outside the database, and
// without secrets after that.
type Questions struct {
	db    *DB
	late  time.Duration
	scrub approval.Scrubber
}

var _ approval.Store = (*Questions)(nil)

// Questions returns the store of questions. Options without an environment have that of the DB.
func (db *DB) Questions(opts approval.Options) *Questions {
	if opts.Environ == nil {
		opts.Environ = db.opts.Environ
	}
	return &Questions{db: db, late: opts.LateOrDefault(), scrub: approval.NewScrubber(opts)}
}

// Open implements approval.Store.
func (s *Questions) Open(ctx context.Context, q approval.Question) (approval.Question, error) {
	if err := approval.CheckNew(&q); err != nil {
		return q, err
	}
	opened := q
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		now := time.Now()
		joined, err := s.pendingOf(conn, q.Digest, now)
		if err != nil {
			return err
		}
		if joined != nil {
			opened = *joined
			return sqlitefile.Query(conn, "UPDATE questions SET opens = opens + 1 WHERE id = ?", nil, joined.ID)
		}
		pending := 0
		err = sqlitefile.Query(conn, "SELECT count(*) FROM questions WHERE "+pendingSQL, func(stmt *sqlite.Stmt) error {
			pending = stmt.ColumnInt(0)
			return nil
		}, now)
		if err = errors.Join(err, approval.CheckPending(pending)); err != nil {
			return err
		}
		for opened.ID == "" || exists(conn, opened.ID) {
			opened.ID = approval.NewID()
		}
		return s.insert(conn, &opened)
	})
	return opened, err
}

func (s *Questions) insert(conn *sqlite.Conn, q *approval.Question) error {
	body, err := s.encode(q, false)
	if err != nil {
		return err
	}
	return sqlitefile.Query(conn, "INSERT INTO questions (id, digest, key, created, expires, opens, body) VALUES (?, ?, ?, ?, ?, 1, ?)", nil,
		q.ID, q.Digest, q.Key, q.Created, q.Expires, body)
}

// encode returns a question as it is kept: sealed, unless it was scrubbed.
func (s *Questions) encode(q *approval.Question, scrubbed bool) ([]byte, error) {
	body, err := json.Marshal(q)
	if err == nil && !scrubbed {
		body, err = s.db.seal.close(q.ID, body)
	}
	if err != nil {
		return nil, fmt.Errorf("question %s cannot be kept: %w", q.ID, err)
	}
	return body, nil
}

// exists reports whether the ID is taken. An error is found by the statement that comes next.
func exists(conn *sqlite.Conn, id string) (found bool) {
	_ = sqlitefile.Query(conn, "SELECT 1 FROM questions WHERE id = ?", func(*sqlite.Stmt) error {
		found = true
		return nil
	}, id)
	return found
}

const pendingSQL = "answered = 0 AND withdrawn = 0 AND expires > ?"

func (s *Questions) pendingOf(conn *sqlite.Conn, digest string, now time.Time) (*approval.Question, error) {
	list, err := s.query(conn, "WHERE digest = ? AND "+pendingSQL, digest, now)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].StateAt(now) == approval.Pending {
			return &list[i], nil
		}
	}
	return nil, nil
}

// query returns the questions that a condition selects.
func (s *Questions) query(conn *sqlite.Conn, where string, args ...any) ([]approval.Question, error) {
	list := []approval.Question{}
	err := sqlitefile.Query(conn, "SELECT id, digest, created, expires, scrubbed, body FROM questions "+where, func(stmt *sqlite.Stmt) error {
		q, err := s.decode(stmt)
		if err != nil {
			return fmt.Errorf("question %s cannot be read: %w", stmt.ColumnText(0), err)
		}
		list = append(list, q)
		return nil
	}, args...)
	return list, err
}

// decode returns a question as it was before it was kept. One that cannot be opened counts as withdrawn: a person could
// not be shown what it asks.
func (s *Questions) decode(stmt *sqlite.Stmt) (q approval.Question, err error) {
	id, body := stmt.ColumnText(0), columnBytes(stmt, 5)
	if scrubbed := stmt.ColumnInt64(4) != 0; !scrubbed {
		body, err = s.db.seal.open(id, body)
	}
	if errors.Is(err, errUnsealed) {
		created := fromNanos(stmt.ColumnInt64(2))
		return approval.Question{
			ID: id, Digest: stmt.ColumnText(1), Created: created, Expires: fromNanos(stmt.ColumnInt64(3)), Withdrawn: created,
			Args: json.RawMessage("{}"), Message: "This question cannot be read: " + err.Error(), Kind: tongs.KindExecute,
		}, nil
	}
	if err != nil {
		return q, err
	}
	return q, json.Unmarshal(body, &q)
}

// find returns the question that the ID means.
func (s *Questions) find(conn *sqlite.Conn, typed string) (q approval.Question, err error) {
	list, err := s.query(conn, "WHERE id = ?", typed)
	if err != nil {
		return q, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	var ids []string
	err = sqlitefile.Query(conn, "SELECT id FROM questions ORDER BY id DESC", func(stmt *sqlite.Stmt) error {
		ids = append(ids, stmt.ColumnText(0))
		return nil
	})
	if err != nil {
		return q, err
	}
	id, err := approval.Resolve(typed, ids)
	if err != nil {
		return q, err
	}
	if list, err = s.query(conn, "WHERE id = ?", id); err != nil || len(list) != 1 {
		return q, errors.Join(err, approval.ErrNotFound)
	}
	return list[0], nil
}

// update writes a question that changed.
func (s *Questions) update(conn *sqlite.Conn, q *approval.Question, scrubbed bool) error {
	body, err := s.encode(q, scrubbed)
	if err != nil {
		return err
	}
	var answered time.Time
	if q.Answer != nil {
		answered = q.Answer.At
	}
	clean := int64(0)
	if scrubbed {
		clean = 1
	}
	return sqlitefile.Query(conn, "UPDATE questions SET answered = ?, redeemed = ?, withdrawn = ?, scrubbed = ?, body = ? WHERE id = ?", nil,
		answered, q.Redeemed, q.Withdrawn, clean, body, q.ID)
}

// write runs a transaction and wakes those in this process who wait.
func (s *Questions) write(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	err := s.db.store.Write(ctx, fn)
	if err == nil {
		s.db.bell.ringBell()
	}
	return err
}

// Get implements approval.Store.
func (s *Questions) Get(ctx context.Context, id string) (q approval.Question, err error) {
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		q, err = s.find(conn, id)
		return err
	})
	return q, err
}

// List implements approval.Store.
func (s *Questions) List(ctx context.Context, pending bool) (list []approval.Question, err error) {
	now := time.Now()
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		if pending {
			list, err = s.query(conn, "WHERE "+pendingSQL+" ORDER BY created DESC, id DESC", now)
			list = slices.DeleteFunc(list, func(q approval.Question) bool { return q.StateAt(now) != approval.Pending })
		} else {
			list, err = s.query(conn, "ORDER BY created DESC, id DESC")
		}
		return err
	})
	return list, err
}

// Answer implements approval.Store.
func (s *Questions) Answer(ctx context.Context, id string, a approval.Answer) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		q, err := s.find(conn, id)
		if err != nil {
			return err
		}
		if a, err = approval.Admit(&q, a, time.Now()); err != nil {
			return err
		}
		q.Answer = &a
		return s.update(conn, &q, false)
	})
}

// Wait implements approval.Store. It looks for the answer of another process every 75 ms.
func (s *Questions) Wait(ctx context.Context, id string) (approval.Question, error) {
	q, err := s.Get(ctx, id)
	if err != nil {
		return q, err
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		rung := s.db.bell.nextRing() // before the look, so that nothing is missed after it
		pending, err := s.pending(ctx, q.ID)
		if err != nil {
			return q, err
		}
		if !pending {
			return s.Get(ctx, q.ID)
		}
		select {
		case <-rung:
		case <-poll.C:
		case <-ctx.Done():
			return q, ctx.Err()
		}
	}
}

// pending looks at a question without reading its body.
func (s *Questions) pending(ctx context.Context, id string) (pending bool, err error) {
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "SELECT 1 FROM questions WHERE id = ? AND "+pendingSQL, func(*sqlite.Stmt) error {
			pending = true
			return nil
		}, id, time.Now())
	})
	return pending, err
}

// Withdraw implements approval.Store.
func (s *Questions) Withdraw(ctx context.Context, id string) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		q, err := s.find(conn, id)
		if err != nil {
			return err
		}
		now := time.Now()
		if q.StateAt(now) != approval.Pending {
			return nil
		}
		opens := int64(0)
		err = sqlitefile.Query(conn, "UPDATE questions SET opens = opens - 1 WHERE id = ? RETURNING opens", func(stmt *sqlite.Stmt) error {
			opens = stmt.ColumnInt64(0)
			return nil
		}, q.ID)
		if err != nil || opens > 0 {
			return err
		}
		q.Withdrawn = now
		q = s.scrub.Scrub(q)
		return s.update(conn, &q, true)
	})
}

// Redeem implements approval.Store.
func (s *Questions) Redeem(ctx context.Context, digest, id string) (taken approval.Question, ok bool, err error) {
	return s.takeAnswer(ctx, "digest = ?", digest, func(q *approval.Question, now time.Time) bool {
		return approval.Redeemable(q, digest, id, s.late, now)
	})
}

// Outdated implements approval.Store.
func (s *Questions) Outdated(ctx context.Context, key, digest string) (taken approval.Question, ok bool, err error) {
	found := false // most calls have none, and need not wait for their turn to write
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "SELECT 1 FROM questions WHERE key = ? AND answered > 0 AND redeemed = 0 LIMIT 1", func(*sqlite.Stmt) error {
			found = true
			return nil
		}, key)
	})
	if err != nil || !found {
		return taken, false, err
	}
	return s.takeAnswer(ctx, "key = ?", key, func(q *approval.Question, now time.Time) bool {
		return approval.IsOutdated(q, key, digest, s.late, now)
	})
}

// takeAnswer takes the newest answer that fits, of those that a condition with one value selects.
func (s *Questions) takeAnswer(ctx context.Context, where, value string, fits func(*approval.Question, time.Time) bool) (taken approval.Question, ok bool, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		list, err := s.query(conn, "WHERE "+where+" AND answered > 0 AND redeemed = 0 AND "+notParked+" ORDER BY answered DESC", value)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, q := range list {
			if !fits(&q, now) {
				continue
			}
			q.Redeemed = now
			kept := s.scrub.Scrub(q)
			taken, ok = q, true
			return s.update(conn, &kept, true)
		}
		return nil
	})
	if err != nil {
		return approval.Question{}, false, err
	}
	return taken, ok, nil
}
