// Package registry holds the tools that can be called. A [Registry] is the provider of a program's own tools; a
// [Catalog] has those of all providers of an engine, as an immutable [Set] that is swapped whole when tools change.
package registry

import (
	"context"
	"slices"
	"sync"

	"github.com/tongs-ai/tongs"
)

// Registry holds the tools of the program itself, the built-in ones. It is the provider of those of one engine, and may
// change while the engine runs. Its zero value is empty. It is safe for concurrent use.
type Registry struct {
	mu    sync.Mutex
	tools []tongs.Tool
	set   *Set
	// fresh means that Tools would return others than when Refresh last reported so.
	fresh bool
}

// New returns a registry of the tools.
func New(tools ...tongs.Tool) (*Registry, error) {
	r := &Registry{}
	return r, r.RegisterAll(tools...)
}

// Register adds a tool. A name or alias that is taken is an error.
func (r *Registry) Register(tool tongs.Tool) error { return r.RegisterAll(tool) }

// RegisterAll adds all of the tools or none.
func (r *Registry) RegisterAll(tools ...tongs.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.use(append(slices.Clone(r.tools), tools...))
}

// Replace puts the tool in the place of the one of the same name, or adds it where there is none.
func (r *Registry) Replace(tool tongs.Tool) error {
	spec, err := specOf(tool)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.tools)
	if i := r.index(spec.Name); i >= 0 {
		all[i] = tool
	} else {
		all = append(all, tool)
	}
	return r.use(all)
}

// Unregister removes the tool that has the name and reports whether there was one.
func (r *Registry) Unregister(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.index(name)
	return i >= 0 && r.use(slices.Delete(slices.Clone(r.tools), i, i+1)) == nil
}

func (r *Registry) index(name string) int {
	return slices.IndexFunc(r.tools, func(t tongs.Tool) bool { return t.Spec().Name == name })
}

// use makes the tools those of the registry, if they can be together. It is called with mu held.
func (r *Registry) use(all []tongs.Tool) error {
	slots := make([]*slot, len(all))
	for i, tool := range all {
		slots[i] = &slot{tool: tool, kind: tongs.SourceBuiltin}
	}
	set := build(slots)
	if len(set.faults) > 0 {
		return set.faults[0].Err
	}
	r.tools, r.set, r.fresh = all, set, true
	return nil
}

// Set returns the tools as a set of their own.
func (r *Registry) Set() *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set
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

// List returns the tools in the order of their registration.
func (r *Registry) List() []tongs.Tool { return r.Enabled(tongs.AllPermissions) }

// Enabled returns the tools that need no more than the granted permissions.
func (r *Registry) Enabled(granted tongs.Permissions) (tools []tongs.Tool) {
	for _, tool := range r.Tools() {
		if granted.Has(tool.Spec().Needs) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// Definitions returns the specs of the tools, of a lazy one that of its stand-in.
func (r *Registry) Definitions() []*tongs.Spec { return r.Set().Definitions() }

// Tools implements engine.Provider.
func (r *Registry) Tools() []tongs.Tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tools)
}

// Refresh implements engine.Provider.
func (r *Registry) Refresh(context.Context) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, r.fresh = r.fresh, false
	return changed
}

// Reviewed implements engine.Provider. Nobody reviews built-in tools: who runs the program trusts them as they do the program.
func (r *Registry) Reviewed(tongs.Source) bool { return false }

// Close implements engine.Provider.
func (r *Registry) Close() error { return nil }
