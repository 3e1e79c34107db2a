package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// The tools of a server are used after a person approved what it says of itself.
func Example() {
	type in struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets."},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello " + in.Name}}}, nil, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()

	set, err := mcpclient.New(mcpclient.Options{Servers: []mcpclient.Server{{Name: "greeter", URL: web.URL, Tools: []string{"greet"}}}})
	if err != nil {
		panic(err)
	}
	defer set.Close()
	ctx := context.Background()
	review, err := set.Look(ctx, "greeter")
	if err != nil {
		panic(err)
	}
	fmt.Println(mcpclient.Said(review).Tools[0].Description) // a person reads review.Text
	if err := set.Approve(ctx, review, "ann"); err != nil {
		panic(err)
	}

	free := []tongs.Rule{{Tool: "greeter__greet", Decision: tongs.PreApproved, Layer: tongs.LayerUser}}
	agent, err := engine.New(engine.Options{Providers: map[tongs.SourceKind]engine.Provider{tongs.SourceMCP: set}, Rules: func() []tongs.Rule { return free }})
	if err != nil {
		panic(err)
	}
	fmt.Println(agent.Call(ctx, &tongs.Call{Tool: "greeter__greet", Args: []byte(`{"name":"Bob"}`)}).Content)
	// Output:
	// Greets.
	// Hello Bob
}
