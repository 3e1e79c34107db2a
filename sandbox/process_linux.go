package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// killGrace is how long init has to kill everything and report, before it is killed itself.
const killGrace = 40 * time.Millisecond

// supervisorGrace is the same in tier B, where killing init first would let its children go.
const supervisorGrace = 2 * time.Second

// running is a Process on this platform.
type running struct {
	keeper *keeper
	plan   *plan
	id     uint64
	pidfd  *os.File
	ctl    *control
	begun  time.Time
	ctx    context.Context
	stop   []func()
	wall   *wall

	fresh bool

	mu      sync.Mutex
	why     string        // what everything is being killed for: a limit, "cancel", "kill" or "write"
	ready   chan struct{} // closed when it has started, or will not
	over    chan struct{} // closed when init said its last word
	started *launch.Started
	ended   *launch.Done
	failed  error
	master  *os.File
	asked   asked
}

// start starts a command in a tier that was tried.
func (r *Runner) start(ctx context.Context, tier string, cmd *Cmd) (*Process, error) {
	p, err := r.startRun(ctx, tier, cmd, startOptions{})
	if errors.Is(err, errStale) {
		// The init in reserve is older than a mount; one that is started now is not.
		p, err = r.startRun(ctx, tier, cmd, startOptions{fresh: true})
	}
	if errors.Is(err, errOverlayRefused) {
		p, err = r.startRun(ctx, tier, cmd, startOptions{copies: true})
	}
	return p, err
}

var (
	errStale          = errors.New("the tree changed while the sandbox was set up")
	errOverlayRefused = errors.New("no overlay can be made here")
)

// startOptions are those of one attempt: not to use an init in reserve, to copy trees rather than overlay them, and to
// run nothing.
type startOptions struct{ fresh, copies, probe bool }

func (r *Runner) startRun(ctx context.Context, tier string, cmd *Cmd, opt startOptions) (*Process, error) {
	begun := stampClock()
	res, err := resolvePolicy(&cmd.Policy, &r.index)
	if err != nil {
		return nil, err
	}
	res.sockets = hostSockets(res)
	k, err := r.keeperNow()
	if err != nil {
		return nil, err
	}
	over, err := r.makeLayers(ctx, cmd.Policy.Overlay, res, begun, opt.copies)
	if err != nil {
		return nil, err
	}
	cache, err := r.takeSlot(cmd.Policy.Cache, res, opt.copies)
	if err != nil {
		dropLayers(over, cmd.Policy.Overlay)
		return nil, err
	}
	run := &running{keeper: k, plan: newPlan(tier, cmd, res), begun: time.Now(), ctx: ctx, fresh: opt.fresh}
	run.plan.over, run.plan.cache, run.plan.spec.After, run.plan.spec.Probe = over, cache, over.after(), opt.probe
	p, err := r.begin(run, cmd)
	if err != nil {
		if errors.Is(err, errOverlayRefused) {
			r.over.refuse(append(over.keys(), cache.keys()...), err.Error())
		}
		run.plan.dropLayers()
		cache.release()
	}
	return p, err
}

// begin starts init for a plan, and what accompanies it.
func (r *Runner) begin(run *running, cmd *Cmd) (*Process, error) {
	run.ready, run.over = make(chan struct{}), make(chan struct{})
	std, err := newStreams(cmd, run.plan.limits.Output, run.kill)
	if err != nil {
		return nil, err
	}
	if err := r.launch(run, std); err != nil {
		std.abandon()
		return nil, err
	}
	std.closeChild()
	return run.startCompanions(std)
}

// launch starts init and tells it what to do.
func (r *Runner) launch(run *running, std *streams) error {
	trees, err := r.mapTrees(run.plan, run.keeper)
	if err != nil {
		return err
	}
	defer closeAll(trees)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unavailable("making a socket", err)
	}
	run.ctl, err = newControl(pair[0])
	if err != nil {
		_ = unix.Close(pair[1])
		return unavailable("making a socket", err)
	}
	scratch := r.opt.Scratch
	if scratch == "" {
		scratch = os.TempDir()
	}
	rep, pidfd, err := run.keeper.request(run.plan.request(scratch, run.fresh), append([]int{pair[1]}, std.child()...)...)
	_ = unix.Close(pair[1])
	if err != nil {
		_ = run.ctl.Close()
		return unavailable("starting the first process", err)
	}
	run.id = rep.ID
	_ = unix.SetNonblock(pidfd, true)
	run.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	if err = run.plan.finish(rep, landlockABI()); err == nil {
		err = run.ctl.sendTrees(trees)
	}
	if err == nil {
		err = run.ctl.write(launch.MsgSpec, run.plan.spec.Encode())
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		run.abandon()
		return unavailable("telling the first process what to do", err)
	}
	return nil
}

// abandon ends a run that has not come to anything.
func (run *running) abandon() {
	_ = run.ctl.Close()
	_ = run.pidfd.Close()
	_, _, _ = run.keeper.request(&launch.Request{Op: launch.OpFinish, ID: run.id})
}

// startCompanions starts what accompanies a process, and returns it once it runs or could not.
func (run *running) startCompanions(std *streams) (*Process, error) {
	p := &Process{done: make(chan struct{}), std: std, run: run}
	std.start()
	run.limitTime() // before listening, which adds to what is stopped too
	go run.listen(std)
	go func() {
		defer close(p.done)
		<-run.over
		p.result, p.err = run.conclude(std)
	}()
	<-run.ready
	run.mu.Lock()
	started, failed := run.started != nil, run.failed != nil
	run.mu.Unlock()
	if started && !failed {
		std.feed()
		return p, nil
	}
	<-p.done
	if !failed {
		return p, nil // killed before it said that it had started: it may have run, and its result says what it left
	}
	return nil, p.err
}

// limitTime arms the time limit and the caller's context.
func (run *running) limitTime() {
	if wall := run.plan.limits.Wall; wall > 0 {
		run.wall = startWall(time.Until(run.begun.Add(wall)), func() { run.kill(LimitWall) })
		run.stop = append(run.stop, run.wall.stop)
	}
	stop := context.AfterFunc(run.ctx, func() { run.kill("cancel") })
	run.stop = append(run.stop, func() { stop() })
}

// listen takes init's messages until the last one, or until its end is closed.
func (run *running) listen(std *streams) {
	ready := sync.OnceFunc(func() { close(run.ready) })
	defer close(run.over)
	defer run.asked.close()
	defer ready()
	for {
		kind, payload, fds, err := run.ctl.read()
		if err != nil {
			closeAll(fds)
			return
		}
		run.mu.Lock()
		switch kind {
		case launch.MsgListener:
			run.serve(string(payload), fds)
			fds = nil
		case launch.MsgAnswer:
			run.asked.answer(payload, fds)
			fds = nil
		case launch.MsgTerminal:
			run.master = std.terminal(fds)
			fds = nil
		case launch.MsgSetup:
			run.failed = tongs.Errorf(tongs.CodeSandboxUnavailable, "the sandbox could not be set up: %s", payload)
		case launch.MsgStale:
			run.failed = tongs.Errorf(tongs.CodeSandboxUnavailable, "the sandbox could not be set up: %w: %s", errStale, payload)
		case launch.MsgOverlay:
			run.failed = tongs.Errorf(tongs.CodeSandboxUnavailable, "%w: %s", errOverlayRefused, payload)
		case launch.MsgExec:
			run.failed = tongs.Errorf(tongs.CodeExecutionError, "the program could not be started: %s", payload)
		case launch.MsgStarted:
			run.started, _ = launch.DecodeStarted(payload)
		case launch.MsgDone:
			run.ended, _ = launch.DecodeDone(payload)
		}
		ended := run.ended != nil
		run.mu.Unlock()
		closeAll(fds)
		if kind != launch.MsgListener && kind != launch.MsgTerminal {
			ready()
		}
		if ended {
			return // every process is gone but init itself, which is about to
		}
	}
}

// serve hands the listening socket to whoever answers for the network.
func (run *running) serve(port string, fds []int) {
	number, err := strconv.ParseUint(port, 10, 16)
	serve := run.plan.serving[uint16(number)]
	if err != nil || serve == nil || len(fds) != 1 {
		closeAll(fds)
		return
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(run.ctx, wallKey{}, run.wall))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(ctx, l)
	}()
	run.stop = append(run.stop, func() {
		cancel()
		_ = l.Close()
		<-served
	})
}

// kill ends everything. The first reason counts.
func (run *running) kill(why string) {
	run.mu.Lock()
	first := run.why == ""
	if first {
		run.why = why
	}
	run.mu.Unlock()
	if !first {
		return
	}
	_ = run.ctl.write(launch.MsgKill, nil)
	grace := killGrace
	if run.plan.tier == TierB {
		grace = supervisorGrace
	}
	// Harmless once init is gone: the descriptor still means it and nobody else.
	time.AfterFunc(grace, func() { _ = run.signal(unix.SIGKILL) })
}

func (run *running) signal(sig unix.Signal) error {
	raw, err := run.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = raw.Control(func(fd uintptr) { serr = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	return errors.Join(err, serr)
}

// exited waits until init, and with it the whole namespace, is gone.
func (run *running) exited() {
	raw, err := run.pidfd.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
}

// conclude cleans up after a process that is gone, and makes its result.
func (run *running) conclude(std *streams) (*Result, error) {
	if run.ended == nil || run.plan.cache.mounted() {
		run.exited()
	}
	defer run.plan.cache.release()
	for _, stop := range slices.Backward(run.stop) {
		stop()
	}
	figures, _, err := run.keeper.request(&launch.Request{Op: launch.OpFinish, ID: run.id, Swept: run.ended != nil})
	if err != nil {
		figures = &launch.Reply{} // the keeper is gone, and with it what it knew
	}
	std.drain()
	_ = run.ctl.Close()
	run.leave()
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.failed != nil {
		run.plan.dropLayers()
		return nil, run.failed
	}
	res := run.result(figures, std)
	switch {
	case run.why == "write":
		return res, tongs.Errorf(tongs.CodeExecutionError, "the command was killed because its output could not be kept: %w", std.failure())
	case run.why == "cancel":
		return res, tongs.Errorf(tongs.CodeCancelled, "the command was killed: %w", context.Cause(run.ctx))
	case run.ended == nil && run.why == "" && len(res.Report.LimitsHit) == 0:
		return res, tongs.Errorf(tongs.CodeExecutionError, "the command was killed from outside the sandbox")
	}
	return res, nil
}

// leave lets go of init. Another run over the same layers waits until it is gone, with its mounts.
func (run *running) leave() {
	over := run.plan.over
	if over == nil {
		_ = run.pidfd.Close()
		return
	}
	idle := make(chan struct{})
	over.idle = idle
	go func() {
		defer close(idle)
		run.exited()
		_ = run.pidfd.Close()
	}()
}

// dropLayers removes layers that were made for this run.
func (p *plan) dropLayers() { dropLayers(p.over, p.pol.Overlay) }

func dropLayers(over *Layers, o *Overlay) {
	if o == nil || over != o.Reuse {
		_ = over.Close()
	}
}

func (run *running) result(figures *launch.Reply, std *streams) *Result {
	p := run.plan
	res := &Result{ExitCode: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL.String(), Duration: time.Since(run.begun)}
	rep := Report{Tier: p.tier, Layers: p.layers, Missing: p.missing, Planted: p.planted(), Denied: std.denied(p.spec.Dir, p.res, p.pol.Network.Mode)}
	if run.started != nil {
		rep.Missing = append(rep.Missing, run.started.Missing...)
	}
	if d := run.ended; d != nil {
		res.ExitCode, res.Signal = d.Exit, ""
		if d.Signal != 0 {
			res.Signal = syscall.Signal(d.Signal).String()
		}
		res.Usage = Usage{User: time.Duration(d.User), System: time.Duration(d.System), MaxRSS: d.MaxRSS}
		rep.Leftover = int(d.Leftover)
		if d.Limit != "" {
			rep.LimitsHit = append(rep.LimitsHit, d.Limit)
		}
		switch syscall.Signal(d.Signal) {
		case syscall.SIGXFSZ:
			rep.LimitsHit = append(rep.LimitsHit, LimitFileSize)
		case syscall.SIGXCPU:
			rep.LimitsHit = append(rep.LimitsHit, LimitCPU)
		}
	}
	if figures.OOM > 0 {
		rep.LimitsHit = append(rep.LimitsHit, LimitMemory)
	}
	if run.why == LimitWall || run.why == LimitOutput {
		rep.LimitsHit = append(rep.LimitsHit, run.why)
	}
	res.TimedOut = run.why == LimitWall
	res.Usage.Memory, res.Usage.Output = int64(figures.Peak), std.count()
	rep.LimitsHit = unique(rep.LimitsHit)
	rep.Full = p.tier == TierA && len(p.lacking) == 0
	rep.Usage = res.Usage
	if p.over != nil {
		rep.Overlays, res.Overlay = p.over.List, p.over
	}
	res.Report = rep
	return res
}
