package registry

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
)

// Catalog holds the tools of all providers of an engine, as the current set. Its zero value is empty. It is safe for
// concurrent use; readers never wait.
type Catalog struct {
	writing sync.Mutex
	state   atomic.Pointer[state]
}

type state struct {
	set     *Set
	changed chan struct{} // closed when this state is no longer the current one
}

// Offer is the tools of one provider.
type Offer struct {
	// Kind is that of the source of every tool. A tool that claims another is left out: what a tool may do depends on it.
	Kind tongs.SourceKind
	// From is the provider, which [Entry.From] names; it is comparable.
	From  any
	Tools []tongs.Tool
	// Reviewed reports whether a person approved a source of the provider: only then may its tools take the names of
	// built-in ones. Nil means that nobody did.
	Reviewed func(tongs.Source) bool
}

// ErrUnapproved is in the fault of a tool that would take the name of a built-in one, and that nobody approved.
var ErrUnapproved = errors.New("it is not approved")

// Fault is a tool that is not offered, and why.
type Fault struct {
	Kind tongs.SourceKind
	// Name is that of the tool, Source that of the source it is from; both are empty for something that is no tool.
	Name, Source string
	Err          error
}

func (f Fault) String() string {
	if f.Name == "" {
		return fmt.Sprintf("a %s tool is not offered: %v", f.Kind, f.Err)
	}
	if f.Source == "" || f.Source == f.Name {
		return fmt.Sprintf("the %s tool %s is not offered: %v", f.Kind, f.Name, f.Err)
	}
	return fmt.Sprintf("the tool %s of the %s %s is not offered: %v", f.Name, f.Kind, f.Source, f.Err)
}

// Set returns the current set.
func (c *Catalog) Set() *Set { return c.current().set }

// Changed returns a channel that is closed at the next change. Take it before reading what may change.
func (c *Catalog) Changed() <-chan struct{} { return c.current().changed }

// Take makes the tools of the offers the current set. A name belongs to the first that has it: built-in tools, then the
// offers in their order. A tool of a later one is left out, and is a fault, unless it may shadow a built-in. So the offers
// alone decide what a name means, and not when they came.
func (c *Catalog) Take(offers ...Offer) {
	builtin := builtInWords(offers)
	c.writing.Lock()
	defer c.writing.Unlock()
	before := c.current().set
	type key struct {
		from any
		tool tongs.Tool
	}
	known := make(map[key]*slot, len(before.offered))
	for _, s := range before.offered {
		if hasIdentity(s.tool) {
			known[key{s.from, s.tool}] = s
		}
	}
	var slots []*slot
	for _, o := range offers {
		for _, tool := range o.Tools {
			s := &slot{tool: tool, from: o.From, kind: o.Kind, reviewed: o.reviewed(tool, builtin)}
			if hasIdentity(tool) {
				if same := known[key{o.From, tool}]; same != nil && same.kind == o.Kind && same.reviewed == s.reviewed {
					s = same
				}
				delete(known, key{o.From, tool}) // a tool that is offered twice has two places
			}
			slots = append(slots, s)
		}
	}
	if !slices.Equal(slots, before.offered) {
		c.store(build(slots))
	}
}

// builtInWords are the names and aliases of the built-in tools among the offers.
func builtInWords(offers []Offer) map[string]bool {
	all := map[string]bool{}
	for _, o := range offers {
		if !SameKind(o.Kind, tongs.SourceBuiltin) {
			continue
		}
		for _, tool := range o.Tools {
			if spec, err := specOf(tool); err == nil {
				for _, word := range words(spec) {
					all[word] = true
				}
			}
		}
	}
	return all
}

// reviewed reports whether a tool that wants a name of a built-in one was approved. Of others it is not asked.
func (o Offer) reviewed(tool tongs.Tool, builtin map[string]bool) bool {
	if SameKind(o.Kind, tongs.SourceBuiltin) || o.Reviewed == nil {
		return false
	}
	spec, err := specOf(tool)
	wants := err == nil && slices.ContainsFunc(words(spec), func(word string) bool { return builtin[word] })
	return wants && o.Reviewed(spec.Source)
}

func hasIdentity(tool tongs.Tool) bool { return tool != nil && reflect.TypeOf(tool).Comparable() }

func (c *Catalog) current() *state {
	if s := c.state.Load(); s != nil {
		return s
	}
	c.state.CompareAndSwap(nil, &state{set: &Set{}, changed: make(chan struct{})})
	return c.state.Load()
}

// store is called with writing held.
func (c *Catalog) store(set *Set) {
	before := c.state.Swap(&state{set: set, changed: make(chan struct{})})
	if before != nil {
		close(before.changed)
	}
}

// SameKind reports whether two kinds of source are one: an empty one is that of built-in tools.
func SameKind(a, b tongs.SourceKind) bool {
	return a == b || tongs.Source{Kind: a}.BuiltIn() && tongs.Source{Kind: b}.BuiltIn()
}

// specOf returns the spec of a tool. That one has none, or panics, is an error.
func specOf(tool tongs.Tool) (spec *tongs.Spec, err error) {
	if tool == nil {
		return nil, errors.New("a tool is nil")
	}
	defer func() {
		if p := recover(); p != nil {
			spec, err = nil, fmt.Errorf("a tool cannot say what it is: panic: %v", p)
		}
	}()
	if spec = tool.Spec(); spec == nil {
		return nil, errors.New("a tool has no spec")
	}
	return spec, nil
}

func faultOf(s *slot, err error) Fault {
	f := Fault{Kind: s.kind, Err: err}
	if spec, problem := specOf(s.tool); problem == nil {
		f.Name, f.Source = spec.Name, spec.Source.Name
	}
	return f
}
