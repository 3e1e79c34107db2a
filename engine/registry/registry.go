// Package registry holds the tools that can be called: an immutable [Set], swapped whole when tools change, and what
// derives from their specs, such as the definitions that model providers are given.
package registry

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
)

// Registry holds the current set of tools. Its zero value is empty. It is safe for concurrent use; readers never wait.
type Registry struct {
	writing sync.Mutex
	state   atomic.Pointer[state]
}

type state struct {
	set     *Set
	changed chan struct{} // closed when this state is no longer the current one
}

// New returns a registry of the tools.
func New(tools ...tongs.Tool) (*Registry, error) {
	r := &Registry{}
	return r, r.RegisterAll(tools...)
}

// Set returns the current set.
func (r *Registry) Set() *Set { return r.current().set }

// Swap makes set the current one and returns the one before. Nil means an empty set.
func (r *Registry) Swap(set *Set) *Set {
	r.writing.Lock()
	defer r.writing.Unlock()
	if set == nil {
		set = &Set{}
	}
	before := r.current().set
	r.store(set)
	return before
}

// Changed returns a channel that is closed at the next change. Take it before reading what may change.
func (r *Registry) Changed() <-chan struct{} { return r.current().changed }

// Register adds a tool. A name or alias that is taken is an error, except that a custom, module or MCP tool takes that
// of a built-in, with a warning in the set.
func (r *Registry) Register(tool tongs.Tool) error { return r.RegisterAll(tool) }

// RegisterAll adds all of the tools or none.
func (r *Registry) RegisterAll(tools ...tongs.Tool) error {
	return r.change(func(all []*slot) []*slot {
		for _, tool := range tools {
			all = append(all, &slot{tool: tool})
		}
		return all
	})
}

// Replace puts the tool in the place of the one of the same name and kind of source, or adds it where there is none. A tool
// of another kind keeps its name: that is an error, or shadows it where it is a built-in, as it does with Register.
func (r *Registry) Replace(tool tongs.Tool) error {
	return r.change(func(all []*slot) []*slot {
		if i := slices.IndexFunc(all, func(s *slot) bool { return sameKind(s.tool, tool) }); i >= 0 {
			all[i] = &slot{tool: tool}
			return all
		}
		return append(all, &slot{tool: tool})
	})
}

func sameKind(a, b tongs.Tool) bool {
	if b == nil || b.Spec() == nil {
		return false
	}
	x, y := a.Spec(), b.Spec()
	return x.Name == y.Name && (x.Source.Kind == y.Source.Kind || x.Source.BuiltIn() && y.Source.BuiltIn())
}

// Unregister removes the registered tool that has the name and reports whether there was one. A built-in that it
// shadowed is back afterwards.
func (r *Registry) Unregister(name string) bool {
	removed := false
	err := r.change(func(all []*slot) []*slot {
		entry, ok := r.Set().Lookup(name)
		if !ok || entry.Tool.Spec().Name != name {
			return all
		}
		removed = slices.Contains(all, entry.slot)
		return slices.DeleteFunc(all, func(s *slot) bool { return s == entry.slot })
	})
	return removed && err == nil
}

// Get finds a tool by its name or an alias.
func (r *Registry) Get(name string) (tongs.Tool, bool) {
	entry, ok := r.Set().Lookup(name)
	return entry.Tool, ok
}

// Has reports whether there is a tool with the name or alias.
func (r *Registry) Has(name string) bool {
	_, ok := r.Set().Lookup(name)
	return ok
}

// List returns the tools that can be called, in the order of their registration.
func (r *Registry) List() []tongs.Tool { return r.Enabled(tongs.AllPermissions) }

// Enabled returns the tools that need no more than the granted permissions.
func (r *Registry) Enabled(granted tongs.Permissions) []tongs.Tool {
	var tools []tongs.Tool
	for _, entry := range r.Set().entries {
		if granted.Has(entry.slot.spec().Needs) {
			tools = append(tools, entry.Tool)
		}
	}
	return tools
}

// Definitions returns the specs of the tools that can be called. Of a lazy tool it is the stand-in until the tool
// was made.
func (r *Registry) Definitions() []*tongs.Spec {
	var specs []*tongs.Spec
	for _, entry := range r.Set().entries {
		specs = append(specs, entry.slot.spec())
	}
	return specs
}

func (r *Registry) current() *state {
	if s := r.state.Load(); s != nil {
		return s
	}
	r.state.CompareAndSwap(nil, &state{set: &Set{}, changed: make(chan struct{})})
	return r.state.Load()
}

// change makes the set of the slots that edit returns the current one. The slice that edit gets is its own.
func (r *Registry) change(edit func(all []*slot) []*slot) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	before := r.current().set
	all := edit(slices.Clone(before.all))
	if slices.Equal(all, before.all) {
		return nil
	}
	set, err := build(all, before.offered)
	if err != nil {
		return err
	}
	r.store(set)
	return nil
}

// store is called with writing held.
func (r *Registry) store(set *Set) {
	before := r.state.Swap(&state{set: set, changed: make(chan struct{})})
	if before != nil {
		close(before.changed)
	}
}
