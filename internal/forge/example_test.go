package forge_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs/internal/forge"
)

func ExampleParseManifest() {
	_, err := forge.ParseManifest([]byte("name: greet\ndescription: Greets.\nentrypoint: ../greet\n"), "greet")
	fmt.Println(err)
	// Output: tool.yaml line 3: entrypoint "../greet": want the name of a file in the directory of the tool, such as "greet"
}

func ExampleManifest_Flags() {
	m, err := forge.ParseManifest([]byte(`
name: greet
description: Greets.
entrypoint: greet
parameters:
  - {name: who, type: string, required: true}
  - {name: times, type: integer}
  - {name: loud, type: boolean}
`), "greet")
	if err != nil {
		fmt.Println(err)
		return
	}
	flags, err := m.Flags(json.RawMessage(`{"loud": true, "who": "--all of you", "times": 2}`))
	fmt.Printf("%q %v\n", flags, err)
	// Output: ["--who=--all of you" "--times=2" "--loud=true"] <nil>
}

func ExampleGuide() {
	text := forge.Guide("count the words of a file")
	fmt.Println(strings.Count(text, "create_custom_tool"), strings.HasSuffix(text, "do this: count the words of a file\n"))
	// Output: 1 true
}
