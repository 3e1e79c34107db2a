package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/internal/secrets"
	"github.com/tongs-ai/tongs/mcpclient"
	"github.com/tongs-ai/tongs/policy"
)

// mcpCommands are the commands below 'tongs mcp', which by itself serves: they are about the servers that Tongs uses.
func (a *app) mcpCommands() []*cobra.Command {
	return []*cobra.Command{
		a.mcpAddCommand(), a.mcpListCommand(), a.mcpRemoveCommand(), a.mcpReviewCommand(), a.mcpTestCommand(),
		a.mcpLoginCommand(), a.mcpLogoutCommand(), a.mcpImportCommand(), a.mcpWrapCommand(),
	}
}

func (a *app) mcpAddCommand() *cobra.Command {
	var m config.MCPServer
	var env, headers []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME (--url URL | -- COMMAND [ARGUMENT ...])",
		Short: "Use the tools of an MCP server",
		Long: "Add an MCP server to your configuration. Its tools are named NAME__TOOL. Nothing is started: review the server next,\n" +
			"so that you see what its tools say of themselves before a model does.\n\n" +
			"A command runs in the sandbox: it sees the workspace and the directories that are configured as zones, and reaches\n" +
			"the hosts of --network and no others. The program is pinned: after a change it is asked about again. The package of an npx\n" +
			"server is installed once, by the review; other programs that fetch what they run (uvx, docker) need 'pin: none'.\n" +
			"Write credentials as ${VAR}: they are read from the environment when the server is started.",
		Example: "  tongs mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n" +
			"  tongs mcp add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' --network api.github.com -- github-mcp-server stdio\n" +
			"  tongs mcp add docs --url https://docs.example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}' --tools search,read",
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&m.URL, "url", "", "the address of a server that speaks streamable HTTP")
	f.StringArrayVar(&env, "env", nil, "a variable for the command, as NAME=value")
	f.StringArrayVar(&headers, "header", nil, "a header for the URL, as NAME=value")
	f.StringSliceVar(&m.Tools, "tools", []string{"*"}, "the tools to expose (default: all that you review)")
	f.StringSliceVar(&m.Network, "network", nil, "hosts that the command may reach")
	f.DurationVar(&timeout, "timeout", 0, "how long a call may take (default: 2m)")
	f.BoolVar(&m.Unconfined, "no-sandbox", false, "run the command outside the sandbox")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		m.Name, m.Timeout = args[0], timeout
		var err error
		if m.Env, err = pairs("--env", env); err != nil {
			return err
		}
		if m.Headers, err = pairs("--header", headers); err != nil {
			return err
		}
		if len(args) > 1 {
			m.Command, m.Args = args[1], args[2:]
		}
		return a.addServers([]config.MCPServer{m})
	})
	return cmd
}

func pairs(flag string, list []string) (map[string]string, error) {
	set := map[string]string{}
	for _, p := range list {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, usagef("%s %q: want NAME=value", flag, p)
		}
		set[key] = value
	}
	return set, nil
}

// fetchers are programs that fetch what they run.
var fetchers = []string{"npx", "npm", "pnpm", "bunx", "uvx", "uv", "pipx"}

// fetchNote says what becomes of a server that fetches what it runs.
func fetchNote(m config.MCPServer) string {
	switch name := strings.TrimSuffix(filepath.Base(m.Command), ".exe"); {
	case m.Unpinned:
		return "It fetches what it runs: name the host of its packages under network, or approve it when you are asked."
	case name == "npx":
		return "The review installs its package into a private directory, where it runs from."
	default:
		return name + " fetches what it runs, which cannot be pinned: install the server and name its program, or set 'pin: none' for it."
	}
}

// addServers writes servers into the user's configuration, all or none.
func (a *app) addServers(list []config.MCPServer) error {
	path, data, err := a.userConfig()
	if err != nil {
		return err
	}
	for i := range list {
		m := &list[i]
		if err := asServer(*m).Check(); err != nil {
			return err
		}
		if data, err = config.AddMCP(data, *m); err != nil {
			return err
		}
	}
	if err := replaceFile(path, data, 0o600); err != nil {
		return err
	}
	for _, m := range list {
		fmt.Fprintf(a.err, "Added %s to %s.\n", clean(m.Name), clean(path))
		if hosts := strings.Join(m.Network, ", "); hosts != "" {
			fmt.Fprintf(a.err, "  It may reach %s.\n", clean(hosts))
		} else if slices.Contains(fetchers, strings.TrimSuffix(filepath.Base(m.Command), ".exe")) && !m.Unconfined {
			fmt.Fprintln(a.err, "  "+fetchNote(m))
		}
		for _, key := range slices.Sorted(maps.Keys(bothOf(m.Env, m.Headers))) {
			if v := bothOf(m.Env, m.Headers)[key]; secrets.SecretName(key) && !strings.Contains(v, "${") && v != "" {
				fmt.Fprintf(a.err, "  %s is a credential, which stands in the file now; ${VAR} would take it from the environment.\n", clean(key))
			}
		}
		fmt.Fprintf(a.err, "  Next: tongs mcp review %s\n", clean(m.Name))
	}
	return nil
}

func bothOf(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// userConfig returns the path and the content of the user's own configuration file, which may not exist yet.
func (a *app) userConfig() (path string, data []byte, err error) {
	dir, err := config.FindConfigDir()
	if err != nil {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	path = filepath.Join(dir, config.UserFile)
	data, err = config.ReadUser(path)
	return path, data, err
}

// replaceFile gives a file its content, all or nothing. A link is followed, and the mode of what is there stays.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tongs-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (a *app) mcpRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Stop using an MCP server",
		Long:    "Remove an MCP server from your configuration, and forget what you approved of it and your login to it.",
		Example: "  tongs mcp remove github", Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			path, data, err := a.userConfig()
			if err != nil {
				return err
			}
			data, found, err := config.RemoveMCP(data, args[0])
			if err != nil {
				return err
			}
			if !found {
				return tongs.Errorf(tongs.CodeInvalidArgs, "%s names no MCP server %q; 'tongs mcp list' shows where each is configured", path, args[0])
			}
			if err := replaceFile(path, data, 0o600); err != nil {
				return err
			}
			dir, err := config.FindStateDir()
			if err != nil {
				return tongs.Errorf(tongs.CodeConfigError, "%w", err)
			}
			if _, err := serverStore(dir).Remove(args[0]); err != nil {
				return err
			}
			if _, err := loginStore(dir).Remove(args[0]); err != nil {
				return err
			}
			if err := mcpclient.RemovePackages(serverPackages(dir), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.err, "Removed %s from %s.\n", clean(args[0]), clean(path))
			return nil
		}),
	}
}

func (a *app) mcpListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the MCP servers and what is known of them",
		Long:    "List the MCP servers that are configured, and what is known of them and their tools. Nothing is started.",
		Example: "  tongs mcp list\n  tongs mcp list --format json", Args: cobra.NoArgs,
	}
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.open(cmd.Context(), wiring{memory: true})
		if err != nil {
			return err
		}
		defer sys.close()
		states := sys.mcp.States()
		if format == "json" {
			return a.json(states)
		}
		if len(states) == 0 {
			fmt.Fprintln(a.err, "No MCP servers are configured. 'tongs mcp add' adds one, 'tongs mcp import' takes over those of another client.")
			return nil
		}
		rows := make([][]string, 0, len(states))
		for _, s := range states {
			ready := 0
			for _, t := range s.Tools {
				if t.Status == mcpclient.Ready {
					ready++
				}
			}
			rows = append(rows, []string{s.Name, s.Status, fmt.Sprintf("%d of %d", ready, len(s.Tools)), s.Origin, s.Where})
		}
		if err := a.table([]string{"SERVER", "STATE", "TOOLS READY", "FROM", "COMMAND OR URL"}, rows); err != nil {
			return err
		}
		for _, note := range serverNotes(states) {
			fmt.Fprintln(a.err, clean(note))
		}
		return nil
	})
	return cmd
}

// serverNotes say what a person should know about servers and tools that are not ready.
func serverNotes(states []mcpclient.State) (notes []string) {
	for _, s := range states {
		if s.Detail != "" && s.Status != "ready" {
			notes = append(notes, fmt.Sprintf("%s is %s: %s", s.Name, s.Status, s.Detail))
		}
		for _, t := range s.Tools {
			switch t.Status {
			case mcpclient.Quarantined:
				notes = append(notes, fmt.Sprintf("%s is quarantined: its server describes it otherwise than you approved it", t.Name))
			case mcpclient.Gone, mcpclient.Broken:
				notes = append(notes, fmt.Sprintf("%s is %s: %s", t.Name, t.Status, t.Detail))
			}
		}
	}
	return notes
}

// asServer is a configured server as the client knows it.
func asServer(m config.MCPServer) *mcpclient.Server {
	s := &mcpclient.Server{
		Name: m.Name, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers, Tools: m.Tools,
		Network: m.Network, Unconfined: m.Unconfined, Unpinned: m.Unpinned, Timeout: m.Timeout, Origin: m.Origin,
	}
	if m.Untrusted {
		s.Disabled = "nobody vouched for the file that names it; 'tongs trust' does"
	}
	return s
}

func serverStore(stateDir string) mcpclient.Store {
	return mcpclient.Directory(filepath.Join(stateDir, "mcp"))
}

// serverPackages is where packages of MCP servers are installed: a sandbox shows programs of that directory their own.
func serverPackages(stateDir string) string {
	return filepath.Join(forgeState(stateDir), "programs", "mcp")
}

// unpinned is a store in which nothing is approved: not everybody who can name a state directory may say what was.
type unpinned struct{ mcpclient.Store }

// Load implements mcpclient.Store.
func (u unpinned) Load(server, identity string) (*mcpclient.Record, error) {
	r, err := u.Store.Load(server, identity)
	if r != nil {
		r.Approved, r.Program, r.SeenProgram = nil, nil, nil
	}
	return r, err
}

// addMCP makes the tools of the configured MCP servers part of the registry, now and whenever they change.
func (s *system) addMCP(a *app, w wiring) error {
	opt := mcpclient.Options{
		Packages: serverPackages(s.stateDir), Store: serverStore(s.stateDir), Logins: loginStore(s.stateDir), Root: s.place.workspace, Version: version,
	}
	if w.unattended && !a.ownState(s.stateDir) {
		opt.Store, opt.Logins = unpinned{opt.Store}, nil
	}
	if w.cancel != nil {
		opt.Elicit = elicitAtTerminal
	}
	if !w.lives {
		opt.Grace = time.Second / 2 // a person waits for the command to end
	}
	for _, m := range s.cfg.Toolsets.MCP {
		if slices.ContainsFunc(opt.Servers, func(o mcpclient.Server) bool { return o.Name == m.Name }) {
			continue // that of the layer with more authority stands
		}
		opt.Servers = append(opt.Servers, *asServer(m))
	}
	opt.OnChange = s.swapMCP
	var err error
	s.mcp, err = mcpclient.New(opt)
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
func (s *system) mcpWarnings() []string {
	s.mcpFaults.mu.Lock()
	defer s.mcpFaults.mu.Unlock()
	return s.mcpFaults.list
}

// swapMCP takes up tools that changed. What cannot be read stays as it was, and a tool whose name is taken is left out.
func (s *system) swapMCP() {
	tools, err := s.mcp.Tools()
	var faults []string
	if err != nil {
		faults = append(faults, err.Error())
	}
	names := map[string]bool{}
	for _, t := range tools {
		name := t.Spec().Name
		names[name] = true
		if err := s.registry.Replace(t); err != nil {
			faults = append(faults, fmt.Sprintf("the tool %s of an MCP server is not offered: %v", name, err))
		}
	}
	s.mcpFaults.set(faults)
	if err != nil {
		return
	}
	for _, e := range s.registry.Set().Entries() {
		if spec := e.Tool.Spec(); spec.Source.Kind == tongs.SourceMCP && !names[spec.Name] {
			s.registry.Unregister(spec.Name)
		}
	}
}

// ownGrant is what a person decides who starts a server by hand: nobody else is asked. The rules about paths hold for the
// server as they do in any call of it.
type ownGrant struct {
	effects []tongs.Effect
	input   policy.Input
}

// byHand is the grant of a person who starts a server.
func (s *system) byHand(server string, effects []tongs.Effect) ownGrant {
	spec := &tongs.Spec{Name: server + "__", Toolset: "mcp", Source: tongs.Source{Kind: tongs.SourceMCP, Name: server}}
	return ownGrant{effects, policy.Input{Spec: spec, Mode: s.cfg.Mode, Chain: [][]tongs.Rule{s.rules()}}}
}

// Ruled implements workspace.Ruler.
func (g ownGrant) Ruled(kind tongs.EffectKind, p tongs.Path) bool {
	return policy.Ruled(g.input, tongs.Effect{Kind: kind, Path: p})
}

func (g ownGrant) Call() *tongs.Call       { return &tongs.Call{ID: "by-hand", Tool: "mcp"} }
func (g ownGrant) Effects() []tongs.Effect { return g.effects }
func (g ownGrant) Sent(string)             {}

func (g ownGrant) Extend(context.Context, string, ...tongs.Effect) error {
	return tongs.Errorf(tongs.CodeDenied, "nobody is asked about more than starting the server")
}
