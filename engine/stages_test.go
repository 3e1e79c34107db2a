package engine

import (
	"context"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

type noopIn struct {
	Path string `json:"path" jsonschema:"a file"`
}

type noopOut struct {
	OK bool `json:"ok"`
}

// BenchmarkStage measures what each stage of the walk costs, with the log in memory.
func BenchmarkStage(b *testing.B) {
	noop, err := tongs.New(tongs.Def[noopIn, noopOut]{
		Spec: tongs.Spec{Name: "noop", Description: "Does nothing.", Needs: tongs.Read, Default: tongs.PreApproved},
		Plan: func(_ context.Context, v *tongs.View, in noopIn) (*tongs.Plan, error) {
			p, err := v.Files.Resolve(in.Path)
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: p}}}, err
		},
		Run: func(context.Context, *tongs.Env, noopIn) (noopOut, error) { return noopOut{true}, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	ws, err := workspace.Open(workspace.Options{Dir: b.TempDir(), LockDir: b.TempDir() + "/locks"})
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(Options{Tools: []tongs.Tool{noop}, Workspace: ws})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	call := &tongs.Call{Tool: "noop", Args: []byte(`{"path":"a"}`), Session: "s"}
	res := &tongs.Result{}
	var w *walk
	stages := []struct {
		name string
		run  func() error
	}{
		{"open", func() error { w = e.newWalk(&caller{engine: e}, call); return w.open(ctx) }},
		{"lookup", func() error { w.names = nil; return w.lookup(ctx) }},
		{"validate", func() error { return w.validate() }},
		{"plan", func() error { return w.makePlan(ctx) }},
		{"decide", func() error { return w.decide(ctx) }},
		{"ask", func() error { _, err := w.ask(ctx); return err }},
		{"run", func() (err error) { res, err = w.run(ctx); return err }},
		{"settle", func() error { return w.settle(ctx, res, nil) }},
		{"fit", func() error { res = w.fit(res, nil); return nil }},
		{"close", func() error { w.close(res, nil); return nil }},
	}
	for _, stage := range stages {
		b.Run(stage.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := stage.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
