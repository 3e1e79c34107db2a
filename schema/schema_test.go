package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

type edit struct {
	Old string `json:"oldString" jsonschema:"Text to find." minLength:"1"`
	New string `json:"newString" jsonschema:"Text to put."`
	All bool   `json:"replaceAll" jsonschema:"Every place." default:"false"`
}

type input struct {
	Path     string            `json:"path" jsonschema:"The file." alias:"file_path,filename" minLength:"1"`
	Limit    int               `json:"limit,omitempty" jsonschema:"Lines." min:"1" max:"2000"`
	Ratio    float64           `json:"ratio,omitempty" jsonschema:"A ratio."`
	Deep     bool              `json:"deep,omitempty" jsonschema:"Below."`
	Encoding string            `json:"encoding,omitempty" jsonschema:"Encoding." enum:"utf-8,latin1,base64"`
	Tags     []string          `json:"tags,omitempty" jsonschema:"Tags."`
	Counts   []int             `json:"counts,omitempty" jsonschema:"Counts."`
	Edits    []edit            `json:"edits,omitempty" jsonschema:"Edits."`
	Env      map[string]string `json:"env,omitempty" jsonschema:"Environment."`
	URL      string            `json:"url,omitempty" jsonschema:"Address." format:"uri"`
	Start    *edit             `json:"start,omitempty" jsonschema:"First."`
	Free     any               `json:"free,omitempty" jsonschema:"Anything."`
}

func specOf[T any](t testing.TB) *tongs.Spec {
	t.Helper()
	in, aliases, err := tongs.SchemaOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return &tongs.Spec{Name: "sample", Input: in, ArgAliases: aliases}
}

func specFrom(t testing.TB, text string) *tongs.Spec {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &tongs.Spec{Name: "sample", Input: &s}
}

func TestRepair(t *testing.T) {
	spec := specOf[input](t)
	for _, test := range []struct {
		args, want string
		notes      []string
	}{
		{`{"path":"a"}`, `{"path":"a"}`, nil},
		{` { "path" : "a" } `, ` { "path" : "a" } `, nil},
		{`{"path":"a","limit":"5"}`, `{"limit":5,"path":"a"}`, []string{`limit: "5" was read as 5`}},
		{`{"path":"a","limit":"5.0"}`, `{"limit":5,"path":"a"}`, []string{`limit: "5.0" was read as 5`}},
		{`{"path":"a","limit":5.0}`, `{"limit":5,"path":"a"}`, []string{`limit: 5.0 was read as 5`}},
		{`{"path":"a","limit":1e3}`, `{"limit":1000,"path":"a"}`, []string{`limit: 1e3 was read as 1000`}},
		{`{"path":"a","ratio":"0.5"}`, `{"path":"a","ratio":0.5}`, []string{`ratio: "0.5" was read as 0.5`}},
		{`{"path":"a","ratio":5.0}`, `{"path":"a","ratio":5.0}`, nil},
		{`{"path":"a","deep":"true"}`, `{"deep":true,"path":"a"}`, []string{`deep: "true" was read as true`}},
		{`{"path":"a","deep":"False"}`, `{"deep":false,"path":"a"}`, []string{`deep: "False" was read as false`}},
		{`{"path":"007"}`, `{"path":"007"}`, nil},
		{`{"path":"5"}`, `{"path":"5"}`, nil},
		{`{"path":"[1]"}`, `{"path":"[1]"}`, nil},
		{`{"path":"null"}`, `{"path":"null"}`, nil},
		{`{"path":"a","tags":"[\"x\",\"y\"]"}`, `{"path":"a","tags":["x","y"]}`, []string{`tags: "[\"x\",\"y\"]" was read as ["x","y"]`}},
		{`{"path":"a","tags":"x"}`, `{"path":"a","tags":["x"]}`, []string{`tags: "x" was read as ["x"]`}},
		{`{"path":"a","tags":"007"}`, `{"path":"a","tags":["007"]}`, []string{`tags: "007" was read as ["007"]`}},
		{`{"path":"a","counts":7}`, `{"counts":[7],"path":"a"}`, []string{`counts: 7 was read as [7]`}},
		{`{"path":"a","counts":["1",2]}`, `{"counts":[1,2],"path":"a"}`, []string{`counts[0]: "1" was read as 1`}},
		{`{"path":"a","counts":"[\"1\"]"}`, `{"counts":[1],"path":"a"}`, []string{`counts: "[\"1\"]" was read as ["1"]`, `counts[0]: "1" was read as 1`}},
		{
			`{"path":"a","edits":{"oldString":"a","newString":"b"}}`, `{"edits":[{"newString":"b","oldString":"a","replaceAll":false}],"path":"a"}`,
			[]string{`edits: {"newString":"b","oldString":"a"} was read as [{"newString":"b","oldString":"a"}]`},
		},
		{
			`{"path":"a","edits":[{"old_string":"a","new-string":"b"}]}`, `{"edits":[{"newString":"b","oldString":"a","replaceAll":false}],"path":"a"}`,
			[]string{`edits[0].new-string: was taken as newString`, `edits[0].old_string: was taken as oldString`},
		},
		{`{"path":"a","env":"{\"A\":\"1\"}"}`, `{"env":{"A":"1"},"path":"a"}`, []string{`env: "{\"A\":\"1\"}" was read as {"A":"1"}`}},
		{`{"file_path":"a"}`, `{"path":"a"}`, []string{`file_path: was taken as path`}},
		{`{"filePath":"a"}`, `{"path":"a"}`, []string{`filePath: was taken as path`}},
		{`{"File-Path":"a"}`, `{"path":"a"}`, []string{`File-Path: was taken as path`}},
		{`{"PATH":"a"}`, `{"path":"a"}`, []string{`PATH: was taken as path`}},
		{`{"path":"a","file_path":"a"}`, `{"path":"a"}`, []string{`file_path: was taken as path`}},
		{`{"file_path":"a","filename":"a"}`, `{"path":"a"}`, []string{`file_path: was taken as path`, `filename: was taken as path`}},
		{`{"path":"a","limit":null,"encoding":null}`, `{"path":"a"}`, []string{`encoding: null was taken as absent`, `limit: null was taken as absent`}},
		{`{"path":"a","encoding":"UTF-8"}`, `{"encoding":"utf-8","path":"a"}`, []string{`encoding: "UTF-8" was read as "utf-8"`}},
		{`{"arguments":{"path":"a","limit":"5"}}`, `{"limit":5,"path":"a"}`, []string{`arguments: its content was taken as the arguments`, `limit: "5" was read as 5`}},
		{`{"input":"{\"path\":\"a\"}"}`, `{"path":"a"}`, []string{`input: its content was taken as the arguments`, `the arguments were a JSON object inside a string`}},
		{`"{\"path\":\"a\"}"`, `{"path":"a"}`, []string{`the arguments were a JSON object inside a string`}},
		{`{"path":"a","free":"5"}`, `{"path":"a","free":"5"}`, nil},
		{`{"path":"a","free":null}`, `{"path":"a","free":null}`, nil},
		{`{"path":"a","start":{"oldString":"a","newString":"b"}}`, `{"path":"a","start":{"newString":"b","oldString":"a","replaceAll":false}}`, nil},
		{`{"path":"<&>\u2028é","limit":"5"}`, `{"limit":5,"path":"<&>\u2028é"}`, []string{`limit: "5" was read as 5`}},
	} {
		checkRepair(t, spec, test.args, test.want, test.notes)
	}
}

func checkRepair(t *testing.T, spec *tongs.Spec, args, want string, notes []string) {
	t.Helper()
	var v schema.Validator
	got, err := v.Check(spec, json.RawMessage(args))
	if err != nil {
		t.Errorf("%s: %v", args, err)
		return
	}
	if string(got.Args) != want {
		t.Errorf("%s:\n got %s\nwant %s", args, got.Args, want)
	}
	if !slices.Equal(got.Repaired, notes) {
		t.Errorf("%s: repaired\n got %q\nwant %q", args, got.Repaired, notes)
	}
	again, err := v.Check(spec, got.Args)
	if err != nil || string(again.Args) != string(got.Args) || len(again.Repaired) > 0 {
		t.Errorf("%s: a second check gave %s, %q, %v", args, again.Args, again.Repaired, err)
	}
}

func TestInvalid(t *testing.T) {
	spec := specOf[input](t)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, test := range []struct{ args, want string }{
		{`{"limit":"abc"}`, "2 arguments of sample are wrong:\n- limit: got \"abc\", want integer from 1 to 2000\n" +
			"- path: is required but missing, want string of at least 1 characters"},
		{`{"path":"a","limit":"007"}`, `limit: got "007", want integer from 1 to 2000`},
		{`{"path":"a","limit":"+5"}`, `limit: got "+5", want integer`},
		{`{"path":"a","limit":" 5"}`, `limit: got " 5", want integer`},
		{`{"path":"a","limit":"0x10"}`, `limit: got "0x10", want integer`},
		{`{"path":"a","limit":"1e400"}`, `limit: got "1e400", want integer`},
		{`{"path":"a","limit":"5000"}`, `limit: got "5000", want integer from 1 to 2000`},
		{`{"path":"a","limit":1.5}`, `limit: got 1.5, want integer`},
		{`{"path":"a","limit":0}`, `limit: got 0, want integer from 1 to 2000`},
		{`{"path":"a","limit":true}`, `limit: got true, want integer`},
		{`{"path":5}`, `path: got 5, want string`},
		{`{"path":null}`, `path: got null, want string`},
		{`{"paht":"a"}`, "2 arguments of sample are wrong:\n- paht: unknown property; did you mean path?\n- path: is required but missing"},
		{`{"path":"a","zzz":1}`, `zzz: unknown property; known are counts, deep, edits,`},
		{`{"path":"a","fiel_path":1}`, `fiel_path: unknown property; did you mean path?`},
		{`{"path":"a","encoding":"utf8"}`, `encoding: got "utf8", want one of "utf-8", "latin1", "base64"; did you mean "utf-8"?`},
		{`{"path":"a","encoding":"ebcdic"}`, `encoding: got "ebcdic", want one of "utf-8", "latin1", "base64"`},
		{`{"path":"a","file_path":"b"}`, `file_path: got "b", but it means path, which is given too with another value; give only path`},
		{`{"file_path":"a","filename":"b"}`, `filename: got "b", but it means path`},
		{`{"file_path":7}`, `path (given as "file_path"): got 7, want string`},
		{`{"path":"a","url":"no uri"}`, `url: got "no uri", want string in format uri`},
		{`{"path":"a","tags":[1,2]}`, "2 arguments of sample are wrong:\n- tags[0]: got 1, want string\n- tags[1]: got 2, want string"},
		{`{"path":"a","tags":"[1"}`, `tags: got "[1", want array of string`},
		{`{"path":"a","tags":7}`, `tags: got 7, want array of string`},
		{`{"path":"a","counts":"5"}`, `counts: got "5", want array of integer`},
		{`{"path":"a","edits":[{"oldString":""}]}`, "2 arguments of sample are wrong:\n- edits[0].newString: is required but missing, want string\n" +
			`- edits[0].oldString: got "", want string of at least 1 characters`},
		{`{"path":"a","env":{"A":1}}`, `env.A: got 1, want string`},
		{`{"arguments":{"path":"a"},"limit":3}`, `arguments: unknown property`},
		{`{"data":{"path":"a"}}`, `data: unknown property`},
		{`{"path":"` + strings.Repeat("x", 5) + `","limit":"` + strings.Repeat("y", 1000) + `"}`, `… (1000 bytes), want integer`},
		{`[1,2]`, `they are [1,2], not a JSON object; give an object with counts, deep`},
		{`"x"`, `they are "x", not a JSON object`},
		{`5`, `they are 5, not a JSON object`},
		{`{"path":"a"`, `not JSON: unexpected end of JSON input`},
		{`{'path':'a'}`, `not JSON: invalid character '\'' looking for beginning of object key string at byte 1`},
		{`{"path":"a"} {}`, `there is more after the end of the JSON value, at byte 13`},
		{`{"path":"a","path":"b"}`, `the property "path" is given twice`},
		{`{"path":"a","env":{"x":"1","\u0078":"2"}}`, `the property "x" is given twice`},
		{`{"path":"a","ratio":1e400}`, `the number 1e400 is out of range`},
		{`{"path":"a","ratio":1e-999999999}`, `the number 1e-999999999 is out of range`},
		{`{"path":"a","ratio":` + strings.Repeat("9", 5000) + `}`, `… (5000 bytes) is out of range`},
		{`{"path":"a","free":` + deep + `}`, `nested deeper than 200 levels`},
		{`{"path":"a","free":` + deep[99_800:100_200] + `}`, `nested deeper than 200 levels`},
		{`{"path":"a","tags":"` + deep[99_750:100_250] + `"}`, `tags: got "[[[[`},
		{"{\"path\":\"\xff\"}", `not valid UTF-8`},
	} {
		var v schema.Validator
		got, err := v.Check(spec, json.RawMessage(test.args))
		if tongs.CodeOf(err) != tongs.CodeInvalidArgs || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.100s:\n got %v, %s\nwant %s", test.args, err, got.Args, test.want)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%.100s: the message has %d bytes", test.args, len(err.Error()))
		}
	}
}

func TestFields(t *testing.T) {
	var v schema.Validator
	_, err := v.Check(specOf[input](t), json.RawMessage(`{"limit":"abc","encoding":"utf8"}`))
	var e *tongs.Error
	if e, _ = err.(*tongs.Error); e == nil {
		t.Fatalf("got %v", err)
	}
	got, err := json.MarshalIndent(e.Details["fields"], "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `[
 {
  "path": "encoding",
  "value": "\"utf8\"",
  "want": "one of \"utf-8\", \"latin1\", \"base64\"",
  "message": "encoding: got \"utf8\", want one of \"utf-8\", \"latin1\", \"base64\"; did you mean \"utf-8\"?"
 },
 {
  "path": "limit",
  "value": "\"abc\"",
  "want": "integer from 1 to 2000",
  "message": "limit: got \"abc\", want integer from 1 to 2000"
 },
 {
  "path": "path",
  "want": "string of at least 1 characters",
  "message": "path: is required but missing, want string of at least 1 characters"
 }
]`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestManyWrongFieldsAreBounded(t *testing.T) {
	args := `{"path":"a","tags":[` + strings.TrimSuffix(strings.Repeat("1,", 30_000), ",") + `]}`
	var v schema.Validator
	_, err := v.Check(specOf[input](t), json.RawMessage(args))
	if err == nil || !strings.Contains(err.Error(), "and 29950 more") || len(err.Error()) > 5000 {
		t.Errorf("got %.200v", err)
	}
}

func TestEmptyArguments(t *testing.T) {
	type none struct{}
	spec := specOf[none](t)
	var v schema.Validator
	for _, args := range []string{"", " \n", "null", "{}"} {
		got, err := v.Check(spec, json.RawMessage(args))
		if err != nil || string(got.Args) != "{}" {
			t.Errorf("%q: got %s, %v", args, got.Args, err)
		}
	}
	if got, err := v.Check(&tongs.Spec{Name: "x"}, json.RawMessage(`{"a":1}`)); err != nil || string(got.Args) != `{"a":1}` {
		t.Errorf("without a schema: %s, %v", got.Args, err)
	}
}

func TestDefaults(t *testing.T) {
	type inner struct {
		Size int    `json:"size" default:"3"`
		Name string `json:"name" default:"x"`
	}
	type in struct {
		Big   int64            `json:"big" default:"9007199254740993"`
		List  []inner          `json:"list,omitempty"`
		Map   map[string]inner `json:"map,omitempty"`
		One   inner            `json:"one" default:"{}"`
		Words []string         `json:"words" default:"[\"a\"]"`
	}
	spec := specOf[in](t)
	for args, want := range map[string]string{
		`{}`: `{"big":9007199254740993,"one":{"name":"x","size":3},"words":["a"]}`,
		`{"big":9007199254740993,"list":[{},{"size":4}],"map":{"k":{}},"words":[]}`: `{"big":9007199254740993,` +
			`"list":[{"name":"x","size":3},{"name":"x","size":4}],"map":{"k":{"name":"x","size":3}},"one":{"name":"x","size":3},"words":[]}`,
	} {
		checkRepair(t, spec, args, want, nil)
	}
	checkRepair(t, spec, `{"list":"[{\"size\":\"4\"}]","big":null}`, `{"big":9007199254740993,"list":[{"name":"x","size":4}],`+
		`"one":{"name":"x","size":3},"words":["a"]}`, []string{
		`big: null was taken as absent`, `list: "[{\"size\":\"4\"}]" was read as [{"size":"4"}]`, `list[0].size: "4" was read as 4`,
	})
}

// A default that its own schema refuses is no default, and defaults never make valid arguments invalid.
func TestBadDefaults(t *testing.T) {
	checkRepair(t, specFrom(t, `{"type":"object","properties":{"a":{"type":"integer","default":"x"},"b":{"type":"integer","default":1}}}`),
		`{}`, `{"b":1}`, nil)
	checkRepair(t, specFrom(t, `{"type":"object","maxProperties":1,"properties":{"a":{"type":"integer","default":1},"b":{"type":"integer"}}}`),
		`{"b":2}`, `{"b":2}`, nil)
	checkRepair(t, specFrom(t, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","additionalProperties":false,
		"properties":{"next":{"$ref":"#/$defs/n"}}}}}`), `{"next":{"next":{}}}`, `{"next":{"next":{}}}`, nil)
}

// A schema whose default holds itself must end.
func TestEndlessDefault(t *testing.T) {
	spec := specFrom(t, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n","default":{}}}}}}`)
	var v schema.Validator
	got, err := v.Check(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := v.Check(spec, got.Args)
	if err != nil || string(again.Args) != string(got.Args) {
		t.Errorf("%s became %s, %v", got.Args, again.Args, err)
	}
}

func TestUnions(t *testing.T) {
	object := func(property string) *tongs.Spec {
		return specFrom(t, `{"type":"object","additionalProperties":false,"properties":{"a":`+property+`}}`)
	}
	for _, test := range []struct {
		property, args, want string
	}{
		{`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `{"a":"5"}`, `{"a":5}`},
		{`{"anyOf":[{"type":"integer"},{"type":"number"}]}`, `{"a":"5"}`, ""},
		{`{"oneOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}`, `{"a":"5"}`, ""},
		{`{"oneOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}`, `{"a":"x"}`, `{"a":["x"]}`},
		{`{"anyOf":[{"type":"string","minLength":3},{"type":"integer"}]}`, `{"a":"5"}`, ""},
		{`{"anyOf":[{"type":"string","enum":["On"]},{"type":"integer"}]}`, `{"a":"on"}`, `{"a":"On"}`},
		{`{"type":["integer","string"],"maxLength":0}`, `{"a":"5"}`, ""},
		{`{"type":["integer","null"]}`, `{"a":"5"}`, `{"a":5}`},
		{`{"type":["integer","null"]}`, `{"a":null}`, `{"a":null}`},
		{`{"enum":[1,2]}`, `{"a":"2"}`, `{"a":2}`},
		{`{"enum":[1,"2"]}`, `{"a":"1"}`, ""},
		{`{"allOf":[{"type":"integer"},{"minimum":3}]}`, `{"a":"5"}`, `{"a":5}`},
		{`{"allOf":[{"type":"integer"},{"minimum":3}]}`, `{"a":"2"}`, ""},
		{
			`{"anyOf":[{"type":"object","required":["kind"],"properties":{"kind":{"const":"x"},"n":{"type":"integer"}}},
			{"type":"object","required":["kind"],"properties":{"kind":{"const":"y"},"n":{"type":"boolean"}}}]}`,
			`{"a":{"kind":"x","n":"5"}}`, `{"a":{"kind":"x","n":5}}`,
		},
		{`{"minimum":3}`, `{"a":"2"}`, `{"a":"2"}`},
	} {
		var v schema.Validator
		got, err := v.Check(object(test.property), json.RawMessage(test.args))
		if test.want == "" {
			if tongs.CodeOf(err) != tongs.CodeInvalidArgs {
				t.Errorf("%s %s: got %s, %v", test.property, test.args, got.Args, err)
			}
		} else if string(got.Args) != test.want || err != nil {
			t.Errorf("%s %s: got %s, %v", test.property, test.args, got.Args, err)
		}
	}
}

// Alternatives inside alternatives multiply; the work stays bounded.
func TestUnionsThatMultiply(t *testing.T) {
	spec := specFrom(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[
		{"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":9},{"type":"integer"}]}}}`)
	args := `{"a":` + strings.Repeat("[", 60) + `"x"` + strings.Repeat("]", 60) + `}`
	var v schema.Validator
	if _, err := v.Check(spec, json.RawMessage(args)); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("got %v", err)
	}
}

// Where other properties are allowed, one that differs from a declared one in case only is refused beside it: Go would
// decode either into the field.
func TestCaseBesideDeclared(t *testing.T) {
	spec := specFrom(t, `{"type":"object","properties":{"path":{"type":"string"}}}`)
	var v schema.Validator
	if _, err := v.Check(spec, json.RawMessage(`{"path":"a","Path":"b"}`)); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("got %v", err)
	}
	checkRepair(t, spec, `{"path":"a","other":1}`, `{"path":"a","other":1}`, nil)
}

func TestSchemaThatCannotBeUsed(t *testing.T) {
	var v schema.Validator
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`,
		`{"type":"object","properties":{"a":{"pattern":"(?!x)"}}}`,
		`{"type":"object","$schema":"https://example.com/meta"}`,
	} {
		spec := specFrom(t, text)
		if _, err := v.Check(spec, json.RawMessage(`{}`)); tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%s: got %v", text, err)
		}
		if err := v.Compile(spec); err == nil {
			t.Errorf("%s compiled", text)
		}
	}
}

func TestOldDraft(t *testing.T) {
	spec := specFrom(t, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
		"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`)
	checkRepair(t, spec, `{"a":["1"]}`, `{"a":[1]}`, []string{`a[0]: "1" was read as 1`})
}

func TestCheckOutput(t *testing.T) {
	type out struct {
		Entries []string `json:"entries"`
		Total   int      `json:"total"`
	}
	s, _, err := tongs.SchemaOf[out]()
	if err != nil {
		t.Fatal(err)
	}
	var v schema.Validator
	spec := &tongs.Spec{Name: "sample", Output: s}
	for value, want := range map[string]string{
		`{"entries":[],"total":1}`:              "",
		`{"entries":null,"total":1}`:            "entries: got null, want array of string (a nil slice or map is null",
		`{"entries":[],"total":"x"}`:            `total: got "x", want integer`,
		`{"entries":[1,2,3,4,5,6,7],"total":1}`: "and more",
		`{"total":1}`:                           "entries: is required but missing",
		``:                                      "not JSON",
	} {
		err := v.CheckOutput(spec, json.RawMessage(value))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", value, err, want)
		}
	}
	if err := v.CheckOutput(&tongs.Spec{}, json.RawMessage(`5`)); err != nil {
		t.Error(err)
	}
}

func TestConcurrentUse(t *testing.T) {
	var v schema.Validator
	specs := []*tongs.Spec{specOf[input](t), specOf[edit](t)}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 20 {
				if _, err := v.Check(specs[0], json.RawMessage(fmt.Sprintf(`{"path":"a","limit":"%d"}`, i+1))); err != nil {
					t.Error(err)
				}
				if _, err := v.Check(specs[1], json.RawMessage(`{"oldString":"a","newString":""}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "Reads a file.": 4, "read_file": 3, "readFile": 2, "internationalization": 3, "2000 lines": 3, "日本語": 3,
		"Reads a text file with line numbers.": 8,
	} {
		if got := schema.Tokens(text); got != want {
			t.Errorf("Tokens(%q) = %d, want %d", text, got, want)
		}
	}
	words := strings.Repeat("word ", 20)
	for _, test := range []struct {
		spec tongs.Spec
		ok   bool
	}{
		{tongs.Spec{Description: words}, true},
		{tongs.Spec{Description: words + "more"}, false},
		{tongs.Spec{Description: words + words, Complex: true}, true},
		{tongs.Spec{Description: words + words + "more", Complex: true}, false},
		{tongs.Spec{}, false},
	} {
		if err := schema.CheckDescription(&test.spec); (err == nil) != test.ok {
			t.Errorf("%d tokens, complex %t: %v", schema.Tokens(test.spec.Description), test.spec.Complex, err)
		}
	}
}
