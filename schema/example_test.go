package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

func ExampleValidator_Check() {
	type in struct {
		Path  string `json:"path" jsonschema:"The file." alias:"file_path"`
		Limit int    `json:"limit" jsonschema:"Lines." default:"100" max:"2000"`
	}
	input, aliases, err := tongs.SchemaOf[in]()
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := &tongs.Spec{Name: "read", Input: input, ArgAliases: aliases}

	var v schema.Validator
	checked, err := v.Check(spec, json.RawMessage(`{"filePath":"go.mod"}`))
	fmt.Println(string(checked.Args), checked.Repaired, err)

	_, err = v.Check(spec, json.RawMessage(`{"pth":"go.mod","limit":5000}`))
	fmt.Println(err)
	// Output:
	// {"limit":100,"path":"go.mod"} [filePath: was taken as path] <nil>
	// INVALID_ARGS: 3 arguments of read are wrong:
	// - limit: got 5000, want integer up to 2000
	// - path: is required but missing, want string
	// - pth: unknown property; did you mean path?
}
