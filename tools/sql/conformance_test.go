package sql

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestConformance(t *testing.T) {
	query, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, query, tooltest.Options{
		Setup: func(tb tooltest.TB, dir string) {
			if said, err := exec.Command("sqlite3", filepath.Join(dir, "a.db"), forks).CombinedOutput(); err != nil {
				tb.Fatalf("the tests need sqlite3: %v: %s", err, said)
			}
		},
		Caller: func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
			b, opt := base.New(t, base.Options{Dir: dir})
			b.Build(opt, tool)
			return b.Engine
		},
		Valid: []string{
			`{"file":"a.db","sql":"SELECT * FROM t"}`, `{"file":"a.db","sql":"SELECT ?","params":["x"],"limit":3,"timeout":20}`,
			`{"file":"a.db","sql":"UPDATE t SET name = ?","params":[null],"write":true}`,
		},
		Blocking: []string{`{"file":"a.db","sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c","timeout":300}`},
	})
	tooltest.Snapshot(t, "testdata/specs", query)
}

// Any text is read or refused, and what is read as one statement has no second one to the server's own eyes.
func FuzzParse(f *testing.F) {
	for _, sql := range []string{"SELECT 1", "SELECT 'a''b'; --", "/* /* */ */ SELECT $a$;$a$", "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END", "(SELECT 1)", "E'\\'"} {
		f.Add(sql, true)
		f.Add(sql, false)
	}
	f.Fuzz(func(t *testing.T, sql string, postgres bool) {
		s, err := parse(sql, postgres)
		if err == nil && s.verb == "" {
			t.Errorf("%q has no verb", sql)
		}
	})
}
