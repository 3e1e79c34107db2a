package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

// Arguments and schemas from elsewhere may be made to cost much; the answer comes soon, is bounded, and is right.
func TestAttacks(t *testing.T) {
	object := func(properties string) string {
		return `{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.Contains(format, "%d") {
				fmt.Fprintf(&b, format, i)
			} else {
				b.WriteString(format)
			}
		}
		return b.String()
	}
	branches := repeat(30, `{"$ref":"#/$defs/n"}`)
	for _, test := range []struct{ name, schema, args, want string }{
		{"many repairs", object(`"a":{"type":"array","items":{"type":"integer"}}`), `{"a":[` + repeat(10_000, `"5"`) + `]}`, ""},
		{
			"more repairs than are made", object(`"a":{"type":"array","items":{"type":"integer"}}`),
			`{"a":[` + repeat(40_000, `"5"`) + `]}`, "20002 arguments of sample are wrong",
		},
		{"many unknown properties", object(`"path":{"type":"string"}`), `{` + repeat(50_000, `"paht%d":1`) + `}`, "50000 arguments of sample are wrong"},
		{"many spellings of one", object(`"path":{"type":"string"}`), `{` + repeat(2_000, `"pa_th`+"%d"+`":1`) + `,"PATH":"a","pAth":"b"}`, "more"},
		{
			"long names", object(`"a":{"type":"object","additionalProperties":{"type":"integer"}}`),
			`{"a":{"` + strings.Repeat("k", 100_000) + `":"x"}}`, "want integer",
		},
		{"long unknown name", object(`"path":{"type":"string"}`), `{"` + strings.Repeat("k", 100_000) + `":"x"}`, "unknown property"},
		{
			"long repaired name", object(`"a":{"type":"object","additionalProperties":{"type":"integer"}}`),
			`{"a":{"` + strings.Repeat("k", 100_000) + `":"5"}}`, "",
		},
		{
			"alternatives of themselves", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[` + branches + `]}}}`,
			`{"a":"5"}`, "INVALID_ARGS",
		},
		{
			"alternatives that nest", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/n"}},
			{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":3},{"type":"integer"}]}}}`,
			`{"a":` + strings.Repeat("[", 150) + `"x"` + strings.Repeat("]", 150) + `}`, "nested too deep for the alternatives",
		},
		{"JSON in JSON in JSON", object(`"a":{"type":"array","items":{"type":"array","items":{"type":"array"}}}`), inString(3, `[]`), ""},
		{
			"strings that open brackets", object(`"a":{"type":"array","items":{"type":"array"}}`),
			`{"a":[` + repeat(5_000, `"`+strings.Repeat("[", 100)+`"`) + `]}`, "more",
		},
		{"a large string", object(`"a":{"type":"integer"}`), `{"a":"` + strings.Repeat("5", 3_000_000) + `"}`, "(3000000 bytes), want integer"},
		{"many digits", object(`"a":{"type":"integer"}`), `{"a":` + strings.Repeat("5", 300) + `}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var v schema.Validator
			got, err := v.Check(specFrom(t, test.schema), json.RawMessage(test.args))
			if test.want == "" {
				if err != nil {
					t.Fatalf("got %.300v", err)
				}
				if told := strings.Join(got.Repaired, ""); len(told) > 20_000 {
					t.Errorf("the repairs are told in %d bytes", len(told))
				}
				return
			}
			if tongs.CodeOf(err) != tongs.CodeInvalidArgs || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %.300v, want %q", err, test.want)
			}
			if len(err.Error()) > 30_000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

// inString wraps a JSON value into n strings in arrays: {"a":"[\"[...]\"]"}.
func inString(n int, value string) string {
	for range n - 1 {
		quoted, _ := json.Marshal(value)
		value = "[" + string(quoted) + "]"
	}
	quoted, _ := json.Marshal(value)
	return `{"a":` + string(quoted) + `}`
}
