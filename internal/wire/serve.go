package wire

import (
	"context"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// Serve makes the server that MCP clients of a system talk to.
func (s *System) Serve(ctx context.Context, channel *mcpserver.Channel) (*mcpserver.Server, error) {
	zones := []tongs.Zone{{Path: tongs.Path{Root: "spill", Rel: "."}}, {Path: tongs.Path{Root: forge.Root, Rel: "."}, Writable: true}}
	for _, z := range s.Config.Zones {
		zones = append(zones, tongs.Zone{Path: tongs.Path{Root: z.Name, Rel: "."}, Writable: z.Writable})
	}
	return mcpserver.New(ctx, mcpserver.Options{
		Engine: s.Engine, Describe: s.Described, Files: s.Files, Zones: zones,
		Ended: s.Ended, Channel: channel, Version: s.host.Version, Prompts: forgePrompts(),
		Hint: shortHint(s.StateDir), Patient: s.opt.Patient, Prefix: s.opt.Prefix,
	})
}

// forgePrompts teach an agent how to write a good tool.
func forgePrompts() []mcpserver.Prompt {
	return []mcpserver.Prompt{{
		Name: "write_tool", Title: "Write a tool", Description: "Have the agent write itself a tool for a chore, and build, test and try it.",
		Arguments: []mcpserver.PromptArgument{{Name: "chore", Description: "What the tool should do; the agent chooses where it is left out."}},
		Text: func(_ context.Context, args map[string]string) (string, error) {
			return forge.Guide(args["chore"]), nil
		},
	}}
}
