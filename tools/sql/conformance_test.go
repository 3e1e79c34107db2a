package sql

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
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

// Any text is read or refused, and no string, name or comment hides the end of a statement. (Fuzzing would instrument SQLite, which
// takes longer than the tests.)
func TestParseTakesAnything(t *testing.T) {
	pieces := []string{
		"SELECT", " ", "1", ";", "'", "''", "\"", "`", "[", "]", "--", "\n", "\r", "/*", "*/", "$$", "$a$", "E'", "\\", "(", ")", ".", "x", "é", "\x00",
		"BEGIN", "END", "CREATE TRIGGER", "FROM", "INTO", "UPDATE", ",", "\xff", "U&'",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		for _, postgres := range []bool{true, false} {
			s, err := parse(b.String(), postgres)
			if err == nil && s.verb == "" {
				t.Fatalf("%q has no verb", b.String())
			}
			if err == nil && postgres && !strings.Contains(strings.ToUpper(b.String()), "TRIGGER") {
				if _, again := parse(b.String()+"\n;SELECT 1", postgres); again == nil {
					t.Fatalf("%q hides a second statement", b.String())
				}
			}
		}
	}
}
