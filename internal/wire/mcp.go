package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/mcpclient"
	"github.com/tongs-ai/tongs/policy"
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

// addMCP makes the tools of the configured MCP servers part of the registry, now and whenever they change.
func (s *System) addMCP() error {
	opt := mcpclient.Options{
		Packages: serverPackages(s.StateDir), Store: s.approvals.servers(), Logins: s.approvals.logins(),
		Root: s.Workspace, Version: s.host.Version, Elicit: s.opt.Elicit,
	}
	if !s.opt.Lives {
		opt.Grace = time.Second / 2 // a person waits for the command to end
	}
	for _, m := range s.Config.Toolsets.MCP {
		if slices.ContainsFunc(opt.Servers, func(o mcpclient.Server) bool { return o.Name == m.Name }) {
			continue // that of the layer with more authority stands
		}
		opt.Servers = append(opt.Servers, *AsServer(m))
	}
	opt.OnChange = s.swapMCP
	var err error
	s.MCP, err = mcpclient.New(opt)
	return err
}

// faults are why tools are not offered. They are safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	list []string
}

func (f *faults) set(list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
}

// mcpWarnings say which tools of MCP servers are not offered, and why.
func (s *System) mcpWarnings() []string {
	s.mcpFaults.mu.Lock()
	defer s.mcpFaults.mu.Unlock()
	return s.mcpFaults.list
}

// swapMCP takes up tools that changed. What cannot be read stays as it was, and a tool whose name is taken is left out.
func (s *System) swapMCP() {
	tools, err := s.MCP.Tools()
	var faults []string
	if err != nil {
		faults = append(faults, err.Error())
	}
	names := map[string]bool{}
	for _, t := range tools {
		name := t.Spec().Name
		names[name] = true
		if err := s.Registry.Replace(t); err != nil {
			faults = append(faults, fmt.Sprintf("the tool %s of an MCP server is not offered: %v", name, err))
		}
	}
	s.mcpFaults.set(faults)
	if err != nil {
		return
	}
	for _, e := range s.Registry.Set().Entries() {
		if spec := e.Tool.Spec(); spec.Source.Kind == tongs.SourceMCP && !names[spec.Name] {
			s.Registry.Unregister(spec.Name)
		}
	}
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
func (s *System) LookAtServer(ctx context.Context, name string, update bool) (*mcpclient.Review, error) {
	if update {
		if err := s.MCP.Update(ctx, name, s.Workspace); err != nil {
			return nil, err
		}
	}
	effects, err := s.MCP.Effects(name)
	if err != nil {
		return nil, err
	}
	v, err := s.MCP.Look(ctx, name, s.Confined.Commands(s.byHand(ctx, name, effects)), s.Workspace)
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
