package tongs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFormats are the formats that validation asserts.
var schemaFormats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer", "regex",
	"relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid",
}

// applyTags gives the schema of one field what its tags say, and checks that they fit together.
func applyTags(t reflect.Type, f reflect.StructField, s *jsonschema.Schema) error {
	element := s
	for element.Items != nil || element.AdditionalProperties != nil && element.Properties == nil {
		if element.Items != nil {
			element = element.Items
		} else {
			element = element.AdditionalProperties
		}
	}
	tags := []struct {
		key string
		set func(value string) error
	}{
		{"enum", func(v string) error { return setEnum(element, v) }},
		{"min", func(v string) error { return setNumber(&element.Minimum, element, v) }},
		{"max", func(v string) error { return setNumber(&element.Maximum, element, v) }},
		{"minLength", func(v string) error { return setCount(&element.MinLength, element, "string", v) }},
		{"maxLength", func(v string) error { return setCount(&element.MaxLength, element, "string", v) }},
		{"pattern", func(v string) error { return setPattern(element, v) }},
		{"format", func(v string) error { return setFormat(element, v) }},
		{"minItems", func(v string) error { return setCount(&s.MinItems, s, "array", v) }},
		{"maxItems", func(v string) error { return setCount(&s.MaxItems, s, "array", v) }},
		{"example", func(v string) error { return setExample(f.Type, s, v) }},
		{"default", func(v string) error { return setDefault(f.Type, s, v) }},
	}
	for _, tag := range tags {
		value, ok := f.Tag.Lookup(tag.key)
		if !ok {
			continue
		}
		if err := tag.set(value); err != nil {
			return tagError(t, f, tag.key, value, "%w", err)
		}
	}
	if above(element.Minimum, element.Maximum) || above(element.MinLength, element.MaxLength) ||
		above(s.MinItems, s.MaxItems) {
		return fmt.Errorf("type %s, field %s: its minimum is above its maximum", t, f.Name)
	}
	return nil
}

func above[N int | float64](low, high *N) bool { return low != nil && high != nil && *low > *high }

func setEnum(s *jsonschema.Schema, value string) error {
	s.Enum = nil
	for text := range strings.SplitSeq(value, ",") {
		v, err := enumValue(s.Type, strings.TrimSpace(text))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.Enum, func(other any) bool { return reflect.DeepEqual(other, v) }) {
			return fmt.Errorf("%q is listed twice", text)
		}
		s.Enum = append(s.Enum, v)
	}
	return nil
}

func enumValue(typ, text string) (any, error) {
	switch typ {
	case "string":
		return text, nil
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer", text)
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return n, nil
	default:
		return nil, fmt.Errorf("an enum is of strings or numbers, the field is %s", typeName(typ))
	}
}

func setNumber(to **float64, s *jsonschema.Schema, value string) error {
	if s.Type != "number" && s.Type != "integer" {
		return fmt.Errorf("it bounds a number, the field is %s", typeName(s.Type))
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	*to = &n
	return nil
}

func setCount(to **int, s *jsonschema.Schema, typ, value string) error {
	if s.Type != typ {
		return fmt.Errorf("it bounds %s, the field is %s", typeName(typ), typeName(s.Type))
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count", value)
	}
	*to = &n
	return nil
}

func setPattern(s *jsonschema.Schema, value string) error {
	if s.Type != "string" {
		return fmt.Errorf("a pattern is of strings, the field is %s", typeName(s.Type))
	}
	if _, err := regexp.Compile(value); err != nil {
		return err
	}
	s.Pattern = value
	return nil
}

func setFormat(s *jsonschema.Schema, value string) error {
	if s.Type != "string" {
		return fmt.Errorf("a format is of strings, the field is %s", typeName(s.Type))
	}
	if !slices.Contains(schemaFormats, value) {
		return fmt.Errorf("%q is not one of %s", value, strings.Join(schemaFormats, ", "))
	}
	s.Format = value
	return nil
}

func setExample(t reflect.Type, s *jsonschema.Schema, value string) error {
	raw, err := tagValue(t, s, value)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	s.Examples = []any{v}
	return nil
}

func setDefault(t reflect.Type, s *jsonschema.Schema, value string) (err error) {
	s.Default, err = tagValue(t, s, value)
	return err
}

// tagValue reads a value for the field of type t with schema s: text for strings, JSON for everything else. It is
// valid against s and can be decoded into t.
func tagValue(t reflect.Type, s *jsonschema.Schema, text string) (json.RawMessage, error) {
	raw := json.RawMessage(text)
	if s.Type == "string" {
		raw, _ = json.Marshal(text)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("%s is not %s: %w", raw, typeName(s.Type), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s is more than one value", raw)
	}
	resolved, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	if err := resolved.Validate(v); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func typeName(typ string) string {
	switch typ {
	case "":
		return "anything"
	case "integer", "array", "object":
		return "an " + typ
	default:
		return "a " + typ
	}
}
