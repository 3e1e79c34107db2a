package grep

import (
	"context"
	"go/build"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/regex"
)

func source() string { return filepath.Join(build.Default.GOROOT, "src") }

func BenchmarkSearch(b *testing.B) {
	e := New(0)
	for name, q := range map[string]Query{
		"none":     {Matcher: compile(b, "xqzvjkwpqx", regex.Options{})},
		"limited":  {Matcher: compile(b, "return nil", regex.Options{}), Limit: 100},
		"all":      {Matcher: compile(b, "return nil", regex.Options{})},
		"files":    {Matcher: compile(b, "return nil", regex.Options{}), Mode: Files},
		"automata": {Matcher: compile(b, `\w{12}\s+\w{12}\s+\w{12}`, regex.Options{})},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Search(b.Context(), tree(source()), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCancel tells how long a search goes on after it was cancelled in its midst.
func BenchmarkCancel(b *testing.B) {
	e := New(0)
	q := Query{Matcher: compile(b, `(\w+\s+)*end`, regex.Options{Multiline: true})}
	var took time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		var began time.Time
		stop := time.AfterFunc(20*time.Millisecond, func() {
			began = time.Now()
			cancel()
		})
		if _, err := e.Search(ctx, tree(source()), q); err == nil {
			b.Fatal("it was over before it was cancelled")
		}
		took += time.Since(began)
		stop.Stop()
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/cancel")
}

// BenchmarkConcurrent tells how much memory one search takes, and 64 at a time.
func BenchmarkConcurrent(b *testing.B) {
	for name, n := range map[string]int{"1": 1, "64": 64} {
		b.Run(name, func(b *testing.B) {
			e := New(0)
			q := Query{Matcher: compile(b, `\w{12}\s+\w{12}\s+\w{12}`, regex.Options{}), Limit: 100}
			var mu sync.Mutex
			most := uint64(0)
			for b.Loop() {
				var group sync.WaitGroup
				for range n {
					group.Go(func() {
						if _, err := e.Search(b.Context(), tree(source()), q); err != nil {
							b.Error(err)
						}
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						mu.Lock()
						most = max(most, m.HeapInuse)
						mu.Unlock()
					})
				}
				group.Wait()
			}
			b.ReportMetric(float64(most)/1e6, "MB")
		})
	}
}
