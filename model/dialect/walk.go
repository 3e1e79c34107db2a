package dialect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schemas beyond these are told as values of any form: references that multiply must not make a request of megabytes.
const (
	maxNodes = 3000
	maxDepth = 24
)

// walk lowers one schema.
type walk struct {
	dialect Dialect
	root    *jsonschema.Schema
	tool    string
	lost    []string
	nodes   int
	depth   int
	refs    []string
	// loose says that something cannot be said in the dialect, not even in other words.
	loose bool
}

func (w *walk) lose(path, format string, args ...any) {
	where := w.tool
	if path != "" {
		where += ": " + path
	}
	line := where + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(w.lost, line) {
		w.lost = append(w.lost, line)
	}
}

// top lowers the schema of a tool's arguments or of an output.
func (w *walk) top(s *jsonschema.Schema) (out *jsonschema.Schema, u *undo, strict bool) {
	if s == nil {
		s = &jsonschema.Schema{}
	}
	flat := w.plainObject(s)
	if w.dialect == Anthropic || w.dialect == OpenAI {
		out, u = w.whole(flat)
		return out, u, false
	}
	if w.dialect == Gemini && len(flat.Properties) == 0 {
		return nil, nil, false
	}
	if out, u = w.object(flat, ""); !w.loose {
		return out, u, w.dialect != Gemini
	}
	w.lose("", "it has values of any form, which %s cannot check; it is told without being enforced", w.dialect)
	loose := &walk{dialect: OpenAI, root: w.root, tool: w.tool}
	out, u = loose.whole(flat)
	return out, u, false
}

// plainObject returns the schema as an object without alternatives at its top, which no provider accepts there.
func (w *walk) plainObject(s *jsonschema.Schema) *jsonschema.Schema {
	flat, ok := w.flat(s, "")
	if !ok {
		flat = &jsonschema.Schema{}
	}
	out := *flat
	out.Type, out.Types = "object", nil
	branches := slices.Concat(out.AnyOf, out.OneOf)
	out.AnyOf, out.OneOf = nil, nil
	if len(branches) > 0 {
		w.lose("", "alternatives between whole sets of arguments are told as optional ones")
	}
	for _, b := range branches {
		if b, ok := w.flat(b, ""); ok {
			out.Properties, out.PropertyOrder = joinProps(&out, b)
		}
	}
	if out.Not != nil || out.If != nil || out.Enum != nil || out.Const != nil {
		w.lose("", "conditions between arguments are not told")
		out.Not, out.If, out.Then, out.Else, out.Enum, out.Const = nil, nil, nil, nil, nil, nil
	}
	return &out
}

func joinProps(a, b *jsonschema.Schema) (map[string]*jsonschema.Schema, []string) {
	props, order := map[string]*jsonschema.Schema{}, slices.Clone(orderOf(a))
	for name, p := range a.Properties {
		props[name] = p
	}
	for _, name := range orderOf(b) {
		if _, ok := props[name]; !ok {
			props[name], order = b.Properties[name], append(order, name)
		}
	}
	return props, order
}

// orderOf returns the names of the properties as they should be told.
func orderOf(s *jsonschema.Schema) []string {
	names := make([]string, 0, len(s.Properties))
	for _, name := range s.PropertyOrder {
		if s.Properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	rest := len(names)
	for name := range s.Properties {
		if !slices.Contains(names[:rest], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[rest:])
	return names
}

// whole tells a schema as it is, but for names of properties that are not accepted.
func (w *walk) whole(s *jsonschema.Schema) (*jsonschema.Schema, *undo) {
	out := *s
	out.Schema, out.ID = "", ""
	if w.root != nil {
		out.Defs, out.Definitions = w.root.Defs, w.root.Definitions
	}
	if out.Properties == nil {
		out.Properties = map[string]*jsonschema.Schema{}
	}
	names := w.names(s, "")
	if len(names) == 0 {
		return &out, nil
	}
	u := &undo{names: map[string]string{}}
	out.Properties, out.PropertyOrder, out.Required = map[string]*jsonschema.Schema{}, nil, nil
	for _, name := range orderOf(s) {
		wire := name
		if names[name] != "" {
			wire = names[name]
			u.names[wire] = name
		}
		out.Properties[wire], out.PropertyOrder = s.Properties[name], append(out.PropertyOrder, wire)
		if slices.Contains(s.Required, name) {
			out.Required = append(out.Required, wire)
		}
	}
	return &out, u
}

var (
	propName       = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	propNameGemini = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
)

// names returns other names for the properties whose own are not accepted.
func (w *walk) names(s *jsonschema.Schema, path string) map[string]string {
	accepted := propName
	if w.dialect == Gemini {
		accepted = propNameGemini
	}
	var names map[string]string
	for _, name := range orderOf(s) {
		if accepted.MatchString(name) {
			continue
		}
		if names == nil {
			names = map[string]string{}
		}
		wire := hashed((&Set{dialect: Gemini}).clean(strings.ReplaceAll(name, "-", "_")), name)
		names[name] = strings.ReplaceAll(wire, "-", "_")
		w.lose(join(path, name), "the name is told as %s", names[name])
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// flat follows references and merges allOf. It reports false where a reference leads nowhere or round in a circle.
func (w *walk) flat(s *jsonschema.Schema, path string) (*jsonschema.Schema, bool) {
	if s == nil {
		return nil, false
	}
	if w.dialect == Anthropic || w.dialect == OpenAI {
		if s.Ref == "" && len(s.AllOf) == 0 {
			return s, true
		}
	}
	for hops := 0; s.Ref != ""; hops++ {
		target := w.target(s.Ref)
		if target == nil || hops > maxDepth {
			w.lose(path, "the reference %s is not told", s.Ref)
			return nil, false
		}
		merged := *target
		if s.Description != "" {
			merged.Description = s.Description
		}
		s = &merged
	}
	if len(s.AllOf) == 0 {
		return s, true
	}
	out := *s
	out.AllOf = nil
	for _, part := range s.AllOf {
		flat, ok := w.part(part, path)
		if !ok {
			continue
		}
		w.merge(&out, flat, path)
	}
	return &out, true
}

// part is a member of allOf, flattened; members that contain themselves end the descent.
func (w *walk) part(s *jsonschema.Schema, path string) (*jsonschema.Schema, bool) {
	if w.depth > maxDepth {
		w.lose(path, "parts that contain themselves are not told")
		return nil, false
	}
	w.depth++
	defer func() { w.depth-- }()
	return w.flat(s, path)
}

// target returns what a reference within the schema means.
func (w *walk) target(ref string) *jsonschema.Schema {
	if ref == "#" {
		return w.root
	}
	if w.root == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return w.root.Defs[unescape(name)]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return w.root.Definitions[unescape(name)]
	}
	return nil
}

func unescape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
}

// merge adds what a member of allOf says.
func (w *walk) merge(out, part *jsonschema.Schema, path string) {
	out.Properties, out.PropertyOrder = joinProps(out, part)
	for _, name := range part.Required {
		if !slices.Contains(out.Required, name) {
			out.Required = append(slices.Clip(out.Required), name)
		}
	}
	if out.Type == "" && out.Types == nil {
		out.Type, out.Types = part.Type, part.Types
	}
	if out.Description == "" {
		out.Description = part.Description
	}
	if out.Enum == nil {
		out.Enum = part.Enum
	}
	if out.Items == nil {
		out.Items = part.Items
	}
	if len(out.AnyOf) == 0 && len(out.OneOf) == 0 {
		out.AnyOf, out.OneOf = part.AnyOf, part.OneOf
	} else if len(part.AnyOf)+len(part.OneOf) > 0 {
		w.lose(path, "a second set of alternatives is not told")
	}
	if out.Pattern == "" {
		out.Pattern = part.Pattern
	}
	if out.Format == "" {
		out.Format = part.Format
	}
	first(&out.Minimum, part.Minimum)
	first(&out.Maximum, part.Maximum)
	first(&out.MinLength, part.MinLength)
	first(&out.MaxLength, part.MaxLength)
	first(&out.MinItems, part.MinItems)
	first(&out.MaxItems, part.MaxItems)
}

func first[T any](to **T, from *T) {
	if *to == nil {
		*to = from
	}
}
