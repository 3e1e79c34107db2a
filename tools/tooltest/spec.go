package tooltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/schema"
)

// spec checks that the spec is complete and usable.
func (s *suite) spec() {
	s.Helper()
	spec := s.tool.Spec()
	if spec == nil {
		s.Fatalf("the tool has no spec")
	}
	if s.tool.Spec() != spec {
		s.Errorf("Spec returns another value each time")
	}
	if _, err := registry.New(s.tool); err != nil {
		s.Errorf("it cannot be registered: %v", err)
	}
	if err := schema.CheckDescription(spec); err != nil {
		s.Errorf("%v", err)
	}
	var validator schema.Validator
	if err := validator.Compile(spec); err != nil {
		s.Errorf("%v", err)
	}
	if spec.Input == nil || spec.Input.Type != "object" {
		s.Fatalf("the input schema is not of type object")
	}
	for alias, property := range spec.ArgAliases {
		in := spec.Input
		way := strings.Split(alias, ".")
		for _, name := range way[:len(way)-1] {
			if in = in.Properties[name]; in != nil && in.Items != nil {
				in = in.Items
			}
			if in == nil {
				s.Fatalf("the argument alias %q leads nowhere", alias)
			}
		}
		if in.Properties[property] == nil {
			s.Errorf("the argument alias %q means %q, which is no property", alias, property)
		}
	}
	if spec.Hints.ReadOnly && (spec.Hints.Destructive || spec.Needs.Has(tongs.Write)) {
		s.Errorf("it says that it is read-only, and needs to write or is destructive")
	}
}

// portable checks that every provider can read the schemas.
func (s *suite) portable() {
	s.Helper()
	spec := s.tool.Spec()
	for what, sch := range map[string]*jsonschema.Schema{"input": spec.Input, "output": spec.Output} {
		if sch == nil {
			continue
		}
		text, err := json.Marshal(sch)
		if err != nil {
			s.Errorf("the %s schema cannot be encoded: %v", what, err)
			continue
		}
		for _, trouble := range notPortable(what, decoded(text), what == "input") {
			s.Errorf("%s", trouble)
		}
		var again jsonschema.Schema
		if err := json.Unmarshal(text, &again); err != nil {
			s.Errorf("the %s schema cannot be read back: %v", what, err)
			continue
		}
		if back, err := json.Marshal(&again); err != nil || !sameJSON(text, back) {
			s.Errorf("the %s schema is not the same after a round trip: %s, then %s", what, text, back)
		}
	}
	for _, format := range specs.Formats() {
		value, err := specs.Format(format, []*tongs.Spec{spec})
		if err != nil {
			s.Errorf("format %s: %v", format, err)
			continue
		}
		first, err := json.Marshal(value)
		if err != nil {
			s.Errorf("format %s: %v", format, err)
			continue
		}
		if value, err = specs.Format(format, []*tongs.Spec{spec}); err != nil {
			s.Errorf("format %s: %v", format, err)
		}
		if second, err := json.Marshal(value); err != nil || !bytes.Equal(first, second) {
			s.Errorf("format %s differs from one time to the next", format)
		}
	}
}

func decoded(text []byte) any {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

func sameJSON(a, b []byte) bool {
	x, _ := json.Marshal(decoded(a))
	y, _ := json.Marshal(decoded(b))
	return bytes.Equal(x, y)
}

// The keywords of JSON Schema that hold schemas.
var (
	schemaKeywords = []string{
		"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema", "additionalItems",
	}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// notPortable says what some provider cannot read in the schema v, which stands at a path.
func notPortable(at string, v any, described bool) (troubles []string) {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return []string{fmt.Sprintf("%s: the schema is %v; say what it is instead", at, v)}
	}
	if types, several := object["type"].([]any); several {
		troubles = append(troubles, fmt.Sprintf("%s: it has several types, %v; give one", at, types))
	}
	if object["$schema"] != nil {
		troubles = append(troubles, at+": it names a $schema; leave that out")
	}
	for _, key := range sortedKeys(object) {
		below := at + "." + key
		switch inner := object[key]; {
		case slices.Contains(schemaKeywords, key):
			if inner != false {
				troubles = append(troubles, notPortable(below, inner, described)...)
			}
		case slices.Contains(schemaLists, key):
			list, _ := inner.([]any)
			for i, item := range list {
				troubles = append(troubles, notPortable(fmt.Sprintf("%s[%d]", below, i), item, described)...)
			}
		case slices.Contains(schemaMaps, key):
			schemas, _ := inner.(map[string]any)
			for _, name := range sortedKeys(schemas) {
				if described && key == "properties" && !hasDescription(schemas[name]) {
					troubles = append(troubles, fmt.Sprintf("%s.%s: it has no description", below, name))
				}
				troubles = append(troubles, notPortable(below+"."+name, schemas[name], described)...)
			}
		}
	}
	return troubles
}

func hasDescription(v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		return true // reported as not portable
	}
	text, _ := object["description"].(string)
	return strings.TrimSpace(text) != ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
