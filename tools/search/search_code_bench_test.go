package search_test

import (
	"context"
	"encoding/json"
	"go/build"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/tools/search"
)

// BenchmarkSearchCode asks about Go's own source by whole calls: the first call of a process, which knows nothing, the same
// question again, and one whose words are new.
func BenchmarkSearchCode(b *testing.B) {
	open := func(b *testing.B) *bench {
		t := newBench(b, nil)
		t.Dir = build.Default.GOROOT
		t.with(search.Options{User: &ignore.User{}})
		return t
	}
	ask := func(b *testing.B, t *bench, query string) {
		raw, err := json.Marshal(args{"query": query})
		t.Must(err)
		if res := t.Engine.Call(context.Background(), &tongs.Call{Tool: "search_code", Args: raw}); !res.OK() {
			b.Fatal(res.Error)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			ask(b, open(b), "http server shutdown")
		}
	})
	b.Run("again", func(b *testing.B) {
		t := open(b)
		ask(b, t, "http server shutdown")
		for b.Loop() {
			ask(b, t, "http server shutdown")
		}
	})
	b.Run("told, again", func(b *testing.B) {
		t := newBench(b, nil)
		t.Dir = build.Default.GOROOT
		t.walkFromService()
		ask(b, t, "http server shutdown")
		for b.Loop() {
			ask(b, t, "http server shutdown")
		}
	})
	b.Run("told, other words", func(b *testing.B) {
		t := newBench(b, nil)
		t.Dir = build.Default.GOROOT
		t.walkFromService()
		ask(b, t, "http server shutdown")
		for b.Loop() {
			ask(b, t, "parseDuration")
		}
	})
	b.Run("other words", func(b *testing.B) {
		t := open(b)
		ask(b, t, "http server shutdown")
		for b.Loop() {
			ask(b, t, "parseDuration")
		}
	})
}
