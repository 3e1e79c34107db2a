package engine_test

import (
	"runtime"
	"testing"

	"github.com/tongs-ai/tongs"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The cost of the walk for a tool that does nothing, in memory.
func BenchmarkWalk(b *testing.B) {
	bench := setup(b, []tongs.Tool{tool(b, free, nil, nil)})
	call := &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`), Session: "s"}
	b.ReportAllocs()
	for b.Loop() {
		if res := bench.Call(b.Context(), call); res.Error != nil {
			b.Fatal(res.Content)
		}
	}
}
