package confine

import (
	"context"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/netguard"
	"github.com/tongs-ai/tongs/output"
	"github.com/tongs-ai/tongs/sandbox"
)

// commands runs programs for one call.
type commands struct {
	*Confiner
	grant tongs.Grant
}

// Run implements tongs.Commands.
func (c *commands) Run(ctx context.Context, cmd *tongs.Command) (*tongs.Exit, error) {
	p, err := c.start(ctx, cmd, false)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// Start implements tongs.Commands.
func (c *commands) Start(ctx context.Context, cmd *tongs.Command) (tongs.Process, error) {
	return c.start(context.WithoutCancel(ctx), cmd, true)
}

func (c *commands) start(ctx context.Context, cmd *tongs.Command, background bool) (*process, error) {
	effects := c.grant.Effects()
	if need := undecided(cmd.Effects, effects); need != nil {
		return nil, need
	}
	if !slices.ContainsFunc(effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute }) {
		return nil, &tongs.Need{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: cmd.Argv}},
			Reason:  "nobody decided that a program may run",
		}
	}
	var scratch string
	if cmd.Scratch {
		dir, err := c.scratchDir(c.grant.Call())
		if err != nil {
			return nil, err
		}
		scratch = dir
	}
	policy := c.policy(cmd, effects, scratch)
	if err := c.ruled(&policy, c.grant); err != nil {
		return nil, err
	}
	p := &process{commands: c, cmd: cmd, scratch: scratch, background: background, denied: map[string]bool{}}
	policy.Network = sandbox.Network{Mode: sandbox.NetworkProxy, Serve: p.serve(hosts(effects))}
	run := &sandbox.Cmd{Argv: cmd.Argv, Policy: policy, Stdin: cmd.Stdin, StdinPipe: background, Stdout: cmd.Stdout, Stderr: cmd.Stderr}
	if cmd.TTY {
		run.PTY = &sandbox.PTY{Rows: 40, Cols: 120}
	}
	if background {
		run.Policy.Limits.Wall = -1
	}
	if !cmd.ReadOnly {
		c.grant.Sent("ran " + strings.Join(cmd.Argv, " "))
	}
	inner, err := c.opt.Runner.Start(ctx, run)
	if err != nil {
		return nil, err
	}
	p.inner = inner
	return p, nil
}

// undecided are the effects that a tool sees now and that nobody decided, or decided in another state.
func undecided(now, decided []tongs.Effect) error {
	need := &tongs.Need{}
	for _, e := range now {
		if !slices.ContainsFunc(decided, func(d tongs.Effect) bool {
			return d.SameTarget(e) && (e.Version == d.Version || e.Version == "" && e.Kind != tongs.EffectExecute) &&
				(e.Incidental || !d.Incidental) // what was free as a new file is not as one that is there by now
		}) {
			need.Effects = append(need.Effects, e)
		}
	}
	if len(need.Effects) == 0 {
		return nil
	}
	need.Reason = need.Effects[0].Target() + " changed since it was planned"
	return need
}

// process is a program that runs.
type process struct {
	*commands
	cmd        *tongs.Command
	inner      *sandbox.Process
	scratch    string
	background bool

	mu     sync.Mutex
	denied map[string]bool // hosts that nobody decided
}

// serve answers the program's connections: those to decided hosts, and no others.
func (p *process) serve(allowed map[string]bool) func(context.Context, net.Listener) error {
	guard := *p.opt.Guard
	guard.Log = p.logged(guard.Log)
	proxy := &netguard.Proxy{Guard: &guard, Decide: func(_ context.Context, t netguard.Target) netguard.Decision {
		if allowed[t.Name()] {
			return netguard.Decision{Private: p.opt.Private(t.Name())}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.denied[t.Name()] = true
		return netguard.Decision{Err: tongs.Errorf(tongs.CodeBlocked, "%s was not decided for this command", t.Name())}
	}}
	return proxy.Serve
}

// logged puts each connection into the row of the call, besides telling whoever else wants to know.
func (p *process) logged(also func(netguard.Attempt)) func(netguard.Attempt) {
	row, _ := p.grant.(tongs.Connected)
	return func(a netguard.Attempt) {
		if row != nil {
			row.Connected(a.String())
		}
		if also != nil {
			also(a)
		}
	}
}

// Write implements tongs.Process.
func (p *process) Write(b []byte) (int, error) { return p.inner.Stdin().Write(b) }

// CloseInput implements tongs.Process.
func (p *process) CloseInput() error { return p.inner.Stdin().Close() }

// Kill implements tongs.Process.
func (p *process) Kill() { p.inner.Kill() }

// Wait implements tongs.Process.
func (p *process) Wait(ctx context.Context) (*tongs.Exit, error) {
	var ended <-chan struct{} // of one that runs in the foreground, the sandbox itself ends it when ctx does
	if p.background {
		ended = ctx.Done()
	}
	select {
	case <-p.inner.Done():
	case <-ended:
		return nil, ctx.Err()
	}
	res, err := p.inner.Wait()
	if res == nil {
		return nil, err
	}
	exit := p.exit(res)
	if err != nil {
		return exit, err
	}
	if need := p.need(res); need != nil && !p.background {
		return exit, need
	}
	return exit, nil
}

func (p *process) exit(res *sandbox.Result) *tongs.Exit {
	report := map[string]any{
		"tier": res.Report.Tier, "full": res.Report.Full, "layers": res.Report.Layers, "usage": res.Report.Usage,
	}
	for key, list := range map[string][]string{
		"missing": res.Report.Missing, "limitsHit": res.Report.LimitsHit, "planted": res.Report.Planted, "deniedHosts": p.deniedHosts(),
	} {
		if len(list) > 0 {
			report[key] = list
		}
	}
	if len(res.Report.Denied) > 0 {
		report["denied"] = res.Report.Denied
	}
	return &tongs.Exit{
		Code: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, Duration: res.Duration,
		Files: p.files(), Report: report,
	}
}

func (p *process) deniedHosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.denied))
}

// need is what would have let a program through that failed. A path that the sandbox hid looks absent to the program,
// so paths are best effort, and only those inside the roots can be asked for; hosts are exact.
func (p *process) need(res *sandbox.Result) error {
	if res.ExitCode == 0 || res.TimedOut {
		return nil
	}
	need := &tongs.Need{}
	var what []string
	for _, host := range p.deniedHosts() {
		need.Effects = append(need.Effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: host})
		what = append(what, host)
	}
	for _, d := range res.Report.Denied {
		kind := map[string]tongs.EffectKind{"read": tongs.EffectRead, "write": tongs.EffectWrite}[d.Kind]
		if kind == 0 || d.Path == "" {
			continue
		}
		at, err := p.opt.Workspace.Resolve(tongs.Path{Rel: "."}, d.Path)
		if err != nil {
			continue
		}
		effects, err := p.opt.Workspace.Check([]tongs.Effect{{Kind: kind, Path: at}})
		if err != nil || !effects[0].MustAsk {
			continue
		}
		need.Effects = append(need.Effects, effects[0])
		what = append(what, at.String())
	}
	if len(need.Effects) == 0 {
		return nil
	}
	need.Reason = "the command failed and could not reach " + strings.Join(what, ", ")
	return need
}

const (
	maxFiles = 100
	maxImage = 5 << 20
)

// files are what the program left in its scratch directory, as read_file spells them. Links are left out: nothing
// that a program wrote is followed.
func (p *process) files() []tongs.Attachment {
	if p.scratch == "" {
		return nil
	}
	var list []tongs.Attachment
	filepath.WalkDir(p.scratch, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || len(list) == maxFiles {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(p.opt.Scratch, name)
		if err != nil {
			return nil
		}
		a := tongs.Attachment{
			Name: strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(p.scratch)+"/"), Size: info.Size(),
			MIME: mime.TypeByExtension(filepath.Ext(name)), Path: path.Join("/", output.Root, filepath.ToSlash(rel)),
		}
		if strings.HasPrefix(a.MIME, "image/") && a.Size <= maxImage {
			a.Data = readRegular(name)
		}
		list = append(list, a)
		return nil
	})
	if len(list) == 0 {
		os.Remove(p.scratch)
	}
	return list
}

// readRegular reads a file unless it was swapped for something else.
func readRegular(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxImage {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err != nil {
		return nil
	}
	return data
}
