package gohost

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// inputOf is the schema of what a function takes.
func inputOf(f reflect.Type) (map[string]any, error) {
	for i := 0; i < f.NumIn(); i++ {
		p := f.In(i)
		if p == reflect.TypeFor[context.Context]() {
			continue
		}
		t := p
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("want a struct, and it is %s", p)
		}
		return schemaOf(t, 0)
	}
	return map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}, nil
}

// maxDepth bounds types that hold themselves.
const maxDepth = 20

func schemaOf(t reflect.Type, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case t == reflect.TypeFor[json.RawMessage](), t.Implements(reflect.TypeFor[json.Marshaler]()), reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return map[string]any{}, nil
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return map[string]any{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.Pointer:
		return schemaOf(t.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}, nil
		}
		items, err := schemaOf(t.Elem(), depth+1)
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s has keys that are no strings", t)
		}
		values, err := schemaOf(t.Elem(), depth+1)
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return structOf(t, depth)
	}
	return nil, fmt.Errorf("%s has no form in JSON", t)
}

func structOf(t reflect.Type, depth int) (map[string]any, error) {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" || len(f.Index) > 1 && !promoted(t, f) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s, err := schemaOf(f.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if err := tags(s, f); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		properties[name] = s
		_, given := s["default"]
		if !given && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && f.Type.Kind() != reflect.Pointer {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, nil
}

// promoted reports whether every struct on the way to a field is embedded without a name of its own in JSON.
func promoted(t reflect.Type, f reflect.StructField) bool {
	for i := 1; i < len(f.Index); i++ {
		outer := t.FieldByIndex(f.Index[:i])
		if name, _, _ := strings.Cut(outer.Tag.Get("json"), ","); !outer.Anonymous || name != "" {
			return false
		}
	}
	return true
}

// tags adds what the tags of a field say, as they are for built-in tools.
func tags(s map[string]any, f reflect.StructField) error {
	if about := f.Tag.Get("jsonschema"); about != "" {
		s["description"] = about
	}
	element := s
	for {
		inner, ok := element["items"].(map[string]any)
		if !ok {
			break
		}
		element = inner
	}
	for tag, key := range map[string]string{"min": "minimum", "max": "maximum", "minLength": "minLength", "maxLength": "maxLength", "minItems": "minItems", "maxItems": "maxItems"} {
		if text, ok := f.Tag.Lookup(tag); ok {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s %q is no number", tag, text)
			}
			if strings.HasSuffix(tag, "Items") {
				s[key] = n
			} else {
				element[key] = n
			}
		}
	}
	for _, key := range []string{"pattern", "format"} {
		if text, ok := f.Tag.Lookup(key); ok {
			element[key] = text
		}
	}
	if list, ok := f.Tag.Lookup("enum"); ok {
		var values []any
		for _, text := range strings.Split(list, ",") {
			values = append(values, literal(element, strings.TrimSpace(text)))
		}
		element["enum"] = values
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		s["default"] = literal(s, text)
	}
	return nil
}

// literal is a value as a tag writes it: plain text for strings, else JSON.
func literal(s map[string]any, text string) any {
	if s["type"] != "string" && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
