package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/network/egress"
)

func TestPostgres(t *testing.T) {
	s := startServer(t)
	t.Run("reads", s.reads)
	t.Run("writes", s.writes)
	t.Run("attacks", s.attacks)
	t.Run("limits", s.limits)
	t.Run("locks", s.locks)
	t.Run("refusals", s.refusals)
	t.Run("cancel", s.cancelled)
	t.Run("dies", s.dies)
}

func (s *server) reads(t *testing.T) {
	b := newBench(t, s.setup(s.connection("dev", "reader")))
	res := b.Call(Name, args{"connection": "dev", "sql": "SELECT *, $2::text AS q FROM t WHERE id <= $1 ORDER BY id -- all", "params": []any{2, "x'; DROP TABLE t; --"}})
	out, err := tongs.ValueOf[Output](res)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := json.Marshal(out.Rows)
	want := `[[1,"fork",2.50,"2026-01-02 03:04:05+00",{"a":[1]},true,"\\x00ff","x'; DROP TABLE t; --"],[2,null,null,null,null,false,null,"x'; DROP TABLE t; --"]]`
	if string(rows) != strings.Replace(want, "2.50", fmt.Sprint(out.Rows[0][2]), 1) || out.Columns[2].Type != "numeric" {
		t.Errorf("%s, %+v", rows, out.Columns)
	}
	b.Contains("content", res.Content, `2.50`, `{"a":[1]}`)
	b.Contains("display", res.Display, "id │ name", "NULL")
	asked := b.Questions()
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	b.Contains("question", asked[0].Preview, "-- on the database app of the connection dev, as reader", "SELECT *", `-- value 1: 2`)
	for _, e := range asked[0].Effects {
		if e.Sends || e.MustAsk {
			t.Errorf("effect %+v", e)
		}
	}
	free := s.connection("dev", "reader")
	free.Read = tongs.PreApproved
	with := s.setup(free)
	with.nobody = true
	nobody := newBench(t, with)
	if out := nobody.query(args{"connection": "dev", "sql": "SHOW transaction_read_only"}); fmt.Sprint(out.Rows) != "[[on]]" {
		t.Errorf("the transaction: %v", out.Rows)
	}
	nobody.fails(tongs.CodeApprovalRequired, "", args{"connection": "dev", "sql": "DELETE FROM t", "write": true})
}

func (s *server) writes(t *testing.T) {
	c := s.connection("dev", "owner")
	b := newBench(t, s.setup(c))
	out := b.query(args{"connection": "dev", "write": true, "sql": "INSERT INTO t(id,name) VALUES ($1,$2),(11,'b') RETURNING id", "params": []any{10, "a"}})
	if out.Changed != 2 || fmt.Sprint(out.Rows) != "[[10] [11]]" {
		t.Errorf("%+v", out)
	}
	if got := s.psql("app", "SELECT count(*) FROM t WHERE id >= 10"); got != "2" {
		t.Errorf("%s rows are there", got)
	}
	asked := b.Questions()
	if len(asked) != 1 || !asked[0].Effects[0].Sends {
		t.Fatalf("asked %+v", asked)
	}
	b.Contains("question", asked[0].Message+asked[0].Preview, "INSERT t", "RETURNING id", "-- on the database app of the connection dev, as owner\n-- tables: t", `-- value 2: "a"`, "tables: t", "triggers")
	b.fails(tongs.CodeExecutionError, "duplicate key", args{"connection": "dev", "write": true, "sql": "INSERT INTO t(id) VALUES (12),(10)"})
	if got := s.psql("app", "SELECT count(*) FROM t WHERE id = 12"); got != "0" {
		t.Error("half of a statement holds")
	}
	// No rule about the tool or the host covers what is sent.
	with := s.setup(c)
	with.nobody = true
	with.rules = []tongs.Rule{{Layer: tongs.LayerUser, Tool: Name, Decision: tongs.PreApproved}}
	newBench(t, with).fails(tongs.CodeApprovalRequired, "", args{"connection": "dev", "write": true, "sql": "DELETE FROM t WHERE id = 10"})
	c.Write = tongs.PreApproved
	with = s.setup(c)
	with.nobody = true
	if out := newBench(t, with).query(args{"connection": "dev", "write": true, "sql": "DELETE FROM t WHERE id >= 10"}); out.Changed != 2 {
		t.Errorf("a connection that may write: %+v", out)
	}
	c.Write = tongs.Blocked
	with = s.setup(c)
	with.mode = tongs.ModeAll
	newBench(t, with).fails(tongs.CodeBlocked, "reading only", args{"connection": "dev", "write": true, "sql": "DELETE FROM t"})
}

// None of these changes anything, or leaves the database.
func (s *server) attacks(t *testing.T) {
	c := s.connection("dev", "owner") // who may do everything, also run programs of the server
	c.Read = tongs.PreApproved
	b := newBench(t, s.setup(c))
	sum := "SELECT md5(string_agg(t::text, '')) || (SELECT count(*) FROM pg_class) FROM t"
	before := s.psql("app", sum)
	for _, sql := range []string{
		"DELETE FROM t", "WITH d AS (DELETE FROM t RETURNING id) SELECT * FROM d", "SELECT * INTO u FROM t", "CREATE TABLE u(x int)", "TRUNCATE t",
		"SELECT 1; DELETE FROM t", "COMMIT; DELETE FROM t", "SELECT 1;/**/;DROP TABLE t", "COMMIT", "ROLLBACK AND CHAIN", "SET TRANSACTION READ WRITE", "BEGIN READ WRITE",
		"SELECT set_config('transaction_read_only','off',false)", "SELECT set_config('default_transaction_read_only','off',false) FROM nextval('s')",
		"EXPLAIN ANALYZE DELETE FROM t", "DO $$ BEGIN DELETE FROM t; END $$", "SELECT nextval('s')", "SELECT * FROM t FOR UPDATE",
		"COPY (SELECT 1) TO PROGRAM 'touch /tmp/x'", "COPY t FROM PROGRAM 'id'", "COPY t TO '/tmp/x'", "/* c */ COPY t TO STDOUT", "(COPY t TO STDOUT)",
		"PREPARE p AS DELETE FROM t", "EXECUTE p", "LISTEN x", "VACUUM", "LOAD 'x'", "\u00a0SELECT 1", "/* /* */ DELETE FROM t", "SELECT $a$; DELETE FROM t", "SELECT 'x' ; -- \n DELETE FROM t", "SELECT E'\\'; DELETE FROM t; --'; DELETE FROM t",
	} {
		if res := b.Call(Name, args{"connection": "dev", "sql": sql}); res.OK() {
			t.Errorf("%s was run: %s", sql, res.Content)
		}
	}
	for _, sql := range []string{"COMMIT", "DELETE FROM t; DROP TABLE t", "COPY t TO PROGRAM 'id'", "ROLLBACK", "SET ROLE reader", "VACUUM", "PREPARE TRANSACTION 'x'", "LOAD 'x'"} {
		if res := b.Call(Name, args{"connection": "dev", "sql": sql, "write": true}); res.OK() {
			t.Errorf("%s was run: %s", sql, res.Content)
		}
	}
	// These are run in a read-only transaction, and undone with it.
	for _, sql := range []string{"EXPLAIN (ANALYZE) CREATE TABLE u AS SELECT 1", "SELECT lo_create(4711)"} {
		b.Call(Name, args{"connection": "dev", "sql": sql})
	}
	if got := s.psql("app", "SELECT count(*) FROM pg_largeobject_metadata"); got != "0" {
		t.Error("a large object is left")
	}
	if got := s.psql("app", sum); got != before {
		t.Errorf("something changed: %s, was %s", got, before)
	}
	if got := s.psql("app", "SELECT is_called FROM s"); got != "f" {
		t.Error("the sequence went on")
	}
	for _, in := range []args{
		{"connection": "host=127.0.0.1 user=owner", "sql": "SELECT 1"},
		{"connection": "postgres://owner@127.0.0.1/app", "sql": "SELECT 1"},
		{"connection": "dev2", "sql": "SELECT 1"},
		{"connection": "dev", "file": "a.db", "sql": "SELECT 1"},
		{"sql": "SELECT 1"},
		{"connection": "dev", "sql": "SELECT $1", "params": []any{args{"a": 1}}},
		{"connection": "dev", "sql": "SELECT $1::text", "params": []any{"a\x00b"}},
	} {
		b.fails(tongs.CodeInvalidArgs, "", in)
	}
	b.fails(tongs.CodeExecutionError, "SQLSTATE", args{"connection": "dev", "sql": "SELECT $1::int", "params": []any{"1; DROP TABLE t"}})
	b.fails(tongs.CodeExecutionError, "does not exist", args{"connection": "dev", "sql": "SELECT * FROM nope"})
}

func (s *server) limits(t *testing.T) {
	c := s.connection("dev", "reader")
	c.Read = tongs.PreApproved
	b := newBench(t, s.setup(c))
	if out := b.query(args{"connection": "dev", "sql": "SELECT generate_series(1, 100000000)"}); len(out.Rows) != 100 || !out.More {
		t.Errorf("%d rows, more is %v", len(out.Rows), out.More)
	}
	out := b.query(args{"connection": "dev", "sql": "SELECT repeat('x', 10000000)"})
	if got := out.Rows[0][0].(string); len(got) > maxCell+50 || !strings.Contains(got, "10000000 bytes") {
		t.Errorf("a large value: %d bytes", len(got))
	}
	if res := b.Call(Name, args{"connection": "dev", "sql": "SELECT repeat('x', 100000000)"}); res.OK() {
		t.Error("a row of 100 MB was read")
	}
	b.fails(tongs.CodeTimeout, "", args{"connection": "dev", "sql": "SELECT pg_sleep(60)", "timeout": 1})
	s.quiet("pg_sleep(60)")
}

// quiet wants no statement with the text to go on in the server.
func (s *server) quiet(text string) {
	s.t.Helper()
	for range 200 {
		if s.psql("app", "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%"+text+"%'") == "0" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Errorf("%s goes on in the server", text)
}

// A statement that waits for a lock ends with its time, and leaves no lock.
func (s *server) locks(t *testing.T) {
	c := s.connection("dev", "owner")
	b := newBench(t, s.setup(c))
	holder := s.command("psql", "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-U", "owner", "-d", "app", "-qAtX",
		"-c", "BEGIN; LOCK TABLE t; SELECT pg_sleep(600)")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	for s.psql("app", "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 't'::regclass") != "1" {
		time.Sleep(20 * time.Millisecond)
	}
	b.fails(tongs.CodeTimeout, "", args{"connection": "dev", "sql": "SELECT * FROM t", "timeout": 1})
	b.fails(tongs.CodeTimeout, "", args{"connection": "dev", "sql": "UPDATE t SET name = 'x'", "write": true, "timeout": 1})
	s.psql("app", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LOCK TABLE t%' AND pid <> pg_backend_pid()")
	b.fails(tongs.CodeInvalidArgs, "LOCK is not run", args{"connection": "dev", "sql": "LOCK TABLE t"})
	if got := s.psql("app", "SELECT count(*) FROM t WHERE name = 'x'"); got != "0" {
		t.Error("a write that was given up holds")
	}
}

func (s *server) refusals(t *testing.T) {
	wrong := s.connection("wrong", "reader")
	wrong.Password = func(context.Context) (string, error) { return "not-" + secretPassword, nil }
	lost := s.connection("lost", "reader")
	lost.Port = 1
	strict := s.connection("strict", "reader")
	strict.TLS = VerifyFull
	with := s.setup(wrong, lost, strict, s.connection("dev", "reader"))
	with.egress = egress.Options{Configured: func(string, string) bool { return true }}
	b := newBench(t, with)
	for name, code := range map[string]tongs.Code{"wrong": tongs.CodeConfigError, "lost": tongs.CodeNetworkError, "strict": tongs.CodeNetworkError} {
		res := b.Call(Name, args{"connection": name, "sql": "SELECT 1"})
		if res.Error == nil || res.Error.Code != code {
			t.Errorf("%s: %v", name, res.Error)
		}
		if data, _ := json.Marshal(res); strings.Contains(string(data), secretPassword) {
			t.Errorf("%s: the password is shown: %s", name, data)
		}
	}
	// The guard refuses this machine where nobody configured it for the tool.
	with.egress = egress.Options{}
	newBench(t, with).fails(tongs.CodeNetworkError, "address of this machine", args{"connection": "dev", "sql": "SELECT 1"})
	with.answer = func(approval.Question) approval.Answer { return approval.Answer{} }
	newBench(t, with).fails(tongs.CodeDenied, "", args{"connection": "dev", "sql": "SELECT 1"})
	t.Setenv("PGHOST", "/nowhere")
	t.Setenv("PGOPTIONS", "-c statement_timeout=1")
	t.Setenv("PGSSLMODE", "verify-full")
	ours := newBench(t, s.setup(s.connection("dev", "reader")))
	if out := ours.query(args{"connection": "dev", "sql": "SELECT current_user, pg_sleep(0.1)"}); fmt.Sprint(out.Rows[0][0]) != "reader" {
		t.Errorf("with an environment of its own: %v", out.Rows)
	}
}

// A call that is cancelled leaves nothing running in the server.
func (s *server) cancelled(t *testing.T) {
	b := newBench(t, s.setup(s.connection("dev", "reader")))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *tongs.Result)
	go func() { done <- b.CallIn(ctx, "s", Name, args{"connection": "dev", "sql": "SELECT pg_sleep(61)"}) }()
	for s.psql("app", "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(61)' AND pid <> pg_backend_pid()") != "1" {
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	if res := <-done; res.Error == nil || res.Error.Code != tongs.CodeCancelled {
		t.Errorf("%v", res.Error)
	}
	s.quiet("pg_sleep(61)")
}

// A server that dies in the middle is an error, and a write says that it did not happen.
func (s *server) dies(t *testing.T) {
	b := newBench(t, s.setup(s.connection("dev", "owner")))
	done := make(chan *tongs.Result)
	go func() {
		done <- b.Call(Name, args{"connection": "dev", "write": true, "sql": "WITH w AS (INSERT INTO t(id) VALUES (77) RETURNING id) SELECT id, pg_sleep(62) FROM w"})
	}()
	for s.psql("app", "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(62)%' AND pid <> pg_backend_pid()") != "1" {
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
	res := <-done
	if res.Error == nil || res.Error.Code != tongs.CodeNetworkError {
		t.Errorf("%v", res.Error)
	}
	b.fails(tongs.CodeNetworkError, "", args{"connection": "dev", "sql": "SELECT 1"})
	s.start()
	if got := s.psql("app", "SELECT count(*) FROM t WHERE id = 77"); got != "0" {
		t.Error("a write that failed holds")
	}
}
