package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

// Provider supplies tools of one kind of source, which may change while the engine runs: built-in ones
// ([registry.Registry]), custom tools, modules, MCP servers, workers. Its methods are called by many
// at a time. Whoever made a provider closes it, after the last call.
type Provider interface {
	// Tools returns the tools in stable order. It runs nothing of them.
	Tools() []tongs.Tool
	// Refresh looks for changes, and reports whether Tools would return others than when it last did so. It is called before
	// each call is looked up and before tools are listed, so it must be quick where nothing changed.
	Refresh(ctx context.Context) (changed bool)
	// Reviewed reports whether a person approved the code of the source at its digest; only then can the tool's own
	// decision (Plan.Say) allow a call. It is asked only about sources of tools that this provider supplied.
	Reviewed(src tongs.Source) bool
	Close() error
}

// Reviewable is implemented by providers whose sources a person approves.
type Reviewable interface {
	// States returns what is known of each source, those too that cannot be used. It starts nothing.
	States() []tongs.SourceState
	// Look returns a source as it is, for a person to approve.
	Look(ctx context.Context, name string) (*tongs.Review, error)
	// Approve has the source used as the review showed it. A review that another provider made, or a source that changed
	// since, is an error. By says who approved it.
	Approve(ctx context.Context, review *tongs.Review, by string) error
}

// precedence is the order in which kinds of source get the names they want: of two tools with one name, the earlier kind
// has it, whenever each of them came. Built-in tools are the exception that package registry makes: tools of modules, MCP
// servers and the forge that a person approved may shadow them. What a person configured goes before what an agent may have written.
var precedence = []tongs.SourceKind{
	tongs.SourceBuiltin, tongs.SourceWorker, tongs.SourceModule, tongs.SourceMCP, tongs.SourceForge,
}

// patience is how long a call waits for a provider that does not return from Refresh. The tools of such a provider stay
// as they were, and nobody waits for it again until it returned.
const patience = 2 * time.Second

// supply is one provider of an engine.
type supply struct {
	kind     tongs.SourceKind
	provider Provider
	// refreshing is full while the provider refreshes and its tools are taken; owed says that they were not taken.
	refreshing chan struct{}
	owed       bool
	// The rest is guarded by supplies.mu. Running is set while the provider is in Refresh, stuck when it does not return.
	running, stuck bool
	tools          []tongs.Tool
	failure        error
}

// supplies are the providers of an engine, in order of precedence, and the catalog that their tools are in.
type supplies struct {
	registry.Catalog
	list []*supply
	// instant are those that never wait, and are asked without a guard; the others may not return from Refresh.
	instant, others []*supply
	// taking is held while the catalog takes tools, and is locked before mu.
	taking sync.Mutex
	mu     sync.Mutex
}

// newSupplies makes the tools of the program a provider like the others.
func newSupplies(own []tongs.Tool, others map[tongs.SourceKind]Provider) (*supplies, error) {
	providers := maps.Clone(others)
	if len(own) > 0 {
		if _, two := providers[tongs.SourceBuiltin]; two {
			return nil, fmt.Errorf("there are Tools and a provider of %s tools; register them with that provider", tongs.SourceBuiltin)
		}
		builtIn, err := registry.New(own...)
		if err != nil {
			return nil, err
		}
		if providers == nil {
			providers = map[tongs.SourceKind]Provider{}
		}
		providers[tongs.SourceBuiltin] = builtIn
	}
	s := &supplies{}
	for _, kind := range precedence {
		if p, ok := providers[kind]; ok {
			if p == nil {
				return nil, fmt.Errorf("the provider of %s tools is nil", kind)
			}
			s.add(&supply{kind: kind, provider: p, refreshing: make(chan struct{}, 1), owed: true})
		}
	}
	if len(s.list) != len(providers) {
		return nil, fmt.Errorf("a provider is of a kind that is none of %v", precedence)
	}
	for _, p := range s.list {
		s.renew(p)
	}
	return s, nil
}

// add puts a provider last. A registry only looks at its own memory.
func (s *supplies) add(p *supply) {
	s.list = append(s.list, p)
	if _, ok := p.provider.(*registry.Registry); ok {
		s.instant = append(s.instant, p)
	} else {
		s.others = append(s.others, p)
	}
}

// refresh brings the catalog up to date. The error is that ctx ended first. One provider that does not return costs its
// own tools being up to date, and not those of the others.
func (s *supplies) refresh(ctx context.Context) error {
	for _, p := range s.instant {
		s.ask(ctx, p)
	}
	for left := len(s.others) > 0; left; {
		var err error
		if left, err = s.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// round asks each of the others in turn, and reports whether it left one behind: then those after it were not asked.
func (s *supplies) round(ctx context.Context) (left bool, err error) {
	var at atomic.Pointer[supply]
	at.Store(s.others[0])
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range s.others {
			at.Store(p)
			s.ask(ctx, p)
		}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-late.C:
		return s.leave(at.Load()), nil
	}
}

// ask has one provider refresh itself, and takes its tools where they changed.
func (s *supplies) ask(ctx context.Context, p *supply) {
	if s.isStuck(p) {
		return
	}
	select {
	case p.refreshing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-p.refreshing }()
	s.enter(p)
	changed := false
	err := safely(func() { changed = p.provider.Refresh(ctx) })
	s.returned(p, err)
	if err != nil {
		return
	}
	if p.owed = p.owed || changed; p.owed {
		s.renew(p)
	}
}

// renew takes the tools of a provider as they are now. Nobody else does at the same time.
func (s *supplies) renew(p *supply) {
	var tools []tongs.Tool
	if err := safely(func() { tools = p.provider.Tools() }); err != nil {
		s.failed(p, err)
		return
	}
	p.owed = false
	s.taking.Lock()
	defer s.taking.Unlock()
	s.Take(s.offers(p, tools)...)
}

// offers notes the tools of a provider, and returns those of all.
func (s *supplies) offers(p *supply, tools []tongs.Tool) []registry.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.tools, p.failure = tools, nil
	offers := make([]registry.Offer, len(s.list))
	for i, p := range s.list {
		offers[i] = registry.Offer{Kind: p.kind, From: p, Tools: p.tools, Reviewed: p.reviewed}
	}
	return offers
}

// failed notes why a provider could not say what it has. Its tools stay: a name goes on to mean what it meant.
func (s *supplies) failed(p *supply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.failure = err
}

func (s *supplies) isStuck(p *supply) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.stuck
}

func (s *supplies) enter(p *supply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.running = true
}

func (s *supplies) returned(p *supply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.running, p.stuck = false, false
	if err != nil || !p.owed {
		p.failure = err
	}
}

// leave goes on without a provider that does not return, and reports whether it is in Refresh still.
func (s *supplies) leave(p *supply) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.running {
		p.stuck, p.failure = true, fmt.Errorf("it did not say within %s whether its tools changed; they stay as they were", patience)
	}
	return p.running
}

// faults say which tools are not offered, and which providers fail.
func (s *supplies) faults() []registry.Fault {
	faults := s.Set().Faults()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		if p.failure != nil {
			faults = append(faults, registry.Fault{Kind: p.kind, Err: p.failure})
		}
	}
	return faults
}

// reviewed asks the provider that supplied a tool whether a person approved its source. No other is asked. Without a
// digest, nobody can say what was approved.
func (p *supply) reviewed(src tongs.Source) bool {
	if !registry.SameKind(src.Kind, p.kind) || src.Digest == "" {
		return false
	}
	yes := false
	err := safely(func() { yes = p.provider.Reviewed(src) })
	return yes && err == nil
}

// stamped returns the spec of a tool of the provider, with the provider's kind of source. A tool that claims another kind,
// which it did not when it was taken, is refused.
func (p *supply) stamped(spec *tongs.Spec) (*tongs.Spec, error) {
	switch {
	case !registry.SameKind(spec.Source.Kind, p.kind):
		return nil, tongs.Errorf(tongs.CodeConfigError, "a tool of the kind %s claims to be from a source of the kind %q; it is not used", p.kind, spec.Source.Kind)
	case spec.Source.Kind == p.kind:
		return spec, nil
	}
	own := *spec
	own.Source.Kind = p.kind
	return &own, nil
}

// safely runs what a provider does and turns a panic into an error.
func safely(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	do()
	return nil
}
