package main

import (
	"context"

	"github.com/tongs-ai/tongs/custom"
	"github.com/tongs-ai/tongs/mcpserver"
)

// forgePrompts teach an agent how to write a good tool.
func forgePrompts() []mcpserver.Prompt {
	return []mcpserver.Prompt{{
		Name: "write_tool", Title: "Write a tool", Description: "Have the agent write itself a tool for a chore, and build, test and try it.",
		Arguments: []mcpserver.PromptArgument{{Name: "chore", Description: "What the tool should do; the agent chooses where it is left out."}},
		Text: func(_ context.Context, args map[string]string) (string, error) {
			return custom.Guide(args["chore"]), nil
		},
	}}
}
