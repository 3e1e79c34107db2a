package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

type geminiTool struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Parameters  *geminiSchema `json:"parameters,omitempty"`
}

// geminiSchema is the part of JSON Schema that Gemini's function declarations know.
type geminiSchema struct {
	Type             string           `json:"type,omitempty"`
	Format           string           `json:"format,omitempty"`
	Title            string           `json:"title,omitempty"`
	Description      string           `json:"description,omitempty"`
	Nullable         bool             `json:"nullable,omitempty"`
	Enum             []string         `json:"enum,omitempty"`
	AnyOf            []*geminiSchema  `json:"anyOf,omitempty"`
	Items            *geminiSchema    `json:"items,omitempty"`
	MinItems         *int             `json:"minItems,omitempty"`
	MaxItems         *int             `json:"maxItems,omitempty"`
	Properties       geminiProperties `json:"properties,omitempty"`
	Required         []string         `json:"required,omitempty"`
	PropertyOrdering []string         `json:"propertyOrdering,omitempty"`
	MinProperties    *int             `json:"minProperties,omitempty"`
	MaxProperties    *int             `json:"maxProperties,omitempty"`
	MinLength        *int             `json:"minLength,omitempty"`
	MaxLength        *int             `json:"maxLength,omitempty"`
	Pattern          string           `json:"pattern,omitempty"`
	Minimum          *float64         `json:"minimum,omitempty"`
	Maximum          *float64         `json:"maximum,omitempty"`
}

// geminiProperties is a map, which encodes in the order of its keys; PropertyOrdering tells the order that is meant.
type geminiProperties map[string]*geminiSchema

// geminiFunctionOf leaves the parameters out of a tool without arguments: Gemini refuses an object without properties.
func geminiFunctionOf(s *tongs.Spec) geminiFunction {
	f := geminiFunction{Name: s.Name, Description: s.Description}
	if s.Input != nil && len(s.Input.Properties) > 0 {
		g := &gemini{root: s.Input, left: maxGeminiNodes}
		f.Parameters = g.convert(s.Input, 0)
	}
	return f
}

// gemini converts one schema. What it refers to is written out, since Gemini knows no references.
type gemini struct {
	root *jsonschema.Schema
	left int // how many more schemas are written
}

// References that go round in a circle, or fan out, end at these bounds: what is beyond is left out.
const (
	maxGeminiDepth = 12
	maxGeminiNodes = 2000
)

func (g *gemini) convert(s *jsonschema.Schema, depth int) *geminiSchema {
	g.left--
	if s == nil || depth > maxGeminiDepth || g.left < 0 {
		return nil
	}
	if target := g.resolve(s); target != nil {
		to := g.convert(target, depth+1)
		if to != nil && s.Description != "" {
			to.Description = s.Description
		}
		return to
	}
	to := &geminiSchema{
		Title: s.Title, Description: s.Description, MinItems: s.MinItems, MaxItems: s.MaxItems,
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties, MinLength: s.MinLength, MaxLength: s.MaxLength,
		Pattern: s.Pattern, Minimum: s.Minimum, Maximum: s.Maximum, Items: g.convert(s.Items, depth+1),
	}
	g.types(s, to, depth)
	if to.Type == "STRING" {
		to.Enum = geminiEnum(s)
	}
	to.Format = geminiFormat(to.Type, s.Format)
	if to.Type == "ARRAY" && to.Items == nil {
		to.Items = &geminiSchema{Type: "STRING"} // Gemini wants to know the items
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		if converted := g.convert(branch, depth+1); converted != nil {
			to.AnyOf = append(to.AnyOf, converted)
		}
	}
	g.properties(s, to, depth)
	if to.Type == "" && to.AnyOf == nil {
		to.Type = "STRING" // Gemini wants a type, and a string can say anything
	}
	return to
}

// types sets the type. Gemini knows one, and null beside it; further ones are alternatives.
func (g *gemini) types(s *jsonschema.Schema, to *geminiSchema, depth int) {
	types := slices.Clone(s.Types)
	if s.Type != "" {
		types = []string{s.Type}
	}
	if s.Const != nil && len(types) == 0 {
		if _, ok := (*s.Const).(string); ok {
			types = []string{"string"}
		}
	}
	if i := slices.Index(types, "null"); i >= 0 && len(types) > 1 {
		to.Nullable = true
		types = slices.Delete(types, i, i+1)
	}
	if len(types) == 1 {
		to.Type = strings.ToUpper(types[0])
		return
	}
	for _, name := range types {
		alternative := *s
		alternative.Type, alternative.Types, alternative.Description = name, nil, ""
		if converted := g.convert(&alternative, depth+1); converted != nil {
			to.AnyOf = append(to.AnyOf, converted)
		}
	}
}

func (g *gemini) properties(s *jsonschema.Schema, to *geminiSchema, depth int) {
	if len(s.Properties) == 0 {
		return
	}
	properties := geminiProperties{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if converted := g.convert(s.Properties[name], depth+1); converted != nil {
			properties[name] = converted
		}
	}
	if len(properties) == 0 {
		return
	}
	to.Properties = properties
	for _, name := range s.Required {
		if properties[name] != nil {
			to.Required = append(to.Required, name)
		}
	}
	for _, name := range s.PropertyOrder {
		if properties[name] != nil {
			to.PropertyOrdering = append(to.PropertyOrdering, name)
		}
	}
}

// resolve returns what a schema refers to inside the same document, nil where it refers to nothing.
func (g *gemini) resolve(s *jsonschema.Schema) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return g.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		return g.root.Definitions[name]
	}
	if s.Ref == "#" {
		return g.root
	}
	return nil
}

// geminiEnum returns the allowed strings; Gemini knows enums of strings only.
func geminiEnum(s *jsonschema.Schema) []string {
	values := s.Enum
	if s.Const != nil {
		values = []any{*s.Const}
	}
	var words []string
	for _, v := range values {
		word, ok := v.(string)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// geminiFormat keeps the formats that Gemini knows for the type.
func geminiFormat(typ, format string) string {
	allowed := map[string][]string{
		"STRING": {"date-time"}, "INTEGER": {"int32", "int64"}, "NUMBER": {"float", "double"},
	}
	if slices.Contains(allowed[typ], format) {
		return format
	}
	return ""
}
