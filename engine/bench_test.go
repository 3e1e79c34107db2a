package engine_test

import (
	"runtime"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/state"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The cost of the walk for a tool that does nothing: with everything in memory, and with everything in SQLite.
func BenchmarkWalk(b *testing.B) {
	inSQLite := func(o *engine.Options) {
		db, err := state.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = db.Close() })
		o.Audit, o.Grants, o.State = db.Audit(), db.Grants(), db.State
		o.Approval = &approval.Desk{Store: db.Questions(approval.Options{})}
	}
	for name, change := range map[string]func(*engine.Options){"memory": func(*engine.Options) {}, "sqlite": inSQLite} {
		b.Run(name, func(b *testing.B) {
			bench := setup(b, []tongs.Tool{tool(b, free, nil, nil)}, change)
			call := &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`), Session: "s"}
			b.ReportAllocs()
			for b.Loop() {
				if res := bench.Call(b.Context(), call); res.Error != nil {
					b.Fatal(res.Content)
				}
			}
		})
	}
}
