package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
)

// verify returns what a process finds that opens the directory anew.
func verify(t *testing.T, dir string) audit.Chain {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	chain, err := db.Audit().Verify(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// written returns a directory whose log has five calls, 15 entries.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"c1", "c2", "c3", "c4", "c5"} {
		audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// execute changes the file of a directory behind the back of its users.
func execute(t *testing.T, dir, sql string) {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tamper(t, db, sql)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// What goes missing from the end of the log is an alarm, and stays one while work goes on.
func TestALogThatLostItsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		attack  func(t *testing.T, dir string)
		missing int64
	}{
		"cut off by one": {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries WHERE seq = 15") }, 1},
		"cut off":        {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries WHERE seq > 12") }, 3},
		"emptied":        {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries") }, 15},
		"deleted": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, FileName), filepath.Join(dir, FileName+"-wal"), filepath.Join(dir, FileName+"-shm"))
		}, 15},
		"replaced by another": {func(t *testing.T, dir string) {
			copyFile(t, filepath.Join(written(t), FileName), filepath.Join(dir, FileName))
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			tt.attack(t, dir)
			if verify(t, dir).OK() {
				t.Fatal("not noticed")
			}
			db := openDB(t, dir)
			for _, call := range []string{"d1", "d2", "d3", "d4", "d5", "d6", "d7"} { // longer than it was before
				audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
			}
			if verify(t, dir).OK() {
				t.Fatal("forgotten when work went on")
			}
		})
	}
}

// alarm returns the one loss that somebody should look into.
func alarm(t *testing.T, chain audit.Chain) audit.Loss {
	t.Helper()
	list := chain.Alarms()
	if len(list) != 1 || chain.OK() {
		t.Fatalf("want one alarm, got %+v", chain)
	}
	return list[0]
}

func work(t *testing.T, dir string, calls ...string) {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// editHead changes the record in force.
func editHead(t *testing.T, dir string, edit func(*record)) {
	t.Helper()
	path := filepath.Join(dir, HeadName)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRecord(f)
	if err != nil {
		t.Fatal(err)
	}
	edit(&r)
	if _, err := f.WriteAt(r.encode(nil), int64(r.count%2)*slotSize); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestARestoredCopyIsNoticed(t *testing.T) {
	dir := written(t)
	db, yesterday := filepath.Join(dir, FileName), filepath.Join(t.TempDir(), "copy")
	copyFile(t, db, yesterday)
	work(t, dir, "d1", "d2")
	copyFile(t, yesterday, db)
	if l := alarm(t, verify(t, dir)); l.Missing != 6 || l.Last != 15 || l.Head.Seq != 21 || l.Seq != 0 {
		t.Errorf("%+v", l)
	}
	work(t, dir, "e1")
	if l := alarm(t, verify(t, dir)); l.Missing != 6 || l.Seq != 16 {
		t.Errorf("%+v", l)
	}
}

// A restart explains the loss of what the disk had not confirmed, and of no more.
func TestALossAfterARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		edit      func(*record)
		explained bool
	}{
		"not confirmed":          {func(r *record) { r.boot, r.synced = bootID{1}, 15 }, true},
		"confirmed":              {func(r *record) { r.boot, r.synced = bootID{1}, 16 }, false},
		"same start":             {func(r *record) { r.synced = 15 }, false},
		"start not known":        {func(r *record) { r.boot, r.synced = bootID{}, 15 }, false},
		"closed before it ended": {func(r *record) { r.boot = bootID{1} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			db, before := filepath.Join(dir, FileName), filepath.Join(t.TempDir(), "copy")
			copyFile(t, db, before)
			work(t, dir, "d1")
			copyFile(t, before, db)
			editHead(t, dir, tt.edit)
			for range 2 {
				chain := verify(t, dir)
				if len(chain.Losses) != 1 || chain.Losses[0].Explained != tt.explained || chain.OK() != tt.explained || chain.Losses[0].Missing != 3 {
					t.Errorf("%+v", chain)
				}
				work(t, dir, "e1")
			}
		})
	}
}

func TestTheHeadFileItself(t *testing.T) {
	for name, attack := range map[string]func(path string) error{
		"deleted":   os.Remove,
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"shortened": func(path string) error { return os.Truncate(path, 40) },
		"rubbish":   func(path string) error { return os.WriteFile(path, make([]byte, 5000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			if err := attack(filepath.Join(dir, HeadName)); err != nil {
				t.Fatal(err)
			}
			alarm(t, verify(t, dir))
			work(t, dir, "d1", "d2")
			if l := alarm(t, verify(t, dir)); l.Seq != 16 {
				t.Errorf("%+v", l)
			}
			execute(t, dir, "DELETE FROM entries WHERE seq > 20")
			if n := len(verify(t, dir).Alarms()); n != 2 {
				t.Errorf("the new head is not kept: %d alarms", n)
			}
		})
	}
	t.Run("link", func(t *testing.T) {
		dir, elsewhere := written(t), filepath.Join(t.TempDir(), "elsewhere")
		head := filepath.Join(dir, HeadName)
		copyFile(t, head, elsewhere)
		remove(t, head)
		if err := os.Symlink(elsewhere, head); err != nil {
			t.Fatal(err)
		}
		db := openDB(t, dir)
		if err := db.Audit().Open(t.Context(), audittest.Row("d", "x")); err == nil {
			t.Error("a call ran, though the head is a link to another file")
		}
		if _, err := db.Audit().Verify(t.Context(), ""); err == nil {
			t.Error("verified against a link")
		}
	})
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, HeadName), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := openDB(t, dir).Audit().Open(t.Context(), audittest.Row("d", "x")); err == nil {
			t.Error("a call ran without a head")
		}
	})
}

// A write that power cut short leaves the record before it.
func TestOneDamagedRecordIsNoAlarm(t *testing.T) {
	for slot := range 2 {
		dir := written(t)
		f, err := os.OpenFile(filepath.Join(dir, HeadName), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("xxxx"), int64(slot)*slotSize+60)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		audittest.Whole(t, openDB(t, dir).Audit(), "")
		work(t, dir, "d1")
		if chain := verify(t, dir); !chain.OK() || len(chain.Losses) > 0 {
			t.Errorf("slot %d: %+v", slot, chain)
		}
	}
}

// A call does not run when the head cannot be written; the entry that was committed is no harm.
func TestAHeadThatCannotBeWritten(t *testing.T) {
	dir := written(t)
	db := openDB(t, dir)
	audittest.Write(t, db.Audit(), audittest.Row("d1", "x"), sampleClose)
	h := db.log.head
	readable, err := os.Open(h.path)
	if err != nil {
		t.Fatal(err)
	}
	writable := h.f
	h.f = readable
	if err := db.Audit().Open(t.Context(), audittest.Row("d2", "x")); err == nil || !strings.Contains(err.Error(), HeadName) {
		t.Errorf("ran: %v", err)
	}
	h.f = writable
	if err := readable.Close(); err != nil {
		t.Fatal(err)
	}
	audittest.Write(t, db.Audit(), audittest.Row("d3", "x"), sampleClose)
	if chain := verify(t, dir); !chain.OK() || chain.Entries != 15+3+1+3 {
		t.Errorf("%+v", chain)
	}
}

// What one process wrote is cut off while another one has the log open.
func TestALossUnderARunningProcess(t *testing.T) {
	dir := written(t)
	db := openDB(t, dir)
	audittest.Write(t, db.Audit(), audittest.Row("mine", "x"), sampleClose)
	work(t, dir, "other1", "other2")
	tamper(t, db, "DELETE FROM entries WHERE seq > 18") // back to exactly what this process knows
	audittest.Write(t, db.Audit(), audittest.Row("mine2", "x"), sampleClose)
	if l := alarm(t, verify(t, dir)); l.Head.Seq != 24 {
		t.Errorf("%+v", l)
	}
	tamper(t, db, "DELETE FROM entries WHERE seq > 20")
	audittest.Write(t, db.Audit(), audittest.Row("mine3", "x"), sampleClose)
	if n := len(verify(t, dir).Alarms()); n != 2 {
		t.Errorf("%d alarms", n)
	}
}

func TestAcceptedLosses(t *testing.T) {
	dir := written(t)
	db := openDB(t, dir)
	if list, err := db.Audit().Accept(t.Context(), "ada"); err != nil || len(list) != 0 {
		t.Errorf("accepted nothing: %v, %v", list, err)
	}
	tamper(t, db, "DELETE FROM entries WHERE seq > 12")
	if list, err := db.Audit().Accept(t.Context(), "ada"); err != nil || len(list) != 1 || list[0].Missing != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	chain := verify(t, dir)
	if !chain.OK() || len(chain.Losses) != 1 || !chain.Losses[0].Accepted {
		t.Errorf("%+v", chain)
	}
	tamper(t, db, "DELETE FROM entries WHERE seq > 12") // and with it what was accepted
	if verify(t, dir).OK() {
		t.Error("an acceptance reaches further than what it was about")
	}
}

// A collection removes old rows, but not what tells of a loss until somebody accepted it.
func TestGCKeepsLosses(t *testing.T) {
	dir := written(t)
	db := openDB(t, dir)
	tamper(t, db, "DELETE FROM entries WHERE seq > 12")
	work(t, dir, "d1", "d2")
	if _, err := db.GC(t.Context(), Retention{Rows: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if chain := verify(t, dir); alarm(t, chain).Seq != 13 || chain.Pruned != 12 {
		t.Errorf("%+v", chain)
	}
	if _, err := db.Audit().Accept(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.GC(t.Context(), Retention{Rows: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if chain := verify(t, dir); !chain.OK() || chain.Pruned < 19 {
		t.Errorf("%+v", chain)
	}
	tamper(t, db, "DELETE FROM entries")
	alarm(t, verify(t, dir))
}

// Several processes write one head, which never goes back.
func TestTheHeadNeverGoesBack(t *testing.T) {
	dir := written(t)
	f, err := os.Open(filepath.Join(dir, HeadName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	stop, looked := make(chan struct{}), make(chan error)
	go func() {
		last := record{}
		for {
			r, err := readRecord(f)
			if err == nil && (r.seq < last.seq || r.synced < last.synced || r.count < last.count) {
				err = fmt.Errorf("%+v after %+v", r, last)
			}
			last = r
			select {
			case <-stop:
				looked <- err
				return
			default:
				if err != nil {
					<-stop
					looked <- err
					return
				}
			}
		}
	}()
	race(t, dir, fmt.Sprintf("calls %d", 4*callsEach), 8)
	close(stop)
	if err := <-looked; err != nil {
		t.Error(err)
	}
	chain := verify(t, dir)
	if r, err := readRecord(f); err != nil || r.seq != chain.Last() || !chain.OK() || len(chain.Losses) > 0 {
		t.Errorf("%+v, %v; %+v", r, err, chain)
	}
}

// Whatever the moment at which processes are killed, there is no false alarm.
func TestKilledProcessesAreNoLoss(t *testing.T) {
	dir := t.TempDir()
	for range 15 {
		p := start(t, dir, "forever")
		_ = p.gun.Close()
		if _, err := p.out.ReadString('\n'); err != nil {
			t.Error(err)
		}
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if chain := verify(t, dir); !chain.OK() || len(chain.Losses) > 0 {
			t.Fatalf("%+v", chain)
		}
	}
}

// Killed between the commit and the write of the head: the head is behind, and the next entry brings it along.
func TestAHeadThatIsBehind(t *testing.T) {
	dir := written(t)
	head, behind := filepath.Join(dir, HeadName), filepath.Join(t.TempDir(), "copy")
	copyFile(t, head, behind)
	work(t, dir, "d1")
	copyFile(t, behind, head)
	if chain := verify(t, dir); !chain.OK() {
		t.Errorf("%+v", chain)
	}
	work(t, dir, "d2")
	execute(t, dir, "DELETE FROM entries WHERE seq > 20")
	if l := alarm(t, verify(t, dir)); l.Missing != 1 {
		t.Errorf("%+v", l)
	}
}
