package specs

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Tool is a tool of a tools/list result. Its fields are in the order in which the MCP server encodes them.
type Tool struct {
	Annotations  *Annotations       `json:"annotations,omitempty"`
	Description  string             `json:"description,omitempty"`
	InputSchema  *jsonschema.Schema `json:"inputSchema"`
	Name         string             `json:"name"`
	OutputSchema *jsonschema.Schema `json:"outputSchema,omitempty"`
	Title        string             `json:"title,omitempty"`
}

// Annotations are the hints of a tool. A client takes an absent destructiveHint or openWorldHint for true.
type Annotations struct {
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	Title           string `json:"title,omitempty"`
}

// Compact returns a spec as MCP clients see it: small, with annotations that are true, and with the schema of its value
// only where that says more than its text.
func Compact(spec *tongs.Spec) *Tool {
	t := &Tool{
		Name: spec.Name, Description: spec.Description, Annotations: annotations(spec), InputSchema: &jsonschema.Schema{Type: "object"},
	}
	if !spec.Source.BuiltIn() { // the names of ours say what their titles do
		t.Title = spec.Title
	}
	if spec.Input != nil {
		t.InputSchema = slim(spec.Input, true)
	}
	if structured(spec) {
		t.OutputSchema = slim(spec.Output, false)
	}
	return t
}

// annotations tell what a tool can do at most, whatever its own hints say, since clients act on them: one that may write
// or run programs is not read-only, one that may run programs is destructive, and one that may do that or reach the network
// is open to the world. The hints of tools that are not built in are somebody else's word, and count for nothing.
func annotations(spec *tongs.Spec) *Annotations {
	may := spec.Needs | spec.Optional
	foreign := !spec.Source.BuiltIn()
	readOnly := spec.Hints.ReadOnly && may&(tongs.Write|tongs.Execute) == 0 && !foreign
	openWorld := spec.Hints.OpenWorld || may&(tongs.Execute|tongs.Network) != 0 || foreign
	destructive := !readOnly && (spec.Hints.Destructive || may&tongs.Execute != 0 || foreign)
	if destructive && openWorld && !spec.Hints.Idempotent { // a client that is not told expects the worst
		return nil
	}
	a := &Annotations{ReadOnlyHint: readOnly, IdempotentHint: spec.Hints.Idempotent}
	if !destructive && !readOnly { // what only reads destroys nothing
		a.DestructiveHint = &destructive
	}
	if !openWorld {
		a.OpenWorldHint = &openWorld
	}
	return a
}

// structured reports whether the value of a tool says more than its text: records that a read-only tool found, of which
// the text shows a line each. Others would only say twice what the model reads anyway.
func structured(spec *tongs.Spec) bool {
	if spec.Output == nil || spec.Output.Type != "object" || !spec.Hints.ReadOnly || repeatsText(spec.Output) {
		return false
	}
	for _, p := range spec.Output.Properties {
		if p.Items != nil && p.Items.Type == "object" {
			return true
		}
	}
	return false
}

// texts are the properties that hold what the text of a result shows. Clients that are given a value as well show the model
// that alone, which is longer.
var texts = []string{"content", "text", "output", "stdout", "stderr", "diff", "body", "snippet", "entries"}

func repeatsText(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	for name, p := range s.Properties {
		if slices.Contains(texts, name) || repeatsText(p) {
			return true
		}
	}
	return repeatsText(s.Items)
}

// slim returns a copy of a schema without what no client needs: our own stage validates. Descriptions stay where a model
// reads them.
func slim(s *jsonschema.Schema, described bool) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := *s
	c.Schema, c.AdditionalProperties, c.Examples, c.Title = "", nil, nil, ""
	c.MinLength, c.MaxLength = nil, nil
	c.MinItems, c.MaxItems = nil, nil
	if c.Description != "" { // which says it in words
		c.Pattern = ""
	}
	if c.Minimum != nil && *c.Minimum <= 1 { // nobody asks for fewer
		c.Minimum = nil
	}
	switch string(c.Default) {
	case "false", "0", "1", `""`, `"."`: // as whoever leaves it out expects
		c.Default = nil
	}
	if !described {
		c.Description, c.Minimum, c.Maximum, c.Default, c.Required, c.Enum, c.Format = "", nil, nil, nil, nil, nil, ""
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil && len(s.Properties) == 0 {
		c.AdditionalProperties = s.AdditionalProperties // the values of a map
	}
	if s.Properties != nil {
		c.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
		for name, p := range s.Properties {
			own := slim(p, described)
			if Repeats(own.Description, name) {
				own.Description = ""
			}
			c.Properties[name] = own
		}
	}
	c.Items = slim(s.Items, described)
	if bare := (jsonschema.Schema{Description: c.Description}); described && reflect.DeepEqual(c, bare) {
		for _, simple := range []string{"string", "number", "boolean"} { // any value; clients want one type at a time
			c.AnyOf = append(c.AnyOf, &jsonschema.Schema{Type: simple})
		}
	}
	return &c
}

// fillers are words that say nothing by themselves.
var fillers = []string{"a", "an", "the", "its", "of", "to", "be", "is"}

// Repeats reports whether a text says no more than a name does: "Its path." of path.
func Repeats(text, name string) bool {
	var spelled strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			spelled.WriteByte(' ')
		}
		spelled.WriteRune(r)
	}
	known := words(spelled.String())
	return !slices.ContainsFunc(words(text), func(word string) bool {
		return !slices.Contains(known, word) && !slices.Contains(fillers, word)
	})
}

// words are those of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
