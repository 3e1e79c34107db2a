package tongs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf infers the JSON Schema of T, and the further spellings of its properties. It returns a nil schema where
// nothing can be said about T, as for any.
//
// Properties have the json names of the fields, in their order. A field is required unless it has omitempty,
// omitzero or a default. Nothing but the declared properties is allowed in a struct. A byte slice is a base64 string,
// a time.Time a date-time; a type with its own MarshalText is a string, one with its own MarshalJSON is anything.
//
// Field tags say the rest, at any depth:
//
//	jsonschema:"Path of the file."   the description
//	enum:"a,b"                       the allowed values, separated by commas
//	default:"5"                      the value of an absent property: plain text for strings, else JSON
//	example:"src/a.go"               an example, written like a default
//	min:"1" max:"100"                bounds of a number, inclusive
//	minLength:"1" maxLength:"80"     bounds of a string, in characters
//	pattern:"^[a-z]+$"               a regular expression that a string matches somewhere
//	format:"uri"                     a format of JSON Schema that a string has
//	minItems:"1" maxItems:"10"       bounds of an array
//	alias:"file_path,filename"       further names of the property, not inside a map
//
// On a slice or a map, enum, min, max, minLength, maxLength, pattern and format are about its elements.
//
// The schema is portable: each type is a single one, and every subschema is an object. A tag that does not fit its
// field is an error, and so is what encoding/json would treat differently from the schema.
func SchemaOf[T any]() (schema *jsonschema.Schema, argAliases map[string]string, err error) {
	t := reflect.TypeFor[T]()
	own := map[reflect.Type]*jsonschema.Schema{}
	if err := findOwnForms(t, own, map[reflect.Type]bool{}); err != nil {
		return nil, nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		return nil, nil, err
	}
	in := inferrer{own: own, aliases: map[string]string{}}
	if err := in.apply(t, s, ""); err != nil {
		return nil, nil, err
	}
	if isEmpty(s) {
		return nil, nil, nil
	}
	if len(in.aliases) == 0 {
		in.aliases = nil
	}
	return s, in.aliases, nil
}

// findOwnForms collects the types below t whose JSON form is not that of their Go kind, and refuses fields that
// encoding/json writes in another shape than inference would say.
func findOwnForms(t reflect.Type, own map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if s := ownForm(t); s != nil {
		own[t] = s
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return findOwnForms(t.Elem(), own, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported() && !f.Anonymous, f.Tag.Get("json") == "-":
				continue
			case f.Anonymous && name != "":
				return fmt.Errorf("type %s, field %s: an embedded field cannot have a json name; name the field", t, f.Name)
			case f.Anonymous && indirect(f.Type).Kind() != reflect.Struct:
				return fmt.Errorf("type %s, field %s: only structs can be embedded; name the field", t, f.Name)
			case slices.Contains(strings.Split(options, ","), "string"):
				return fmt.Errorf("type %s, field %s: the json option string is not supported; drop it", t, f.Name)
			}
			if err := findOwnForms(f.Type, own, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownForm returns the schema of a type that encoding/json does not write as its kind, or nil.
func ownForm(t reflect.Type) *jsonschema.Schema {
	implements := func(want ...reflect.Type) bool {
		return slices.ContainsFunc(want, func(w reflect.Type) bool {
			return t.Implements(w) || reflect.PointerTo(t).Implements(w)
		})
	}
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case implements(reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()):
		return &jsonschema.Schema{}
	case implements(reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && ownForm(t.Elem()) == nil:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func isEmpty(s *jsonschema.Schema) bool { return reflect.ValueOf(s).Elem().IsZero() }

// inferrer walks a type and its inferred schema together.
type inferrer struct {
	own     map[reflect.Type]*jsonschema.Schema
	aliases map[string]string
}

// inMap marks the paths of what has no names of its own.
const inMap = "*."

// apply normalises s, the schema of t, and gives it what the field tags say. At is where it is: the names on the way to it, each with
// a dot, so that the elements of an array are where the array is.
func (in *inferrer) apply(t reflect.Type, s *jsonschema.Schema, at string) error {
	t = indirect(t)
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	if in.own[t] != nil {
		s.Types = nil // a pointer to a type with its own form: ["null"] alone says nothing
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return in.applyStruct(t, s, at)
	case reflect.Slice, reflect.Array:
		if s.Items == nil {
			return nil
		}
		if err := in.apply(t.Elem(), s.Items, at); err != nil {
			return err
		}
		if isEmpty(s.Items) {
			s.Items = nil
		}
	case reflect.Map:
		if s.AdditionalProperties == nil {
			return nil
		}
		if err := in.apply(t.Elem(), s.AdditionalProperties, at+inMap); err != nil {
			return err
		}
		if isEmpty(s.AdditionalProperties) {
			s.AdditionalProperties = nil
		}
	}
	return nil
}

func (in *inferrer) applyStruct(t reflect.Type, s *jsonschema.Schema, at string) error {
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	fields := propertyFields(t)
	for _, name := range s.PropertyOrder {
		f, prop := fields[name], s.Properties[name]
		if err := in.apply(f.Type, prop, at+name+"."); err != nil {
			return err
		}
		if err := applyTags(t, f, prop); err != nil {
			return err
		}
		if isEmpty(prop) {
			prop.Description = "Any JSON value."
		}
		if prop.Default != nil {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		if err := in.addAliases(t, f, name, s, at); err != nil {
			return err
		}
	}
	if len(s.Required) == 0 {
		s.Required = nil
	}
	return nil
}

// propertyFields maps the property names of a struct to its fields. Of two fields with one name the later one counts,
// as it does in inference.
func propertyFields(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = f
	}
	return fields
}

func (in *inferrer) addAliases(t reflect.Type, f reflect.StructField, name string, s *jsonschema.Schema, at string) error {
	tag, ok := f.Tag.Lookup("alias")
	if !ok {
		return nil
	}
	fail := func(format string, args ...any) error {
		return tagError(t, f, "alias", tag, format, args...)
	}
	if strings.Contains(at, inMap) {
		return fail("what is inside a map cannot have an alias")
	}
	for alias := range strings.SplitSeq(tag, ",") {
		alias = strings.TrimSpace(alias)
		if alias == "" {
			return fail("an alias is empty")
		}
		if s.Properties[alias] != nil {
			return fail("%q is a property itself", alias)
		}
		if other := in.aliases[at+alias]; other != "" {
			return fail("%q is an alias of %q already", alias, other)
		}
		in.aliases[at+alias] = name
	}
	return nil
}

func tagError(t reflect.Type, f reflect.StructField, key, value, format string, args ...any) error {
	return fmt.Errorf("type %s, field %s, tag %s:%q: %w", t, f.Name, key, value, fmt.Errorf(format, args...))
}
