package dialect

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schema lowers any schema below the top.
func (w *walk) schema(s *jsonschema.Schema, path string) (*jsonschema.Schema, *undo) {
	w.nodes++
	if s == nil || w.nodes > maxNodes || w.depth > maxDepth {
		return w.anything(s, path)
	}
	if s.Ref != "" {
		if slices.Contains(w.refs, s.Ref) {
			w.lose(path, "a form that contains itself is told as JSON of any form")
			return w.anything(s, path)
		}
		w.refs = append(w.refs, s.Ref)
		defer func() { w.refs = w.refs[:len(w.refs)-1] }()
	}
	w.depth++
	defer func() { w.depth-- }()
	flat, ok := w.flat(s, path)
	if !ok {
		return w.anything(s, path)
	}
	if branches := slices.Concat(flat.AnyOf, flat.OneOf); len(branches) > 0 {
		return w.union(flat, branches, path)
	}
	types := typesOf(flat)
	null := slices.Contains(types, "null")
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	switch len(types) {
	case 0:
		return w.anything(flat, path)
	case 1:
		out, u := w.typed(flat, types[0], path)
		if null {
			out = w.nullable(out)
		}
		return out, u
	}
	var each []*jsonschema.Schema
	for _, t := range types {
		one := *flat
		one.Type, one.Types, one.Description = t, nil, ""
		each = append(each, &one)
	}
	if null {
		each = append(each, &jsonschema.Schema{Type: "null"})
	}
	return w.union(&jsonschema.Schema{Description: flat.Description}, each, path)
}

// typesOf returns the types that the schema names, or that its other words imply.
func typesOf(s *jsonschema.Schema) []string {
	switch {
	case s.Type != "":
		return []string{s.Type}
	case len(s.Types) > 0:
		return slices.Clone(s.Types)
	case len(s.Properties) > 0 || s.AdditionalProperties != nil:
		return []string{"object"}
	case s.Items != nil || len(s.PrefixItems) > 0:
		return []string{"array"}
	case s.Pattern != "" || s.MinLength != nil || s.MaxLength != nil:
		return []string{"string"}
	}
	var types []string
	for _, v := range enumOf(s) {
		if t := typeOf(v); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

func enumOf(s *jsonschema.Schema) []any {
	if s.Const != nil {
		return []any{*s.Const}
	}
	return s.Enum
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case int, int64, json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// anything tells a value of any form: as JSON in a string where the dialect has no other way.
func (w *walk) anything(s *jsonschema.Schema, path string) (*jsonschema.Schema, *undo) {
	if w.dialect != Gemini {
		w.loose = true
		return &jsonschema.Schema{}, nil
	}
	out := &jsonschema.Schema{Type: "STRING", Description: "Any value, written as JSON."}
	if s != nil {
		out.Description = strings.TrimSpace(s.Description + " Written as JSON.")
	}
	w.lose(path, "a value of any form is told as JSON in a string")
	return out, &undo{parse: true}
}

func (w *walk) nullable(s *jsonschema.Schema) *jsonschema.Schema {
	out := *s
	switch {
	case w.dialect == Gemini:
		out.Extra = map[string]any{"nullable": true}
		for k, v := range s.Extra {
			out.Extra[k] = v
		}
	case len(out.AnyOf) > 0:
		if !slices.ContainsFunc(out.AnyOf, func(b *jsonschema.Schema) bool { return b.Type == "null" }) {
			out.AnyOf = append(slices.Clip(out.AnyOf), &jsonschema.Schema{Type: "null"})
		}
	case w.dialect == closed:
		out.Description = ""
		return &jsonschema.Schema{Description: s.Description, AnyOf: []*jsonschema.Schema{&out, {Type: "null"}}}
	case out.Type != "":
		out.Type, out.Types = "", []string{out.Type, "null"}
		if out.Enum != nil {
			out.Enum = append(slices.Clip(out.Enum), nil)
		}
	}
	return &out
}

// union lowers alternatives.
func (w *walk) union(s *jsonschema.Schema, branches []*jsonschema.Schema, path string) (*jsonschema.Schema, *undo) {
	if len(s.Properties) > 0 || len(s.Required) > 0 {
		w.lose(path, "conditions beside alternatives are not told")
	}
	out, null := &jsonschema.Schema{Description: s.Description}, false
	var u *undo
	for _, b := range branches {
		if b != nil && b.Type == "null" {
			null = true
			continue
		}
		one, back := w.schema(b, path)
		u = union(u, back)
		out.AnyOf = append(out.AnyOf, one)
	}
	if len(out.AnyOf) == 0 {
		return w.anything(s, path)
	}
	if len(out.AnyOf) == 1 {
		one := *out.AnyOf[0]
		if s.Description != "" {
			one.Description = s.Description
		}
		out = &one
	}
	if null {
		out = w.nullable(out)
	}
	return out, u
}

// typed lowers a schema of one type.
func (w *walk) typed(s *jsonschema.Schema, t, path string) (*jsonschema.Schema, *undo) {
	switch t {
	case "object":
		return w.object(s, path)
	case "array":
		return w.array(s, path)
	}
	out := &jsonschema.Schema{Type: w.typeName(t), Description: s.Description}
	n := &notes{}
	w.enum(out, s, n)
	switch t {
	case "string":
		w.text(out, s, n)
	case "number", "integer":
		w.number(out, s, t, n)
	}
	w.fallback(out, s, n)
	w.noted(out, n, path)
	if s.Not != nil || s.If != nil {
		w.lose(path, "conditions (not, if) are not told")
	}
	return out, nil
}

func (w *walk) typeName(t string) string {
	if w.dialect == Gemini {
		return strings.ToUpper(t)
	}
	return t
}

func isFalse(s *jsonschema.Schema) bool { return s != nil && s.Not != nil && isTrue(s.Not) }

func isTrue(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && (string(b) == "true" || string(b) == "{}")
}

// object lowers an object; one whose names are not known is told as JSON.
func (w *walk) object(s *jsonschema.Schema, path string) (*jsonschema.Schema, *undo) {
	open := s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) || len(s.PatternProperties) > 0
	if len(s.Properties) == 0 && path != "" && (w.dialect == Gemini || !isFalse(s.AdditionalProperties)) {
		return w.anything(s, path)
	}
	if open {
		if w.dialect != Gemini {
			w.loose = true
		}
		w.lose(path, "only the named properties are told")
	}
	out := &jsonschema.Schema{Type: w.typeName("object"), Description: s.Description, Properties: map[string]*jsonschema.Schema{}}
	u := &undo{names: map[string]string{}, props: map[string]*undo{}}
	renamed := w.names(s, path)
	for _, name := range orderOf(s) {
		wire := name
		if renamed[name] != "" {
			wire = renamed[name]
			u.names[wire] = name
		}
		prop, back := w.schema(s.Properties[name], join(path, name))
		required := slices.Contains(s.Required, name)
		if w.dialect == OpenAIStrict && !required {
			prop = w.nullable(prop)
			if !w.takesNull(s.Properties[name]) {
				back = union(back, &undo{absent: true})
			}
			required = true
		}
		if required {
			out.Required = append(out.Required, wire)
		}
		if back != nil {
			u.props[wire] = back
		}
		out.Properties[wire], out.PropertyOrder = prop, append(out.PropertyOrder, wire)
	}
	w.conditions(s, path)
	if w.dialect == Gemini {
		if len(out.PropertyOrder) > 1 {
			out.Extra = map[string]any{"propertyOrdering": out.PropertyOrder}
		}
	} else {
		out.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if len(u.names) == 0 && len(u.props) == 0 {
		u = nil
	}
	return out, u
}

// takesNull reports whether null is a value of the schema itself, so that it cannot stand for absence.
func (w *walk) takesNull(s *jsonschema.Schema) bool {
	flat, ok := w.flat(s, "")
	if !ok {
		return false
	}
	types := typesOf(flat)
	if slices.Contains(types, "null") || len(types) == 0 && len(flat.AnyOf)+len(flat.OneOf) == 0 {
		return true
	}
	return slices.ContainsFunc(slices.Concat(flat.AnyOf, flat.OneOf), func(b *jsonschema.Schema) bool { return b != nil && b.Type == "null" })
}

func (w *walk) conditions(s *jsonschema.Schema, path string) {
	if s.Not != nil || s.If != nil || len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0 ||
		s.PropertyNames != nil || s.MinProperties != nil || s.MaxProperties != nil {
		w.lose(path, "conditions between properties are not told")
	}
}

func (w *walk) array(s *jsonschema.Schema, path string) (*jsonschema.Schema, *undo) {
	out := &jsonschema.Schema{Type: w.typeName("array"), Description: s.Description}
	items := s.Items
	if len(s.PrefixItems)+len(s.ItemsArray) > 0 {
		w.lose(path, "what stands at each position is not told")
		items = &jsonschema.Schema{AnyOf: slices.Concat(s.PrefixItems, s.ItemsArray)}
	}
	var back *undo
	out.Items, back = w.schema(items, path+"[]")
	n := &notes{}
	switch w.dialect {
	case closed:
		n.bound("at least %d items", s.MinItems)
		n.bound("at most %d items", s.MaxItems)
	default:
		out.MinItems, out.MaxItems = s.MinItems, s.MaxItems
	}
	if s.UniqueItems {
		n.add("no item twice")
	}
	if s.Contains != nil {
		w.lose(path, "what the list must contain is not told")
	}
	w.fallback(out, s, n)
	w.noted(out, n, path)
	if back == nil {
		return out, nil
	}
	return out, &undo{items: back}
}

// notes are rules that the dialect cannot express; the description says them instead.
type notes struct {
	said []string
	// harmless are said too, and are no loss.
	harmless []string
}

func (n *notes) add(format string, args ...any) {
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

func (n *notes) bound(format string, v *int) {
	if v != nil {
		n.add(format, *v)
	}
}

func (n *notes) limit(words string, v *float64) {
	if v != nil {
		n.add("%s %v", words, *v)
	}
}

func (w *walk) noted(out *jsonschema.Schema, n *notes, path string) {
	if len(n.said) > 0 {
		w.lose(path, "said in words only: %s", strings.Join(n.said, ", "))
	}
	all := append(n.said, n.harmless...)
	if len(all) > 0 {
		out.Description = strings.TrimSpace(out.Description + " (" + strings.Join(all, ", ") + ")")
	}
}

func (w *walk) fallback(out, s *jsonschema.Schema, n *notes) {
	if len(s.Default) == 0 {
		return
	}
	if w.dialect == Gemini {
		out.Default = s.Default
		return
	}
	n.harmless = append(n.harmless, "default "+string(s.Default))
}

func (w *walk) enum(out, s *jsonschema.Schema, n *notes) {
	values := enumOf(s)
	if len(values) == 0 {
		return
	}
	if w.dialect != Gemini {
		out.Enum = values
		return
	}
	for _, v := range values {
		text, ok := v.(string)
		if !ok || text == "" {
			b, _ := json.Marshal(values)
			n.add("one of %s", b)
			out.Enum = nil
			return
		}
		out.Enum = append(out.Enum, v)
	}
	out.Format = "enum"
}

var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

func (w *walk) text(out, s *jsonschema.Schema, n *notes) {
	if w.dialect == Gemini {
		out.MinLength, out.MaxLength, out.Pattern = s.MinLength, s.MaxLength, s.Pattern
		if s.Format == "date-time" {
			out.Format = s.Format
		} else if s.Format != "" {
			n.add("format %s", s.Format)
		}
		return
	}
	n.bound("at least %d characters", s.MinLength)
	n.bound("at most %d characters", s.MaxLength)
	if slices.Contains(strictFormats, s.Format) {
		out.Format = s.Format
	} else if s.Format != "" {
		n.add("format %s", s.Format)
	}
	if w.dialect == OpenAIStrict {
		out.Pattern = s.Pattern
	} else if s.Pattern != "" {
		n.add("matches %s", s.Pattern)
	}
}

func (w *walk) number(out, s *jsonschema.Schema, t string, n *notes) {
	switch w.dialect {
	case OpenAIStrict:
		out.Minimum, out.Maximum, out.MultipleOf = s.Minimum, s.Maximum, s.MultipleOf
		out.ExclusiveMinimum, out.ExclusiveMaximum = s.ExclusiveMinimum, s.ExclusiveMaximum
		return
	case Gemini:
		out.Minimum, out.Maximum = s.Minimum, s.Maximum
		if t == "integer" && whole(s.ExclusiveMinimum) && s.Minimum == nil {
			v := *s.ExclusiveMinimum + 1
			out.Minimum = &v
		} else {
			n.limit("more than", s.ExclusiveMinimum)
		}
		if t == "integer" && whole(s.ExclusiveMaximum) && s.Maximum == nil {
			v := *s.ExclusiveMaximum - 1
			out.Maximum = &v
		} else {
			n.limit("less than", s.ExclusiveMaximum)
		}
	default:
		n.limit("at least", s.Minimum)
		n.limit("at most", s.Maximum)
		n.limit("more than", s.ExclusiveMinimum)
		n.limit("less than", s.ExclusiveMaximum)
	}
	n.limit("a multiple of", s.MultipleOf)
}

func whole(v *float64) bool { return v != nil && *v == math.Trunc(*v) }
