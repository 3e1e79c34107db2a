package registry

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tongs-ai/tongs"
)

// Offer is the tools of one provider.
type Offer struct {
	// Kind is that of the source of every tool. A tool that claims another is left out: what a tool may do depends on it.
	Kind tongs.SourceKind
	// From is the provider, which [Entry.From] names; it is comparable.
	From  any
	Tools []tongs.Tool
}

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

// Take makes the tools of the offers those that are in the registry beside the registered ones, in place of what was
// taken before. A name belongs to the first that has it: registered tools, then the offers in their order. A tool of a
// later one is left out, and is a fault, unless it may shadow a built-in. So the offers alone decide what a name means,
// and not when they came.
func (r *Registry) Take(offers ...Offer) {
	r.writing.Lock()
	defer r.writing.Unlock()
	before := r.current().set
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
			s := &slot{tool: tool, from: o.From, kind: o.Kind}
			if hasIdentity(tool) {
				if same := known[key{o.From, tool}]; same != nil && same.kind == o.Kind {
					s = same
				}
				delete(known, key{o.From, tool}) // a tool that is offered twice has two places
			}
			slots = append(slots, s)
		}
	}
	if slices.Equal(slots, before.offered) {
		return
	}
	set, err := build(before.all, slots)
	if err != nil {
		return // not reached: the registered tools are together already, and offered ones cause faults
	}
	r.store(set)
}

func hasIdentity(tool tongs.Tool) bool { return tool != nil && reflect.TypeOf(tool).Comparable() }

// Faults are the tools that were taken and are not offered.
func (s *Set) Faults() []Fault {
	if s == nil {
		return nil
	}
	return slices.Clone(s.faults)
}

// admit adds an offered tool, or returns why it cannot be offered.
func (b *builder) admit(s *slot) error {
	spec, err := specOf(s.tool)
	if err != nil {
		return err
	}
	if !SameKind(spec.Source.Kind, s.kind) {
		return fmt.Errorf("it claims to be from a source of the kind %q", spec.Source.Kind)
	}
	if !spec.Source.BuiltIn() && spec.Source.Digest == "" {
		for _, word := range words(spec) {
			if _, ok := b.builtin[word]; ok {
				return fmt.Errorf("it does not take the place of the built-in tool %s until it can be used and is approved", word)
			}
		}
	}
	if err := b.shadow(s, false); err != nil {
		return err
	}
	if err := b.claim(s); err != nil {
		return err
	}
	return b.shadow(s, true)
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
