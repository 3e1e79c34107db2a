package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// factsTable holds what statistics read of each row of the log, and where its entries are. It is made from the entries
// when somebody wants it, so that calls do not pay for it, and holds nothing that they do not.
const factsTable = `
CREATE TABLE facts (
	row       INTEGER PRIMARY KEY,
	call      TEXT NOT NULL,
	parent    TEXT NOT NULL,
	session   TEXT NOT NULL,
	workspace TEXT NOT NULL,
	agents    TEXT NOT NULL,
	tool      TEXT NOT NULL,
	source    TEXT NOT NULL,
	started   INTEGER NOT NULL,
	pid       INTEGER NOT NULL,
	decided   INTEGER NOT NULL,
	decision  INTEGER NOT NULL,
	step      TEXT NOT NULL,
	by        TEXT NOT NULL,
	rules     TEXT NOT NULL,
	flags     INTEGER NOT NULL,
	outcome   TEXT NOT NULL,
	code      TEXT NOT NULL,
	title     TEXT NOT NULL,
	waited    INTEGER NOT NULL,
	ran       INTEGER NOT NULL,
	total     INTEGER NOT NULL,
	output    INTEGER NOT NULL,
	shown     INTEGER NOT NULL,
	intents   TEXT NOT NULL,
	closed    INTEGER NOT NULL
) STRICT;
CREATE INDEX facts_started ON facts (started);
CREATE INDEX facts_session ON facts (session, row);
CREATE INDEX facts_call ON facts (call);
CREATE TABLE progress (
	name TEXT PRIMARY KEY,
	seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

const factColumns = "row, call, parent, session, workspace, agents, tool, source, started, pid, decided, decision, step, by, rules, " +
	"flags, outcome, code, title, waited, ran, total, output, shown, intents, closed"

var _ audit.FactKeeper = (*Log)(nil)

// kept is a fact as the table holds it.
type kept struct {
	audit.Fact
	pid     int
	intents []int64
	closed  int64
}

// factBatch is how many entries one transaction takes up at most, so that writers need not wait long.
const factBatch = 5000

// Facts implements audit.FactKeeper. It takes up what the log got since the last time, then reads the table.
func (l *Log) Facts(ctx context.Context, since time.Time) iter.Seq2[audit.Fact, error] {
	const sql = "SELECT " + factColumns + " FROM facts WHERE started >= ? ORDER BY row DESC"
	return func(yield func(audit.Fact, error) bool) {
		err := l.catchUp(ctx)
		if err == nil {
			err = l.store.Read(ctx, func(conn *sqlite.Conn) error {
				return sqlitefile.Query(conn, sql, func(stmt *sqlite.Stmt) error {
					if err := ctx.Err(); err != nil {
						return err
					}
					f := readFact(stmt)
					if !yield(f.fact(), nil) {
						return errStop
					}
					return nil
				}, since)
			})
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(audit.Fact{}, fmt.Errorf("audit log: %w", err))
		}
	}
}

// catchUp takes the entries that are not in the table yet into it.
func (l *Log) catchUp(ctx context.Context) error {
	for {
		behind := false
		err := l.store.Read(ctx, func(conn *sqlite.Conn) error {
			done, err := readProgress(conn)
			if err != nil {
				return err
			}
			end, err := readHead(conn)
			behind = end.seq > done
			return err
		})
		if err != nil || !behind {
			return err
		}
		if err := l.store.Write(ctx, takeUp); err != nil {
			return err
		}
	}
}

func readProgress(conn *sqlite.Conn) (seq int64, err error) {
	err = sqlitefile.Query(conn, "SELECT seq FROM progress WHERE name = 'facts'", func(stmt *sqlite.Stmt) error {
		seq = stmt.ColumnInt64(0)
		return nil
	})
	return seq, err
}

// takeUp takes up to a batch of entries into the table.
func takeUp(conn *sqlite.Conn) error {
	done, err := readProgress(conn)
	if err != nil {
		return err
	}
	b := batch{conn: conn, facts: map[int64]*kept{}, last: done}
	err = sqlitefile.Query(conn, "SELECT seq, row, kind, data FROM entries WHERE seq > ? ORDER BY seq LIMIT ?", b.add, done, int64(factBatch))
	if err != nil || b.last == done {
		return err
	}
	for _, row := range b.order {
		if err := writeFact(conn, b.facts[row]); err != nil {
			return err
		}
	}
	return sqlitefile.Query(conn, "INSERT INTO progress (name, seq) VALUES ('facts', ?) ON CONFLICT DO UPDATE SET seq = excluded.seq", nil, b.last)
}

// batch collects the facts that some entries are about.
type batch struct {
	conn  *sqlite.Conn
	facts map[int64]*kept
	order []int64
	last  int64
}

// opening, deciding and closing are what facts hold of the entries: the rest of them is not decoded.
type (
	opening struct {
		Call, Parent, Session, Workspace, Tool string
		Agents                                 []string
		Started                                time.Time
		PID                                    int
	}
	deciding struct {
		Tool     string
		Source   tongs.Source
		Decision tongs.Decision
		Step, By string
		Rules    []string
		Question string
		Copy     bool
	}
)

func (b *batch) add(stmt *sqlite.Stmt) error {
	e := audit.Entry{
		Seq: stmt.ColumnInt64(0), Row: stmt.ColumnInt64(1), Data: columnBytes(stmt, 3),
		Kind: audit.EntryKind(max(0, min(stmt.ColumnInt64(2), 255))),
	}
	b.last = e.Seq
	if err := b.take(&e); err != nil {
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	return nil
}

func (b *batch) take(e *audit.Entry) error {
	switch e.Kind {
	case audit.EntryOpen:
		var o opening
		if err := json.Unmarshal(e.Data, &o); err != nil {
			return err
		}
		f := &kept{pid: o.PID}
		f.Seq = e.Seq
		f.Fact.Open(&audit.Row{
			Call: o.Call, Parent: o.Parent, Session: o.Session, Workspace: o.Workspace, Agents: o.Agents, Tool: o.Tool, Started: o.Started,
		})
		b.facts[e.Seq], b.order = f, append(b.order, e.Seq)
	case audit.EntryIntent:
		f, err := b.fact(e.Row)
		if err != nil || f == nil {
			return err
		}
		var d deciding
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		f.intents = append(f.intents, e.Seq)
		f.Fact.Intent(&audit.Intent{
			Tool: d.Tool, Source: d.Source, Decision: d.Decision, Step: d.Step, By: d.By, Rules: d.Rules, Question: d.Question, Copy: d.Copy,
		})
	case audit.EntryClose:
		f, err := b.fact(e.Row)
		if err != nil || f == nil {
			return err
		}
		var c audit.Closing
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return err
		}
		f.closed = e.Seq
		f.Fact.Close(&c)
	}
	return nil
}

// fact returns the fact of a row, nil where its opening entry is gone.
func (b *batch) fact(row int64) (*kept, error) {
	if f, ok := b.facts[row]; ok {
		return f, nil
	}
	var found *kept
	err := sqlitefile.Query(b.conn, "SELECT "+factColumns+" FROM facts WHERE row = ?", func(stmt *sqlite.Stmt) error {
		f := readFact(stmt)
		found = &f
		return nil
	}, row)
	if found != nil {
		b.facts[row], b.order = found, append(b.order, row)
	}
	return found, err
}

const (
	flagAsked = 1 << iota
	flagCopy
)

func writeFact(conn *sqlite.Conn, f *kept) error {
	decided, flags := int64(0), int64(0)
	if f.Decided {
		decided = 1
	}
	if f.Asked {
		flags |= flagAsked
	}
	if f.Copy {
		flags |= flagCopy
	}
	agents := ""
	if len(f.Agents) > 0 {
		data, err := json.Marshal(f.Agents)
		if err != nil {
			return err
		}
		agents = string(data)
	}
	intents := make([]string, len(f.intents))
	for i, seq := range f.intents {
		intents[i] = strconv.FormatInt(seq, 10)
	}
	return sqlitefile.Query(conn, "INSERT OR REPLACE INTO facts ("+factColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", nil,
		f.Seq, f.Call, f.Parent, f.Session, f.Workspace, agents, f.Tool, string(f.Source), f.Started, int64(f.pid), decided, int64(f.Decision),
		f.Step, f.By, strings.Join(f.Rules, ","), flags, f.Outcome, string(f.Code), f.Title, int64(f.Waited), int64(f.Ran), int64(f.Total),
		f.Output, f.Shown, strings.Join(intents, ","), f.closed)
}

func readFact(stmt *sqlite.Stmt) (f kept) {
	f.Seq, f.Call, f.Parent, f.Session = stmt.ColumnInt64(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnText(3)
	f.Workspace, f.Tool, f.Source = stmt.ColumnText(4), stmt.ColumnText(6), tongs.SourceKind(stmt.ColumnText(7))
	if agents := stmt.ColumnText(5); agents != "" {
		_ = json.Unmarshal([]byte(agents), &f.Agents) // it was written from a list of strings
	}
	f.Started, f.pid, f.Decided = fromNanos(stmt.ColumnInt64(8)), int(stmt.ColumnInt64(9)), stmt.ColumnInt64(10) != 0
	f.Decision, f.Step, f.By = tongs.Decision(stmt.ColumnInt64(11)), stmt.ColumnText(12), stmt.ColumnText(13)
	if rules := stmt.ColumnText(14); rules != "" {
		f.Rules = strings.Split(rules, ",")
	}
	flags := stmt.ColumnInt64(15)
	f.Asked, f.Copy = flags&flagAsked != 0, flags&flagCopy != 0
	f.Outcome, f.Code, f.Title = stmt.ColumnText(16), tongs.Code(stmt.ColumnText(17)), stmt.ColumnText(18)
	f.Waited, f.Ran, f.Total = time.Duration(stmt.ColumnInt64(19)), time.Duration(stmt.ColumnInt64(20)), time.Duration(stmt.ColumnInt64(21))
	f.Output, f.Shown = stmt.ColumnInt64(22), stmt.ColumnInt64(23)
	f.intents, f.closed = sequence(stmt.ColumnText(24)), stmt.ColumnInt64(25)
	return f
}

func sequence(text string) (list []int64) {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// fact is the fact as others see it: a call that did not end runs, or was interrupted.
func (f *kept) fact() audit.Fact {
	if f.closed == 0 {
		f.Outcome = audit.OutcomeRunning
		if !audit.Alive(f.pid, f.Started) {
			f.Outcome = audit.OutcomeInterrupted
		}
	}
	return f.Fact
}

// entriesOf yields the entries of the rows of a call or a session, and those that are not in the table yet, so that the
// rows come together newest first.
func (l *Log) entriesOf(ctx context.Context, f audit.Filter) iter.Seq2[audit.Entry, error] {
	column, is := "session", f.Session
	if f.Call != "" {
		column, is = "call", f.Call
	}
	return func(yield func(audit.Entry, error) bool) {
		err := l.store.Read(ctx, func(conn *sqlite.Conn) error {
			each := func(stmt *sqlite.Stmt) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !yield(readEntry(stmt), nil) {
					return errStop
				}
				return nil
			}
			done, err := readProgress(conn)
			if err != nil {
				return err
			}
			if err := sqlitefile.Query(conn, "SELECT seq, row, kind, data, hash FROM entries WHERE seq > ? ORDER BY seq DESC", each, done); err != nil {
				return err
			}
			var seqs []int64
			err = sqlitefile.Query(conn, "SELECT row, intents, closed FROM facts WHERE "+column+" = ? ORDER BY row DESC", func(stmt *sqlite.Stmt) error {
				if n := stmt.ColumnInt64(2); n > 0 {
					seqs = append(seqs, n)
				}
				intents := sequence(stmt.ColumnText(1))
				slices.Reverse(intents)
				seqs = append(append(seqs, intents...), stmt.ColumnInt64(0))
				return nil
			}, is)
			if err != nil {
				return err
			}
			for _, seq := range seqs {
				if err := sqlitefile.Query(conn, "SELECT seq, row, kind, data, hash FROM entries WHERE seq = ?", each, seq); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(audit.Entry{}, fmt.Errorf("audit log: %w", err))
		}
	}
}
