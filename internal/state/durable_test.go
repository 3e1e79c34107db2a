package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
	"github.com/tongs-ai/tongs/internal/state/statetest"
)

func openDB(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// tamper changes the file behind the back of its users.
func tamper(t *testing.T, db *DB, sql string, args ...any) int {
	t.Helper()
	changed, err := db.write(context.Background(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestAudit(t *testing.T) {
	audittest.Run(t, func(t *testing.T) audit.Log { return openDB(t, t.TempDir()).Audit() })
}

func TestQuestions(t *testing.T) {
	approvaltest.Run(t, func(t *testing.T, opts approval.Options) approval.Store {
		return openDB(t, t.TempDir()).Questions(opts)
	})
}

func TestGrants(t *testing.T) {
	statetest.Book(t, func(t *testing.T) policy.Book { return openDB(t, t.TempDir()).Grants() })
}

func TestMemoryBook(t *testing.T) {
	statetest.Book(t, func(*testing.T) policy.Book { return policy.NewMemoryBook() })
}

func TestState(t *testing.T) {
	statetest.State(t, func(t *testing.T) func(string) tongs.State { return openDB(t, t.TempDir()).State })
}

func TestGrantOverANameThatIsNotUTF8(t *testing.T) {
	b := openDB(t, t.TempDir()).Grants()
	g := statetest.Grant("g", policy.ScopeAlways)
	g.Covers[0].Pattern = "a\xff"
	if b.Add(t.Context(), g) == nil {
		t.Error("added: it would come back as another name")
	}
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	audittest.Write(t, db.Audit(), audittest.Row("c", "x"), sampleClose)
	q, err := db.Questions(approval.Options{}).Open(ctx, approvaltest.Question("d"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		db.Grants().Add(ctx, statetest.Grant("g", policy.ScopeAlways)), db.State("s").Save(ctx, "k", 7),
		db.Trust().Set(ctx, "/w", "h1", "ada"), db.Close(), db.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Grants().List(ctx); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
	db = openDB(t, dir)
	if chain := audittest.Whole(t, db.Audit(), ""); chain.Entries != 3 {
		t.Errorf("%+v", chain)
	}
	if got, err := db.Questions(approval.Options{}).Get(ctx, q.ID); err != nil || got.Digest != "d" {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := db.Grants().List(ctx); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	n := 0
	if _, err := db.State("s").Load(ctx, "k", &n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	if got, ok, err := db.Trust().Get(ctx, "/w"); err != nil || !ok || got.Hash != "h1" || got.By != "ada" {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
}

func TestTrust(t *testing.T) {
	tr := openDB(t, t.TempDir()).Trust()
	ctx := t.Context()
	if _, ok, err := tr.Get(ctx, "/w"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if tr.Set(ctx, "/w", "", "ada") == nil || tr.Set(ctx, "", "h", "ada") == nil {
		t.Error("trusted nothing in particular")
	}
	for _, hash := range []string{"h1", "h2"} {
		if err := tr.Set(ctx, "/w", hash, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	list, err := tr.List(ctx)
	if err != nil || len(list) != 1 || list[0].Hash != "h2" {
		t.Errorf("%+v, %v", list, err)
	}
	if had, err := tr.Remove(ctx, "/w"); !had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
	if had, err := tr.Remove(ctx, "/w"); had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
}

// tampered returns a log of five calls and its head.
func tampered(t *testing.T) (*DB, string) {
	db := openDB(t, t.TempDir())
	for _, call := range []string{"c1", "c2", "c3", "c4", "c5"} {
		audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
	}
	return db, audittest.Whole(t, db.Audit(), "").Head
}

func TestTamperingIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		sql      string
		at       int64
		needHead bool
	}{
		"data":                 {"UPDATE entries SET data = CAST(replace(data, 'x', 'y') AS BLOB) WHERE seq = 7", 7, false},
		"data of the last":     {"UPDATE entries SET data = CAST('{}' AS BLOB) WHERE seq = 15", 15, false},
		"white space":          {"UPDATE entries SET data = CAST(data || ' ' AS BLOB) WHERE seq = 7", 7, false},
		"kind":                 {"UPDATE entries SET kind = 2 WHERE seq = 9", 9, false},
		"kind beyond a byte":   {"UPDATE entries SET kind = kind + 256 WHERE seq = 9", 9, false},
		"row":                  {"UPDATE entries SET row = 4 WHERE seq = 9", 9, false},
		"seq":                  {"UPDATE entries SET seq = 99 WHERE seq = 15", 15, false},
		"hash":                 {"UPDATE entries SET hash = zeroblob(32) WHERE seq = 7", 7, false},
		"longer hash":          {"UPDATE entries SET hash = CAST(hash || x'00' AS BLOB) WHERE seq = 7", 7, false},
		"order":                {"UPDATE entries SET seq = CASE seq WHEN 7 THEN -8 ELSE -7 END WHERE seq IN (7, 8); ", 7, false},
		"deleted in between":   {"DELETE FROM entries WHERE seq = 8", 8, false},
		"deleted at the start": {"DELETE FROM entries WHERE seq <= 3", 1, false},
		"deleted at the end":   {"DELETE FROM entries WHERE seq > 12", 13, true},
		"deleted whole":        {"DELETE FROM entries", 1, true},
		"inserted":             {"INSERT INTO entries SELECT 16, row, kind, data, hash FROM entries WHERE seq = 15", 16, false},
	} {
		t.Run(name, func(t *testing.T) {
			db, head := tampered(t)
			tamper(t, db, strings.TrimSuffix(tt.sql, "; "))
			if name == "order" {
				tamper(t, db, "UPDATE entries SET seq = -seq WHERE seq < 0")
			}
			if !tt.needHead {
				head = ""
			}
			chain, err := db.Audit().Verify(t.Context(), head)
			if err != nil {
				t.Fatal(err)
			}
			if chain.Broken != tt.at || chain.Reason == "" {
				t.Errorf("%+v, want it broken at %d", chain, tt.at)
			}
		})
	}
}

func TestACutThatNobodyMade(t *testing.T) {
	db, _ := tampered(t)
	// Somebody removes rows and adds an entry that says it was a collection, without being able to hash it.
	tamper(t, db, `INSERT INTO entries SELECT 16, 16, 4, CAST('{"through":3,"hash":"' || lower(hex(hash)) || '"}' AS BLOB), zeroblob(32) FROM entries WHERE seq = 3`)
	tamper(t, db, "DELETE FROM entries WHERE seq <= 3")
	if chain, err := db.Audit().Verify(t.Context(), ""); err != nil || chain.OK() {
		t.Errorf("%+v, %v", chain, err)
	}
}

func TestGCKeepsTheChainWhole(t *testing.T) {
	db := openDB(t, t.TempDir())
	ctx := t.Context()
	log := db.Audit()
	now := time.Now()
	write := func(call string, age time.Duration) {
		row := audittest.Row(call, "x")
		row.Started = now.Add(-age)
		audittest.Write(t, log, row, sampleClose)
	}
	for _, call := range []string{"o1", "o2", "o3"} {
		write(call, 48*time.Hour)
	}
	oldHead := audittest.Whole(t, log, "").Head
	write("y1", time.Hour)
	youngHead := audittest.Whole(t, log, "").Head

	rep, err := db.GC(ctx, Retention{Rows: 24 * time.Hour})
	if err != nil || rep.Rows != 3 || rep.Entries != 9 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if chain := audittest.Whole(t, log, ""); chain.Pruned != 9 || chain.Entries != 4 {
		t.Errorf("%+v", chain)
	}
	audittest.Whole(t, log, youngHead)
	audittest.Whole(t, log, oldHead) // the last that was removed is still known
	if rows, err := log.Rows(ctx, audit.Filter{}); err != nil || len(rows) != 1 || rows[0].Call != "y1" {
		t.Errorf("%+v, %v", rows, err)
	}
	if rep, err := db.GC(ctx, Retention{Rows: 24 * time.Hour}); err != nil || rep.Entries != 0 {
		t.Errorf("again: %+v, %v", rep, err)
	}
	write("y2", time.Minute)
	if rep, err := db.GC(ctx, Retention{Rows: 30 * time.Minute}); err != nil || rep.Rows != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	audittest.Whole(t, log, "")
	if rep, err := db.GC(ctx, Retention{Rows: time.Nanosecond}); err != nil || rep.Rows != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	write("y3", 0)
	chain := audittest.Whole(t, log, "")
	tamper(t, db, "DELETE FROM entries WHERE seq <= ?", chain.Pruned+1)
	if chain, _ := log.Verify(ctx, ""); chain.OK() {
		t.Error("more was removed than a cut says")
	}
}

func TestGCLeavesWhatRunsAndWhatIsBroken(t *testing.T) {
	db := openDB(t, t.TempDir())
	log := db.Audit()
	old := func(call string) *audit.Row {
		row := audittest.Row(call, "x")
		row.Started = time.Now() // as old as this process; the retention below is shorter
		return row
	}
	audittest.Write(t, log, old("c1"), sampleClose)
	if err := log.Open(t.Context(), old("runs")); err != nil {
		t.Fatal(err)
	}
	audittest.Write(t, log, old("c2"), sampleClose)
	if rep, err := db.GC(t.Context(), Retention{Rows: time.Nanosecond}); err != nil || rep.Rows != 1 || rep.Entries != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	if err := log.Close(t.Context(), "runs", sampleClose); err != nil {
		t.Fatal(err)
	}
	rows, err := log.Rows(t.Context(), audit.Filter{Call: "runs"})
	if err != nil || len(rows) != 1 || rows[0].Outcome() != audit.OutcomeOK {
		t.Errorf("%+v, %v", rows, err)
	}
	tamper(t, db, "UPDATE entries SET data = CAST('{}' AS BLOB) WHERE seq = 5")
	if _, err := db.GC(t.Context(), Retention{Rows: time.Nanosecond}); err == nil {
		t.Error("a broken chain was cut, and what was wrong with it is gone")
	}
}

func TestGCInBatches(t *testing.T) {
	db := openDB(t, t.TempDir())
	const calls = cutBatch/2 + 100 // two entries each: more than one batch
	for i := range calls {
		call := "c" + string(rune('a'+i%26)) + time.Duration(i).String()
		row := audittest.Row(call, "x")
		if db.Audit().Open(t.Context(), row) != nil || db.Audit().Close(t.Context(), call, sampleClose) != nil {
			t.Fatal("write failed")
		}
	}
	rep, err := db.GC(t.Context(), Retention{Rows: time.Nanosecond})
	if err != nil || rep.Rows != calls || rep.Entries != 2*calls {
		t.Fatalf("%+v, %v", rep, err)
	}
	audittest.Whole(t, db.Audit(), "")
}

func TestGCOfTheRest(t *testing.T) {
	db := openDB(t, t.TempDir())
	ctx := t.Context()
	s := db.Questions(approval.Options{})
	const secret = "hunter2hunter2"
	for _, d := range []string{"pending", "answered", "expired"} {
		q := approvaltest.Question(d)
		q.Args = []byte(`{"password":"` + secret + `"}`)
		q.Created = time.Now().Add(-time.Hour)
		if d == "expired" {
			q.Expires = time.Now().Add(-time.Minute)
		}
		opened, err := s.Open(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if d == "answered" {
			if err := s.Answer(ctx, opened.ID, approval.Answer{Approved: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := statetest.Grant("old", policy.ScopeSession)
	old.At = time.Now().Add(-time.Hour)
	for _, g := range []policy.Grant{old, statetest.Grant("young", policy.ScopeSession), statetest.Grant("always", policy.ScopeAlways)} {
		if err := db.Grants().Add(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.State("s").Save(ctx, "k", 1); err != nil {
		t.Fatal(err)
	}
	if rep, err := db.GC(ctx, Retention{}); err != nil || rep != (Report{Scrubbed: 1}) {
		t.Errorf("kept for ever: %+v, %v", rep, err)
	}
	list, _ := s.List(ctx, false)
	for _, q := range list {
		if held := strings.Contains(string(q.Args), secret); held != (q.Digest != "expired") {
			t.Errorf("%s: %s", q.Digest, q.Args)
		}
	}
	rep, err := db.GC(ctx, Retention{Questions: time.Minute, Grants: time.Minute, State: time.Nanosecond})
	if err != nil || rep.Questions != 1 || rep.Grants != 1 || rep.State != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	if list, _ := s.List(ctx, false); len(list) != 2 {
		t.Errorf("%d questions: what can be answered or redeemed must stay", len(list))
	}
	if list, _ := db.Grants().List(ctx); len(list) != 2 {
		t.Errorf("%d grants", len(list))
	}
}

// A full disk is an error of each write, so that the engine refuses; what was written before stays whole.
func TestFullDisk(t *testing.T) {
	db := openDB(t, t.TempDir())
	log := db.Audit()
	audittest.Write(t, log, audittest.Row("before", "x"), sampleClose)
	err := db.store.Write(t.Context(), func(conn *sqlite.Conn) error {
		return sqlitefile.Query(conn, "PRAGMA max_page_count = 1", nil) // no less than there are now
	})
	if err != nil {
		t.Fatal(err)
	}
	big := audittest.Row("big", "x")
	big.Agents = slices.Repeat([]string{strings.Repeat("x", 2<<10)}, 100)
	err = log.Open(t.Context(), big)
	if sqlite.ErrCode(errors.Unwrap(err)) == sqlite.ResultOK || err == nil || !strings.Contains(err.Error(), db.Path()) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("%v", err)
	}
	if log.Intent(t.Context(), "big", sampleIntent) == nil {
		t.Error("a call whose row was not written went on")
	}
	if _, err := db.Questions(approval.Options{}).Open(t.Context(), func() approval.Question {
		q := approvaltest.Question("d")
		q.Preview = strings.Repeat("x", 1<<20)
		return q
	}()); err == nil {
		t.Error("a question was opened on a full disk")
	}
	if chain := audittest.Whole(t, log, ""); chain.Entries != 3 {
		t.Errorf("%+v", chain)
	}
	tamper(t, db, "PRAGMA max_page_count = 1000000")
	audittest.Write(t, log, audittest.Row("after", "x"), sampleClose)
	audittest.Whole(t, log, "")
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(""); err == nil {
		t.Error("opened nowhere")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, FileName)) {
		t.Errorf("%v", err)
	}
}

func TestAnswerFromAnotherOpenFileUnblocks(t *testing.T) {
	dir := t.TempDir()
	here, there := openDB(t, dir), openDB(t, dir)
	d := &approval.Desk{Store: here.Questions(approval.Options{}), Wait: time.Minute}
	done := make(chan approval.Question)
	go func() {
		q, err := d.Ask(context.Background(), approvaltest.Question("d"))
		if err != nil {
			t.Error(err)
		}
		done <- q
	}()
	s := there.Questions(approval.Options{})
	for {
		list, err := s.List(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			if err := s.Answer(t.Context(), list[0].ID, approval.Answer{Approved: true, Channel: "cli", By: "ada"}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if q := <-done; !q.Answer.Approved || q.Answer.By != "ada" || q.Redeemed.IsZero() {
		t.Errorf("%+v", q)
	}
}

// A value that did not change is not written again, unless another process changed it in between.
func TestSaveAgain(t *testing.T) {
	dir := t.TempDir()
	var dbs [2]*DB
	for i := range dbs {
		db, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		dbs[i] = db
	}
	for i, step := range []struct {
		db    int
		value string
	}{{0, "a"}, {0, "a"}, {1, "b"}, {0, "a"}, {1, "b"}, {1, "b"}, {0, "b"}, {0, "a"}} {
		if err := dbs[step.db].State("s").Save(t.Context(), "k", step.value); err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := dbs[1-step.db].State("s").Load(t.Context(), "k", &got); err != nil || got != step.value {
			t.Errorf("step %d: %q, %v, want %q", i, got, err, step.value)
		}
	}
}
