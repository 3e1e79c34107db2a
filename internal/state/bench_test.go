package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
)

func sampleRow(call string) *audit.Row {
	return &audit.Row{
		Call: call, Session: "s_bench", Tool: "read_file", Started: time.Now(), PID: os.Getpid(),
		Args: json.RawMessage(`{"path":"internal/secrets/secrets.go","offset":120,"limit":200}`),
	}
}

var (
	sampleIntent = &audit.Intent{
		Tool: "read_file", Source: tongs.Source{Kind: tongs.SourceBuiltin},
		Effects:  []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "internal/secrets/secrets.go"}, Version: "v1:8:12:991"}},
		Decision: tongs.PreApproved, By: "default of read_file",
	}
	sampleClose = &audit.Closing{Outcome: "ok", Title: "internal/secrets/secrets.go", Ran: 120_000, Total: 200_000, Output: 5000, Shown: 5000}
)

// BenchmarkThreeWrites is the cost of a call's row: open, intent and close.
func BenchmarkThreeWrites(b *testing.B) {
	db, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log := db.Audit()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		call := fmt.Sprintf("c_%d", i)
		if err := log.Open(b.Context(), sampleRow(call)); err != nil {
			b.Fatal(err)
		}
		if err := log.Intent(b.Context(), call, sampleIntent); err != nil {
			b.Fatal(err)
		}
		if err := log.Close(b.Context(), call, sampleClose); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThreeWritesMemory(b *testing.B) {
	log := audit.NewMemory()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		call := fmt.Sprintf("c_%d", i)
		if err := log.Open(b.Context(), sampleRow(call)); err != nil {
			b.Fatal(err)
		}
		if err := log.Intent(b.Context(), call, sampleIntent); err != nil {
			b.Fatal(err)
		}
		if err := log.Close(b.Context(), call, sampleClose); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is the cost of opening an existing file, as every command does.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	db, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		db, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	db, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for i := range 1000 {
		call := fmt.Sprintf("c_%d", i)
		if err := db.Audit().Open(b.Context(), sampleRow(call)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := db.Audit().Verify(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThreeWritesTogether is the same for 16 calls at a time.
func BenchmarkThreeWritesTogether(b *testing.B) {
	db, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log := db.Audit()
	b.SetParallelism(16 / max(1, runtime.GOMAXPROCS(0)))
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			call := fmt.Sprintf("c_%d", n.Add(1))
			err := errors.Join(log.Open(b.Context(), sampleRow(call)), log.Intent(b.Context(), call, sampleIntent),
				log.Close(b.Context(), call, sampleClose))
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkSave is the cost of a value that a session keeps: another one, and the same again.
func BenchmarkSave(b *testing.B) {
	db, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for name, value := range map[string]func(i int) int{"new": func(i int) int { return i }, "same": func(int) int { return 1 }} {
		b.Run(name, func(b *testing.B) {
			state := db.State("s")
			for i := 0; b.Loop(); i++ {
				if err := state.Save(b.Context(), name, value(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
