package shell

import (
	"io"
	"testing"

	"github.com/tongs-ai/tongs"
)

// BenchmarkCommand is a whole call: planned, decided, run in the sandbox, and presented.
func BenchmarkCommand(b *testing.B) {
	bench := newBench(b, setup{rules: rules(tongs.PreApproved, "true")})
	bench.sh("true")
	for b.Loop() {
		bench.sh("true")
	}
}

// BenchmarkPlan is a judgement without a run.
func BenchmarkPlan(b *testing.B) {
	bench := newBench(b, setup{rules: rules(tongs.PreApproved, "git", "head")})
	for b.Loop() {
		bench.Explain("shell", args{"command": "git log --oneline | head -3 && cd . && git status"})
	}
}

func BenchmarkKeeper(b *testing.B) {
	k := newKeeper(io.Discard, false)
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = byte(i%64) + ' '
	}
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = k.Write(chunk)
	}
}
