package wire

import (
	"context"
	"slices"

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
		Engine: s.Engine, Describe: s.Offered, Files: s.Files, Zones: zones,
		Ended: s.Ended, Channel: channel, Version: s.host.Version, Prompts: forgePrompts(),
		Hint: shortHint(s.StateDir), Patient: s.opt.Patient, Prefix: s.opt.Prefix,
	})
}

// Offered are the specs that clients are told of, with the descriptions of the configured folder.
func (s *System) Offered(specs []*tongs.Spec) ([]*tongs.Spec, error) {
	named := func(spec *tongs.Spec) bool {
		return slices.Contains(s.Config.Offer, spec.Name) || slices.Contains(s.Config.Offer, spec.Toolset)
	}
	return s.Described(slices.DeleteFunc(slices.Clone(specs), func(spec *tongs.Spec) bool { return spec.Extra && !named(spec) }))
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
