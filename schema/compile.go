package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"weak"

	source "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is a schema that can be validated against.
type compiled struct {
	root  *jsonschema.Schema
	quick *quick
	// at finds a schema by its location.
	at map[string]*jsonschema.Schema
	// branching means that values are held against alternatives, which multiply when they nest.
	branching bool
	// open means that some object has properties and allows others.
	open bool
	// defaults means that some property has a default; risky that adding one could make a valid value invalid.
	defaults, risky bool
}

// cache keeps what was compiled for as long as the schema it was compiled from is in use.
type cache struct {
	entries sync.Map // weak.Pointer[source.Schema] → *entry
}

type entry struct {
	once sync.Once
	c    *compiled
	err  error
}

func (c *cache) get(s *source.Schema) (*compiled, error) {
	key := weak.Make(s)
	found, ok := c.entries.Load(key)
	if !ok {
		var loaded bool
		found, loaded = c.entries.LoadOrStore(key, &entry{})
		if !loaded {
			runtime.AddCleanup(s, func(key weak.Pointer[source.Schema]) { c.entries.Delete(key) }, key)
		}
	}
	e := found.(*entry)
	e.once.Do(func() { e.c, e.err = compile(s) })
	return e.c, e.err
}

// noLoader refuses references that leave the schema: nothing is read from files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a schema can refer to itself only", url)
}

const location = "tongs:schema"

func compile(s *source.Schema) (*compiled, error) {
	if s == nil {
		s = &source.Schema{Type: "object"}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	doc, err := parse(text, maxDepth)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(location, doc.value); err != nil {
		return nil, err
	}
	root, err := compiler.Compile(location)
	if err != nil {
		return nil, err
	}
	c := &compiled{root: root, at: map[string]*jsonschema.Schema{}}
	c.index(root)
	c.tune(root, map[*jsonschema.Schema]bool{})
	c.quick = quickOf(root, map[target]*quick{})
	return c, nil
}

// index records every schema below s by its location.
func (c *compiled) index(s *jsonschema.Schema) {
	if s == nil || c.at[s.Location] != nil {
		return
	}
	c.at[s.Location] = s
	c.risky = c.risky || s.Not != nil || s.If != nil || s.AnyOf != nil || s.OneOf != nil || s.MaxProperties != nil ||
		s.DependentRequired != nil || s.DependentSchemas != nil || s.Dependencies != nil || s.PropertyNames != nil ||
		s.UnevaluatedProperties != nil || s.UniqueItems || s.Const != nil || s.Contains != nil
	c.branching = c.branching || s.AnyOf != nil || s.OneOf != nil || s.Not != nil || s.If != nil ||
		s.Contains != nil || s.DependentSchemas != nil || len(s.AllOf) > 1
	c.open = c.open || len(s.Properties) > 0 && s.AdditionalProperties != false
	for child := range children(s) {
		c.index(child)
	}
	for _, child := range []*jsonschema.Schema{
		s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.Contains, s.UnevaluatedItems, s.UnevaluatedProperties,
	} {
		c.index(child)
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		c.index(branch)
	}
	for _, child := range s.DependentSchemas {
		c.index(child)
	}
}

// children yields the schemas that a value valid against s, or a part of it, is always held against.
func children(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		all := slices.Concat(s.AllOf, s.PrefixItems, []*jsonschema.Schema{s.Ref, s.Items2020})
		if extra, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			all = append(all, extra)
		}
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			all = append(all, items)
		case []*jsonschema.Schema:
			all = append(all, items...)
		}
		for _, child := range s.Properties {
			all = append(all, child)
		}
		for _, child := range s.PatternProperties {
			all = append(all, child)
		}
		for _, child := range all {
			if child != nil && !yield(child) {
				return
			}
		}
	}
}

// tune makes defaults usable: one that its own schema refuses is dropped, and a property that has one is not missing
// when it is absent.
func (c *compiled) tune(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	for name, property := range s.Properties {
		if property.Default == nil {
			continue
		}
		if work := maxWork; !c.valid(property, *property.Default, &work) {
			property.Default = nil
			continue
		}
		c.defaults = true
		s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
	}
	for child := range children(s) {
		c.tune(child, seen)
	}
}
