package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs"
)

const seatbeltProgram = "/usr/bin/sandbox-exec"

// machine is what a Runner holds on this platform: nothing.
type machine struct{}

func (m *machine) close() error { return nil }

// running is a Process on this platform.
type running struct {
	cmd   *exec.Cmd
	begun time.Time
	ctx   context.Context
	res   *resolved
	pol   *Policy
	tmp   string
	stop  []func()
	wall  *wall

	mu  sync.Mutex
	why string
}

// seatbeltProperties are what a profile enforces. A daemon that leaves its process group survives.
func seatbeltProperties() []Property {
	return []Property{PropertyRead, PropertyWrite, PropertyProtect, PropertyHide, PropertyNetwork, PropertySignals}
}

// try looks for the program that applies profiles, and lets it do so.
func (r *Runner) try(ctx context.Context) Probe {
	p := Probe{Platform: runtime.GOOS + "/" + runtime.GOARCH, User: os.Geteuid(), Launcher: seatbeltProgram, Limits: map[string]string{
		"wall": "timer", "cpu": "resource limit for each process", "fileSize": "resource limit", "descriptors": "resource limit",
		"pids": "resource limit of the user", "output": "counted while it is passed on",
	}}
	st := TierStatus{Tier: TierSeatbelt}
	if out, err := exec.CommandContext(ctx, seatbeltProgram, "-p", seatbeltBase, "/usr/bin/true").CombinedOutput(); err != nil {
		st.Reason = "sandbox-exec does not work: " + err.Error() + " " + string(out)
		st.Fix = "It is part of macOS; a sandbox cannot be made inside another one."
	} else {
		st.OK, st.Layers, st.Properties = true, []string{"seatbelt", "rlimits"}, seatbeltProperties()
		st.Missing = []string{"memory of all processes together", "growth of the disk", "daemons that leave their process group"}
	}
	p.Tiers = []TierStatus{st}
	return p
}

func (r *Runner) start(ctx context.Context, tier string, cmd *Cmd) (*Process, error) {
	if cmd.PTY != nil {
		return nil, tongs.Errorf(tongs.CodeSandboxUnavailable, "terminals are not supported in the sandbox of macOS; run the command without one")
	}
	res, err := resolvePolicy(&cmd.Policy, &r.index)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(r.opt.Scratch, "tongs-scratch-")
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeSandboxUnavailable, "making a private directory: %w", err)
	}
	run := &running{begun: time.Now(), ctx: ctx, res: res, pol: &cmd.Policy, tmp: tmp}
	std, err := newStreams(cmd, cmd.Policy.Limits.withDefaults().Output, run.kill)
	if err != nil {
		_ = os.RemoveAll(tmp)
		return nil, err
	}
	if err := run.exec(cmd, std); err != nil {
		std.abandon()
		run.clean()
		return nil, err
	}
	std.closeChild()
	std.start()
	std.feed()
	p := &Process{done: make(chan struct{}), std: std, run: run}
	go func() {
		defer close(p.done)
		p.result, p.err = run.wait(std)
	}()
	return p, nil
}

// exec starts sandbox-exec, through a shell that sets the limits.
func (run *running) exec(cmd *Cmd, std *streams) error {
	port := ""
	limits := run.pol.Limits.withDefaults()
	if limits.Wall > 0 {
		run.wall = startWall(limits.Wall, func() { run.kill(LimitWall) })
		run.stop = append(run.stop, run.wall.stop)
	}
	if run.pol.Network.Mode == NetworkProxy {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return tongs.Errorf(tongs.CodeSandboxUnavailable, "listening for the proxy: %w", err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		ctx, cancel := context.WithCancel(context.WithValue(run.ctx, wallKey{}, run.wall))
		run.stop = append(run.stop, func() { cancel(); _ = l.Close() })
		go func() { _ = run.pol.Network.Serve(ctx, l) }()
	}
	profile := seatbeltProfile(run.res, run.tmp, run.pol.Network.Mode, port)
	args := append([]string{"-p", profile, "/bin/sh", "-c", ulimits(limits) + `exec "$@"`, "sh"}, cmd.Argv...)
	run.cmd = exec.Command(seatbeltProgram, args...)
	run.cmd.Dir, run.cmd.Env = run.res.dir, append(slices.Clone(run.pol.Env), "TMPDIR="+run.tmp, "HOME="+run.tmp)
	cacheEnv(run.cmd.Env, run.tmp)
	if port != "" {
		for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			run.cmd.Env = append(run.cmd.Env, name+"=http://127.0.0.1:"+port)
		}
	}
	f := std.files()
	run.cmd.Stdin, run.cmd.Stdout, run.cmd.Stderr = f[0], f[1], f[2]
	run.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := run.cmd.Start(); err != nil {
		return tongs.Errorf(tongs.CodeSandboxUnavailable, "starting %s: %w", seatbeltProgram, err)
	}
	stop := context.AfterFunc(run.ctx, func() { run.kill("cancel") })
	run.stop = append(run.stop, func() { stop() })
	return nil
}

// ulimits returns the shell commands that set the limits.
func ulimits(l Limits) (s string) {
	set := func(flag string, v uint64) {
		if v > 0 {
			s += "ulimit -" + flag + " " + strconv.FormatUint(v, 10) + " || exit 125; "
		}
	}
	set("c", 0)
	set("f", positive(l.FileSize)/512)
	set("n", positive(l.Descriptors))
	if l.CPU > 0 {
		set("t", uint64(l.CPU.Seconds())+1)
	}
	return s
}

func (run *running) kill(why string) {
	run.mu.Lock()
	first := run.why == ""
	if first {
		run.why = why
	}
	run.mu.Unlock()
	if first && run.cmd != nil && run.cmd.Process != nil {
		_ = syscall.Kill(-run.cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (run *running) clean() {
	for _, stop := range slices.Backward(run.stop) {
		stop()
	}
	_ = os.RemoveAll(run.tmp)
}

func (run *running) wait(std *streams) (*Result, error) {
	err := run.cmd.Wait()
	_ = syscall.Kill(-run.cmd.Process.Pid, syscall.SIGKILL) // what it left in its group
	std.drain()
	run.clean()
	run.mu.Lock()
	defer run.mu.Unlock()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "waiting for the command: %w", err)
	}
	state := run.cmd.ProcessState
	res := &Result{ExitCode: state.ExitCode(), Duration: time.Since(run.begun), TimedOut: run.why == LimitWall}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.ExitCode, res.Signal = 128+int(ws.Signal()), ws.Signal().String()
	}
	res.Usage = Usage{User: state.UserTime(), System: state.SystemTime(), Output: std.count()}
	res.Report = Report{
		Tier: TierSeatbelt, Layers: []string{"seatbelt", "rlimits"}, Planted: run.res.planted(), Usage: res.Usage,
		Missing: []string{"memory of all processes together", "growth of the disk", "daemons that leave their process group"},
		Denied:  std.denied(run.res.dir, run.res, run.pol.Network.Mode),
	}
	switch run.why {
	case LimitWall, LimitOutput:
		res.Report.LimitsHit = []string{run.why}
	case "cancel":
		return res, tongs.Errorf(tongs.CodeCancelled, "the command was killed: %w", context.Cause(run.ctx))
	case "write":
		return res, tongs.Errorf(tongs.CodeExecutionError, "the command was killed because its output could not be kept: %w", std.failure())
	}
	return res, nil
}

// DefaultRequire returns what Default requires on this platform: all that a profile enforces.
func DefaultRequire() []Property { return seatbeltProperties() }

func (p *Process) terminal() *os.File { return nil }

// Resize fails: there are no terminals on this platform.
func (p *Process) Resize(rows, cols uint16) error {
	return tongs.Errorf(tongs.CodeInvalidArgs, "the command has no terminal")
}
