package wire

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// AsServer is a configured server as the client knows it.
func AsServer(m config.MCPServer) *mcpclient.Server {
	s := &mcpclient.Server{
		Name: m.Name, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers, Tools: m.Tools,
		Network: m.Network, Unconfined: m.Unconfined, Unpinned: m.Unpinned, Timeout: m.Timeout, Origin: m.Origin,
	}
	if m.Untrusted {
		s.Disabled = "its file is not trusted, or it changed since you trusted it; run 'tongs trust'"
	}
	return s
}

// serverPackages is where packages of MCP servers are installed: a sandbox shows programs of that directory their own.
func serverPackages(stateDir string) string {
	return filepath.Join(forgeState(stateDir), "programs", "mcp")
}

// addMCP makes the provider of the tools of MCP servers.
func (s *System) addMCP() error {
	opt := mcpclient.Options{
		Packages: serverPackages(s.StateDir), Store: s.approvals.servers(), Logins: s.approvals.logins(),
		Root: s.Workspace, Version: s.host.Version, Elicit: s.opt.Elicit,
	}
	if !s.opt.Lives {
		opt.Grace = time.Second / 2 // a person waits for the command to end
	}
	if s.Confined != nil {
		opt.ByHand = func(ctx context.Context, server string, effects []tongs.Effect) (tongs.Commands, string) {
			return s.Confined.Commands(s.byHand(ctx, server, effects)), s.Workspace
		}
	}
	for _, m := range s.neededServers() {
		if slices.ContainsFunc(opt.Servers, func(o mcpclient.Server) bool { return o.Name == m.Name }) {
			continue // that of the layer with more authority stands
		}
		opt.Servers = append(opt.Servers, *AsServer(m))
	}
	opt.OnChange = s.refresh
	var err error
	s.MCP, err = mcpclient.New(opt)
	return s.provide(tongs.SourceMCP, s.MCP, err)
}

// neededServers are the configured servers; none where the tool that is called is none of theirs.
func (s *System) neededServers() []config.MCPServer {
	if !s.opens(nil) {
		return nil
	}
	return s.Config.Toolsets.MCP
}

// byHand is the permit of a person who starts a server: nobody else is asked. The rules about paths hold for the server as
// they do in any call of it.
func (s *System) byHand(ctx context.Context, server string, effects []tongs.Effect) *tongs.Permit {
	spec := &tongs.Spec{Name: server + "__", Toolset: "mcp", Source: tongs.Source{Kind: tongs.SourceMCP, Name: server}}
	host := policy.Unasked{Input: policy.Input{Spec: spec, Mode: s.Config.Mode, Chain: [][]tongs.Rule{s.Rules()}}}
	return tongs.NewPermit(ctx, &tongs.Call{ID: "by-hand", Tool: "mcp"}, effects, s.Files.Zones(), host)
}

// ForgetServer removes what is known of a tool server: what was approved of it, the login to it and its packages.
func (p Place) ForgetServer(name string) error {
	if _, err := p.approvals.servers().Remove(name); err != nil {
		return err
	}
	if logins := p.approvals.logins(); logins != nil {
		if _, err := logins.Remove(name); err != nil {
			return err
		}
	}
	return mcpclient.RemovePackages(serverPackages(p.StateDir), name)
}

// LookAtServer starts a server as a person wants who runs a command for it, and asks it what it has. Update installs its newest
// package before.
func (s *System) LookAtServer(ctx context.Context, name string, update bool) (*tongs.Review, error) {
	if update {
		if err := s.MCP.Update(ctx, name, s.Workspace); err != nil {
			return nil, err
		}
	}
	v, err := s.MCP.Look(ctx, name)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return nil, needOf(name, need)
	}
	return v, err
}

// needOf says how a server gets what the sandbox kept from it.
func needOf(name string, need *tongs.Need) error {
	var hosts []string
	for _, e := range need.Effects {
		if e.Kind == tongs.EffectNetwork {
			hosts = append(hosts, e.Host)
		}
	}
	if len(hosts) == 0 {
		return tongs.Errorf(tongs.CodePermissionDenied, "%s", need.Reason)
	}
	return tongs.Errorf(tongs.CodePermissionDenied, "%s; if it may, put this under mcp.%s in your configuration: network: [%s]",
		need.Reason, name, strings.Join(hosts, ", "))
}
