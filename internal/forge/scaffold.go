package forge

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

//go:embed templates/*.tmpl
var templates embed.FS

// language is one that a tool can be scaffolded in.
type language struct {
	name, suffix, test string
	// script says that the source is what runs.
	script bool
}

var languages = []language{
	{name: "go", suffix: ".go", test: "_test.go"},
	{name: "sh", suffix: ".sh", test: "_test.sh", script: true},
	{name: "python", suffix: ".py", test: "_test.py", script: true},
}

func findLanguage(name string) (language, error) {
	for _, l := range languages {
		if l.name == name {
			return l, nil
		}
	}
	return language{}, tongs.Errorf(tongs.CodeInvalidArgs, "language %q is not one of go, sh, python", name)
}

// Draft is a tool to be made.
type Draft struct {
	Name        string      `json:"name" jsonschema:"Its name: letters, digits, _ and -." pattern:"^[A-Za-z0-9_-]{1,64}$"`
	Description string      `json:"description" jsonschema:"What it does, in a sentence." minLength:"1"`
	Parameters  []Parameter `json:"parameters,omitempty" jsonschema:"What it takes, as flags."`
	Language    string      `json:"language,omitempty" jsonschema:"What it is written in." enum:"go,sh,python" default:"go"`
	Source      string      `json:"source,omitempty" jsonschema:"Its program, instead of boilerplate."`
	Usage       string      `json:"usage,omitempty" jsonschema:"When and how to use it."`
}

// Scaffold returns the files of a tool that already works: it takes the declared parameters and passes its own test.
func (d Draft) Scaffold() (*Scaffolded, error) {
	if d.Language == "" {
		d.Language = "go"
	}
	lang, err := findLanguage(d.Language)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		Name: d.Name, Description: d.Description, Version: "1.0.0", Entrypoint: d.Name, Usage: d.Usage, Parameters: slices.Clone(d.Parameters),
	}
	if lang.script {
		m.Entrypoint += lang.suffix
	}
	for i := range m.Parameters {
		p := &m.Parameters[i]
		p.Default = whole(p.Default)
		p.Enum = slices.Clone(p.Enum)
		for k := range p.Enum {
			p.Enum[k] = typed(p.Type, p.Enum[k])
		}
	}
	data, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	if m, err = ParseManifest(data, d.Name); err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
	}
	s := &Scaffolded{name: d.Name, lang: lang, files: []made{{ManifestName, data, 0o644}}}
	mode := fs.FileMode(0o644)
	if lang.script {
		mode = 0o755
	}
	if d.Source != "" {
		s.files = append(s.files, made{d.Name + lang.suffix, []byte(d.Source), mode})
		return s, nil
	}
	for _, f := range []struct {
		template, name string
		mode           fs.FileMode
	}{{lang.name, d.Name + lang.suffix, mode}, {lang.name + "_test", d.Name + lang.test, mode}} {
		data, err := render(f.template, m)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, made{f.name, data, f.mode})
	}
	return s, nil
}

// typed is a value of a parameter of a type: a text that spells one is that, since the schema of create_custom_tool knows
// lists of texts only.
func typed(typ string, v any) any {
	text, ok := v.(string)
	if !ok || typ == "string" {
		return whole(v)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return v
	}
	return whole(value)
}

// whole writes a number without a fraction as one: JSON knows no other numbers than floating ones.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

// Scaffolded are the files of a new tool.
type Scaffolded struct {
	name  string
	lang  language
	files []made
}

type made struct {
	name string
	data []byte
	mode fs.FileMode
}

// Names are the names of the files.
func (s *Scaffolded) Names() (names []string) {
	for _, f := range s.files {
		names = append(names, f.name)
	}
	return names
}

// Text shows the files to a person.
func (s *Scaffolded) Text() string {
	var b strings.Builder
	for _, f := range s.files {
		fmt.Fprintf(&b, "--- %s\n%s\n", f.name, strings.TrimSuffix(string(f.data), "\n"))
	}
	return cleantext.Cut(b.String(), maxPreview)
}

// Write makes the directory of the tool in the forge, with all of its files or not at all. One that is there is an error.
func (s *Scaffolded) Write(forge string) (dir string, err error) {
	if err := os.MkdirAll(forge, 0o755); err != nil {
		return "", err
	}
	dir = filepath.Join(forge, s.name)
	if _, err := os.Lstat(dir); err == nil {
		return "", exists(s.name)
	}
	tmp, err := os.MkdirTemp(forge, ".new-"+s.name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, f := range s.files {
		name := filepath.Join(tmp, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), writeSynced(name, f.data, f.mode)); err != nil {
			return "", err
		}
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Rename(tmp, dir)); err != nil {
		if _, there := os.Lstat(dir); there == nil {
			return "", exists(s.name)
		}
		return "", err
	}
	return dir, nil
}

func exists(name string) error {
	return tongs.Errorf(tongs.CodeAlreadyExists, "there is a custom tool %q already; edit its files in /%s/%s, or choose another name",
		name, Root, name)
}

// param is a parameter as templates see it.
type param struct {
	Parameter
	Field, Var, Sample string
}

func render(name string, m *Manifest) ([]byte, error) {
	t, err := template.New(name+".tmpl").Funcs(template.FuncMap{"quote": strconv.Quote, "shell": shellQuote}).
		ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return nil, err
	}
	data := struct {
		Name, Sentence string
		Parameters     []param
	}{Name: m.Name, Sentence: oneLine(m.Description)}
	taken := map[string]bool{}
	for _, p := range m.Parameters {
		q := param{Parameter: p, Var: unique(taken, "p_"+strings.ReplaceAll(p.Name, "-", "_")), Field: unique(taken, camel(p.Name))}
		q.Description = oneLine(p.Description)
		if q.Sample, err = sample(m, p); err != nil {
			return nil, err
		}
		data.Parameters = append(data.Parameters, q)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "go") {
		return format.Source(b.Bytes())
	}
	return b.Bytes(), nil
}

// oneLine is text that can stand in a comment or a document string of any language.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(cleantext.Text(s, maxText)), " ")
	return strings.NewReplacer(`"`, "'", `\`, "/", "*/", "* /").Replace(s)
}

func unique(taken map[string]bool, name string) string {
	for i, base := 2, name; taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}

func camel(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// sample is a flag that the parameter takes.
func sample(m *Manifest, p Parameter) (string, error) {
	var v any
	switch {
	case p.Default != nil:
		v = p.Default
	case len(p.Enum) > 0:
		v = p.Enum[0]
	default:
		v = map[string]any{"string": "text", "number": 1.5, "integer": 2, "boolean": true, "array": []any{}}[p.Type]
	}
	args, err := json.Marshal(map[string]any{p.Name: v})
	if err != nil {
		return "", err
	}
	flags, err := m.Flags(args)
	if err != nil || len(flags) != 1 {
		return "", errors.Join(fmt.Errorf("no example of %s can be made", p.Name), err)
	}
	return flags[0], nil
}

// GoType is the type of the field, GoFlag the function that reads it.
func (p param) GoType() string {
	if p.Type == "array" {
		items := p.Items
		if items == "" {
			items = "string"
		}
		if items == "array" {
			return "[]any"
		}
		return "[]" + goTypes[items]
	}
	return goTypes[p.Type]
}

var goTypes = map[string]string{"string": "string", "number": "float64", "integer": "int64", "boolean": "bool"}

// GoFlag is the function of package flag that reads the parameter.
func (p param) GoFlag() string {
	return map[string]string{"string": "StringVar", "number": "Float64Var", "integer": "Int64Var", "boolean": "BoolVar"}[p.Type]
}

// GoDefault is the default as Go spells it.
func (p param) GoDefault() string {
	if p.Default == nil {
		return map[string]string{"string": `""`, "number": "0", "integer": "0", "boolean": "false"}[p.Type]
	}
	if s, ok := p.Default.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(p.Default)
}

// PyType is what reads the parameter in Python, PyDefault its default there.
func (p param) PyType() string {
	return map[string]string{
		"string": "str", "number": "float", "integer": "int", "boolean": `lambda s: s == "true"`, "array": "json.loads",
	}[p.Type]
}

// PyDefault is the default as Python spells it.
func (p param) PyDefault() string {
	switch v := p.Default.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return strconv.QuoteToASCII(v)
	case []any:
		data, err := json.Marshal(v)
		if err != nil {
			return "None"
		}
		return "json.loads(" + strconv.QuoteToASCII(string(data)) + ")"
	default:
		return fmt.Sprint(v)
	}
}

// shellQuote spells a value as one word of a shell.
func shellQuote(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if v == "" {
			return "''"
		}
		return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
	case []any:
		data, _ := json.Marshal(v) // what came from YAML can be written as JSON
		return shellQuote(string(data))
	default:
		return fmt.Sprint(v)
	}
}
