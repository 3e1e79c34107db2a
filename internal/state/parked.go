package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// parkedTable holds changes that wait for the answer to a question, and what became of them. The body is sealed.
const parkedTable = `
CREATE TABLE parked (
	question TEXT PRIMARY KEY,
	key      TEXT NOT NULL,
	created  INTEGER NOT NULL,
	expires  INTEGER NOT NULL,
	body     BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX parked_key ON parked (key);
`

// notParked leaves out questions whose answers are for changes that wait, not for a call that is made again.
const notParked = "id NOT IN (SELECT question FROM parked)"

// maxParked is how many are kept, with those that a call is still to be told of.
const maxParked = 1000

// Park keeps changes for a pending question. Where it is no longer pending the error is that of answering it, and
// approval.ErrParked where others are kept for it, or too many.
func (s *Questions) Park(ctx context.Context, p approval.Parked) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		now := time.Now()
		list, err := s.query(conn, "WHERE id = ?", p.Question)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("question %s: %w", p.Question, approval.ErrNotFound)
		}
		q := list[0]
		if _, err := approval.Admit(&q, approval.Answer{}, now); err != nil {
			return err
		}
		if err := sqlitefile.Query(conn, "DELETE FROM parked WHERE expires <= ?", nil, now); err != nil {
			return err
		}
		taken := false
		err = sqlitefile.Query(conn, "SELECT count(*), sum(question = ?) FROM parked", func(stmt *sqlite.Stmt) error {
			taken = stmt.ColumnInt64(0) >= maxParked || stmt.ColumnInt64(1) > 0
			return nil
		}, p.Question)
		if err == nil && taken {
			err = approval.ErrParked
		}
		if err != nil {
			return err
		}
		p.State = approval.Waiting
		body, err := s.encodeParked(&p)
		if err != nil {
			return err
		}
		err = sqlitefile.Query(conn, "INSERT INTO parked (question, key, created, expires, body) VALUES (?, ?, ?, ?, ?)", nil,
			p.Question, p.Key, now, p.Expires, body)
		if err != nil {
			return err
		}
		q.Late = p.Late()
		return s.update(conn, &q, false)
	})
}

// parkedFor is what the body is sealed for: that of one question cannot be put in the place of another's.
func parkedFor(question string) string { return "parked " + question }

func (s *Questions) encodeParked(p *approval.Parked) ([]byte, error) {
	body, err := json.Marshal(p)
	if err == nil {
		body, err = s.db.seal.close(parkedFor(p.Question), body)
	}
	if err != nil {
		return nil, fmt.Errorf("the changes for question %s cannot be kept: %w", p.Question, err)
	}
	return body, nil
}

// parked returns what a condition selects, newest first. What cannot be opened is left out: nobody can use it.
func (s *Questions) parked(conn *sqlite.Conn, where string, args ...any) (list []approval.Parked, err error) {
	err = sqlitefile.Query(conn, "SELECT question, key, body FROM parked WHERE "+where+" ORDER BY created DESC", func(stmt *sqlite.Stmt) error {
		question := stmt.ColumnText(0)
		body, err := s.db.seal.open(parkedFor(question), columnBytes(stmt, 2))
		if errors.Is(err, errUnsealed) {
			return nil
		}
		var p approval.Parked
		if err == nil {
			err = json.Unmarshal(body, &p)
		}
		if err == nil && p.Question == question && p.Key == stmt.ColumnText(1) {
			list = append(list, p)
		}
		return err
	}, args...)
	return list, err
}

// FindParked returns what is parked for calls with this key, the newest first.
func (s *Questions) FindParked(ctx context.Context, key string) (list []approval.Parked, err error) {
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) (err error) {
		list, err = s.parked(conn, "key = ? AND expires > ?", key, time.Now())
		return err
	})
	return list, err
}

// Parked returns what is parked for a question, nil where there is nothing.
func (s *Questions) Parked(ctx context.Context, question string) (p *approval.Parked, err error) {
	err = s.db.store.Read(ctx, func(conn *sqlite.Conn) error {
		list, err := s.parked(conn, "question = ?", question)
		if len(list) > 0 {
			p = &list[0]
		}
		return err
	})
	return p, err
}

// Advance changes what is parked for a question, unless its state is final: then it is returned as it is. A final state takes
// the answer of the question, which no call can then.
func (s *Questions) Advance(ctx context.Context, question string, change func(*approval.Parked)) (p *approval.Parked, advanced bool, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		list, err := s.parked(conn, "question = ?", question)
		if err != nil || len(list) == 0 {
			return err
		}
		if p = &list[0]; p.State.Final() {
			return nil
		}
		change(p)
		advanced = true
		body, err := s.encodeParked(p)
		if err != nil {
			return err
		}
		if err := sqlitefile.Query(conn, "UPDATE parked SET body = ? WHERE question = ?", nil, body, question); err != nil || !p.State.Final() {
			return err
		}
		return s.endParked(conn, p)
	})
	return p, advanced, err
}

// endParked tells the question what became of its changes.
func (s *Questions) endParked(conn *sqlite.Conn, p *approval.Parked) error {
	list, err := s.query(conn, "WHERE id = ?", p.Question)
	if err != nil || len(list) == 0 {
		return err
	}
	q := list[0]
	if q.Late = p.Late(); q.Answer != nil {
		q.Redeemed = time.Now()
	}
	q = s.scrub.Scrub(q)
	return s.update(conn, &q, true)
}

// Unpark forgets what waits for a question, as if it had never been parked.
func (s *Questions) Unpark(ctx context.Context, question string) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		if err := sqlitefile.Query(conn, "DELETE FROM parked WHERE question = ?", nil, question); err != nil {
			return err
		}
		list, err := s.query(conn, "WHERE id = ? AND scrubbed = 0", question)
		if err != nil || len(list) == 0 {
			return err
		}
		q := list[0]
		q.Late = nil
		return s.update(conn, &q, false)
	})
}

// Take forgets what is parked for a question, and reports whether it was there: whoever took it tells of it.
func (s *Questions) Take(ctx context.Context, question string) (bool, error) {
	n, err := s.db.write(ctx, "DELETE FROM parked WHERE question = ?", question)
	return n > 0, err
}
