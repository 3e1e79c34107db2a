package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
)

// wrapping are the flags of 'tongs mcp wrap'.
type wrapping struct {
	network, read, write, env []string
	readOnly, quiet           bool
}

func (a *app) mcpWrapCommand() *cobra.Command {
	var w wrapping
	cmd := &cobra.Command{
		Use:   "wrap -- COMMAND [ARGUMENT ...]",
		Short: "Run an MCP server of any client in the sandbox",
		Long: "Run a program in the sandbox with its standard streams passed through: put this before the command of an MCP " +
			"server in any client's configuration. The program sees the workspace and reaches only the hosts given with " +
			"--network. The exit code is the program's; refused accesses are reported on standard error when it ends. This " +
			"command asks nothing and logs nothing: the client decides about calls.",
		Example: "  tongs mcp wrap --network packages.example.com -- npx -y example-server .\n" +
			"  tongs mcp wrap --env GITHUB_TOKEN --network api.github.com \\\n" +
			"      -- github-mcp-server stdio\n" +
			"  tongs mcp wrap --read-only --workspace ~/notes -- notes-server",
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringSliceVar(&w.network, "network", nil, "hosts that the program may reach")
	f.StringSliceVar(&w.read, "read", nil, "further directories that the program may read")
	f.StringSliceVar(&w.write, "write", nil, "further directories that the program may write to")
	f.StringSliceVar(&w.env, "env", nil, "variables to pass on, by name")
	f.BoolVar(&w.readOnly, "read-only", false, "keep the program from writing to the workspace")
	f.BoolVar(&w.quiet, "quiet", false, "report nothing")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.wrap(cmd.Context(), &w, args) })
	return cmd
}

func (a *app) wrap(ctx context.Context, w *wrapping, argv []string) error {
	o, err := a.host().OpenOwn(ctx, &tongs.Command{
		Argv: argv, Dir: tongs.Path{Rel: "."}, ReadOnly: w.readOnly, Server: strings.Join(append([]string{"wrap"}, argv...), "\x00"),
	})
	if err != nil {
		return err
	}
	defer o.Close()
	if err := w.extend(&o.Policy); err != nil {
		return err
	}
	allowed := map[string]bool{}
	for _, host := range w.network {
		t, err := network.ParseTarget(host, 443)
		if err != nil {
			return cli.Usage(err)
		}
		allowed[t.Name()] = true
	}
	denied := &hostSet{seen: map[string]bool{}}
	o.Policy.Network = sandbox.Network{Mode: sandbox.NetworkProxy, Serve: (&network.Proxy{
		Guard: &network.Guard{},
		Decide: func(_ context.Context, t network.Target) network.Decision {
			if allowed[t.Name()] {
				return network.Decision{Private: true}
			}
			denied.add(t.Name())
			return network.Decision{Err: tongs.Errorf(tongs.CodeBlocked, "%s is not among the hosts of --network", t.Name())}
		},
	}).Serve}
	proc, err := o.Start(ctx, &sandbox.Cmd{Stdin: a.in, Stdout: a.Out, Stderr: a.Err})
	if err != nil {
		return err
	}
	res, err := proc.Wait()
	if res == nil {
		return err
	}
	a.exit = res.ExitCode
	held, left := o.Finish(res)
	if !w.quiet {
		a.reportWrapped(res, denied.list)
		a.reportHeld(held, left)
	}
	return nil
}

// extend adds to what a command of a tool may do what the flags give the program.
func (w *wrapping) extend(policy *sandbox.Policy) error {
	policy.Limits.Wall, policy.Limits.CPU, policy.Limits.Output = -1, -1, -1 // it goes on for as long as its client does
	for _, name := range w.env {
		if value, ok := os.LookupEnv(name); ok {
			policy.Env = append(policy.Env, name+"="+value)
		}
	}
	given := func(dirs []string, give func(dir string)) error {
		for _, dir := range dirs {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			if _, err := os.Stat(dir); err != nil {
				return cli.Usagef("%s cannot be given to the program: %w", dir, err)
			}
			give(dir)
		}
		return nil
	}
	if err := given(w.read, func(dir string) { policy.Readable = append(policy.Readable, dir) }); err != nil {
		return err
	}
	return given(w.write, func(dir string) { policy.Writable = append(policy.Writable, sandbox.Decided(dir)) })
}

// reportWrapped says what the program was kept from.
func (a *app) reportWrapped(res *sandbox.Result, hosts []string) {
	var lines []string
	for _, host := range hosts {
		lines = append(lines, "kept from reaching "+host+"; --network "+host+" would allow it")
	}
	for _, d := range res.Report.Denied {
		if d.Path != "" {
			lines = append(lines, "kept from "+d.Path+" ("+d.Kind+"); --read or --write would allow it")
		}
	}
	for _, limit := range res.Report.LimitsHit {
		lines = append(lines, "ended by the limit: "+limit)
	}
	if !res.Report.Full {
		lines = append(lines, "the sandbox of this machine does not enforce everything; see 'tongs doctor'")
	}
	for _, line := range lines {
		fmt.Fprintln(a.Err, "tongs: "+terminal.Clean(line))
	}
}

// hostSet keeps names once, in the order they came.
type hostSet struct {
	mu   sync.Mutex
	seen map[string]bool
	list []string
}

func (h *hostSet) add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.seen[name] && len(h.list) < 100 {
		h.seen[name] = true
		h.list = append(h.list, name)
	}
}
