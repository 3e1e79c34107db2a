package schema_test

import (
	"encoding/json"
	"testing"

	source "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

// fuzzSchemas are what FuzzRepair holds arguments against. None has a default, so that what is valid must stay as it is.
var fuzzSchemas = []string{
	`{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"},
		"limit":{"type":"integer","minimum":1,"maximum":100},"deep":{"type":"boolean"},"ratio":{"type":"number"},
		"encoding":{"type":"string","enum":["utf-8","latin1"]},"tags":{"type":"array","items":{"type":"string"}},
		"edits":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["oldString"],
			"properties":{"oldString":{"type":"string"},"n":{"type":"integer"}}}}}}`,
	`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}},
		{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}]},"b":{"type":["boolean","null"]},
		"c":{"oneOf":[{"type":"string","pattern":"^x"},{"type":"integer"}]},"d":{"enum":[1,"Two",null,[3]]}},
		"additionalProperties":{"type":"array","items":{"type":"integer"}}}`,
	`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/n"},
		"v":{"allOf":[{"type":"integer"},{"multipleOf":2}]},"any":true}}}}`,
	`{"type":"object","properties":{"limit":{"type":"integer","default":7},"list":{"type":"array","items":{"type":"object",
		"additionalProperties":false,"properties":{"x":{"type":"integer","default":1},"y":{"type":"string","default":"y"}}}}},
		"additionalProperties":false}`,
}

// independent compiles a schema by itself, without what Check does to it.
func independent(t testing.TB, text string) *jsonschema.Schema {
	doc := new(any)
	if err := json.Unmarshal([]byte(text), doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:x", *doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:x")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FuzzRepair holds Check to its promises: what it returns is valid by an independent judge, a second check changes and
// reports nothing more, what was valid before is the same value after, and nothing changes without being reported.
func FuzzRepair(f *testing.F) {
	for _, args := range []string{
		`{"path":"a","limit":"5","deep":"true"}`, `{"file_path":"a","File-Path":"a"}`, `{"arguments":{"path":"a"}}`,
		`{"path":"a","tags":"[\"x\"]","edits":{"oldString":"x","n":"3"}}`, `{"a":"5","c":"5","d":"two"}`, `{"a":"x","z":"[1,\"2\"]"}`,
		`{"next":{"next":{"v":"4","NEXT":null}}}`, `{"path":"a","limit":5.0,"ratio":1e3}`, `"{\"path\":\"a\"}"`, `null`, `[]`,
		`{"a":{"n":"1"},"b":"TRUE"}`, `{"path":"a","path":"b"}`, `{"list":[{},{"x":"3"}],"limit":null}`, `{"v":1e2}`,
		`{"list":"{\"x\":2.0}"}`, `{"":null}`, `{"a":1e308}`, `{"any":[[[{}]]]}`,
	} {
		for i := range fuzzSchemas {
			f.Add(i, args)
		}
	}
	specs := make([]*tongs.Spec, len(fuzzSchemas))
	judges := make([]*jsonschema.Schema, len(fuzzSchemas))
	for i, text := range fuzzSchemas {
		specs[i] = &tongs.Spec{Name: "sample", Input: &source.Schema{}, ArgAliases: map[string]string{"file_path": "path"}}
		if err := json.Unmarshal([]byte(text), specs[i].Input); err != nil {
			f.Fatal(err)
		}
		judges[i] = independent(f, text)
	}
	var v schema.Validator
	f.Fuzz(func(t *testing.T, i int, args string) {
		i = ((i % len(specs)) + len(specs)) % len(specs)
		spec, judge := specs[i], judges[i]
		got, err := v.Check(spec, json.RawMessage(args))
		var before any
		wasValid := json.Unmarshal([]byte(args), &before) == nil && before != nil && judge.Validate(before) == nil
		if err != nil {
			if code := tongs.CodeOf(err); code != tongs.CodeInvalidArgs {
				t.Fatalf("%q: %v", args, err)
			}
			if len(err.Error()) > 100_000 {
				t.Fatalf("%q: the message has %d bytes", args, len(err.Error()))
			}
			return
		}
		var after any
		if err := json.Unmarshal(got.Args, &after); err != nil {
			t.Fatalf("%q became %q: %v", args, got.Args, err)
		}
		if err := judge.Validate(after); err != nil {
			t.Fatalf("%q became %q, which is invalid: %v", args, got.Args, err)
		}
		again, err := v.Check(spec, got.Args)
		if err != nil || string(again.Args) != string(got.Args) || len(again.Repaired) > 0 {
			t.Fatalf("%q became %q, then %q (%q), %v", args, got.Args, again.Args, again.Repaired, err)
		}
		hasDefaults := i == len(specs)-1
		if hasDefaults {
			return
		}
		if len(got.Repaired) == 0 && before != nil && string(got.Args) != args {
			t.Fatalf("%q became %q and nobody said so", args, got.Args)
		}
		if wasValid {
			x, _ := json.Marshal(before)
			y, _ := json.Marshal(after)
			if string(x) != string(y) {
				t.Fatalf("%q was valid and became %q (%q)", args, got.Args, got.Repaired)
			}
		}
	})
}
