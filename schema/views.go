package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// target is a schema that a value is meant to be valid against. Several targets all apply.
type target = *jsonschema.Schema

// views returns the targets and what they refer to: all the schemas that certainly apply to a value.
func views(targets []target) []target {
	var all []target
	var add func(s target)
	add = func(s target) {
		if s == nil || slices.Contains(all, s) {
			return
		}
		all = append(all, s)
		add(s.Ref)
		for _, part := range s.AllOf {
			add(part)
		}
	}
	for _, s := range targets {
		add(s)
	}
	return all
}

// maxWork bounds how many pairs of a schema and a value one check may look at. Only alternatives that nest in
// alternatives come near it.
const maxWork = 1_000_000

var errTooMuchWork = errors.New("nested too deep for the alternatives of the schema")

// validate holds a value against a schema, if the work that is left is enough.
func (c *compiled) validate(s target, v any, work *int) error {
	if c.branching {
		if spend(s, v, work, 0); *work < 0 {
			return errTooMuchWork
		}
	}
	return s.Validate(v)
}

func (c *compiled) valid(s target, v any, work *int) bool { return c.validate(s, v, work) == nil }

// maxSchemas bounds how many schemas one inside the other a value is held against; beyond are those that refer to
// themselves without end.
const maxSchemas = 10 * maxOutputDepth

// spend takes from work what validating v costs: one for each schema that it or a part of it is held against. It stops
// when nothing is left.
func spend(s target, v any, work *int, depth int) {
	*work--
	if depth > maxSchemas {
		*work = -1
	}
	if s == nil || *work < 0 || s.Types != nil && !s.Types.IsEmpty() && !isKind(v, *s.Types) {
		return
	}
	for _, part := range slices.Concat([]target{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
		if part != nil {
			spend(part, v, work, depth+1)
		}
	}
	all := []target{s}
	switch v := v.(type) {
	case map[string]any:
		for _, dependent := range s.DependentSchemas {
			spend(dependent, v, work, depth+1)
		}
		for name, value := range v {
			for _, property := range append(propertyTargets(all, name), s.UnevaluatedProperties) {
				spend(property, value, work, depth+1)
			}
		}
	case []any:
		for i, item := range v {
			for _, part := range append(itemTargets(all, i), s.Contains, s.UnevaluatedItems) {
				spend(part, item, work, depth+1)
			}
		}
	}
}

// jsonType is a set of JSON types.
type jsonType = jsonschema.Types

func kindOf(name string) (k jsonType) {
	k.Add(name)
	return k
}

// kindOfValue returns the type of a parsed value.
func kindOfValue(v any) jsonType {
	switch v.(type) {
	case nil:
		return kindOf("null")
	case bool:
		return kindOf("boolean")
	case string:
		return kindOf("string")
	case []any:
		return kindOf("array")
	case map[string]any:
		return kindOf("object")
	default:
		return kindOf("number")
	}
}

// maxUnions bounds how many alternatives are looked through.
const maxUnions = 1000

// allows reports whether values of the type can be valid, by the types, enums and alternatives that the views name.
// A type that nothing rules out is allowed.
func allows(all []target, k jsonType) bool {
	left := maxUnions
	return allowed(all, k, &left)
}

func allowed(all []target, k jsonType, left *int) bool {
	*left--
	if *left < 0 {
		return true
	}
	for _, s := range all {
		if s.Bool != nil && !*s.Bool {
			return false
		}
		if s.Types != nil && !s.Types.IsEmpty() && *s.Types&k == 0 {
			return false
		}
		if s.Enum != nil && !slices.ContainsFunc(s.Enum.Values, func(v any) bool { return isKind(v, k) }) {
			return false
		}
		if s.Const != nil && !isKind(*s.Const, k) {
			return false
		}
		for _, branches := range [][]target{s.AnyOf, s.OneOf} {
			if len(branches) > 0 && !slices.ContainsFunc(branches, func(b target) bool {
				return allowed(views([]target{b}), k, left)
			}) {
				return false
			}
		}
	}
	return true
}

// isKind reports whether a value has one of the types; a number may stand for an integer.
func isKind(v any, k jsonType) bool {
	have := kindOfValue(v)
	return have&k != 0 || have == kindOf("number") && k&kindOf("integer") != 0
}

// properties returns the declared properties of an object, with the schemas of each.
func properties(all []target) map[string][]target {
	declared := map[string][]target{}
	for _, s := range all {
		for name, property := range s.Properties {
			declared[name] = append(declared[name], property)
		}
	}
	return declared
}

// propertyTargets returns the schemas that the named property is held against.
func propertyTargets(all []target, name string) []target {
	var found []target
	for _, s := range all {
		known := false
		if property := s.Properties[name]; property != nil {
			found, known = append(found, property), true
		}
		for pattern, property := range s.PatternProperties {
			if pattern.MatchString(name) {
				found, known = append(found, property), true
			}
		}
		if extra, ok := s.AdditionalProperties.(target); ok && !known {
			found = append(found, extra)
		}
	}
	return found
}

// itemTargets returns the schemas that the item at index i is held against.
func itemTargets(all []target, i int) []target {
	var found []target
	for _, s := range all {
		prefix, rest := s.PrefixItems, s.Items2020
		switch items := s.Items.(type) { // drafts before 2020-12
		case target:
			rest = items
		case []target:
			prefix = items
		}
		if i < len(prefix) {
			found = append(found, prefix[i])
		} else if rest != nil {
			found = append(found, rest)
		}
	}
	return found
}

// closed reports whether an object allows no properties beyond the declared ones.
func closed(all []target) bool {
	return slices.ContainsFunc(all, func(s target) bool {
		extra, ok := s.AdditionalProperties.(target)
		return s.AdditionalProperties == false || ok && extra.Bool != nil && !*extra.Bool
	})
}

// known reports whether the name is a declared property or matches a pattern for them.
func known(all []target, name string) bool {
	return slices.ContainsFunc(all, func(s target) bool {
		if s.Properties[name] != nil {
			return true
		}
		for pattern := range s.PatternProperties {
			if pattern.MatchString(name) {
				return true
			}
		}
		return false
	})
}

func required(all []target, name string) bool {
	return slices.ContainsFunc(all, func(s target) bool { return slices.Contains(s.Required, name) })
}

// maxFill bounds how deep defaults are filled in, for schemas whose defaults would go on for ever.
const maxFill = 32

// fill returns the value with the defaults of absent properties, at any depth. It changes nothing in place.
func fill(targets []target, v any, depth int) (full any, changed bool) {
	if depth > maxFill {
		return v, false
	}
	switch v := v.(type) {
	case map[string]any:
		return fillObject(views(targets), v, depth)
	case []any:
		all := views(targets)
		out := v
		for i, item := range v {
			full, ok := fill(itemTargets(all, i), item, depth+1)
			if !ok {
				continue
			}
			if !changed {
				out, changed = slices.Clone(v), true
			}
			out[i] = full
		}
		return out, changed
	}
	return v, false
}

func fillObject(all []target, object map[string]any, depth int) (full map[string]any, changed bool) {
	full = object
	set := func(name string, v any) {
		if !changed {
			full, changed = maps.Clone(object), true
		}
		full[name] = v
	}
	if depth < maxFill {
		for _, s := range all {
			for name, property := range s.Properties {
				if _, present := full[name]; !present && property.Default != nil {
					set(name, *property.Default)
				}
			}
		}
	}
	for name, v := range full {
		switch v.(type) {
		case map[string]any, []any:
			if deeper, ok := fill(propertyTargets(all, name), v, depth+1); ok {
				set(name, deeper)
			}
		}
	}
	return full, changed
}

// ambiguous returns the properties beside a declared one that differ from it in case only: readers disagree about
// which of the two counts.
func ambiguous(targets []target, v any, at string, depth int) (fields []Field) {
	if depth > maxDepth {
		return nil
	}
	all := views(targets)
	switch v := v.(type) {
	case map[string]any:
		declared := properties(all)
		for _, name := range sortedKeys(v) {
			if declared[name] == nil {
				for _, other := range sortedKeys(declared) {
					if _, both := v[other]; both && strings.EqualFold(name, other) {
						fields = append(fields, Field{
							Path: join(at, name), Value: show(v[name]),
							Message: join(at, name) + ": differs from " + other + " in case only; give one of them",
						})
					}
				}
			}
			fields = append(fields, ambiguous(propertyTargets(all, name), v[name], join(at, name), depth+1)...)
		}
	case []any:
		for i, item := range v {
			fields = append(fields, ambiguous(itemTargets(all, i), item, index(at, i), depth+1)...)
		}
	}
	return fields
}

// wholeNumber writes a number as an integer, "5" for 5.0 and 5e0, and reports whether it is one.
func wholeNumber(n json.Number) (json.Number, bool) {
	if !strings.ContainsAny(string(n), ".eE") {
		return n, true
	}
	rat, ok := new(big.Rat).SetString(string(n))
	if !ok || !rat.IsInt() {
		return n, false
	}
	return json.Number(rat.Num().String()), true
}
