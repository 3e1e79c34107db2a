package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// CheckpointName is the name of the file that tells of the last checkpoint.
const CheckpointName = "tongs.checkpoint"

// Checkpoint sends the head of the log to a place that whoever can change the log cannot change.
type Checkpoint struct {
	// Send delivers a head. It returns soon.
	Send func(ctx context.Context, head audit.Head) error
	// Every is the time between two of them.
	Every time.Duration
	// Required makes a call fail before its tool runs where a checkpoint is due and cannot be sent. Otherwise it is sent
	// after the call, and a failure is shown by "tongs doctor".
	Required bool
}

// Sent tells of the checkpoints of a log. Processes that share the log share it.
type Sent struct {
	// Head is what was delivered last, and its time; zero where nothing was.
	Head audit.Head `json:"head,omitzero"`
	// Tried is when the last attempt was made, Error how it failed; empty where it did not.
	Tried time.Time `json:"tried,omitzero"`
	Error string    `json:"error,omitempty"`
}

// checkpointer sends checkpoints when they are due. Nil sends none.
type checkpointer struct {
	Checkpoint
	log  *Log
	path string
	// running are those that are sent after a call.
	running sync.WaitGroup
	mu      sync.Mutex
	next    time.Time // nothing is due before
}

func newCheckpointer(l *Log, dbPath string, c *Checkpoint) *checkpointer {
	if c == nil || c.Send == nil {
		return nil
	}
	return &checkpointer{Checkpoint: *c, log: l, path: checkpointPath(dbPath)}
}

func checkpointPath(dbPath string) string { return filepath.Join(filepath.Dir(dbPath), CheckpointName) }

// beforeRun is called when what a call intends is in the log.
func (c *checkpointer) beforeRun(ctx context.Context) error {
	if c == nil || !c.Required || !c.may() {
		return nil
	}
	if err := c.send(ctx, false); err != nil {
		return fmt.Errorf("the checkpoint of the log is required and failed: %w", err)
	}
	return nil
}

// afterRun is called when a call is closed.
func (c *checkpointer) afterRun() {
	if c == nil || c.Required || !c.may() {
		return
	}
	c.running.Go(func() { _ = c.send(context.Background(), false) }) // the file tells of a failure
}

// may reports whether a checkpoint may be due, without looking at the file.
func (c *checkpointer) may() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !time.Now().Before(c.next)
}

func (c *checkpointer) later(next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
}

// send sends the head where that is due, or in any case, while no other process does.
func (c *checkpointer) send(ctx context.Context, now bool) error {
	f, _, err := sqlitefile.OpenPrivate(c.path, true)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	free, err := lockFile(f)
	if err != nil {
		return fmt.Errorf("state file %s: %w", c.path, err)
	}
	defer free()
	sent := readSent(f)
	last := sent.Head.At
	if !c.Required && sent.Tried.After(last) {
		last = sent.Tried
	}
	// A time in the future means that the clock was set back: how old it is cannot be told.
	if age := time.Since(last); !now && age >= 0 && age < c.Every {
		c.later(last.Add(c.Every))
		return nil
	}
	head, err := c.log.Head(ctx)
	if err != nil || head.Seq == 0 {
		return err
	}
	head.At = time.Now()
	sent.Tried, sent.Error = head.At, ""
	if err = c.Send(ctx, head); err != nil {
		sent.Error = err.Error()
	} else {
		sent.Head = head
	}
	if err == nil || !c.Required {
		c.later(head.At.Add(c.Every))
	}
	return errors.Join(err, writeSent(f, sent))
}

// readSent reads the file. One that cannot be read tells of nothing: a checkpoint is due then.
func readSent(f *os.File) (sent Sent) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	if err != nil || json.Unmarshal(data, &sent) != nil {
		return Sent{}
	}
	return sent
}

func writeSent(f *os.File, sent Sent) error {
	data, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return err
}

// ErrNoCheckpoint is returned where no place for checkpoints is configured.
var ErrNoCheckpoint = errors.New("no checkpoint is configured: set audit.checkpoint in your config.yaml")

// Checkpoint sends one now, and returns what it sent.
func (db *DB) Checkpoint(ctx context.Context) (Sent, error) {
	if db.log.checkpoint == nil {
		return Sent{}, ErrNoCheckpoint
	}
	err := db.log.checkpoint.send(ctx, true)
	return db.Sent(), err
}

// Sent tells of the last checkpoint, zero where there was none.
func (db *DB) Sent() Sent {
	f, err := os.Open(checkpointPath(db.Path()))
	if err != nil {
		return Sent{}
	}
	defer func() { _ = f.Close() }()
	return readSent(f)
}

// Head returns the head of the log.
func (l *Log) Head(ctx context.Context) (head audit.Head, err error) {
	err = l.store.Read(ctx, func(conn *sqlite.Conn) error {
		id, _, err := readOrigin(conn)
		if err != nil {
			return err
		}
		end, err := readHead(conn)
		head = audit.Head{Log: id.String(), Seq: end.seq, Hash: end.hash}
		return err
	})
	if err != nil {
		return audit.Head{}, fmt.Errorf("audit log: %w", err)
	}
	return head, nil
}

// Lacks returns what the log lacks of what a head says that was kept elsewhere, nil where it lacks nothing.
func (l *Log) Lacks(ctx context.Context, head audit.Head) (loss *audit.Loss, err error) {
	err = l.store.Read(ctx, func(conn *sqlite.Conn) error {
		id, _, err := readOrigin(conn)
		if err != nil {
			return err
		}
		end, err := readHead(conn)
		if err != nil {
			return err
		}
		loss, err = missingFrom(conn, id, head, end)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return loss, nil
}
