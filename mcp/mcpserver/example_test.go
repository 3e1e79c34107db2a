package mcpserver_test

import (
	"context"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// A tool of one's own, offered to MCP clients. In a program, serve it with ServeStdio or ServeHTTP.
func Example() {
	greet, err := tongs.New(tongs.Def[struct {
		Name string `json:"name" jsonschema:"Who to greet."`
	}, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets somebody.", Default: tongs.PreApproved},
		Run: func(_ context.Context, _ *tongs.Env, in struct {
			Name string `json:"name" jsonschema:"Who to greet."`
		},
		) (string, error) {
			return "Hello, " + in.Name, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	channel := &mcpserver.Channel{}
	eng, err := engine.New(engine.Options{
		Tools: []tongs.Tool{greet},
		// Questions are shown by the client whose call asks them.
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Callers: []approval.CallerChannel{channel}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := mcpserver.New(context.Background(), mcpserver.Options{Engine: eng, Channel: channel})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	fmt.Println(mcpserver.Path)

	// Output: /mcp
}

// What clients are told about a tool is true, whatever its hints say.
func ExampleDefinition() {
	reads := tongs.Hints{ReadOnly: true}
	save := mcpserver.Definition(&tongs.Spec{Name: "save", Needs: tongs.Write, Hints: reads})
	run := mcpserver.Definition(&tongs.Spec{Name: "run", Needs: tongs.Execute, Hints: reads})
	fmt.Println(save.Annotations.ReadOnlyHint, run.Annotations == nil) // not told anything, a client must expect the worst

	// Output: false true
}
