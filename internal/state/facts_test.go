package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
)

// slow is the log without its facts: what every log can do.
type slow struct{ audit.Log }

func facts(t *testing.T, log audit.Log, since time.Time) []audit.Fact {
	t.Helper()
	var list []audit.Fact
	for f, err := range audit.Facts(t.Context(), log, since) {
		if err != nil {
			t.Fatal(err)
		}
		f.Started = f.Started.UTC().Round(0)
		list = append(list, f)
	}
	return list
}

// same fails unless the table says what the rows do.
func same(t *testing.T, log audit.Log) []audit.Fact {
	t.Helper()
	got, want := facts(t, log, time.Time{}), facts(t, slow{log}, time.Time{})
	if len(got) != len(want) {
		t.Fatalf("%d facts of %d rows", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("fact %d\n is %+v\nnot %+v", i, got[i], want[i])
		}
	}
	return got
}

func TestFactsAreThoseOfTheRows(t *testing.T) {
	db := openDB(t, t.TempDir())
	log := db.Audit()
	ctx := t.Context()
	if got := same(t, log); len(got) != 0 {
		t.Fatal(got)
	}
	audittest.Write(t, log, audittest.Row("c1", "read_file"), &audit.Closing{Outcome: audit.OutcomeOK, Title: "a", Ran: 5, Total: 6, Output: 100, Shown: 40})
	// A row whose entries come in several rounds, of two intents.
	row := audittest.Row("c2", "bash")
	row.Workspace, row.Parent, row.Agents = "/w", "c1", []string{"main", "helper \"x\""}
	if err := log.Open(ctx, row); err != nil {
		t.Fatal(err)
	}
	if got := same(t, log); got[0].Outcome != audit.OutcomeRunning || got[0].Decided || got[1].Saved() != 60 {
		t.Fatalf("%+v", got)
	}
	for _, in := range []*audit.Intent{
		{Tool: "shell", Decision: tongs.Ask, By: "no setting for shell", Step: "ask", Copy: true, Rules: []string{"r_1"}},
		{Tool: "shell", Decision: tongs.PreApproved, By: "what it changed is free", Rules: []string{"r_2", "r_1"}, Question: "q"},
	} {
		if err := log.Intent(ctx, "c2", in); err != nil {
			t.Fatal(err)
		}
		same(t, log)
	}
	if err := log.Close(ctx, "c2", &audit.Closing{Outcome: audit.OutcomeRefused, Code: tongs.CodeDenied, Waited: time.Second}); err != nil {
		t.Fatal(err)
	}
	f := same(t, log)[0]
	if f.Tool != "shell" || f.Decision != tongs.Ask || f.By != "no setting for shell" || !f.Asked || !f.Copy || f.Code != tongs.CodeDenied ||
		!slices.Equal(f.Rules, []string{"r_1", "r_2"}) || len(f.Agents) != 2 {
		t.Errorf("%+v", f)
	}
	if got := facts(t, log, time.Now().Add(time.Hour)); len(got) != 0 {
		t.Errorf("since the future: %+v", got)
	}
}

func TestRowsOfASessionAndACall(t *testing.T) {
	db := openDB(t, t.TempDir())
	log := db.Audit()
	write := func(call, session string) {
		row := audittest.Row(call, "x")
		row.Session = session
		audittest.Write(t, log, row, &audit.Closing{Outcome: audit.OutcomeOK})
	}
	check := func(when string) {
		t.Helper()
		for _, f := range []audit.Filter{{Session: "a"}, {Session: "b"}, {Session: "none"}, {Call: "c1"}, {Call: "c4"}, {Session: "a", Limit: 1}, {Session: "a", Call: "c2"}} {
			got, err := log.Rows(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := audit.Collect(audit.Assemble(log.entries(t.Context(), "SELECT seq, row, kind, data, hash FROM entries ORDER BY seq DESC"), f))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %+v: %d rows, not %d (%v)", when, f, len(got), len(want), err)
			}
		}
	}
	write("c1", "a")
	write("c2", "b")
	check("before any fact")
	open := audittest.Row("c3", "x")
	open.Session = "a"
	if err := log.Open(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	same(t, log)
	if err := log.Close(t.Context(), "c3", &audit.Closing{Outcome: audit.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
	write("c4", "a")
	check("with a part that is not taken up")
	same(t, log)
	check("with everything taken up")
}

func TestFactsGoWithTheRows(t *testing.T) {
	db := openDB(t, t.TempDir())
	log := db.Audit()
	old := audittest.Row("old", "x")
	old.Started = time.Now().Add(-48 * time.Hour)
	audittest.Write(t, log, old, &audit.Closing{Outcome: audit.OutcomeOK})
	audittest.Write(t, log, audittest.Row("new", "x"), &audit.Closing{Outcome: audit.OutcomeOK})
	if got := same(t, log); len(got) != 2 {
		t.Fatal(got)
	}
	if _, err := db.GC(t.Context(), Retention{Rows: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if got := same(t, log); len(got) != 1 || got[0].Call != "new" {
		t.Errorf("%+v", got)
	}
}

// Several processes may take up the same entries while others write.
func TestFactsWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	a, b := openDB(t, dir), openDB(t, dir)
	var wg sync.WaitGroup
	for i, db := range []*DB{a, b} {
		wg.Go(func() {
			for n := range 50 {
				audittest.Write(t, db.Audit(), audittest.Row(fmt.Sprintf("c%d-%d", i, n), "x"), &audit.Closing{Outcome: audit.OutcomeOK})
				if n%10 == 0 {
					for _, err := range db.Audit().Facts(t.Context(), time.Time{}) {
						if err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if got := same(t, a.Audit()); len(got) != 100 {
		t.Errorf("%d facts", len(got))
	}
	same(t, b.Audit())
}

func TestFactsOfADamagedLog(t *testing.T) {
	db := openDB(t, t.TempDir())
	audittest.Write(t, db.Audit(), audittest.Row("c", "x"), &audit.Closing{Outcome: audit.OutcomeOK})
	tamper(t, db, "UPDATE entries SET data = ? WHERE seq = 2", []byte("{"))
	n, failed := 0, error(nil)
	for _, err := range db.Audit().Facts(t.Context(), time.Time{}) {
		n, failed = n+1, errors.Join(failed, err)
	}
	if n != 1 || failed == nil {
		t.Errorf("%d, %v", n, failed)
	}
}

// BenchmarkFacts reads the facts of 100,000 calls: the first time, and each time after that.
func BenchmarkFacts(b *testing.B) {
	const calls = 100_000
	dir := b.TempDir()
	db, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fill(b, db, calls)
	read := func(b *testing.B) {
		n := 0
		for _, err := range db.Audit().Facts(b.Context(), time.Time{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != calls {
			b.Fatal(n)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			for _, table := range []string{"progress", "facts"} {
				if _, err := db.write(b.Context(), "DELETE FROM "+table); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			read(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			read(b)
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			if rows, err := db.Audit().Rows(b.Context(), audit.Filter{Session: "s_7"}); err != nil || len(rows) == 0 {
				b.Fatal(len(rows), err)
			}
		}
	})
}

// fill writes rows of calls, a thousand sessions of them, in few transactions.
func fill(b *testing.B, db *DB, calls int) {
	b.Helper()
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := w; i < calls; i += 50 {
				row := sampleRow(fmt.Sprintf("c_%d", i))
				row.Session, row.PID = fmt.Sprintf("s_%d", i%1000), os.Getpid()
				row.Args = json.RawMessage(`{"path":"internal/secrets/secrets.go"}`)
				err := errors.Join(db.log.Open(b.Context(), row), db.log.Intent(b.Context(), row.Call, sampleIntent), db.log.Close(b.Context(), row.Call, sampleClose))
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
