//lint:file-ignore SA1019 the suite asks for fixtures of what is deprecated

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	redPixel = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence  = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(text string) []byte {
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}

// object is a JSON object.
type object = map[string]any

func form(message string, properties object, required ...string) *mcp.ElicitParams {
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}
}

func say(format string, a ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, a...)}}}
}

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "An embedded resource for testing."}}
}

// extend adds the fixtures that are made with the SDK.
func extend(s *mcp.Server) {
	plain := object{"type": "object"}
	for name, handler := range contentTools() {
		s.AddTool(&mcp.Tool{Name: name, Description: "A fixture of the conformance suite.", InputSchema: plain}, handler)
	}
	for name, handler := range askingTools() {
		s.AddTool(&mcp.Tool{Name: name, Description: "A fixture of the conformance suite.", InputSchema: plain}, handler)
	}
	for name, handler := range roundTools() {
		s.AddTool(&mcp.Tool{Name: name, Description: "A fixture of the conformance suite.", InputSchema: plain}, handler)
	}
	changes(s, plain)
	s.AddTool(&mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "A fixture of the conformance suite.", InputSchema: json.RawMessage(fullSchema),
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say("called with %s", req.Params.Arguments), nil
	})
	s.AddTool(&mcp.Tool{
		Name: "test_x_mcp_header", Description: "A fixture of the conformance suite.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`),
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say("%s", req.Params.Arguments), nil
	})
	resources(s)
	prompts(s)
}

const fullSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
	"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
	"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
		"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
	"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
	"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
	"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func contentTools() map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"test_embedded_resource": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{embedded("test://embedded-resource")}}, nil
		},
		"test_multiple_content_types": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "Multiple content types test:"}, &mcp.ImageContent{Data: redPixel, MIMEType: "image/png"},
				embedded("test://mixed-content-resource"),
			}}, nil
		},
		"test_tool_with_logging": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, what := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: what}); err != nil {
					return nil, err
				}
			}
			return say("logged"), nil
		},
		"test_logging_tool": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say("logged, if that was wanted"), req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "called"})
		},
		"test_tool_with_progress": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, done := range []float64{0, 50, 100} {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: done, Total: 100,
				}); err != nil {
					return nil, err
				}
			}
			return say("%v", req.Params.GetProgressToken()), nil
		},
		"test_streaming_elicitation": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say("no requests on this stream"), nil
		},
		"test_missing_capability": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
				return say("the client can"), nil
			}
			data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
				RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
			})
			if err != nil {
				return nil, err
			}
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must be able to sample", Data: data}
		},
	}
}

// askingTools ask the client by requests of their own, where there are sessions.
func askingTools() map[string]mcp.ToolHandler {
	elicit := func(make func(message string) *mcp.ElicitParams) mcp.ToolHandler {
		return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Message string `json:"message"`
			}
			_ = json.Unmarshal(req.Params.Arguments, &in)
			res, err := req.Session.Elicit(ctx, make(in.Message))
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(res.Content)
			return say("Elicitation completed: action=%s, content=%s", res.Action, content), err
		}
	}
	text := func(more object) object {
		more["type"] = "string"
		return more
	}
	titled := []object{{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}}
	three := []string{"option1", "option2", "option3"}
	return map[string]mcp.ToolHandler{
		"test_sampling": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Prompt string `json:"prompt"`
			}
			_ = json.Unmarshal(req.Params.Arguments, &in)
			res, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
				Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}}, MaxTokens: 100,
			})
			if err != nil {
				return nil, err
			}
			said, _ := res.Content.(*mcp.TextContent)
			if said == nil {
				said = &mcp.TextContent{}
			}
			return say("LLM response: %s", said.Text), nil
		},
		"test_elicitation": elicit(func(message string) *mcp.ElicitParams {
			return form(message, object{
				"username": text(object{"description": "User's response"}), "email": text(object{"description": "User's email address"}),
			}, "username", "email")
		}),
		"test_elicitation_sep1034_defaults": elicit(func(string) *mcp.ElicitParams {
			return form("Please look at the defaults", object{
				"name": text(object{"default": "John Doe"}), "age": object{"type": "integer", "default": 30},
				"score": object{"type": "number", "default": 95.5}, "verified": object{"type": "boolean", "default": true},
				"status": text(object{"enum": []string{"active", "inactive", "pending"}, "default": "active"}),
			})
		}),
		"test_elicitation_sep1330_enums": elicit(func(string) *mcp.ElicitParams {
			return form("Please choose", object{
				"untitledSingle": text(object{"enum": three}), "titledSingle": text(object{"oneOf": titled}),
				"legacyEnum":    text(object{"enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}}),
				"untitledMulti": object{"type": "array", "minItems": 1, "maxItems": 3, "items": text(object{"enum": three})},
				"titledMulti":   object{"type": "array", "minItems": 1, "maxItems": 3, "items": object{"anyOf": titled}},
			})
		}),
	}
}

// changes are tools that change what is listed.
func changes(s *mcp.Server, plain object) {
	nothing := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("nothing"), nil }
	s.AddTool(&mcp.Tool{Name: "test_trigger_tool_change", Description: "Changes the tools.", InputSchema: plain},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddTool(&mcp.Tool{Name: "transient_tool", Description: "Is new.", InputSchema: plain}, nothing)
			return say("changed"), nil
		})
	s.AddTool(&mcp.Tool{Name: "test_trigger_prompt_change", Description: "Changes the prompts.", InputSchema: plain},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddPrompt(&mcp.Prompt{Name: "transient_prompt", Description: "Is new."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
			return say("changed"), nil
		})
}

func resources(s *mcp.Server) {
	give := func(c mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			own := c
			own.URI = req.Params.URI
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&own}}, nil
		}
	}
	s.AddResource(&mcp.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"},
		give(mcp.ResourceContents{MIMEType: "text/plain", Text: "The content of the static text resource."}))
	s.AddResource(&mcp.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"},
		give(mcp.ResourceContents{MIMEType: "image/png", Blob: redPixel}))
	s.AddResource(&mcp.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain"},
		give(mcp.ResourceContents{MIMEType: "text/plain", Text: "Watched."}))
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			data, err := json.Marshal(object{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: req.Params.URI, MIMEType: "application/json", Text: string(data),
			}}}, err
		})
}

func prompts(s *mcp.Server) {
	user := func(parts ...mcp.Content) *mcp.GetPromptResult {
		res := &mcp.GetPromptResult{}
		for _, part := range parts {
			res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: part})
		}
		return res
	}
	text := func(format string, a ...any) mcp.Content { return &mcp.TextContent{Text: fmt.Sprintf(format, a...)} }
	add := func(name string, make func(req *mcp.GetPromptRequest) *mcp.GetPromptResult, arguments ...string) {
		p := &mcp.Prompt{Name: name, Description: "A fixture of the conformance suite."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "An argument.", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return make(req), nil
		})
	}
	add("test_simple_prompt", func(*mcp.GetPromptRequest) *mcp.GetPromptResult {
		return user(text("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		return user(text("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"]))
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		return user(embedded(req.Params.Arguments["resourceUri"]), text("Please look at the resource."))
	}, "resourceUri")
	add("test_prompt_with_image", func(*mcp.GetPromptRequest) *mcp.GetPromptResult {
		return user(&mcp.ImageContent{Data: redPixel, MIMEType: "image/png"}, text("Please look at the image."))
	})
	add("test_input_required_result_prompt", func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		if given := accepted(req.Params.InputResponses, "user_context"); given != nil {
			return user(text("Context: %v", given["context"]))
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
			"user_context": form("Which context?", object{"context": object{"type": "string"}}, "context"),
		}}
	})
}

// patience is how long the state of a call in rounds is good.
const patience = 10 * time.Minute
