package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

type withDefaults struct {
	Path   string `json:"path" jsonschema:"The file."`
	Offset int    `json:"offset" jsonschema:"First line." default:"1"`
	Limit  int    `json:"limit" jsonschema:"Lines." min:"1" max:"2000" default:"2000"`
}

func BenchmarkCheck(b *testing.B) {
	plain, defaults := specOf[input](b), specOf[withDefaults](b)
	for _, bench := range []struct {
		name string
		spec *tongs.Spec
		args string
	}{
		{"valid", plain, `{"path":"src/main.go","limit":100}`},
		{"valid edits", plain, `{"path":"src/main.go","edits":[{"oldString":"a","newString":"b","replaceAll":true}]}`},
		{"defaults", defaults, `{"path":"src/main.go"}`},
		{"repaired", plain, `{"file_path":"src/main.go","limit":"100"}`},
		{"invalid", plain, `{"paht":"src/main.go","limit":"many"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var v schema.Validator
			b.ReportAllocs()
			for b.Loop() {
				_, err := v.Check(bench.spec, json.RawMessage(bench.args))
				if (err != nil) != (bench.name == "invalid") {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	spec := specOf[input](b)
	for b.Loop() {
		var v schema.Validator
		if err := v.Compile(spec); err != nil {
			b.Fatal(err)
		}
	}
}
