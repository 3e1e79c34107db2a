package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tongs-ai/tongs"
)

// slot is the place of one offered tool: it outlives the sets it is in, and with it what a lazy tool was made into.
type slot struct {
	tool tongs.Tool
	// from and kind are those of the offer that the tool is in; reviewed means that it may take a name of a built-in.
	from     any
	kind     tongs.SourceKind
	reviewed bool

	mu     sync.Mutex
	made   tongs.Tool // nil until Init succeeded
	flight *flight    // the Init under way, if any
}

// flight is one run of Init that any number of callers wait for.
type flight struct {
	done      chan struct{}
	cancel    context.CancelFunc
	waiting   int  // guarded by slot.mu
	abandoned bool // guarded by slot.mu: everybody left, so its failure says nothing
	tool      tongs.Tool
	err       error
}

func (s *slot) spec() *tongs.Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil {
		return s.made.Spec()
	}
	return s.tool.Spec()
}

// Ready returns the tool that serves the entry's calls. A lazy one is made first: once, however many callers wait for
// it. Each caller stops waiting when its own context ends; when nobody waits any more, the context that Init was
// given ends too. A failure, or a panic in Init, is returned, and the next call tries again.
func (c *Catalog) Ready(ctx context.Context, entry Entry, in tongs.InitContext) (tongs.Tool, error) {
	lazy, ok := entry.Tool.(tongs.Initializer)
	if !ok {
		if entry.Tool == nil {
			return nil, errors.New("entry has no tool")
		}
		return entry.Tool, nil
	}
	s := entry.slot
	if s == nil {
		return nil, fmt.Errorf("entry of %s was not looked up in a catalog", entry.Tool.Spec().Name)
	}
	for {
		made, f, err := c.join(ctx, s, lazy, in)
		if f == nil {
			return made, err
		}
		select {
		case <-f.done:
			if f.err == nil || !s.leave(f) {
				return f.tool, f.err
			}
		case <-ctx.Done():
			s.leave(f)
			return nil, context.Cause(ctx)
		}
	}
}

// join returns the tool if it was made, else the flight to wait for, which it starts where there is none.
func (c *Catalog) join(ctx context.Context, s *slot, lazy tongs.Initializer, in tongs.InitContext) (
	tongs.Tool, *flight, error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil {
		return s.made, nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if s.flight == nil {
		initCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.flight = &flight{done: make(chan struct{}), cancel: cancel}
		go c.initialise(initCtx, s, s.flight, lazy, in)
	}
	s.flight.waiting++
	return nil, s.flight, nil
}

// leave stops waiting for f and reports whether everybody had left it at some time: the last one to leave ends it.
func (s *slot) leave(f *flight) (abandoned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiting--
	if f.waiting == 0 && s.flight == f {
		f.abandoned = true
		f.cancel()
	}
	return f.abandoned
}

func (c *Catalog) initialise(ctx context.Context, s *slot, f *flight, lazy tongs.Initializer, in tongs.InitContext) {
	defer f.cancel()
	name := s.tool.Spec().Name
	f.err = unusable(name, errors.New("its initialisation ended without a result"))
	defer func() {
		if p := recover(); p != nil {
			f.tool, f.err = nil, unusable(name, fmt.Errorf("panic while initialising: %v", p))
		}
		s.mu.Lock()
		s.made, s.flight = f.tool, nil
		s.mu.Unlock()
		if f.tool != nil {
			c.announce(s)
		}
		close(f.done)
	}()
	tool, err := lazy.Init(ctx, in)
	if err == nil {
		err = standsFor(tool, s.tool.Spec())
	}
	if err != nil {
		f.err = unusable(name, err)
		return
	}
	f.tool, f.err = tool, nil
}

// unusable says once why a tool cannot be used.
func unusable(name string, err error) *tongs.Error {
	if e, ok := err.(*tongs.Error); ok { // one that was wrapped has words around it
		own := *e
		own.Message = "tool " + name + ": " + e.Message
		return &own
	}
	return tongs.Errorf(tongs.CodeConfigError, "tool %s cannot be used: %w", name, err)
}

// standsFor checks that a tool is what its stand-in announced: rules and grants were judged by that.
func standsFor(tool tongs.Tool, spec *tongs.Spec) error {
	if tool == nil || tool.Spec() == nil {
		return errors.New("it made no tool")
	}
	got := tool.Spec()
	if _, again := tool.(tongs.Initializer); again {
		return errors.New("it made another lazy tool")
	}
	if got.Name != spec.Name {
		return fmt.Errorf("it made a tool named %q", got.Name)
	}
	if spec.Toolset != "" && got.Toolset != spec.Toolset {
		return fmt.Errorf("it made a tool of the toolset %q, announced was %q", got.Toolset, spec.Toolset)
	}
	if !SameKind(got.Source.Kind, spec.Source.Kind) || got.Source.Name != spec.Source.Name ||
		spec.Source.Digest != "" && got.Source.Digest != spec.Source.Digest {
		return fmt.Errorf("it made a tool from %q, announced was %q", describe(got), describe(spec))
	}
	return nil
}

// announce tells those who watch that the definition of a tool in the current set changed.
func (c *Catalog) announce(s *slot) {
	c.writing.Lock()
	defer c.writing.Unlock()
	set := c.current().set
	for _, entry := range set.entries {
		if entry.slot == s {
			c.store(set)
			return
		}
	}
}
