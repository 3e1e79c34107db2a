package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompt is a text that a client can offer its user, such as the instructions of a worker.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Text returns the text for the arguments that were given; all that are required are.
	Text func(ctx context.Context, args map[string]string) (string, error)
}

// PromptArgument is a value that a prompt takes.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

func (s *Server) offerPrompts() {
	for _, p := range s.opt.Prompts {
		prompt := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		s.mcp.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			for _, a := range p.Arguments {
				if a.Required && req.Params.Arguments[a.Name] == "" {
					return nil, &jsonrpc.Error{
						Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("prompt %s needs the argument %s", p.Name, a.Name),
					}
				}
			}
			text, err := p.Text(ctx, req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{
				Description: p.Description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
			}, nil
		})
	}
}
