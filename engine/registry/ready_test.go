package registry_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

func lazyEntry(t *testing.T, init func(context.Context, tongs.InitContext) (tongs.Tool, error)) (*registry.Catalog, registry.Entry) {
	t.Helper()
	return catalogOf(t, tongs.Lazy(tongs.Spec{Name: "slow", Description: "Stand-in.", Source: tongs.Source{Name: "origin"}}, init))
}

// catalogOf is a catalog of one built-in tool, and the tool in it.
func catalogOf(t *testing.T, tool tongs.Tool) (*registry.Catalog, registry.Entry) {
	t.Helper()
	c := &registry.Catalog{}
	c.Take(builtIn(tool))
	entry, ok := c.Set().Lookup(tool.Spec().Name)
	if !ok {
		t.Fatal(c.Set().Faults())
	}
	return c, entry
}

func TestReady(t *testing.T) {
	calls := 0
	made := tool(t, "", "slow")
	r, entry := lazyEntry(t, func(_ context.Context, in tongs.InitContext) (tongs.Tool, error) {
		calls++
		switch calls {
		case 1:
			return nil, errors.New("no luck")
		case 2:
			panic("boom")
		case 3:
			return tool(t, tongs.SourceForge, "slow"), nil
		case 4:
			return nil, nil
		}
		if in.Workspace != "/w" {
			t.Errorf("workspace is %q", in.Workspace)
		}
		return made, nil
	})
	ctx := context.Background()
	in := tongs.InitContext{Workspace: "/w"}
	for _, want := range []string{"no luck", "panic while initialising: boom", "announced was", ""} {
		_, err := r.Ready(ctx, entry, in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	changed := r.Changed()
	for range 3 {
		got, err := r.Ready(ctx, entry, in)
		if err != nil || got != made {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if calls != 5 {
		t.Errorf("init ran %d times", calls)
	}
	<-changed
	if got := r.Set().Definitions()[0].Description; got != "A tool." {
		t.Errorf("the definition is still %q", got)
	}
	// It is still made after other tools changed.
	r.Take(builtIn(tool(t, "", "other"), entry.Tool))
	entry, _ = r.Set().Lookup("slow")
	if got, err := r.Ready(ctx, entry, in); err != nil || got != made || calls != 5 {
		t.Errorf("got %v, %v after %d calls", got, err, calls)
	}
	plain := tool(t, "", "plain")
	if got, err := r.Ready(ctx, registry.Entry{Tool: plain}, in); err != nil || got != plain {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := r.Ready(ctx, registry.Entry{}, in); err == nil {
		t.Error("an empty entry is ready")
	}
}

func TestReadyIsMadeOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		release := make(chan struct{})
		made := tool(t, "", "slow")
		r, entry := lazyEntry(t, func(ctx context.Context, _ tongs.InitContext) (tongs.Tool, error) {
			calls.Add(1)
			select {
			case <-release:
				return made, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		first, cancelFirst := context.WithCancel(t.Context())
		errs := make(chan error, 9)
		go func() {
			_, err := r.Ready(first, entry, tongs.InitContext{})
			errs <- err
		}()
		synctest.Wait()
		for range 8 {
			go func() {
				_, err := r.Ready(t.Context(), entry, tongs.InitContext{})
				errs <- err
			}()
		}
		synctest.Wait()
		cancelFirst()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller got %v", err)
		}
		close(release)
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("init ran %d times", calls.Load())
		}
	})
}

// Everybody left, so the run is cancelled; who comes while it still ends waits, and starts another.
func TestReadyAfterEverybodyLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, running atomic.Int32
		ending := make(chan struct{})
		made := tool(t, "", "slow")
		r, entry := lazyEntry(t, func(ctx context.Context, _ tongs.InitContext) (tongs.Tool, error) {
			if running.Add(1) > 1 {
				t.Error("two at the same time")
			}
			defer running.Add(-1)
			if calls.Add(1) > 1 {
				return made, nil
			}
			<-ctx.Done()
			<-ending
			return nil, ctx.Err()
		})
		first, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := r.Ready(first, entry, tongs.InitContext{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		done := make(chan error)
		go func() {
			_, err := r.Ready(t.Context(), entry, tongs.InitContext{})
			done <- err
		}()
		synctest.Wait()
		close(ending)
		if err := <-done; err != nil || calls.Load() != 2 {
			t.Errorf("got %v after %d calls", err, calls.Load())
		}
	})
}

func TestReadyHonoursItsContext(t *testing.T) {
	r, entry := lazyEntry(t, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		t.Error("init ran")
		return nil, nil
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := r.Ready(ctx, entry, tongs.InitContext{}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// Rules about a toolset were judged by what the stand-in announced.
func TestReadyKeepsTheToolset(t *testing.T) {
	spec := tongs.Spec{Name: "slow", Description: "Stand-in.", Toolset: "mcp"}
	r, entry := catalogOf(t, tongs.Lazy(spec, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return tool(t, "", "slow"), nil
	}))
	if _, err := r.Ready(t.Context(), entry, tongs.InitContext{}); err == nil || !strings.Contains(err.Error(), `announced was "mcp"`) {
		t.Errorf("%v", err)
	}
}
