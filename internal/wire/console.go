package wire

import (
	"context"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	webconsole "github.com/tongs-ai/tongs/internal/console"
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
func (s *System) toolStates(ctx context.Context) []webconsole.ToolState {
	var list []webconsole.ToolState
	for _, st := range s.States() {
		for _, t := range st.Tools {
			view := webconsole.ToolState{
				Name: t.Name, Status: string(t.Status), Detail: t.Detail, Description: st.Description,
				Source: tongs.Source{Kind: st.Kind, Name: st.Name, Digest: st.Digest},
			}
			if t.Status != tongs.StatusReady {
				view.Next, view.Diff = st.Next, s.shownDiff(ctx, st)
			}
			list = append(list, view)
		}
	}
	return list
}

// shownDiff is what a person would approve of a source. To look at an MCP server is to start it, which nobody asked for here.
func (s *System) shownDiff(ctx context.Context, st tongs.SourceState) string {
	p, ok := s.providers[st.Kind].(engine.Reviewable)
	if !ok || st.Kind == tongs.SourceMCP || st.Status != tongs.StatusChanged && st.Status != tongs.StatusUnapproved {
		return ""
	}
	v, err := p.Look(ctx, st.Name)
	if err != nil {
		return ""
	}
	return v.Text
}
