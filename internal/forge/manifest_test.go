package forge_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/forge"
)

const seedManifest = `name: git-summarize
description: Summarises commits
version: "1.0.0"
entrypoint: git-summarize
usage: |
  Call it with a date.
  It prints a line for each commit.
parameters:
  - name: since
    type: string
    required: true
    description: Start date
  - name: verbose
    type: boolean
    required: false
    description: More
`

func TestManifestOfTheSeed(t *testing.T) {
	m, err := forge.ParseManifest([]byte(seedManifest), "git-summarize")
	if err != nil {
		t.Fatal(err)
	}
	if m.Entrypoint != "git-summarize" || len(m.Parameters) != 2 || !m.Parameters[0].Required || !strings.Contains(m.Usage, "a line for") {
		t.Errorf("%+v", m)
	}
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := forge.ParseManifest(data, "git-summarize"); err != nil || again.Usage != m.Usage || again.Version != m.Version {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestManifestProblemsNameTheLine(t *testing.T) {
	head := "name: x\ndescription: d\nentrypoint: x\n"
	for _, test := range []struct {
		yaml string
		line int
		says string
	}{
		{"", 0, "one YAML document"},
		{"name: [\n", 1, ""},
		{"name: y\ndescription: d\nentrypoint: x\n", 1, "not that of the directory"},
		{"name: x\nentrypoint: x\n", 1, "description is missing"},
		{"name: x\ndescription: d\nentrypoint: ../x\n", 3, "name of a file"},
		{"name: x\ndescription: d\nentrypoint: /bin/sh\n", 3, "name of a file"},
		{"name: x\ndescription: d\nentrypoint: tool.yaml\n", 3, "not its program"},
		{head + "colour: red\n", 4, "unknown field"},
		{head + "name: z\n", 4, "already"},
		{head + "timeout: -1\n", 4, "want seconds"},
		{head + "timeout: soon\n", 4, ""},
		{head + "needs: [fly]\n", 4, "fly"},
		{head + "network:\n  - example.com\n  - https://example.com\n", 6, "no scheme"},
		{head + "parameters:\n  - name: a\n    type: text\n", 6, "want one of"},
		{head + "parameters:\n  - name: -a\n    type: string\n", 5, "parameter name"},
		{head + "parameters:\n  - name: a\n    type: string\n  - name: a\n    type: string\n", 7, "twice"},
		{head + "parameters:\n  - name: a\n    type: integer\n    default: lots\n", 7, "is no integer"},
		{head + "parameters:\n  - name: a\n    type: string\n    required: true\n    default: b\n", 8, "leave one out"},
		{head + "parameters:\n  - name: a\n    type: string\n    enum: [b, 3]\n", 7, "is no string"},
		{head + "parameters:\n  - name: a\n    type: string\n    items: string\n", 7, "elements of an array"},
		{head + "examples:\n  - arguments: {b: 1}\n    output: x\n", 5, "is no parameter"},
		{"a: &a x\n", 1, "anchors"},
		{"name: x\xff\n", 0, "UTF-8"},
		{strings.Repeat("#", 70_000), 0, "bytes"},
	} {
		_, err := forge.ParseManifest([]byte(test.yaml), "x")
		p, ok := errors.AsType[*forge.Problem](err)
		if !ok || p.Line != test.line || !strings.Contains(p.Message, test.says) {
			t.Errorf("%.60q: %v, want line %d: ...%s", test.yaml, err, test.line, test.says)
		}
	}
}

// What the documentation shows can be used as it stands.
func TestManifestsOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/custom-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range regexp.MustCompile(`(?m)^    name: .*\n(    .*\n)+`).FindAllString(string(page), -1) {
		found++
		if _, err := forge.ParseManifest([]byte(regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, "")), ""); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	if found < 2 {
		t.Errorf("only %d are there", found)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(seedManifest))
	f.Add([]byte("name: x\nparameters: [{name: a, type: array, default: [[1]]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := forge.ParseManifest(data, ""); err == nil {
			if _, err := m.Flags(nil); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestFlags(t *testing.T) {
	m := &forge.Manifest{Parameters: []forge.Parameter{
		{Name: "s", Type: "string"},
		{Name: "i", Type: "integer"},
		{Name: "n", Type: "number"},
		{Name: "b", Type: "boolean"},
		{Name: "a", Type: "array"},
	}}
	for in, want := range map[string][]string{
		`{}`:                                 {},
		`{"a":[ "x", "y z" ],"s":"v","i":3}`: {"--s=v", "--i=3", `--a=["x","y z"]`},
		`{"s":""}`:                           {"--s="},
		`{"s":"--x=1\n"}`:                    {"--s=--x=1\n"},
		`{"i":1e3}`:                          {"--i=1000"},
		`{"i":-9007199254740993}`:            {"--i=-9007199254740993"},
		`{"i":5.0,"n":-0.5,"b":false}`:       {"--i=5", "--n=-0.5", "--b=false"},
		`{"n":1.10}`:                         {"--n=1.10"},
		`{"s":null,"b":null}`:                {},
		`{"a":[[1,[2]],"<>&"]}`:              {`--a=[[1,[2]],"<>&"]`},
	} {
		if got, err := m.Flags(json.RawMessage(in)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`{"s":"a\u0000b"}`, `{"s":"` + strings.Repeat("x", 130<<10) + `"}`, `[]`} {
		if _, err := m.Flags(json.RawMessage(in)); err == nil {
			t.Errorf("%.30s was taken", in)
		}
	}
}
