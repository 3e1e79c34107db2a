package mcpclient

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Elicitation is a question of a server, to be shown as its own words: whatever it says, the answer is information for
// that server and approves nothing here.
type Elicitation struct {
	Server string
	// Message is the server's, without characters that do not show.
	Message string
	// Schema is the JSON schema of the answer: an object of plain values.
	Schema any
}

// Elicited is what a person answered.
type Elicited struct {
	// Action is accept, decline or cancel.
	Action string
	// Content is the answer, by the names of the schema.
	Content map[string]any
}

// elicit passes a question of the server on, while a call of ours waits for it.
func (s *session) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if s.busy() == 0 || req.Params.Mode == "url" {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	answer, err := s.host.set.opt.Elicit(ctx, Elicitation{
		Server: s.host.cfg.Name, Message: cleantext.Text(req.Params.Message, maxDescription), Schema: req.Params.RequestedSchema,
	})
	if err != nil {
		return nil, err
	}
	switch answer.Action {
	case "accept":
		if answer.Content == nil {
			answer.Content = map[string]any{}
		}
		return &mcp.ElicitResult{Action: "accept", Content: answer.Content}, nil
	case "decline":
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "cancel"}, nil
}
