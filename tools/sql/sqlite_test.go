package sql

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/network/egress"
	"github.com/tongs-ai/tongs/tools/undo"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

type args = base.Args

// bench is a workspace with a journal, sql_query and undo.
type bench struct {
	*base.Bench
	temp string
}

type setup struct {
	Options
	egress egress.Options
	answer func(approval.Question) approval.Answer
	rules  []tongs.Rule
	mode   tongs.Mode
	nobody bool
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(t.TempDir(), "journal"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	b := &bench{temp: filepath.Join(t.TempDir(), "copies")}
	s.Temp = b.temp
	query, err := New(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	bb, opt := base.New(t, base.Options{Mode: s.mode, Rules: s.rules, Nobody: s.nobody, Answer: s.answer, Journal: workspace.Journal(j)})
	b.Bench = bb
	back, err := undo.Tools(undo.Options{Journal: j, Roots: map[string]string{"": b.Dir}})
	b.Must(err)
	opt.HTTP = egress.New(s.egress).HTTP
	b.Build(opt, append(back, query)...)
	t.Cleanup(func() {
		if left, _ := os.ReadDir(b.temp); len(left) > 0 {
			t.Errorf("%d copies were left", len(left))
		}
	})
	return b
}

// query calls sql_query, which must succeed.
func (b *bench) query(in args) Output {
	b.Helper()
	out, err := tongs.ValueOf[Output](b.Call(Name, in))
	if err != nil {
		b.Fatalf("%v: %v", in, err)
	}
	return out
}

// cell is the one value of a statement on the file.
func (b *bench) cell(sql string) string {
	b.Helper()
	out := b.query(args{"file": "a.db", "sql": sql})
	if len(out.Rows) != 1 || len(out.Rows[0]) != 1 {
		b.Fatalf("%s: %v", sql, out.Rows)
	}
	return fmt.Sprint(out.Rows[0][0])
}

func (b *bench) fails(code tongs.Code, says string, in args) {
	b.Helper()
	b.Fails(code, says, b.Call(Name, in))
}

// make makes a database by other means than the tool.
func (b *bench) make(name, script string) {
	b.Helper()
	if said, err := exec.Command("sqlite3", filepath.Join(b.Dir, name), script).CombinedOutput(); err != nil {
		b.Fatalf("the tests need sqlite3: %v: %s", err, said)
	}
}

const forks = `CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, price REAL, data BLOB);
INSERT INTO t VALUES (1,'fork',2.5,x'00ff'),(2,'spoon',NULL,NULL),(3,'it''s',1e300,'');`

func TestReadsAreFreeAndTyped(t *testing.T) {
	b := newBench(t, setup{nobody: true})
	b.make("a.db", forks)
	res := b.Call(Name, args{"file": "a.db", "sql": "SELECT *, ? AS q FROM t WHERE id < ? ORDER BY id;  -- done\n", "params": []any{"x'; DROP TABLE t; --", 3}})
	out, err := tongs.ValueOf[Output](res)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := json.Marshal(out.Rows)
	if want := `[[1,"fork",2.5,"x'00FF'","x'; DROP TABLE t; --"],[2,"spoon",null,null,"x'; DROP TABLE t; --"]]`; string(rows) != want {
		t.Errorf("rows: %s", rows)
	}
	b.Contains("content", res.Content, `["id","name","price","data","q"]`, `[1,"fork",2.5`, "[2 rows]")
	b.Contains("display", res.Display, "id │ name  │ price │ data", "───┼", "2  │ spoon │ NULL", "[2 rows]")
	if got := b.cell("SELECT count(*) FROM t"); got != "3" {
		t.Errorf("after an injection: %s rows", got)
	}
	if n := len(b.Asked()); n > 0 {
		t.Errorf("%d questions", n)
	}
}

func TestLimits(t *testing.T) {
	b := newBench(t, setup{Options: Options{MaxRows: 50, Rows: 10, Bytes: 3000}})
	b.make("a.db", "CREATE TABLE t(x)")
	many := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
	if out := b.query(args{"file": "a.db", "sql": many}); len(out.Rows) != 10 || !out.More {
		t.Errorf("%d rows of endless ones, more is %v", len(out.Rows), out.More)
	}
	if out := b.query(args{"file": "a.db", "sql": many, "limit": 50}); len(out.Rows) != 50 || !out.More {
		t.Errorf("%d rows, more is %v", len(out.Rows), out.More)
	}
	if out := b.query(args{"file": "a.db", "sql": strings.Replace(many, "SELECT x FROM", "SELECT hex(zeroblob(500)) FROM", 1), "limit": 50}); len(out.Rows) != 2 || !out.More {
		t.Errorf("%d large rows, more is %v", len(out.Rows), out.More)
	}
	b.fails(tongs.CodeInvalidArgs, "limit", args{"file": "a.db", "sql": many, "limit": 51})
	b.fails(tongs.CodeTimeout, "longer than it may", args{"file": "a.db", "sql": strings.Replace(many, "SELECT x FROM", "SELECT sum(x) FROM", 1), "timeout": 1})
	b.fails(tongs.CodeTooLarge, "", args{"file": "a.db", "sql": "SELECT zeroblob(1000000000)"})
	huge := strings.Replace(many, "SELECT x FROM c", "SELECT count(*) FROM (SELECT DISTINCT x || hex(zeroblob(500000)) FROM c)", 1)
	b.fails(tongs.CodeTooLarge, "MiB of memory", args{"file": "a.db", "sql": huge, "timeout": 200})
}

// Each of these must not be done by a statement, whether it writes or not.
func TestAttackStatementsThatLeaveTheDatabase(t *testing.T) {
	b := newBench(t, setup{})
	b.make("a.db", forks)
	b.make("b.db", forks)
	other := filepath.Join(b.Dir, "b.db")
	before := b.Get("a.db")
	for _, sql := range []string{
		"ATTACH '" + other + "' AS o", "ATTACH ':memory:' AS o", "DETACH main", "VACUUM", "VACUUM INTO 'x.db'",
		"SELECT load_extension('/tmp/x.so')", "SELECT fts3_tokenizer('simple')", "SELECT readfile('/etc/passwd')", "SELECT writefile('x','y')",
		"PRAGMA journal_mode=DELETE", "PRAGMA writable_schema=ON", "PRAGMA temp_store_directory='/tmp'", "PRAGMA trusted_schema=ON",
		"PRAGMA user_version=7", "PRAGMA mmap_size=1000000", "PRAGMA database_list", "PRAGMA wal_checkpoint", "PRAGMA hard_heap_limit=1",
		"SELECT * FROM pragma_database_list", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "END",
		"CREATE VIRTUAL TABLE v USING csv(filename='/etc/passwd')", "CREATE VIRTUAL TABLE v USING dbstat(main)", "CREATE TEMP TABLE t2(x)",
		"UPDATE sqlite_schema SET sql='x'", "UPDATE sqlite_dbpage SET data=x'00' WHERE pgno=1",
		"SELECT 1; DROP TABLE t", "SELECT 1;;; SELECT 2", "SELECT 1 /* ; */; DELETE FROM t --", "SELECT 'a'';' ; DROP TABLE t",
		";", "", "-- nothing", "/* open", "SELECT 'open",
		"CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END; DROP TABLE t; SELECT 1; END",
	} {
		for _, write := range []bool{false, true} {
			if res := b.Call(Name, args{"file": "a.db", "sql": sql, "write": write}); res.OK() {
				t.Errorf("%s (write %v) was run: %s", sql, write, res.Content)
			}
		}
	}
	for _, sql := range []string{
		"INSERT INTO t(id) VALUES (9)", "UPDATE t SET name='x'", "DELETE FROM t", "DROP TABLE t", "CREATE TABLE u(x)", "ALTER TABLE t ADD c", "ANALYZE",
		"WITH a AS (SELECT 1) INSERT INTO t(id) SELECT 9", "REPLACE INTO t(id) VALUES(1)", "CREATE VIEW v AS SELECT 1",
	} {
		b.fails(tongs.CodePermissionDenied, "write: true", args{"file": "a.db", "sql": sql})
	}
	if b.Get("a.db") != before {
		t.Error("the file changed")
	}
	if names, _ := os.ReadDir(b.Dir); len(names) != 2 {
		t.Errorf("files: %v", names)
	}
	for _, sql := range []string{"PRAGMA table_info(t)", "PRAGMA user_version", "PRAGMA integrity_check", "EXPLAIN QUERY PLAN SELECT * FROM t", "SELECT name FROM sqlite_schema", "VALUES (1)"} {
		if out := b.query(args{"file": "a.db", "sql": sql}); len(out.Rows) == 0 {
			t.Errorf("%s: no rows", sql)
		}
	}
}

func TestWritesAskAndCanBeUndone(t *testing.T) {
	b := newBench(t, setup{})
	b.make("a.db", forks+`CREATE TABLE log(x); CREATE TRIGGER tr AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); END;`)
	before := b.Get("a.db")
	out := b.query(args{"file": "a.db", "write": true, "sql": "UPDATE t SET name = ? WHERE id <= ?", "params": []any{"knife", 2}})
	if out.Changed != 2 {
		t.Errorf("changed %d", out.Changed)
	}
	asked := b.Questions()
	if len(asked) != 1 {
		for _, q := range asked {
			t.Logf("%s %v: %+v", q.Reason, q.Message, q.Effects)
		}
		t.Fatalf("%d questions", len(asked))
	}
	b.Contains("message", asked[0].Message, "a.db", "UPDATE t")
	b.Contains("preview", asked[0].Preview, "UPDATE t SET name = ?", `-- value 1: "knife"`, "changes: update t, insert into log")
	if got := b.cell("SELECT group_concat(name) FROM t"); got != "knife,knife,it's" {
		t.Errorf("names: %s", got)
	}
	b.OK("undo")
	if b.Get("a.db") != before {
		t.Error("undo did not bring the file back")
	}
	b.OK("redo")
	if got := b.cell("SELECT count(*) FROM log"); got != "2" {
		t.Errorf("after redo: %s", got)
	}
	out = b.query(args{"file": "a.db", "write": true, "sql": "INSERT INTO t(name) VALUES ('a'),('b') RETURNING id"})
	if len(out.Rows) != 2 || out.Changed != 2 {
		t.Errorf("returning: %+v", out)
	}
	b.query(args{"file": "new/x.db", "write": true, "sql": "CREATE TABLE n(x)"})
	if !b.Exists("new/x.db") {
		t.Error("no new database")
	}
}

func TestAWriteThatIsRefusedOrFailsChangesNothing(t *testing.T) {
	no := false
	b := newBench(t, setup{answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: !no} }})
	b.make("a.db", forks+"CREATE TABLE u(x UNIQUE);")
	before := b.Get("a.db")
	b.fails(tongs.CodeExecutionError, "UNIQUE", args{"file": "a.db", "write": true, "sql": "INSERT INTO u VALUES (1),(1)"})
	b.fails(tongs.CodeExecutionError, "no such table", args{"file": "a.db", "write": true, "sql": "DELETE FROM nope"})
	b.fails(tongs.CodeInvalidArgs, "1 placeholders", args{"file": "a.db", "write": true, "sql": "DELETE FROM t WHERE id = ?"})
	no = true
	b.fails(tongs.CodeDenied, "", args{"file": "a.db", "write": true, "sql": "DELETE FROM t"})
	if b.Get("a.db") != before {
		t.Error("the file changed")
	}
}

func TestFilesThatAreNoDatabases(t *testing.T) {
	b := newBench(t, setup{Options: Options{FileBytes: 1 << 20}})
	outside := filepath.Join(t.TempDir(), "out.db")
	b.Put("text.db", strings.Repeat("hello ", 1000))
	b.Put("empty.db", "")
	b.make("bad.db", forks)
	data := []byte(b.Get("bad.db"))
	for i := 4096; i < len(data); i++ {
		data[i] = 0xee
	}
	b.Put("bad.db", string(data))
	b.make("cut.db", forks)
	b.Must(os.Truncate(filepath.Join(b.Dir, "cut.db"), 5000))
	b.Put("big.db", strings.Repeat("x", 2<<20))
	b.Must(os.WriteFile(outside, []byte(forks), 0o600))
	b.Must(os.Symlink(outside, filepath.Join(b.Dir, "link.db")))
	b.make("real.db", forks)
	b.Must(os.Symlink(filepath.Join(b.Dir, "real.db"), filepath.Join(b.Dir, "inside.db")))
	b.Must(os.Mkdir(filepath.Join(b.Dir, "dir.db"), 0o700))
	b.make("side.db", forks)
	b.Must(os.Symlink(outside, filepath.Join(b.Dir, "side.db-wal")))
	for name, want := range map[string]tongs.Code{
		"text.db": tongs.CodeExecutionError, "bad.db": tongs.CodeExecutionError, "cut.db": tongs.CodeExecutionError,
		"big.db": tongs.CodeTooLarge, "link.db": tongs.CodeInvalidPath, "dir.db": tongs.CodeInvalidArgs, "none.db": tongs.CodeFileNotFound,
		"../x.db": tongs.CodeInvalidPath, "/etc/passwd": tongs.CodeInvalidPath, "file:real.db?mode=rwc": tongs.CodeFileNotFound,
		"side.db": tongs.CodeInvalidArgs, ":memory:": tongs.CodeFileNotFound, "": tongs.CodeInvalidArgs,
	} {
		b.fails(want, "", args{"file": name, "sql": "SELECT * FROM t"})
	}
	if out := b.query(args{"file": "inside.db", "sql": "SELECT count(*) FROM t"}); fmt.Sprint(out.Rows) != "[[3]]" {
		t.Errorf("a link inside: %v", out.Rows)
	}
	b.fails(tongs.CodeExecutionError, "no such table", args{"file": "empty.db", "sql": "SELECT * FROM t"})
}

// shell is a process that has a database open, and does what it is told.
type shell struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
}

func openShell(t testing.TB, file string) *shell {
	t.Helper()
	cmd := exec.Command("sqlite3", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("the tests need sqlite3: %v", err)
	}
	s := &shell{t: t, in: in, out: bufio.NewScanner(out), cmd: cmd}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return s
}

// do runs a statement, and returns once it is done.
func (s *shell) do(sql string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, sql+";\nSELECT 'done';\n"); err != nil {
		s.t.Fatal(err)
	}
	for s.out.Scan() {
		if s.out.Text() == "done" {
			return
		}
	}
	s.t.Fatal("sqlite3 ended")
}

// kill ends it as a crash would.
func (s *shell) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func TestADatabaseThatAnotherProgramUses(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t, setup{})
			b.make("a.db", forks)
			s := openShell(t, filepath.Join(b.Dir, "a.db"))
			s.do("PRAGMA journal_mode=" + mode)
			s.do("INSERT INTO t(name) VALUES ('fourth')")
			if got := b.cell("SELECT count(*) FROM t"); got != "4" {
				t.Errorf("what the other committed is not seen: %s", got)
			}
			s.do("BEGIN IMMEDIATE; INSERT INTO t(name) VALUES ('fifth')")
			if got := b.cell("SELECT count(*) FROM t"); got != "4" {
				t.Errorf("what the other did not commit is seen: %s", got)
			}
			b.fails(tongs.CodeExecutionError, "open in another program", args{"file": "a.db", "write": true, "sql": "DELETE FROM t"})
			s.do("COMMIT")
			if got := b.cell("SELECT count(*) FROM t"); got != "5" {
				t.Errorf("then: %s", got)
			}
			s.do("BEGIN; INSERT INTO t(name) VALUES ('sixth')")
			s.kill()
			if got := b.cell("SELECT count(*) FROM t"); got != "5" {
				t.Errorf("after a crash: %s", got)
			}
			out := b.query(args{"file": "a.db", "write": true, "sql": "INSERT INTO t(name) VALUES ('mine')"})
			if out.Changed != 1 || b.cell("SELECT count(*) FROM t") != "6" || b.Exists("a.db-wal") || b.Exists("a.db-journal") {
				t.Errorf("after a crash a write is lost, or leaves what SQLite had beside the file: %+v", out)
			}
			b.OK("undo")
			if got := b.cell("SELECT count(*) FROM t"); got != "5" {
				t.Errorf("after undo: %s", got)
			}
			check := openShell(t, filepath.Join(b.Dir, "a.db"))
			check.do("PRAGMA integrity_check")
			check.do("INSERT INTO t(name) VALUES ('again')")
			if got := b.cell("SELECT count(*) FROM t"); got != "6" {
				t.Errorf("sqlite3 goes on: %s", got)
			}
		})
	}
}

// Reads while another process writes without a pause see whole transactions.
func TestReadsOfADatabaseThatIsWritten(t *testing.T) {
	b := newBench(t, setup{})
	b.make("a.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (0),(0);")
	s := openShell(t, filepath.Join(b.Dir, "a.db"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			if _, err := io.WriteString(s.in, "BEGIN; UPDATE t SET x=x+1; COMMIT;\n"); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	seen := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		res := b.Call(Name, args{"file": "a.db", "sql": "SELECT count(DISTINCT x), max(x) FROM t"})
		if !res.OK() {
			if res.Error.Code != tongs.CodeStaleFile {
				t.Fatal(res.Error)
			}
			continue
		}
		out, _ := tongs.ValueOf[Output](res)
		if fmt.Sprint(out.Rows[0][0]) != "1" {
			t.Fatalf("half a transaction: %v", out.Rows)
		}
		seen++
	}
	if seen == 0 {
		t.Error("nothing could be read")
	}
}
