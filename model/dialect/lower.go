// Package dialect says tools in the words of each provider: their names and schemas within what it accepts, a report of
// what that cost, and the way back from what the model wrote to what the tool expects.
package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Dialect is the part of JSON Schema that a provider accepts.
type Dialect int

// The dialects.
const (
	// Anthropic takes whole schemas for tools, with a plain object at the top.
	Anthropic Dialect = iota
	// OpenAI takes the same where it is not strict.
	OpenAI
	// OpenAIStrict wants closed objects whose properties are all required, and no defaults.
	OpenAIStrict
	// Gemini takes a subset of OpenAPI 3.0.
	Gemini
	// closed is what Anthropic takes for outputs: closed objects without bounds.
	closed
)

func (d Dialect) String() string {
	switch d {
	case OpenAI:
		return "OpenAI"
	case OpenAIStrict:
		return "OpenAI's strict mode"
	case Gemini:
		return "Gemini"
	default:
		return "Anthropic"
	}
}

// maxName is the length of the longest name of a tool that every provider accepts.
const maxName = 64

// Tool is a tool as a provider is told it.
type Tool struct {
	Name, Description string
	// Schema is of an object; nil is one without properties, where the dialect wants that said by silence.
	Schema *jsonschema.Schema
	// Strict says that the schema is within the strict dialect. A tool that cannot be is told by a loose one.
	Strict bool
}

// Set is the tools of one request. It does not change once it was made.
type Set struct {
	Tools []Tool
	// Lost says what could not be told, a sentence each.
	Lost []string

	wire, original map[string]string
	undo           map[string]*undo
	dialect        Dialect
}

// Tools returns the specs in the dialect. A second tool of the same name is left out, which Lost says.
func Tools(specs []*tongs.Spec, d Dialect) *Set {
	set := &Set{wire: map[string]string{}, original: map[string]string{}, undo: map[string]*undo{}, dialect: d}
	for _, spec := range specs {
		if _, twice := set.wire[spec.Name]; twice {
			set.Lost = append(set.Lost, fmt.Sprintf("%s: there are two tools of this name; the second is left out", spec.Name))
			continue
		}
		name := set.free(spec.Name)
		set.wire[spec.Name], set.original[name] = name, spec.Name
		w := &walk{dialect: d, root: spec.Input, tool: spec.Name}
		tool := Tool{Name: name, Description: spec.Description}
		var u *undo
		tool.Schema, u, tool.Strict = w.top(spec.Input)
		set.undo[spec.Name] = u
		set.Lost = append(set.Lost, w.lost...)
		set.Tools = append(set.Tools, tool)
	}
	return set
}

// free returns the name that the tool gets, which no other has.
func (s *Set) free(name string) string {
	wire := s.clean(name)
	for salt := ""; s.original[wire] != ""; salt += "+" {
		wire = hashed(wire, name+salt)
	}
	return wire
}

// clean returns the name within what every provider accepts.
func (s *Set) clean(name string) string {
	ok := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if ok == "" || s.dialect == Gemini && ok[0] != '_' && !letter(ok[0]) {
		ok = "_" + ok
	}
	if ok == name && len(ok) <= maxName {
		return ok
	}
	return hashed(ok, name)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// hashed returns the head of name with a hash of what makes it unique.
func hashed(name, of string) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
}

// Wire returns how the provider is told the name. A name that is no tool's, such as one that a model made up, is brought
// into the form that the provider accepts.
func (s *Set) Wire(name string) string {
	if wire, ok := s.wire[name]; ok {
		return wire
	}
	return s.clean(name)
}

// Original returns the name of the tool that the provider knows as wire, or wire itself where there is none.
func (s *Set) Original(wire string) string {
	if name, ok := s.original[wire]; ok {
		return name
	}
	return wire
}

// Args returns the arguments that a model wrote for the named tool (by its own name) as the tool's own schema means
// them: renamed properties back, nulls of optional properties away, JSON out of strings. What is not JSON is returned as
// it is.
func (s *Set) Args(name, args string) string {
	u := s.undo[name]
	if u == nil {
		return args
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) != nil || dec.More() {
		return args
	}
	return encode(u.apply(v), args)
}

// Forth is the way that Args is back from: arguments of earlier calls as the provider knows them. Only names change;
// args must be a JSON object.
func (s *Set) Forth(name string, args json.RawMessage) json.RawMessage {
	u := s.undo[name]
	if u == nil || !u.renames() {
		return args
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return args
	}
	return json.RawMessage(encode(u.renameForward(v), string(args)))
}

func encode(v any, fallback string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return fallback
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Output returns the schema of an answer in the dialect. Strict reports whether the provider can be told to keep to it.
func Output(s *jsonschema.Schema, d Dialect) (out *jsonschema.Schema, strict bool, lost []string) {
	if d == Anthropic {
		d = closed
	}
	if d == OpenAI {
		d = OpenAIStrict
	}
	w := &walk{dialect: d, root: s, tool: "the output"}
	out, _, strict = w.top(s)
	return out, strict, w.lost
}
