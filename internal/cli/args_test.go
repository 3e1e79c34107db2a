package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

func TestArguments(t *testing.T) {
	spec := &tongs.Spec{
		Name: "t", ArgAliases: map[string]string{"n": "count"},
		Input: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
			"text": {Type: "string"}, "count": {Type: "integer"}, "share": {Type: "number"}, "deep": {Type: "boolean"},
			"list": {Type: "array", Items: &jsonschema.Schema{Type: "integer"}}, "map": {Type: "object"},
			"createDirs": {Type: "boolean"},
		}},
	}
	for _, tt := range []struct {
		name, json string
		words      []string
		stdin      string
		want, err  string
	}{
		{name: "nothing", want: `{}`},
		{name: "text stays text", words: []string{"text=007"}, want: `{"text":"007"}`},
		{name: "text that looks like JSON", words: []string{`text={"a":1}`}, want: `{"text":"{\"a\":1}"}`},
		{name: "value with =", words: []string{"text=a=b"}, want: `{"text":"a=b"}`},
		{name: "empty value", words: []string{"text="}, want: `{"text":""}`},
		{name: "integer", words: []string{"count=12"}, want: `{"count":12}`},
		{name: "alias", words: []string{"n=12"}, want: `{"n":12}`},
		{name: "other spelling", words: []string{"create_dirs=true"}, want: `{"create_dirs":true}`},
		{name: "no integer", words: []string{"count=0x1"}, want: `{"count":"0x1"}`},
		{name: "leading zero", words: []string{"count=007"}, want: `{"count":"007"}`},
		{name: "number", words: []string{"share=0.5"}, want: `{"share":0.5}`},
		{name: "no number", words: []string{"share=NaN"}, want: `{"share":"NaN"}`},
		{name: "boolean", words: []string{"deep=true"}, want: `{"deep":true}`},
		{name: "no boolean", words: []string{"deep=yes"}, want: `{"deep":"yes"}`},
		{name: "list of one", words: []string{"list=1"}, want: `{"list":[1]}`},
		{name: "list by repeating", words: []string{"list=1", "list=2"}, want: `{"list":[1,2]}`},
		{name: "list as JSON", words: []string{"list=[1,2]"}, want: `{"list":[1,2]}`},
		{name: "object", words: []string{`map={"a":[1]}`}, want: `{"map":{"a":[1]}}`},
		{name: "unknown stays text", words: []string{"other=1"}, want: `{"other":"1"}`},
		{name: "json", json: ` {"text": "x"} `, want: `{"text": "x"}`},
		{name: "json and word", json: `{"text":"x","count":1}`, words: []string{"count=2"}, want: `{"count":2,"text":"x"}`},
		{name: "stdin", json: "-", stdin: `{"text":"x"}`, want: `{"text":"x"}`},
		{name: "stdin by a word", words: []string{"-", "count=1"}, stdin: `{"text":"x"}`, want: `{"count":1,"text":"x"}`},
		{name: "twice", words: []string{"text=a", "text=b"}, err: `"text" is given twice`},
		{name: "json and stdin", json: "{}", words: []string{"-"}, err: "given twice"},
		{name: "no key", words: []string{"=a"}, err: "is not key=value"},
		{name: "no value", words: []string{"text"}, err: "is not key=value"},
		{name: "array", json: "[]", err: "not a JSON object"},
		{name: "two objects", json: "{}{}", err: "not valid JSON"},
		{name: "empty stdin", json: "-", err: "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Arguments(t.Context(), spec, tt.json, tt.words, strings.NewReader(tt.stdin))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				if _, ok := errors.AsType[UsageError](err); !ok {
					t.Errorf("%v is no error of usage", err)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
