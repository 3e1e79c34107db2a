package forge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// ManifestName is the name of the file that describes a tool.
const ManifestName = "tool.yaml"

// Bounds of a manifest.
const (
	maxManifest   = 64 << 10
	maxTokens     = 8_000 // the parser takes time by the square of them
	maxParameters = 64
	maxExamples   = 32
	maxTimeout    = time.Hour
)

// Bounds of what a model is shown of a tool.
const (
	maxText  = 1 << 10
	maxUsage = 4 << 10
)

// Manifest is what tool.yaml says.
type Manifest struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Version     string `yaml:"version,omitempty"`
	// Entrypoint is the name of the file that runs, in the directory of the tool. The Go source of the tool stands for the
	// program that is built of it.
	Entrypoint string `yaml:"entrypoint"`
	// Usage tells a model more than the description: when to use the tool, and how.
	Usage      string      `yaml:"usage,omitempty"`
	Parameters []Parameter `yaml:"parameters"`
	// Needs are permissions beyond running: read, write, network. Nil leaves to the rules what it may do.
	Needs []string `yaml:"needs,omitempty"`
	// Network are the hosts that it reaches.
	Network []string `yaml:"network,omitempty"`
	// Timeout is how many seconds it may take; zero is the default.
	Timeout float64 `yaml:"timeout,omitempty"`
	// Examples are calls and what they print.
	Examples []Example `yaml:"examples,omitempty"`
}

// Parameter is an argument of a tool.
type Parameter struct {
	Name        string `yaml:"name" json:"name" jsonschema:"Its flag."`
	Type        string `yaml:"type" json:"type" jsonschema:"Its type." enum:"string,number,integer,boolean,array"`
	Required    bool   `yaml:"required,omitempty" json:"required,omitempty" jsonschema:"Required."`
	Description string `yaml:"description,omitempty" json:"description,omitempty" jsonschema:"Its description."`
	// Items is the type of the elements of an array; empty is string.
	Items   string `yaml:"items,omitempty" json:"items,omitempty" jsonschema:"Its items."`
	Enum    []any  `yaml:"enum,omitempty" json:"enum,omitempty" jsonschema:"Enum."`
	Default any    `yaml:"default,omitempty" json:"default,omitempty" jsonschema:"Its default."`
}

// Example is a call and the output that it should have, white space at its end aside.
type Example struct {
	Arguments map[string]any `yaml:"arguments,omitempty"`
	Output    string         `yaml:"output"`
}

var (
	validName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	validParam = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	validHost  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	types      = []string{"string", "number", "integer", "boolean", "array"}
)

// Problem is what is wrong in a tool.yaml, and in which line; 0 is the file as a whole.
type Problem struct {
	Line    int
	Message string
}

// Error tells the line and the problem.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return ManifestName + ": " + p.Message
	}
	return fmt.Sprintf("%s line %d: %s", ManifestName, p.Line, p.Message)
}

// ParseManifest reads a tool.yaml. It is strict: an unknown key, a wrong type or a missing value is a *Problem, with the
// line it is in. Name is that of the directory, which the manifest must repeat; empty takes any.
func ParseManifest(data []byte, name string) (*Manifest, error) {
	r := &reader{}
	m := r.read(data)
	if m.Entrypoint == m.Name+".go" { // the source, while it is not built
		m.Entrypoint = m.Name
	}
	if r.problem == nil {
		r.check(m, name)
	}
	if r.problem != nil {
		return nil, r.problem
	}
	return m, nil
}

// reader reads one manifest, up to the first problem.
type reader struct {
	file    *ast.File
	problem *Problem
}

func (r *reader) fail(line int, format string, args ...any) {
	if r.problem == nil {
		r.problem = &Problem{Line: line, Message: fmt.Sprintf(format, args...)}
	}
}

// failAt is fail at a path of the document, such as $.parameters[0].type, or the nearest one above it that exists.
func (r *reader) failAt(path, format string, args ...any) {
	r.fail(r.line(path), format, args...)
}

func (r *reader) line(path string) int {
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if node, err := p.FilterFile(r.file); err == nil && node != nil && node.GetToken() != nil {
				return node.GetToken().Position.Line
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

func (r *reader) read(data []byte) (m *Manifest) {
	m = &Manifest{}
	if len(data) > maxManifest {
		r.fail(0, "it has %d bytes, more than %d; shorten it", len(data), maxManifest)
		return m
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		r.fail(0, "it is not UTF-8 text")
		return m
	}
	// The parser is given bounded text without what makes it expensive, but it is not ours: what it cannot take is an error.
	defer func() {
		if p := recover(); p != nil {
			r.fail(0, "the YAML could not be read: %v", p)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if len(tokens) > maxTokens {
		r.fail(0, "it has more than %d words of YAML; shorten it", maxTokens)
		return m
	}
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			r.fail(t.Position.Line, "%q: anchors, aliases, merge keys, tags and directives are not allowed; write the value out", t.Value)
			return m
		}
		if t.Position.IndentLevel > 16 {
			r.fail(t.Position.Line, "values are nested too deep")
			return m
		}
	}
	var err error
	if r.file, err = parser.Parse(tokens, 0); err != nil {
		r.syntax(err)
		return m
	}
	if len(r.file.Docs) != 1 || r.file.Docs[0].Body == nil {
		r.fail(0, "it must hold one YAML document with name, description and entrypoint")
		return m
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(m); err != nil {
		r.syntax(err)
	}
	return m
}

func (r *reader) syntax(err error) {
	line, message := 0, err.Error()
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		message = ye.GetMessage()
		if ye.GetToken() != nil && ye.GetToken().Position != nil {
			line = ye.GetToken().Position.Line
		}
	}
	if strings.HasPrefix(message, "unknown field") {
		message += "; the keys are name, description, version, entrypoint, usage, parameters (name, type, required, description, items, " +
			"enum, default), needs, network, timeout, examples (arguments, output)"
	}
	r.fail(line, "%s", message)
}

// check refuses what can be read and means nothing.
func (r *reader) check(m *Manifest, name string) {
	switch {
	case !validName.MatchString(m.Name):
		r.failAt("$.name", "name %q: want 1 to 64 of letters, digits, _ and -", m.Name)
	case name != "" && m.Name != name:
		r.failAt("$.name", "name %q is not that of the directory, %q; make them equal", m.Name, name)
	case strings.TrimSpace(m.Description) == "":
		r.failAt("$.description", "description is missing; say in a sentence what the tool does")
	case !bareName(m.Entrypoint):
		r.failAt("$.entrypoint", "entrypoint %q: want the name of a file in the directory of the tool, such as %q", m.Entrypoint, m.Name)
	case m.Entrypoint == ManifestName:
		r.failAt("$.entrypoint", "entrypoint %q is the description of the tool, not its program", m.Entrypoint)
	case m.Timeout < 0 || m.Timeout > maxTimeout.Seconds():
		r.failAt("$.timeout", "timeout %v: want seconds, at most %v", m.Timeout, maxTimeout.Seconds())
	case len(m.Parameters) > maxParameters:
		r.failAt("$.parameters", "there are %d parameters; at most %d are allowed", len(m.Parameters), maxParameters)
	case len(m.Examples) > maxExamples:
		r.failAt("$.examples", "there are %d examples; at most %d are allowed", len(m.Examples), maxExamples)
	}
	for i, need := range m.Needs {
		if _, err := tongs.ParsePermissions(need); err != nil {
			r.failAt(fmt.Sprintf("$.needs[%d]", i), "%v", err)
		}
	}
	for i, host := range m.Network {
		if !validHost.MatchString(host) {
			r.failAt(fmt.Sprintf("$.network[%d]", i),
				"host %q: want a name in lower case, with :port where it is not 443 or 80; no scheme, no *", host)
		}
	}
	seen := map[string]bool{}
	for i := range m.Parameters {
		p := &m.Parameters[i]
		at := fmt.Sprintf("$.parameters[%d]", i)
		if seen[p.Name] {
			r.failAt(at+".name", "parameter %q is there twice", p.Name)
		}
		seen[p.Name] = true
		r.parameter(p, at)
	}
	for i, e := range m.Examples {
		for key := range e.Arguments {
			if !seen[key] {
				r.failAt(fmt.Sprintf("$.examples[%d].arguments", i), "the example has the argument %q, which is no parameter", key)
			}
		}
	}
}

func (r *reader) parameter(p *Parameter, at string) {
	switch {
	case !validParam.MatchString(p.Name):
		r.failAt(at+".name", "parameter name %q: want a letter, then letters, digits, _ and -", p.Name)
	case !slices.Contains(types, p.Type):
		r.failAt(at+".type", "parameter %s has the type %q; want one of %s", p.Name, p.Type, strings.Join(types, ", "))
	case p.Items != "" && (p.Type != "array" || !slices.Contains(types, p.Items)):
		r.failAt(at+".items", "parameter %s: items is the type of the elements of an array, one of %s", p.Name, strings.Join(types, ", "))
	case p.Default != nil && p.Required:
		r.failAt(at+".default", "parameter %s is required, so that its default is never used; leave one out", p.Name)
	case p.Default != nil && !fits(p.Type, p.Default):
		r.failAt(at+".default", "parameter %s: the default %v is no %s", p.Name, p.Default, p.Type)
	}
	for i, v := range p.Enum {
		if !fits(p.Type, v) {
			r.failAt(fmt.Sprintf("%s.enum[%d]", at, i), "parameter %s: %v is no %s", p.Name, v, p.Type)
		}
	}
}

// fits reports whether a value of YAML is one of the type.
func fits(typ string, v any) bool {
	switch v := v.(type) {
	case string:
		return typ == "string"
	case bool:
		return typ == "boolean"
	case int64, uint64, int:
		return typ == "integer" || typ == "number"
	case float64:
		return typ == "number" || typ == "integer" && v == float64(int64(v))
	case []any:
		return typ == "array"
	}
	return false
}

// bareName reports whether a name is that of a file in a directory, on every system.
func bareName(name string) bool {
	return name != "" && len(name) <= 128 && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\:\x00\n") &&
		strings.TrimSpace(name) == name
}

// schema is that of the arguments.
func (m *Manifest) schema() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range m.Parameters {
		prop := &jsonschema.Schema{Type: p.Type, Description: cleantext.Text(strings.TrimSpace(p.Description), maxText), Enum: p.Enum}
		if p.Type == "array" {
			items := p.Items
			if items == "" {
				items = "string"
			}
			prop.Items = &jsonschema.Schema{Type: items}
		}
		if p.Default != nil {
			data, err := json.Marshal(p.Default)
			if err != nil {
				return nil, fmt.Errorf("the default of %s: %w", p.Name, err)
			}
			prop.Default = data
		}
		s.Properties[p.Name] = prop
		s.PropertyOrder = append(s.PropertyOrder, p.Name)
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s, nil
}

// permissions are those that the tool needs, and those it may make use of.
func (m *Manifest) permissions() (needs, optional tongs.Permissions) {
	if m.Needs == nil {
		return tongs.Execute, tongs.Read | tongs.Write | tongs.Network
	}
	needs, _ = tongs.ParsePermissions(m.Needs...) // checked when it was read
	if len(m.Network) > 0 {
		needs |= tongs.Network
	}
	return needs | tongs.Execute, 0
}

// Marshal writes the manifest as tool.yaml.
func (m *Manifest) Marshal() ([]byte, error) {
	own := *m
	if own.Parameters == nil {
		own.Parameters = []Parameter{}
	}
	return yaml.MarshalWithOptions(&own, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
}
