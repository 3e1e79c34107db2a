package tongs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

type schemaInner struct {
	Name string `json:"name" jsonschema:"A name." minLength:"1" maxLength:"8" pattern:"^[a-z]+$"`
	Size int    `json:"size" jsonschema:"A size." default:"3" min:"0" max:"9"`
}

type schemaBase struct {
	Base string `json:"base,omitempty" jsonschema:"From the embedded struct." format:"uri" example:"https://example.com"`
}

type schemaFull struct {
	schemaBase
	Path    string                 `json:"path" jsonschema:"The path." alias:"file_path, filename"`
	Mode    string                 `json:"mode" jsonschema:"The mode." enum:"fast,slow" default:"fast"`
	Ratio   float64                `json:"ratio,omitempty" min:"0.5" max:"1" enum:"0.5,1"`
	Level   *int                   `json:"level,omitempty" enum:"1,2"`
	Tags    []string               `json:"tags,omitempty" enum:"a,b" minItems:"1" maxItems:"2" default:"[\"a\"]"`
	Inners  []schemaInner          `json:"inners,omitempty"`
	Pointer *schemaInner           `json:"pointer,omitempty"`
	Map     map[string]schemaInner `json:"map,omitempty"`
	Words   map[string]string      `json:"words,omitempty" minLength:"2"`
	Matrix  [][]int                `json:"matrix,omitempty" min:"1"`
	Free    any                    `json:"free,omitempty"`
	Frees   []any                  `json:"frees,omitempty"`
	Anys    map[string]any         `json:"anys,omitempty"`
	Raw     json.RawMessage        `json:"raw,omitempty" jsonschema:"Raw."`
	Bytes   []byte                 `json:"bytes,omitempty"`
	When    *time.Time             `json:"when,omitempty"`
	Number  json.Number            `json:"number,omitempty"`
	Big     *big.Int               `json:"big,omitempty"`
	Needs   tongs.Permissions      `json:"needs,omitempty"`
	Choice  tongs.Decision         `json:"choice,omitempty"`
	Opt     schemaInner            `json:"opt" default:"{\"name\":\"x\"}"`
	hidden  string
	Dropped string `json:"-"`
}

func TestSchemaOf(t *testing.T) {
	s, aliases, err := tongs.SchemaOf[schemaFull]()
	if err != nil {
		t.Fatal(err)
	}
	inner := `{"type":"object","properties":{"name":{"type":"string","description":"A name.","minLength":1,"maxLength":8,"pattern":"^[a-z]+$"},` +
		`"size":{"type":"integer","description":"A size.","default":3,"minimum":0,"maximum":9}},"required":["name"],"additionalProperties":false}`
	want := `{"type":"object","properties":{` + strings.Join([]string{
		`"base":{"type":"string","description":"From the embedded struct.","examples":["https://example.com"],"format":"uri"}`,
		`"path":{"type":"string","description":"The path."}`,
		`"mode":{"type":"string","description":"The mode.","default":"fast","enum":["fast","slow"]}`,
		`"ratio":{"type":"number","enum":[0.5,1],"minimum":0.5,"maximum":1}`,
		`"level":{"type":"integer","enum":[1,2]}`,
		`"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"],"minItems":1,"maxItems":2}`,
		`"inners":{"type":"array","items":` + inner + `}`,
		`"pointer":` + inner,
		`"map":{"type":"object","additionalProperties":` + inner + `}`,
		`"words":{"type":"object","additionalProperties":{"type":"string","minLength":2}}`,
		`"matrix":{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":1}}}`,
		`"free":{"description":"Any JSON value."}`,
		`"frees":{"type":"array"}`,
		`"anys":{"type":"object"}`,
		`"raw":{"description":"Raw."}`,
		`"bytes":{"type":"string","contentEncoding":"base64"}`,
		`"when":{"type":"string","format":"date-time"}`,
		`"number":{"type":"number"}`,
		`"big":{"type":"integer"}`,
		`"needs":{"description":"Any JSON value."}`,
		`"choice":{"type":"string"}`,
		`"opt":` + strings.Replace(inner, `"required"`, `"default":{"name":"x"},"required"`, 1),
	}, ",") + `},"required":["path"],"additionalProperties":false}`
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(string(got), `},"`, "},\n\""), strings.ReplaceAll(want, `},"`, "},\n\""))
	}
	if want := map[string]string{"file_path": "path", "filename": "path"}; !maps.Equal(aliases, want) {
		t.Errorf("aliases are %v", aliases)
	}
}

func TestSchemaOfOtherTypes(t *testing.T) {
	check := func(got func() (any, error), want string) {
		t.Helper()
		s, err := got()
		text, _ := json.Marshal(s)
		if err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
	}
	check(schemaAny[struct{}], `{"type":"object","properties":{},"additionalProperties":false}`)
	check(schemaAny[string], `{"type":"string"}`)
	check(schemaAny[*int], `{"type":"integer"}`)
	check(schemaAny[[]string], `{"type":"array","items":{"type":"string"}}`)
	check(schemaAny[[]any], `{"type":"array"}`)
	check(schemaAny[map[string]int], `{"type":"object","additionalProperties":{"type":"integer"}}`)
	check(schemaAny[[]schemaBase], `{"type":"array","items":{"type":"object","properties":{"base":{"type":"string",`+
		`"description":"From the embedded struct.","examples":["https://example.com"],"format":"uri"}},"additionalProperties":false}}`)
	check(schemaAny[any], `null`)
	check(schemaAny[json.RawMessage], `null`)
	check(schemaAny[tongs.Permissions], `null`)
}

func schemaAny[T any]() (any, error) {
	s, _, err := tongs.SchemaOf[T]()
	if s == nil {
		return nil, err
	}
	return s, err
}

type schemaEmbedded string

type schemaLoop struct {
	Next *schemaLoop `json:"next,omitempty"`
}

func TestSchemaOfRefuses(t *testing.T) {
	check := func(f func() (any, error), want ...string) {
		t.Helper()
		_, err := f()
		if err == nil {
			t.Errorf("want an error about %q", want)
			return
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %v, want %q", err, part)
			}
		}
	}
	check(schemaAny[struct {
		Limit int `json:"limit" default:"many"`
	}], "field Limit", `tag default:"many"`, "integer")
	check(schemaAny[struct {
		Limit int `default:"5.5"`
	}], "field Limit", "5.5")
	check(schemaAny[struct {
		Limit int `default:"5 6"`
	}], "more than one value")
	check(schemaAny[struct {
		Limit int `default:"11" max:"10"`
	}], `tag default:"11"`)
	check(schemaAny[struct {
		Mode string `default:"c" enum:"a,b"`
	}], `tag default:"c"`)
	check(schemaAny[struct {
		Tags []string `default:"a"`
	}], `tag default:"a"`)
	check(schemaAny[struct {
		In schemaInner `default:"{\"nme\":\"x\"}"`
	}], "nme")
	check(schemaAny[struct {
		Small int8 `default:"300"`
	}], "300")
	check(schemaAny[struct {
		Mode int `enum:"1,b"`
	}], `tag enum:"1,b"`, `"b" is not an integer`)
	check(schemaAny[struct {
		Mode float64 `enum:"x"`
	}], "not a number")
	check(schemaAny[struct {
		Mode bool `enum:"true"`
	}], "an enum is of strings or numbers, the field is a boolean")
	check(schemaAny[struct {
		Mode string `enum:"a,a"`
	}], "listed twice")
	check(schemaAny[struct {
		Name string `pattern:"("`
	}], `tag pattern:"("`)
	check(schemaAny[struct {
		Name int `pattern:"a"`
	}], "a pattern is of strings")
	check(schemaAny[struct {
		Name string `format:"url"`
	}], `"url" is not one of date`)
	check(schemaAny[struct {
		Name int `format:"uri"`
	}], "a format is of strings")
	check(schemaAny[struct {
		Name string `min:"1"`
	}], "it bounds a number, the field is a string")
	check(schemaAny[struct {
		Size int `min:"low"`
	}], `"low" is not a number`)
	check(schemaAny[struct {
		Size int `min:"5" max:"4"`
	}], "field Size: its minimum is above its maximum")
	check(schemaAny[struct {
		Name string `minLength:"-1"`
	}], "not a count")
	check(schemaAny[struct {
		Size int `maxLength:"3"`
	}], "it bounds a string, the field is an integer")
	check(schemaAny[struct {
		Name string `minItems:"1"`
	}], "it bounds an array")
	check(schemaAny[struct {
		Size int `example:"x"`
	}], `tag example:"x"`)
	check(schemaAny[struct {
		Free any `min:"1"`
	}], "the field is anything")
	check(schemaAny[struct {
		Deep []struct {
			Size int `default:"x"`
		}
	}], "field Size")
	check(schemaAny[struct {
		Deep map[string]*struct {
			Name string `alias:"x"`
		}
	}], "field Name", "inside a map")
	check(schemaAny[struct {
		A string `json:"a" alias:"b"`
		B string `json:"b"`
	}], `"b" is a property itself`)
	check(schemaAny[struct {
		A string `json:"a" alias:"x"`
		B string `json:"b" alias:"x"`
	}], `"x" is an alias of "a" already`)
	check(schemaAny[struct {
		A string `json:"a" alias:"x,"`
	}], "an alias is empty")
	check(schemaAny[struct {
		schemaBase `json:"base"`
	}], "cannot have a json name")
	check(schemaAny[struct{ schemaEmbedded }], "only structs can be embedded")
	check(schemaAny[struct {
		Size int `json:"size,string"`
	}], "json option string")
	check(schemaAny[schemaLoop], "cycle")
	check(schemaAny[struct{ F func() }], "func")
}

// What a schema says and what encoding/json does must agree: the zero value of each field is written as the type that
// the schema names.
func TestSchemaAgreesWithEncoding(t *testing.T) {
	s, _, err := tongs.SchemaOf[schemaFull]()
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	now := time.Now()
	value := schemaFull{
		schemaBase: schemaBase{"https://example.com"}, Path: "p", Mode: "slow", Ratio: 1, Level: &n, Tags: []string{"b"},
		Inners: []schemaInner{{"a", 1}}, Pointer: &schemaInner{"a", 1}, Map: map[string]schemaInner{"k": {"a", 1}},
		Words: map[string]string{"k": "vv"}, Matrix: [][]int{{1}}, Free: 1, Frees: []any{1}, Anys: map[string]any{"k": 1},
		Raw: json.RawMessage(`1`), Bytes: []byte("x"), When: &now, Number: "1", Big: big.NewInt(1), Needs: tongs.Read,
		Choice: tongs.Blocked, Opt: schemaInner{"a", 1}, hidden: "h", Dropped: "d",
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var generic map[string]any
	if err := json.Unmarshal(text, &generic); err != nil {
		t.Fatal(err)
	}
	if len(generic) != len(s.Properties) || value.hidden == "" {
		t.Errorf("%d properties are encoded, the schema has %d", len(generic), len(s.Properties))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(generic); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	var back schemaFull
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back.Inners, value.Inners) {
		t.Errorf("got %v, %v", back, err)
	}
}

func ExampleSchemaOf() {
	type Input struct {
		Path  string `json:"path" jsonschema:"File to read." alias:"file_path"`
		Limit int    `json:"limit" jsonschema:"Most lines." default:"100" min:"1" max:"2000"`
	}
	schema, aliases, err := tongs.SchemaOf[Input]()
	text, _ := json.MarshalIndent(schema.Properties["limit"], "", " ")
	fmt.Println(string(text), schema.Required, aliases, err)
	// Output:
	// {
	//  "type": "integer",
	//  "description": "Most lines.",
	//  "default": 100,
	//  "minimum": 1,
	//  "maximum": 2000
	// } [path] map[file_path:path] <nil>
}

func BenchmarkSchemaOf(b *testing.B) {
	for b.Loop() {
		if _, _, err := tongs.SchemaOf[schemaFull](); err != nil {
			b.Fatal(err)
		}
	}
}

// Properties of the elements of an argument have further names too, which are known by the way to them.
func TestSchemaAliasesFurtherDown(t *testing.T) {
	_, aliases, err := tongs.SchemaOf[struct {
		Edits []struct {
			Old   string `json:"old" alias:"search"`
			Where struct {
				Line int `json:"line" alias:"row"`
			} `json:"where"`
		} `json:"edits"`
	}]()
	if want := map[string]string{"edits.search": "old", "edits.where.row": "line"}; err != nil || !maps.Equal(aliases, want) {
		t.Errorf("aliases are %v, %v", aliases, err)
	}
}
