package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
)

// place is where checkpoints go.
type place struct {
	mu    sync.Mutex
	heads []audit.Head
	fail  error
}

func (p *place) send(_ context.Context, head audit.Head) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail == nil {
		p.heads = append(p.heads, head)
	}
	return p.fail
}

func (p *place) list() []audit.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heads
}

func openChecked(t *testing.T, dir string, c Checkpoint) *DB {
	t.Helper()
	db, err := OpenWith(dir, Options{Checkpoint: &c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestCheckpointsAreSentWhenDue(t *testing.T) {
	dir := t.TempDir()
	var p place
	db := openChecked(t, dir, Checkpoint{Send: p.send, Every: time.Hour})
	second := openChecked(t, dir, Checkpoint{Send: p.send, Every: time.Hour})
	for _, call := range []string{"c1", "c2", "c3"} {
		audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
		audittest.Write(t, second.Audit(), audittest.Row(call+"b", "x"), sampleClose)
	}
	if err := errors.Join(db.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if list := p.list(); len(list) != 1 {
		t.Fatalf("%d were sent, by processes that share the log", len(list))
	}

	db = openChecked(t, dir, Checkpoint{Send: p.send, Every: time.Hour})
	if sent, err := db.Checkpoint(t.Context()); err != nil || sent.Head.Seq != 18 || len(p.list()) != 2 {
		t.Fatalf("%+v, %v", sent, err)
	}
	for _, head := range p.list() {
		if loss, err := db.Audit().Lacks(t.Context(), head); err != nil || loss != nil {
			t.Errorf("%+v, %v", loss, err)
		}
	}
	tamper(t, db, "DELETE FROM entries WHERE seq > 17")
	if loss, err := db.Audit().Lacks(t.Context(), p.list()[1]); err != nil || loss == nil || loss.Missing != 1 {
		t.Errorf("%+v, %v", loss, err)
	}
	foreign := p.list()[0]
	foreign.Log = strings.Repeat("0", 32)
	if loss, err := db.Audit().Lacks(t.Context(), foreign); err != nil || loss == nil {
		t.Errorf("a head of another log: %+v, %v", loss, err)
	}
	other := p.list()[0]
	other.Hash[0]++
	if loss, err := db.Audit().Lacks(t.Context(), other); err != nil || loss == nil {
		t.Errorf("another entry: %+v, %v", loss, err)
	}
}

// A clock that was set back, or a file that says nothing sensible, does not keep checkpoints from being sent.
func TestCheckpointsAfterAClockChange(t *testing.T) {
	for name, content := range map[string]string{
		"from the future": `{"head":{"log":"x","seq":1,"hash":"` + strings.Repeat("0", 64) + `","at":"2999-01-01T00:00:00Z"}}`,
		"rubbish":         `{{{`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, CheckpointName), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var p place
			db := openChecked(t, dir, Checkpoint{Send: p.send, Every: time.Hour})
			audittest.Write(t, db.Audit(), audittest.Row("c", "x"), sampleClose)
			if err := db.Close(); err != nil || len(p.list()) != 1 {
				t.Errorf("%v, %v", p.list(), err)
			}
		})
	}
}

func TestAFailingCheckpoint(t *testing.T) {
	p := place{fail: errors.New("no route")}
	t.Run("is shown", func(t *testing.T) {
		db := openChecked(t, t.TempDir(), Checkpoint{Send: p.send, Every: time.Hour})
		audittest.Write(t, db.Audit(), audittest.Row("c", "x"), sampleClose)
		db.log.checkpoint.running.Wait()
		if sent := db.Sent(); !strings.Contains(sent.Error, "no route") || sent.Head.Seq != 0 {
			t.Errorf("%+v", sent)
		}
	})
	t.Run("stops calls where it is required", func(t *testing.T) {
		db := openChecked(t, t.TempDir(), Checkpoint{Send: p.send, Every: time.Hour, Required: true})
		log := db.Audit()
		if err := log.Open(t.Context(), audittest.Row("c", "x")); err != nil {
			t.Fatal(err)
		}
		for range 2 { // not only the first time
			if err := log.Intent(t.Context(), "c", sampleIntent); err == nil || !strings.Contains(err.Error(), "no route") {
				t.Errorf("%v", err)
			}
		}
		if err := log.Close(t.Context(), "c", sampleClose); err != nil {
			t.Errorf("a call that ended must be recorded: %v", err)
		}
		p.fail = nil
		audittest.Write(t, log, audittest.Row("d", "x"), sampleClose)
		if list := p.list(); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}
