// Command client is what the public MCP conformance suite drives as a client: it uses a server by URL exactly as the
// product does, through mcpclient and the walk of an engine, and calls the tools that a scenario asks for.
//
// The suite appends the URL to the command and names the scenario in MCP_CONFORMANCE_SCENARIO.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/mcp/oauth"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// call is one that a scenario asks for.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client URL")
	}
	set, err := mcpclient.New(mcpclient.Options{
		Servers:  []mcpclient.Server{{Name: "suite", URL: args[len(args)-1], Tools: []string{"*"}, Timeout: 30 * time.Second}},
		Protocol: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"), Version: "conformance",
		Elicit: func(_ context.Context, e mcpclient.Elicitation) (mcpclient.Elicited, error) {
			return mcpclient.Elicited{Action: "accept", Content: answers(e.Schema)}, nil
		},
	})
	if err != nil {
		return err
	}
	defer set.Close()
	review, err := look(ctx, set)
	if err != nil {
		return err
	}
	if err := set.Approve(ctx, review, "conformance"); err != nil {
		return err
	}
	caller, err := walk(set)
	if err != nil {
		return err
	}
	for _, c := range calls(os.Getenv("MCP_CONFORMANCE_SCENARIO"), mcpclient.Said(review)) {
		data, err := json.Marshal(c.Arguments)
		if err != nil {
			return err
		}
		for range maxLogins {
			res := caller.Call(ctx, &tongs.Call{Tool: "suite__" + c.Name, Args: data})
			fmt.Fprintf(os.Stderr, "%s: %.300s\n", c.Name, res.Content)
			if res.Error == nil || !strings.Contains(res.Error.Message, oauth.ErrLogin.Error()) {
				break
			}
			if err := login(ctx, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLogins is how often a person would log in before they give up.
const maxLogins = 2

// look asks the server what it has, and logs in where it wants that, as often as a person would.
func look(ctx context.Context, set *mcpclient.Set) (*tongs.Review, error) {
	for range maxLogins {
		review, err := set.Look(ctx, "suite")
		if !errors.Is(err, oauth.ErrLogin) {
			return review, err
		}
		fmt.Fprintln(os.Stderr, err)
		if err := login(ctx, set); err != nil {
			return nil, err
		}
	}
	return set.Look(ctx, "suite")
}

// login does what 'tongs mcp login' does, with a browser that agrees to everything: it goes where it is sent.
func login(ctx context.Context, set *mcpclient.Set) error {
	opt := oauth.LoginOptions{ClientID: "https://conformance-test.local/client-metadata.json"}
	var suite struct {
		ID     string       `json:"client_id"`
		Secret oauth.Secret `json:"client_secret"`
	}
	if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &suite) == nil && suite.ID != "" {
		opt.ClientID, opt.ClientSecret = suite.ID, suite.Secret
	}
	opt.Open = func(ctx context.Context, v oauth.Visit) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	l, err := set.Login(ctx, "suite", opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "logged in with %s for %s (%s)\n", l.Issuer, l.Resource, strings.Join(l.Scopes, " "))
	return nil
}

// walk makes an engine of the tools, with a rule that frees them: who asks is not what is tested here.
func walk(set *mcpclient.Set) (tongs.Caller, error) {
	free := []tongs.Rule{{Tool: "suite__*", Decision: tongs.PreApproved, Layer: tongs.LayerUser}}
	return engine.New(engine.Options{Providers: map[tongs.SourceKind]engine.Provider{tongs.SourceMCP: set}, Rules: func() []tongs.Rule { return free }})
}

// answers is what a person who agrees would fill in; what has a default is left to it.
func answers(schema any) map[string]any {
	var form struct {
		Properties map[string]struct {
			Type    string
			Default any
		}
	}
	data, err := json.Marshal(schema)
	if err != nil || json.Unmarshal(data, &form) != nil {
		return nil
	}
	filled := map[string]any{}
	for name, p := range form.Properties {
		if p.Default == nil && p.Type == "boolean" {
			filled[name] = true
		}
	}
	return filled
}

// calls are those of a scenario.
func calls(scenario string, defs *mcpclient.Definitions) (list []call) {
	each := func(args map[string]any) {
		for _, t := range defs.Tools {
			list = append(list, call{t.Name, args})
		}
	}
	switch scenario {
	case "tools_call":
		list = []call{{"add_numbers", map[string]any{"a": 5, "b": 3}}}
	case "http-invalid-tool-headers":
		each(map[string]any{"region": "us-west1"})
	case "http-custom-headers":
		var suite struct{ ToolCalls []call }
		if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &suite) == nil {
			list = suite.ToolCalls
		}
	case "json-schema-2020-12-preservation":
		for _, t := range defs.Tools {
			var schema any
			if t.Name == "json_schema_2020_12_tool" && json.Unmarshal(t.Input, &schema) == nil {
				list = append(list, call{"json_schema_echo", map[string]any{"schema": schema}})
			}
		}
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
	default:
		each(map[string]any{})
	}
	return list
}
