package wire

import (
	"context"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	webconsole "github.com/tongs-ai/tongs/console"
	"github.com/tongs-ai/tongs/custom"
	"github.com/tongs-ai/tongs/mcpclient"
)

// Console makes the console of a system.
func (s *System) Console(hub *webconsole.Hub, token, user string, hosts []string) (*webconsole.Server, error) {
	return webconsole.New(webconsole.Options{
		Engine: s.Engine, Audit: s.Audit, Questions: s.Questions, Previews: s.Previews, Grants: s.Grants, Hub: hub, Mode: s.Config.Mode,
		Rules: s.Rules, Spill: filepath.Join(s.StateDir, "spill"), Tools: s.toolStates, MetricsToken: token, StateDir: s.StateDir,
		Files: func(dir string) (tongs.FileView, error) {
			at, err := s.Files.Resolve(tongs.Path{Rel: "."}, dir)
			if dir == "" {
				at, err = tongs.Path{Rel: "."}, nil
			}
			if err != nil {
				return nil, err
			}
			return s.Files.View(at), nil
		},
		Hosts: hosts, Workspace: s.Workspace, Version: s.host.Version, User: user, Insight: s.insight(),
	})
}

// toolStates tells of the tools that are not built in how far they can be used.
func (s *System) toolStates(context.Context) []webconsole.ToolState {
	var list []webconsole.ToolState
	for _, st := range s.Forge.States() {
		t := webconsole.ToolState{
			Name: st.Name, Status: string(st.Status), Detail: st.Detail, Description: st.Description,
			Source: tongs.Source{Kind: tongs.SourceCustom, Name: st.Name, Digest: st.Digest},
		}
		if st.Status == custom.Changed || st.Status == custom.Unreviewed {
			t.Next = "tongs forge approve " + st.Name
			if v, err := s.Forge.Look(st.Name); err == nil {
				t.Diff = v.Text
			}
		}
		list = append(list, t)
	}
	for _, server := range s.MCP.States() {
		for _, st := range server.Tools {
			t := webconsole.ToolState{
				Name: st.Name, Status: string(st.Status), Detail: st.Detail, Source: tongs.Source{Kind: tongs.SourceMCP, Name: server.Name},
			}
			if st.Status != mcpclient.Ready {
				t.Next = "tongs mcp review " + server.Name
			}
			list = append(list, t)
		}
	}
	return list
}
