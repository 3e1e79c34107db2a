package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/gitrelay"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/sandbox"
)

// Run implements tongs.Commands.
func (c *commands) Run(ctx context.Context, cmd *tongs.Command) (*tongs.Exit, error) {
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := c.start(ctx, cmd, false)
	if err != nil {
		return nil, err
	}
	exit, err := p.Wait(ctx)
	c.leaves(p)
	return exit, err
}

// Start implements tongs.Commands.
func (c *commands) Start(ctx context.Context, cmd *tongs.Command) (tongs.Process, error) {
	_, leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := c.start(context.WithoutCancel(ctx), cmd, true)
	if err != nil {
		return nil, err
	}
	if c.ended() { // the tool did not wait for it, so nobody would end it
		p.Kill()
		_, _ = p.Wait(context.Background())
		c.leaves(p)
		return nil, errOver
	}
	if cmd.Ports {
		c.jobs.add(c.permit.Call().Session, p)
	}
	return p, nil
}

func (c *commands) start(ctx context.Context, cmd *tongs.Command, background bool) (*process, error) {
	effects := c.permit.Effects()
	if need := undecided(cmd.Effects, effects); need != nil {
		return nil, need
	}
	if !slices.ContainsFunc(effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute }) {
		return nil, &tongs.Need{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: cmd.Argv}},
			Reason:  "nobody decided that a program may run",
		}
	}
	if err := c.placed(cmd); err != nil {
		return nil, err
	}
	p := &process{commands: c, cmd: cmd, effects: effects, background: background}
	if cmd.Scratch {
		dir, err := c.callDir(c.permit.Call(), "files-")
		if err != nil {
			return nil, err
		}
		p.scratch = dir
	}
	var err error
	if p.onCopy, err = c.runsOnCopy(ctx, cmd, background); err != nil {
		return nil, err
	}
	if p.onCopy {
		if err := c.takeTurn(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.launch(ctx); err != nil {
		if p.onCopy {
			c.endTurn()
		}
		c.leaves(p)
		return nil, p.askBefore(err)
	}
	return p, nil
}

// launch starts the program in its sandbox.
func (p *process) launch(ctx context.Context) error {
	cmd := p.cmd
	policy, err := p.policy()
	if err != nil {
		return err
	}
	run := &sandbox.Cmd{Argv: cmd.Argv, Policy: policy, Stdin: cmd.Stdin, StdinPipe: p.background, Stdout: cmd.Stdout, Stderr: cmd.Stderr}
	if cmd.TTY {
		run.PTY = &sandbox.PTY{Rows: 40, Cols: 120}
	}
	if !cmd.ReadOnly && !p.onCopy {
		p.permit.Sent("ran " + strings.Join(cmd.Argv, " "))
	}
	return p.begin(ctx, run)
}

// maxRecovered is how often a program is kept waiting for what others left.
const maxRecovered = 4

// begin starts the program, once what killed ones left was looked at.
func (p *process) begin(ctx context.Context, run *sandbox.Cmd) (err error) {
	for range maxRecovered {
		if p.inner, err = p.opt.Runner.Start(ctx, run); err == nil {
			return nil
		}
		p.entry.end()
		p.entry = nil
		if len(p.unfinished) == 0 {
			return err
		}
		p.recover(ctx)
	}
	return err
}

var errUnfinished = errors.New("an earlier program was not finished")

// found is told the protected names that are there before the program runs.
func (p *process) found(names []string) (err error) {
	runs := runLog{p.opt.Runs}
	if p.unfinished = runs.unfinished(names); len(p.unfinished) > 0 {
		return errUnfinished
	}
	if p.cmd.ReadOnly || p.onCopy && len(p.opt.Through) == 0 || p.entry != nil {
		return nil
	}
	if p.entry, err = runs.begin(record{p.permit.Call().ID, p.cmd.Argv, p.writable(), names}); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "the command was not run, since it could not be remembered that it runs: %w", err)
	}
	return nil
}

// writable are the directories of the roots that can be written to.
func (c *Confiner) writable() (dirs []string) {
	for _, root := range c.opt.Workspace.Present() {
		if root.Writable {
			dirs = append(dirs, root.Dir)
		}
	}
	return dirs
}

// recover takes away what programs planted whose host was killed, or others made since, and asks about it before the program
// of this call starts.
func (p *process) recover(ctx context.Context) {
	for _, u := range p.unfinished {
		h := p.hold(u.planted, nil)
		h.ask(ctx, p.permit, fmt.Sprintf("an earlier command was cut off (call %s: %s), and these protected names appeared since it began; "+
			"it cannot be told whether it made them", u.Call, programoutput.Short(strings.Join(u.Argv, " "), 80)))
		p.held.add(h)
		u.end()
	}
	p.unfinished = nil
}

// undecided are the effects that a tool sees now and that nobody decided, or decided in another state.
func undecided(now, decided []tongs.Effect) error {
	need := &tongs.Need{}
	for _, e := range now {
		if !slices.ContainsFunc(decided, func(d tongs.Effect) bool {
			return d.SameTarget(e) && (e.Version == d.Version || e.Version == "" && e.Kind != tongs.EffectExecute) &&
				(e.Incidental || !d.Incidental) && // what was free as a new file is not as one that is there by now
				(e.Confined || !d.Confined) // and what the sandbox shows is not what it hides
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
	// onCopy is set where what it writes is held back.
	onCopy bool
	// effects are those that were decided when it was started.
	effects []tongs.Effect
	// entry is that of the log of runs, unfinished what was found in it.
	entry      *entry
	unfinished []*unfinished

	// git makes the transfers of its git, nil where there is none.
	git *gitrelay.Session

	finishing sync.Once
	exited    *tongs.Exit
	err       error
	settling  sync.Mutex
	held      holding

	contacts contacts
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
	p.finishing.Do(func() { p.finish(ctx) })
	p.settling.Lock()
	defer p.settling.Unlock()
	return p.exited, p.err
}

// finish looks at what the program did, once it is gone: what it planted is taken away.
func (p *process) finish(ctx context.Context) {
	defer func() { p.entry.end() }()
	res, err := p.inner.Wait()
	if p.err = err; res == nil {
		if p.onCopy {
			p.endTurn()
		}
		return
	}
	need := p.need(res)
	if p.onCopy {
		p.finishCopy(ctx, res, need)
		return
	}
	p.held.add(p.hold(res.Report.Planted, p.effects))
	if err == nil && need != nil && !p.background { // it runs again, or fails as a whole
		need.Reason += p.held.say()
		p.err = need
		p.held.keep("the command failed and is to be run again")
	}
	p.exited = p.exit(res)
}

// finishCopy leaves what the program did to the copy to the end of the call. What failed for want of something that can be
// asked for, or was cut off, leaves nothing.
func (p *process) finishCopy(ctx context.Context, res *sandbox.Result, need *tongs.Need) {
	defer p.endTurn()
	p.held.add(p.hold(plantedOutside(res), p.effects))
	p.exited = p.exit(res)
	switch {
	case p.err != nil || ctx.Err() != nil:
		p.lose(res.Overlay)
	case need != nil && !p.permit.Call().DryRun:
		p.err = need
		p.lose(res.Overlay)
	default:
		p.add(p, res)
		return
	}
	p.held.keep("the command failed, or what it did was declined")
}

func (p *process) exit(res *sandbox.Result) *tongs.Exit {
	report := &tongs.Report{
		Tier: res.Report.Tier, Full: res.Report.Full, Layers: res.Report.Layers, Missing: res.Report.Missing,
		LimitsHit: res.Report.LimitsHit, DeniedHosts: p.contacts.denied(), Refused: p.contacts.refused(), Outside: p.outside(res), Usage: tongs.ProgramUsage(res.Report.Usage),
	}
	for _, d := range res.Report.Denied {
		report.Denied = append(report.Denied, tongs.Denial(d))
	}
	return &tongs.Exit{
		Code: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, Duration: res.Duration,
		Files: p.files(), Report: report,
	}
}

// Denied are the effects that would have let the program through where it was stopped so far: hosts at any time, paths
// once it has ended. It is for whoever watches over a program that goes on.
func (p *process) Denied() []tongs.Effect {
	effects := p.contacts.undecided()
	select {
	case <-p.inner.Done():
		res, _ := p.inner.Wait()
		if need := p.need(res); need != nil {
			return need.Effects
		}
	default:
	}
	return effects
}

// need is what would have let a program through that failed. A path that the sandbox hid looks absent to the program,
// so paths are best effort, and only those inside the roots can be asked for; hosts are exact.
func (p *process) need(res *sandbox.Result) *tongs.Need {
	if res == nil || res.ExitCode == 0 || res.TimedOut {
		return nil
	}
	need := &tongs.Need{Effects: p.contacts.undecided()}
	var what []string
	for _, e := range need.Effects {
		what = append(what, e.Host)
	}
	for _, d := range res.Report.Denied {
		kind := map[string]tongs.EffectKind{"read": tongs.EffectRead, "write": tongs.EffectWrite}[d.Kind]
		if kind == 0 || d.Path == "" {
			continue
		}
		at, err := p.place(d.Path, false)
		if err != nil {
			continue
		}
		effects, err := p.opt.Workspace.Check([]tongs.Effect{{Kind: kind, Path: at}})
		if err != nil || !effects[0].ByName() {
			continue
		}
		need.Effects = append(need.Effects, effects[0])
		what = append(what, at.String())
	}
	if len(need.Effects) == 0 {
		return nil
	}
	need.Reason = "the command failed and could not reach " + strings.Join(what, ", ") + p.contacts.reason()
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
			a.Data, _ = readRegular(name, maxImage)
		}
		list = append(list, a)
		return nil
	})
	if len(list) == 0 {
		os.Remove(p.scratch)
	}
	return list
}

// readRegular reads a file of at most limit bytes, unless it was swapped for something else.
func readRegular(name string, limit int64) ([]byte, bool) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return data, err == nil
}
