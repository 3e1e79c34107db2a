//lint:file-ignore SA1019 the suite asks for fixtures of what is deprecated

package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sealer signs what clients keep for us between rounds.
type sealer struct{ key []byte }

type kept struct {
	Round   int       `json:"round"`
	Name    string    `json:"name,omitempty"`
	Expires time.Time `json:"expires"`
}

func (s sealer) sign(data string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(data))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s sealer) seal(k kept) string {
	k.Expires = time.Now().Add(patience)
	plain, _ := json.Marshal(k)
	data := base64.RawURLEncoding.EncodeToString(plain)
	return data + "." + s.sign(data)
}

func (s sealer) open(state string) (k kept, err error) {
	data, mac, _ := strings.Cut(state, ".")
	plain, decodeErr := base64.RawURLEncoding.DecodeString(data)
	if !hmac.Equal([]byte(mac), []byte(s.sign(data))) || decodeErr != nil || json.Unmarshal(plain, &k) != nil || time.Now().After(k.Expires) {
		return k, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state is not ours"}
	}
	return k, nil
}

// accepted is what a person filled into a form; nil where nobody did.
func accepted(responses mcp.InputResponseMap, key string) object {
	res, _ := responses[key].(*mcp.ElicitResult)
	if res == nil || res.Action != "accept" {
		return nil
	}
	return res.Content
}

func sampled(responses mcp.InputResponseMap, key string) (string, bool) {
	res, _ := responses[key].(*mcp.CreateMessageWithToolsResult)
	if res == nil {
		return "", false
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text, true
		}
	}
	return "", true
}

func sample(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}, MaxTokens: 100,
	}
}

func need(state string, inputs mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: inputs, RequestState: state}
}

// roundTools return that they need input, and are called again with it.
func roundTools() map[string]mcp.ToolHandler {
	s := sealer{key: make([]byte, 32)}
	_, _ = rand.Read(s.key)
	askName := func() *mcp.ElicitParams {
		return form("What is your name?", object{"name": object{"type": "string"}}, "name")
	}
	confirm := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState != "" {
			if _, err := s.open(req.Params.RequestState); err != nil {
				return nil, err
			}
			if accepted(req.Params.InputResponses, "confirm") != nil {
				return say("state-ok: confirmed"), nil
			}
		}
		return need(s.seal(kept{Round: 1}), mcp.InputRequestMap{
			"confirm": form("Please confirm", object{"ok": object{"type": "boolean"}}, "ok"),
		}), nil
	}
	return map[string]mcp.ToolHandler{
		"test_input_required_result_elicitation": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
				return say("Hello, %s!", name), nil
			}
			return need("", mcp.InputRequestMap{"user_name": askName()}), nil
		},
		"test_input_required_result_sampling": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if text, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
				return say("The model says: %s", text), nil
			}
			return need("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?")}), nil
		},
		"test_input_required_result_list_roots": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if res, _ := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); res != nil {
				var uris []string
				for _, r := range res.Roots {
					uris = append(uris, r.URI)
				}
				return say("The client has %d root(s): %s", len(uris), strings.Join(uris, ", ")), nil
			}
			return need("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
		},
		"test_input_required_result_request_state":  confirm,
		"test_input_required_result_tampered_state": confirm,
		"test_input_required_result_multiple_inputs": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string)
			greeting, greeted := sampled(req.Params.InputResponses, "greeting")
			roots, _ := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult)
			if name != "" && greeted && roots != nil {
				return say("%s %s, %d root(s)", greeting, name, len(roots.Roots)), nil
			}
			return need(s.seal(kept{Round: 1}), mcp.InputRequestMap{
				"user_name": askName(), "greeting": sample("Write a greeting"), "client_roots": &mcp.ListRootsParams{},
			}), nil
		},
		"test_input_required_result_multi_round":  s.multiRound,
		"test_input_required_result_capabilities": capable,
	}
}

func (s sealer) multiRound(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	k := kept{}
	if req.Params.RequestState != "" {
		var err error
		if k, err = s.open(req.Params.RequestState); err != nil {
			return nil, err
		}
	}
	switch k.Round {
	case 0:
		return need(s.seal(kept{Round: 1}), mcp.InputRequestMap{
			"step1": form("Step 1: what is your name?", object{"name": object{"type": "string"}}, "name"),
		}), nil
	case 1:
		name, _ := accepted(req.Params.InputResponses, "step1")["name"].(string)
		return need(s.seal(kept{Round: 2, Name: name}), mcp.InputRequestMap{
			"step2": form("Step 2: which colour do you like?", object{"color": object{"type": "string"}}, "color"),
		}), nil
	default:
		color, _ := accepted(req.Params.InputResponses, "step2")["color"].(string)
		return say("Both rounds are done: %s likes %s", k.Name, color), nil
	}
}

// capable asks for what the client can give.
func capable(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return say("thank you"), nil
	}
	inputs := mcp.InputRequestMap{}
	if caps := req.ClientCapabilities(); caps != nil {
		if caps.Elicitation != nil {
			inputs["user_name"] = form("What is your name?", object{"name": object{"type": "string"}}, "name")
		}
		if caps.Sampling != nil {
			inputs["greeting"] = sample("Write a greeting")
		}
		if caps.RootsV2 != nil {
			inputs["client_roots"] = &mcp.ListRootsParams{}
		}
	}
	if len(inputs) == 0 {
		return say("the client can give nothing"), nil
	}
	return need("", inputs), nil
}
