package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

var (
	toolName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
	property   = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	geminiProp = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
)

// toolOf checks a tool with a whole schema and returns it.
func toolOf(name, description string, schema json.RawMessage, seen map[string]bool) (*tongs.Spec, error) {
	if !toolName.MatchString(name) {
		return nil, fmt.Errorf("tools: the name %q does not match %s", name, toolName)
	}
	if seen[name] {
		return nil, fmt.Errorf("tools: the name %q is there twice", name)
	}
	seen[name] = true
	var top map[string]json.RawMessage
	if err := json.Unmarshal(schema, &top); err != nil {
		return nil, fmt.Errorf("tools: %s: the schema is no object: %w", name, err)
	}
	if string(top["type"]) != `"object"` {
		return nil, fmt.Errorf("tools: %s: the type of the schema is %s, not object", name, top["type"])
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if top[word] != nil {
			return nil, fmt.Errorf("tools: %s: the schema has %s at its top", name, word)
		}
	}
	spec := &tongs.Spec{Name: name, Description: description, Input: &jsonschema.Schema{}}
	if err := json.Unmarshal(schema, spec.Input); err != nil {
		return nil, fmt.Errorf("tools: %s: the schema cannot be read: %w", name, err)
	}
	for prop := range spec.Input.Properties {
		if !property.MatchString(prop) {
			return nil, fmt.Errorf("tools: %s: the property %q does not match %s", name, prop, property)
		}
	}
	if _, err := spec.Input.Resolve(nil); err != nil {
		return nil, fmt.Errorf("tools: %s: the schema is not valid: %w", name, err)
	}
	return spec, nil
}

// strict checks that a schema is within OpenAI's strict mode.
func strict(raw json.RawMessage, path string) error {
	allowed := []string{
		"type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "pattern", "format",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
	}
	return walkSchema(raw, path, allowed, func(s map[string]json.RawMessage, path string) error {
		if !strings.Contains(string(s["type"]), `"object"`) {
			return nil
		}
		if string(s["additionalProperties"]) != "false" {
			return fmt.Errorf("%s: additionalProperties must be false", path)
		}
		var props map[string]json.RawMessage
		var required []string
		json.Unmarshal(s["properties"], &props)  //nolint:errcheck // walkSchema did
		json.Unmarshal(s["required"], &required) //nolint:errcheck // absent is empty
		for name := range props {
			if !slices.Contains(required, name) {
				return fmt.Errorf("%s: %s must be required", path, name)
			}
		}
		return nil
	})
}

// closedObjects checks that a schema is within what Anthropic takes for outputs.
func closedObjects(raw json.RawMessage, path string) error {
	allowed := []string{"type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "format"}
	return walkSchema(raw, path, allowed, func(s map[string]json.RawMessage, path string) error {
		if string(s["type"]) == `"object"` && string(s["additionalProperties"]) != "false" {
			return fmt.Errorf("%s: additionalProperties must be false", path)
		}
		return nil
	})
}

// geminiSchema checks that a schema is within Gemini's subset.
func geminiSchema(raw json.RawMessage, path string) error {
	allowed := []string{
		"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties", "maxProperties",
		"minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
	}
	types := []string{`"STRING"`, `"NUMBER"`, `"INTEGER"`, `"BOOLEAN"`, `"ARRAY"`, `"OBJECT"`}
	return walkSchema(raw, path, allowed, func(s map[string]json.RawMessage, path string) error {
		if s["anyOf"] == nil && !slices.Contains(types, string(s["type"])) {
			return fmt.Errorf("%s: the type is %s", path, s["type"])
		}
		var props map[string]json.RawMessage
		json.Unmarshal(s["properties"], &props) //nolint:errcheck // walkSchema did
		if string(s["type"]) == `"OBJECT"` && len(props) == 0 {
			return fmt.Errorf("%s: properties should be non-empty for OBJECT type", path)
		}
		for name := range props {
			if !geminiProp.MatchString(name) {
				return fmt.Errorf("%s: the property %q does not match %s", path, name, geminiProp)
			}
		}
		if string(s["type"]) == `"ARRAY"` && s["items"] == nil {
			return fmt.Errorf("%s: items: missing field", path)
		}
		var enum []string
		if s["enum"] != nil && (json.Unmarshal(s["enum"], &enum) != nil || slices.Contains(enum, "")) {
			return fmt.Errorf("%s: enum: only strings that are not empty", path)
		}
		var format string
		json.Unmarshal(s["format"], &format) //nolint:errcheck // absent is empty
		if !slices.Contains([]string{"", "enum", "date-time", "int32", "int64", "float", "double"}, format) {
			return fmt.Errorf("%s: format %s is not supported", path, format)
		}
		return nil
	})
}

// walkSchema goes over a schema that has no other words than the allowed ones.
func walkSchema(raw json.RawMessage, path string, allowed []string, check func(map[string]json.RawMessage, string) error) error {
	var s map[string]json.RawMessage
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%s: a schema must be an object: %s", path, raw)
	}
	for word := range s {
		if !slices.Contains(allowed, word) {
			return fmt.Errorf("%s: %s is not permitted", path, word)
		}
	}
	if err := check(s, path); err != nil {
		return err
	}
	var props map[string]json.RawMessage
	if s["properties"] != nil {
		if err := json.Unmarshal(s["properties"], &props); err != nil {
			return fmt.Errorf("%s: properties: %w", path, err)
		}
	}
	for name, p := range props {
		if err := walkSchema(p, path+"."+name, allowed, check); err != nil {
			return err
		}
	}
	if s["items"] != nil {
		if err := walkSchema(s["items"], path+"[]", allowed, check); err != nil {
			return err
		}
	}
	var any []json.RawMessage
	if s["anyOf"] != nil {
		if err := json.Unmarshal(s["anyOf"], &any); err != nil {
			return fmt.Errorf("%s: anyOf: %w", path, err)
		}
	}
	for _, b := range any {
		if err := walkSchema(b, path, allowed, check); err != nil {
			return err
		}
	}
	return nil
}

// imageOf checks an image.
func imageOf(mime, data string) (*model.Image, error) {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime) {
		return nil, fmt.Errorf("images of type %s are not supported", mime)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(b) == 0 {
		return nil, fmt.Errorf("an image is no base64")
	}
	return &model.Image{MIME: mime, Data: b}, nil
}

// imageURL checks an image in an address.
func imageURL(url string) (*model.Image, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return nil, fmt.Errorf("an image is no data URL")
	}
	return imageOf(head, data)
}

// names fills in the names of results from the calls that they answer.
func names(messages []model.Message) {
	byID := map[string]string{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Call != nil {
				byID[p.Call.ID] = p.Call.Name
			}
			if p.Result != nil && p.Result.Name == "" {
				p.Result.Name = byID[p.Result.ID]
			}
		}
	}
}

// pending tracks the calls that wait for results.
type pending struct {
	order []string
	all   map[string]bool
}

func (p *pending) call(id string) error {
	if id == "" {
		return fmt.Errorf("a call has no ID")
	}
	if p.all == nil {
		p.all = map[string]bool{}
	}
	if p.all[id] {
		return fmt.Errorf("the ID %q is of two calls", id)
	}
	p.all[id] = true
	p.order = append(p.order, id)
	return nil
}

func (p *pending) result(id string) error {
	i := slices.Index(p.order, id)
	if i < 0 {
		return fmt.Errorf("the result %q answers no call of the message before", id)
	}
	p.order = slices.Delete(p.order, i, i+1)
	return nil
}

func (p *pending) none() error {
	if len(p.order) > 0 {
		return fmt.Errorf("calls without a result right after them: %s", strings.Join(p.order, ", "))
	}
	return nil
}
