package state

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// originTable identifies the log, and says whether it ever had a head file.
const originTable = `
CREATE TABLE origin (
	id     BLOB NOT NULL,
	headed INTEGER NOT NULL
) STRICT;
INSERT INTO origin VALUES (randomblob(16), 0);
CREATE INDEX losses ON entries (seq) WHERE kind >= 5;
`

// thisBoot identifies the running start of the machine, zero where that cannot be told.
var thisBoot = sync.OnceValue(func() (boot bootID) {
	if name := bootName(); name != "" {
		sum := sha256.Sum256([]byte(name))
		copy(boot[:], sum[:])
	}
	return boot
})

func readOrigin(conn *sqlite.Conn) (id logID, headed bool, err error) {
	found := false
	err = sqlitefile.Query(conn, "SELECT id, headed FROM origin", func(stmt *sqlite.Stmt) error {
		found = stmt.ColumnBytes(0, id[:]) == len(id)
		headed = stmt.ColumnInt64(1) != 0
		return nil
	})
	if err == nil && !found {
		err = errors.New("the database does not say which log it holds: it was changed by another program")
	}
	return id, headed, err
}

// before compares the head file with the log, inside a write transaction and before an entry is added to it: nobody can
// add one meanwhile, so that a file that is ahead means a loss. It returns the loss that the log does not tell of yet.
func (h *head) before(conn *sqlite.Conn, end point) (*audit.Loss, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f == nil {
		missing, err := h.open(conn)
		if err != nil || missing {
			return lossOf(audit.Loss{Last: end.seq, Reason: reasonMissing}, missing), err
		}
	}
	if end == h.own && end.seq > 0 {
		return nil, nil
	}
	rec, err := readRecord(h.f)
	if errors.Is(err, errDamagedHead) {
		h.forget(0)
		return &audit.Loss{Last: end.seq, Reason: reasonDamaged}, nil
	}
	if err != nil {
		return nil, err
	}
	if rec.id == h.id && rec.seq <= end.seq && (rec == h.fits || rec.seq == end.seq && rec.hash == end.hash) {
		return nil, nil
	}
	loss, err := rec.contradicted(conn, h.id, end)
	switch {
	case err != nil:
		return nil, err
	case loss == nil:
		h.fits = rec
		return nil, nil
	}
	h.forget(rec.count)
	told, err := lossTold(conn, rec.head())
	if err != nil || told {
		return nil, err
	}
	return loss, nil
}

func lossOf(l audit.Loss, lost bool) *audit.Loss {
	if !lost {
		return nil
	}
	return &l
}

const (
	reasonMissing = "the head file " + HeadName + " is missing, though the log had one: it cannot be told whether entries were cut off"
	reasonDamaged = "the head file " + HeadName + " is damaged: it cannot be told whether entries were cut off"
)

// forget makes the next write replace the record with this count, whatever it says.
func (h *head) forget(count uint64) {
	h.lost, h.own, h.fits, h.done, h.synced = count, point{}, record{}, 0, 0
	h.wanted.Lock()
	h.want = point{}
	h.wanted.Unlock()
}

// open opens the file, and makes that of a log that never had one. It reports whether the file went missing.
func (h *head) open(conn *sqlite.Conn) (missing bool, err error) {
	id, headed, err := readOrigin(conn)
	if err != nil {
		return false, err
	}
	h.id = id
	if !headed {
		if err := h.create(); err != nil {
			return false, err
		}
		return false, sqlitefile.Query(conn, "UPDATE origin SET headed = 1", nil)
	}
	h.f, _, err = sqlitefile.OpenPrivate(h.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// contradicted returns what a log that ends there lacks of what the record names, nil where it lacks nothing. A restart of
// the machine explains the loss of what its disk had not confirmed.
func (r *record) contradicted(conn *sqlite.Conn, id logID, end point) (*audit.Loss, error) {
	loss, err := missingFrom(conn, id, r.head(), end)
	if err != nil || loss == nil {
		return nil, err
	}
	restarted := thisBoot() != (bootID{}) && r.boot != (bootID{}) && r.boot != thisBoot()
	if r.id == id && r.seq > end.seq && end.seq >= r.synced && restarted {
		loss.Explained = true
		loss.Reason += "; the machine was restarted since, and its disk had not confirmed them"
	}
	return loss, nil
}

// missingFrom returns what a log that ends there lacks of what a head names, nil where it lacks nothing.
func missingFrom(conn *sqlite.Conn, id logID, head audit.Head, end point) (*audit.Loss, error) {
	loss := audit.Loss{Head: head, Last: end.seq, At: time.Now()}
	switch {
	case head.Seq == 0:
		return nil, nil
	case head.Log != id.String():
		loss.Missing = head.Seq
		loss.Reason = "the database is not the one that the log was in: it was deleted, or another was put in its place"
		return &loss, nil
	case head.Seq > end.seq:
		loss.Missing = head.Seq - end.seq
		loss.Reason = fmt.Sprintf("entries %d to %d are missing from the end of the log", end.seq+1, head.Seq)
		return &loss, nil
	}
	start, err := lastCut(conn)
	if err != nil || head.Seq <= start.Through {
		return nil, err
	}
	same := false
	err = sqlitefile.Query(conn, "SELECT hash FROM entries WHERE seq = ?", func(stmt *sqlite.Stmt) error {
		var hash audit.Hash
		same = stmt.ColumnBytes(0, hash[:]) == len(hash) && hash == head.Hash
		return nil
	}, head.Seq)
	if err != nil || same {
		return nil, err
	}
	loss.Reason = fmt.Sprintf("entry %d is not the one that was written: the end of the log was replaced", head.Seq)
	return &loss, nil
}

// lossTold reports whether an entry of the log tells of the loss of this head.
func lossTold(conn *sqlite.Conn, head audit.Head) (told bool, err error) {
	err = sqlitefile.Query(conn, "SELECT data FROM entries WHERE kind = 5 AND kind >= 5 ORDER BY seq DESC LIMIT 1", func(stmt *sqlite.Stmt) error {
		var l audit.Loss
		told = json.Unmarshal(columnBytes(stmt, 0), &l) == nil && l.Head.Same(head)
		return nil
	})
	return told, err
}

// add adds what the head file shows to what was found of the chain.
func (o *outsideHead) add(conn *sqlite.Conn, chain *audit.Chain) error {
	end, err := readHead(conn)
	if err != nil {
		return err
	}
	loss, err := o.loss(conn, end)
	if err != nil {
		return err
	}
	if loss != nil {
		chain.Losses = append(chain.Losses, *loss)
	}
	id, _, err := readOrigin(conn)
	chain.Log = id.String()
	return err
}

// loss returns the loss that the head file shows and the log does not tell of.
func (o *outsideHead) loss(conn *sqlite.Conn, end point) (*audit.Loss, error) {
	id, headed, err := readOrigin(conn)
	if err != nil {
		return nil, err
	}
	switch {
	case errors.Is(o.err, fs.ErrNotExist):
		return lossOf(audit.Loss{Last: end.seq, Reason: reasonMissing, At: time.Now()}, headed), nil
	case errors.Is(o.err, errDamagedHead):
		return &audit.Loss{Last: end.seq, Reason: reasonDamaged, At: time.Now()}, nil
	case o.err != nil:
		return nil, o.err
	}
	loss, err := o.record.contradicted(conn, id, end)
	if err != nil || loss == nil {
		return nil, err
	}
	told, err := lossTold(conn, o.record.head())
	return lossOf(*loss, !told), err
}

// outsideHead is what the file in the directory says now, whatever file this process has open.
type outsideHead struct {
	record record
	err    error
}

func (h *head) look() (o outsideHead) {
	f, _, err := sqlitefile.OpenPrivate(h.path, false)
	if err != nil {
		return outsideHead{err: err}
	}
	defer func() { _ = f.Close() }()
	o.record, o.err = readRecord(f)
	return o
}

// Accept records that a person knows of the losses so far, so that Verify alarms about later ones only. It returns those
// that it accepts; where there are none it records nothing.
func (l *Log) Accept(ctx context.Context, by string) ([]audit.Loss, error) {
	chain, err := l.Verify(ctx, "")
	if err != nil {
		return nil, err
	}
	alarms := chain.Alarms()
	if len(alarms) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(audit.Acceptance{Through: chain.Last() + 1, By: by, At: time.Now()})
	if err != nil {
		return nil, err
	}
	_, err = l.append(ctx, audit.EntryAccept, 0, data) // the entry of a loss that the log does not tell of yet comes first
	return alarms, err
}
