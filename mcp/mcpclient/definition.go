package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/schema"
)

// Bounds of what a server may say of itself.
const (
	maxTools       = 500
	maxPrompts     = 200
	maxPages       = 50
	maxDefinition  = 64 << 10 // bytes of one definition
	maxDescription = 4 << 10  // bytes of a description that a model is shown
	maxAll         = 2 << 20  // bytes of all definitions together
)

// Definitions are what a server says of itself.
type Definitions struct {
	// Title and Version are the server's own, Protocol is the revision that was spoken.
	Title    string `json:"title,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	// Instructions are what the server wants a model to know.
	Instructions string       `json:"instructions,omitempty"`
	Tools        []Definition `json:"tools,omitempty"`
	Prompts      []Definition `json:"prompts,omitempty"`
}

// Definition is one tool or prompt as its server describes it.
type Definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	// Annotations are the server's hints, Arguments those of a prompt.
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	// Broken says why it cannot be used.
	Broken string `json:"broken,omitempty"`
}

// Digest identifies the definition: any change of a word or a schema is another one.
func (d *Definition) Digest() string {
	data, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return digest(data)
}

// Digest identifies all of what the server says that a model may read. Its own version, and the revision that was
// spoken, are not among it.
func (d *Definitions) Digest() string {
	data, err := json.Marshal(struct {
		Instructions   string
		Tools, Prompts []Definition
	}{d.Instructions, d.Tools, d.Prompts})
	if err != nil {
		return ""
	}
	return digest(data)
}

// tool returns the definition of a tool, nil where there is none.
func (d *Definitions) tool(name string) *Definition {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Tools, func(t Definition) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}

// define makes a definition of what a server sent about a tool.
func define(t *mcp.Tool) Definition {
	d := Definition{Name: t.Name, Title: t.Title, Description: t.Description}
	if d.Title == "" && t.Annotations != nil {
		d.Title = t.Annotations.Title
	}
	var err error
	if d.Input, err = canonical(t.InputSchema); err != nil {
		d.Broken = fmt.Sprintf("its input schema cannot be read: %v", err)
	}
	if t.OutputSchema != nil {
		if d.Output, err = canonical(t.OutputSchema); err != nil {
			d.Broken = fmt.Sprintf("its output schema cannot be read: %v", err)
		}
	}
	if t.Annotations != nil {
		d.Annotations, _ = canonical(t.Annotations)
	}
	d = d.bounded()
	if d.Broken == "" { // found out once, not with each listing
		d.Broken = d.unusable()
	}
	return d
}

func definePrompt(p *mcp.Prompt) Definition {
	d := Definition{Name: p.Name, Title: p.Title, Description: p.Description}
	if len(p.Arguments) > 0 {
		d.Arguments, _ = canonical(p.Arguments)
	}
	return d.bounded()
}

// canonical is the JSON of v with the keys of objects in order, so that equal things have equal digests.
func canonical(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// bounded returns the definition, or what is left of one that is too large to be kept.
func (d Definition) bounded() Definition {
	size := len(d.Name) + len(d.Title) + len(d.Description) + len(d.Input) + len(d.Output) + len(d.Annotations) + len(d.Arguments)
	if size <= maxDefinition {
		return d
	}
	return Definition{
		Name: cleantext.Cut(d.Name, 200), Description: cleantext.Cut(d.Description, maxDescription),
		Broken: fmt.Sprintf("its definition has %d bytes, more than %d", size, maxDefinition),
	}
}

// hints are the annotations that can make us stricter. All others are left unread.
func (d *Definition) destructive() bool {
	var a struct {
		Destructive *bool `json:"destructiveHint"`
	}
	return json.Unmarshal(d.Annotations, &a) == nil && a.Destructive != nil && *a.Destructive
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// maxName is how long the name of a tool may be.
const maxName = 64

// qualified is the name that a tool of a server has here. One that cannot be a name as it is, is made into one, with
// a digest where something was cut.
func qualified(server, tool string) string {
	name := server + "__" + notInNames.ReplaceAllString(tool, "_")
	if len(name) <= maxName {
		return name
	}
	return name[:maxName-9] + "_" + strings.TrimPrefix(digest([]byte(tool)), "sha256:")[:8]
}

// anything is the schema of a tool that nobody may see the definition of yet.
func anything() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// unusable says why the schemas of a definition cannot be used, empty where they can.
func (d *Definition) unusable() string {
	in, out, err := d.schemas()
	if err == nil {
		err = new(schema.Validator).Compile(&tongs.Spec{Name: "x", Input: in, Output: out})
	}
	if err != nil {
		return cleantext.Cut(fmt.Sprintf("its schema cannot be used: %v", err), 500)
	}
	return ""
}

// schemas reads the schemas of a definition.
func (d *Definition) schemas() (in, out *jsonschema.Schema, err error) {
	if d.Broken != "" {
		return nil, nil, fmt.Errorf("%s", d.Broken)
	}
	in = anything()
	if len(d.Input) > 0 && string(d.Input) != "null" {
		in = &jsonschema.Schema{}
		if err := json.Unmarshal(d.Input, in); err != nil {
			return nil, nil, fmt.Errorf("its input schema cannot be read: %w", err)
		}
	}
	if in.Type == "" && len(in.Types) == 0 {
		in.Type = "object"
	}
	if in.Type != "object" {
		return nil, nil, fmt.Errorf("its input schema has the type %q, not object", in.Type)
	}
	if len(d.Output) > 0 && string(d.Output) != "null" {
		out = &jsonschema.Schema{}
		if err := json.Unmarshal(d.Output, out); err != nil {
			return nil, nil, fmt.Errorf("its output schema cannot be read: %w", err)
		}
	}
	return in, out, nil
}

// render writes the definition out for a person.
func (d *Definition) render(kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", kind, d.Name)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", label, strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
	line("title", d.Title)
	line("description", d.Description)
	for _, part := range []struct {
		label string
		data  json.RawMessage
	}{{"arguments", d.Input}, {"result", d.Output}, {"says of itself", d.Annotations}, {"arguments", d.Arguments}} {
		var indented bytes.Buffer
		if len(part.data) > 0 && json.Indent(&indented, part.data, "", "  ") == nil {
			line(part.label, indented.String())
		}
	}
	line("cannot be used", d.Broken)
	return b.String()
}

// render writes out what the server says, of the tools only those that are wanted.
func (d *Definitions) render(wanted func(tool string) bool) string {
	if d == nil {
		return ""
	}
	var parts []string
	if d.Instructions != "" {
		parts = append(parts, "instructions: "+strings.ReplaceAll(d.Instructions, "\n", "\n  ")+"\n")
	}
	for i := range d.Tools {
		if wanted(d.Tools[i].Name) {
			parts = append(parts, d.Tools[i].render("tool"))
		}
	}
	for i := range d.Prompts {
		parts = append(parts, d.Prompts[i].render("prompt"))
	}
	return strings.Join(parts, "\n")
}
