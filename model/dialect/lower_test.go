package dialect_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/modeltest"
)

func schema(tb testing.TB, text string) *jsonschema.Schema {
	tb.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return &s
}

func one(tb testing.TB, d dialect.Dialect, properties string) (*dialect.Set, string) {
	tb.Helper()
	set := dialect.Tools([]*tongs.Spec{{Name: "t", Input: schema(tb, `{"type":"object","properties":{`+properties+`},"required":["r"]}`)}}, d)
	b, err := json.Marshal(set.Tools[0].Schema)
	if err != nil {
		tb.Fatal(err)
	}
	return set, string(b)
}

func same(tb testing.TB, what, got, want string) {
	tb.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		tb.Fatalf("%s: %s: %v", what, got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		tb.Fatalf("%s: %s: %v", what, want, err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestGemini(t *testing.T) {
	for name, test := range map[string]struct{ in, want, lost string }{
		"types":              {`{"type":"integer","minimum":1,"description":"d"}`, `{"type":"INTEGER","minimum":1,"description":"d"}`, ""},
		"null":               {`{"type":["string","null"]}`, `{"type":"STRING","nullable":true}`, ""},
		"several types":      {`{"type":["string","number"],"description":"d"}`, `{"description":"d","anyOf":[{"type":"STRING"},{"type":"NUMBER"}]}`, ""},
		"enum":               {`{"enum":["a","b"]}`, `{"type":"STRING","format":"enum","enum":["a","b"]}`, ""},
		"const":              {`{"const":"a"}`, `{"type":"STRING","format":"enum","enum":["a"]}`, ""},
		"enum of numbers":    {`{"type":"integer","enum":[1,2]}`, `{"type":"INTEGER","description":"(one of [1,2])"}`, "said in words only: one of [1,2]"},
		"enum with nothing":  {`{"enum":["","a"]}`, `{"type":"STRING","description":"(one of [\"\",\"a\"])"}`, "said in words"},
		"default":            {`{"type":"boolean","default":false}`, `{"type":"BOOLEAN","default":false}`, ""},
		"exclusive, integer": {`{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10}`, `{"type":"INTEGER","minimum":1,"maximum":9}`, ""},
		"exclusive, number":  {`{"type":"number","exclusiveMinimum":0}`, `{"type":"NUMBER","description":"(more than 0)"}`, "more than 0"},
		"format":             {`{"type":"string","format":"uri"}`, `{"type":"STRING","description":"(format uri)"}`, "format uri"},
		"oneOf":              {`{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`, `{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}],"nullable":true}`, ""},
		"one alternative":    {`{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"STRING","description":"d","nullable":true}`, ""},
		"array":              {`{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}`, `{"type":"ARRAY","items":{"type":"STRING"},"minItems":1,"description":"(no item twice)"}`, "no item twice"},
		"array of anything":  {`{"type":"array"}`, `{"type":"ARRAY","items":{"type":"STRING","description":"Any value, written as JSON."}}`, "JSON in a string"},
		"map":                {`{"type":"object","additionalProperties":{"type":"string"},"description":"Env."}`, `{"type":"STRING","description":"Env. Written as JSON."}`, "JSON in a string"},
		"empty object":       {`{"type":"object","additionalProperties":false}`, `{"type":"STRING","description":"Written as JSON."}`, "JSON in a string"},
		"allOf":              {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"STRING"}},"required":["b"],"propertyOrdering":["a","b"]}`, ""},
		"nested object":      {`{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}`, `{"type":"OBJECT","properties":{"x":{"type":"STRING"}}}`, ""},
	} {
		set, got := one(t, dialect.Gemini, `"r":`+test.in)
		same(t, name, got, `{"type":"OBJECT","properties":{"r":`+test.want+`},"required":["r"]}`)
		if lost := strings.Join(set.Lost, "; "); test.lost == "" && lost != "" || !strings.Contains(lost, test.lost) {
			t.Errorf("%s: lost %q, want %q", name, lost, test.lost)
		}
	}
}

func TestStrict(t *testing.T) {
	for name, test := range map[string]struct{ in, want, lost string }{
		"optional":       {`"r":{"type":"string"},"o":{"type":"integer","minimum":1}`, `"r":{"type":"string"},"o":{"type":["integer","null"],"minimum":1}`, ""},
		"optional enum":  {`"r":{"type":"string"},"o":{"enum":["a"]}`, `"r":{"type":"string"},"o":{"type":["string","null"],"enum":["a",null]}`, ""},
		"lengths":        {`"r":{"type":"string","minLength":1,"pattern":"^a"},"o":{"type":"boolean"}`, `"r":{"type":"string","pattern":"^a","description":"(at least 1 characters)"},"o":{"type":["boolean","null"]}`, "at least 1"},
		"default":        {`"r":{"type":"string"},"o":{"type":"integer","default":120}`, `"r":{"type":"string"},"o":{"type":["integer","null"],"description":"(default 120)"}`, ""},
		"alternatives":   {`"r":{"type":"string"},"o":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `"r":{"type":"string"},"o":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`, ""},
		"nested objects": {`"r":{"type":"string"},"o":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`, `"r":{"type":"string"},"o":{"type":["object","null"],"properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`, ""},
	} {
		set, got := one(t, dialect.OpenAIStrict, test.in)
		if !set.Tools[0].Strict {
			t.Errorf("%s is not strict: %q", name, set.Lost)
		}
		same(t, name, got, `{"type":"object","properties":{`+test.want+`},"required":["o","r"],"additionalProperties":false}`)
		if lost := strings.Join(set.Lost, "; "); test.lost == "" && lost != "" || !strings.Contains(lost, test.lost) {
			t.Errorf("%s: lost %q, want %q", name, lost, test.lost)
		}
	}
	set, got := one(t, dialect.OpenAIStrict, `"r":{"type":"object","additionalProperties":{"type":"string"}}`)
	if set.Tools[0].Strict || !strings.Contains(got, "additionalProperties") || len(set.Lost) == 0 {
		t.Errorf("a map: %s, lost %q", got, set.Lost)
	}
}

func TestPlainDialectsKeepSchemasWhole(t *testing.T) {
	in := `"r":{"$ref":"#/$defs/x"},"o":{"type":"object","additionalProperties":{"type":"string"},"minProperties":1}`
	for _, d := range []dialect.Dialect{dialect.Anthropic, dialect.OpenAI} {
		spec := &tongs.Spec{Name: "t", Input: schema(t, `{"type":"object","$defs":{"x":{"type":"string"}},"properties":{`+in+`},"required":["r"]}`)}
		set := dialect.Tools([]*tongs.Spec{spec}, d)
		b, err := json.Marshal(set.Tools[0].Schema)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "whole", string(b), `{"type":"object","$defs":{"x":{"type":"string"}},"properties":{`+in+`},"required":["r"]}`)
		if len(set.Lost) > 0 {
			t.Errorf("lost: %q", set.Lost)
		}
		if set.Args("t", ` {"r": 1.50} `) != ` {"r": 1.50} ` {
			t.Error("arguments were changed")
		}
	}
}

func TestArgumentsComeBack(t *testing.T) {
	strict := schema(t, `{"type":"object","properties":{"a":{"type":"string"},"n":{"type":["integer","null"]},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x"]}}}}`)
	odd := schema(t, `{"type":"object","properties":{"$a b":{"type":"string"},"env":{"type":"object"},"deep":{"type":"object","properties":{"x-y":{"type":"integer"}}},"any":{}}}`)
	gemini := dialect.Tools([]*tongs.Spec{{Name: "t", Input: odd}}, dialect.Gemini)
	top := slices.Sorted(maps.Keys(gemini.Tools[0].Schema.Properties))
	var renamed string
	for _, name := range top {
		if strings.HasPrefix(name, "_") {
			renamed = name
		}
	}
	deep := slices.Sorted(maps.Keys(gemini.Tools[0].Schema.Properties["deep"].Properties))[0]
	for name, test := range map[string]struct {
		set      *dialect.Set
		in, want string
	}{
		"nulls":        {dialect.Tools([]*tongs.Spec{{Name: "t", Input: strict}}, dialect.OpenAIStrict), `{"a":null,"n":null,"list":[{"x":"1","y":null},{"x":"2","y":"3"}]}`, `{"n":null,"list":[{"x":"1"},{"x":"2","y":"3"}]}`},
		"big numbers":  {dialect.Tools([]*tongs.Spec{{Name: "t", Input: strict}}, dialect.OpenAIStrict), `{"n":12345678901234567890}`, `{"n":12345678901234567890}`},
		"names":        {gemini, `{"` + renamed + `":"v","deep":{"` + deep + `":1}}`, `{"$a b":"v","deep":{"x-y":1}}`},
		"JSON in text": {gemini, `{"env":"{\"A\":\"<b>\"}","any":"[1]"}`, `{"env":{"A":"<b>"},"any":[1]}`},
		"plain text":   {gemini, `{"any":"hello there"}`, `{"any":"hello there"}`},
		"an object":    {gemini, `{"env":{"A":"b"}}`, `{"env":{"A":"b"}}`},
		"no JSON":      {gemini, `{"env":`, `{"env":`},
		"two values":   {gemini, `{} {}`, `{} {}`},
	} {
		if got := test.set.Args("t", test.in); got != test.want {
			if !json.Valid([]byte(test.want)) {
				t.Errorf("%s: %s, want %s", name, got, test.want)
				continue
			}
			same(t, name, got, test.want)
		}
	}
	back := gemini.Forth("t", json.RawMessage(`{"$a b":"v","deep":{"x-y":1}}`))
	same(t, "forth", string(back), `{"`+renamed+`":"v","deep":{"`+deep+`":1}}`)
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	specs := []*tongs.Spec{{Name: "plain"}, {Name: long + "1"}, {Name: long + "2"}, {Name: "a.b"}, {Name: "a_b"}, {Name: "ä"}, {Name: "9lives"}, {Name: "plain"}}
	for _, d := range []dialect.Dialect{dialect.Anthropic, dialect.OpenAI, dialect.OpenAIStrict, dialect.Gemini} {
		set := dialect.Tools(specs, d)
		seen := map[string]bool{}
		for _, tool := range set.Tools {
			if len(tool.Name) > 64 || seen[tool.Name] || strings.ContainsAny(tool.Name, ". ä") {
				t.Errorf("%s: the name is %q", d, tool.Name)
			}
			seen[tool.Name] = true
		}
		for _, spec := range specs {
			if got := set.Original(set.Wire(spec.Name)); got != spec.Name {
				t.Errorf("%s: %s comes back as %s", d, spec.Name, got)
			}
		}
		if len(set.Tools) != 7 || len(set.Lost) != 1 || set.Wire("plain") != "plain" {
			t.Errorf("%s: %d tools, lost %q", d, len(set.Tools), set.Lost)
		}
		if set.Original("made_up") != "made_up" || set.Wire("made up") == "made up" {
			t.Errorf("%s: made-up names are %q and %q", d, set.Original("made_up"), set.Wire("made up"))
		}
	}
}

// Schemas from outside may be built to multiply; what is sent stays small.
func TestHostileSchemas(t *testing.T) {
	defs := map[string]*jsonschema.Schema{}
	for i := range 40 {
		next := &jsonschema.Schema{Ref: fmt.Sprintf("#/$defs/d%d", i+1)}
		defs[fmt.Sprintf("d%d", i)] = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"a": next, "b": next, "c": next}}
	}
	circle := &jsonschema.Schema{Ref: "#/$defs/self"}
	all := &jsonschema.Schema{AllOf: []*jsonschema.Schema{{Ref: "#/$defs/all"}}}
	for name, s := range map[string]*jsonschema.Schema{
		"doubling":     {Type: "object", Defs: defs, Properties: map[string]*jsonschema.Schema{"x": {Ref: "#/$defs/d0"}}},
		"a circle":     {Type: "object", Defs: map[string]*jsonschema.Schema{"self": circle}, Properties: map[string]*jsonschema.Schema{"x": circle}},
		"all in all":   {Type: "object", Defs: map[string]*jsonschema.Schema{"all": all}, Properties: map[string]*jsonschema.Schema{"x": all}},
		"the root":     {Type: "object", Properties: map[string]*jsonschema.Schema{"x": {Ref: "#"}, "y": {Ref: "#/nowhere"}}},
		"the root all": {Ref: "#"},
		"no schema":    nil,
		"text":         {Type: "string"},
		"nil property": {Type: "object", Properties: map[string]*jsonschema.Schema{"x": nil}},
	} {
		for _, d := range []dialect.Dialect{dialect.Anthropic, dialect.OpenAI, dialect.OpenAIStrict, dialect.Gemini} {
			set := dialect.Tools([]*tongs.Spec{{Name: "t", Input: s}}, d)
			if d != dialect.Gemini && d != dialect.OpenAIStrict || name == "nil property" {
				continue
			}
			b, err := json.Marshal(set.Tools[0].Schema)
			if err != nil || len(b) > 2<<20 {
				t.Errorf("%s in %s: %d bytes, %v", name, d, len(b), err)
			}
		}
	}
}

func TestNasty(t *testing.T) {
	for _, d := range []dialect.Dialect{dialect.Anthropic, dialect.OpenAI, dialect.OpenAIStrict, dialect.Gemini} {
		set := dialect.Tools([]*tongs.Spec{{Name: "t", Input: schema(t, modeltest.NastySchema)}}, d)
		if len(set.Lost) == 0 {
			t.Errorf("%s lost nothing", d)
		}
		for _, line := range set.Lost {
			if !strings.HasPrefix(line, "t: ") {
				t.Errorf("%s: %q does not say whose it is", d, line)
			}
		}
	}
}

func ExampleTools() {
	spec := &tongs.Spec{Name: "web.fetch", Input: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"url": {Type: "string", Format: "uri"},
	}}}
	set := dialect.Tools([]*tongs.Spec{spec}, dialect.Gemini)
	fmt.Println(set.Tools[0].Name, set.Tools[0].Schema.Properties["url"].Description)
	fmt.Println(set.Lost)
	// Output:
	// web_fetch_0b1cadf4 (format uri)
	// [web.fetch: url: said in words only: format uri]
}
