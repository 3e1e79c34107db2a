package durable

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/audit"
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
