package sandbox

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// hooked says that this program called Main, and can therefore be started again as a part of the sandbox. It is the
// one piece of state outside a Runner: it is a fact about the program.
var hooked atomic.Bool

// Main makes the program usable as a part of a sandbox. Call it first thing in main, before flags are parsed and
// anything is opened. It returns at once, except in the helper processes that the sandbox starts from this program's
// own binary: those it never leaves.
func Main() {
	launch.Main()
	hooked.Store(true)
}

// Options are those of a Runner. The zero value is the usual one.
type Options struct {
	// Launcher is the path of a tongs-launch program. Empty uses the embedded one, or else this program itself.
	Launcher string
	// Scratch is the directory for private temporary directories, where they are needed. Empty is the system's.
	Scratch string
	// Tiers are the tiers that may be used, best first. Empty is all that the platform has.
	Tiers []string
	// NoOverlay has trees copied that Policy.Overlay names, as where the kernel refuses overlays.
	NoOverlay bool
}

// Runner runs programs. It is safe for concurrent use.
type Runner struct {
	opt     Options
	mu      sync.Mutex
	machine machine
	index   nameIndex
	probing sync.Mutex
	probed  *Probe
	over    overlays
	caches  sizes
}

// New returns a Runner. It is cheap: nothing is started or tried before the first run, which finds out what this
// machine can enforce by making a sandbox and checking it from the inside.
func New(opt Options) (*Runner, error) {
	for _, t := range opt.Tiers {
		if t != TierA && t != TierB && t != TierSeatbelt {
			return nil, tongs.Errorf(tongs.CodeConfigError, "sandbox tier %q is not one of %s, %s, %s", t, TierA, TierB, TierSeatbelt)
		}
	}
	return &Runner{opt: opt}, nil
}

// Cmd is a program to run.
type Cmd struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of Policy.Env.
	Argv   []string
	Policy Policy
	// Stdin nil is empty, unless StdinPipe is set: then Process.Stdin writes to it.
	Stdin     io.Reader
	StdinPipe bool
	// Stdout and Stderr nil are dropped. Equal ones are interleaved as the program wrote them; others are written to
	// concurrently. A failing write ends the program.
	Stdout, Stderr io.Writer
	// PTY gives the program a terminal instead of pipes. What it writes goes to Stdout.
	PTY *PTY
}

// PTY is the size of a terminal.
type PTY struct {
	Rows, Cols uint16
}

// Run runs a program to its end. The error is a *tongs.Error when the program did not start; one that ran, failed, was
// killed or timed out has a Result. When ctx ends, everything is killed and the error is CANCELLED, beside the Result.
func (r *Runner) Run(ctx context.Context, cmd *Cmd) (*Result, error) {
	p, err := r.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return p.Wait()
}

// Start starts a program. It is killed when ctx ends, and must be waited for.
func (r *Runner) Start(ctx context.Context, cmd *Cmd) (*Process, error) {
	if err := cmd.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, tongs.Errorf(tongs.CodeCancelled, "the command was not started: %w", err)
	}
	tier, err := r.tierFor(ctx, &cmd.Policy)
	if err != nil {
		return nil, err
	}
	if cmd.Policy.Cache.owner == CacheCopy && tier != TierA {
		return nil, tongs.Errorf(tongs.CodeSandboxUnavailable, "the build cache of a copy takes tier %s of the sandbox, and this is %s", TierA, tier)
	}
	return r.start(ctx, tier, cmd)
}

func (c *Cmd) check() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the command is empty; give a program to run")
	}
	for _, list := range [][]string{c.Argv, c.Policy.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return tongs.Errorf(tongs.CodeInvalidArgs, "%q holds a zero byte, which no program can be given", s)
			}
		}
	}
	for _, e := range c.Policy.Env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return tongs.Errorf(tongs.CodeConfigError, "the environment holds %q, which is not KEY=value", e)
		}
	}
	switch c.Policy.Network.Mode {
	case NetworkNone, NetworkOpen:
	case NetworkProxy:
		if c.Policy.Network.Serve == nil {
			return tongs.Errorf(tongs.CodeConfigError, "the network mode is proxy, but nothing serves it; set Network.Serve")
		}
	default:
		return tongs.Errorf(tongs.CodeConfigError, "network mode %q is not one of none, proxy, open", c.Policy.Network.Mode)
	}
	return nil
}

// Close ends the helper process. Programs that still run are killed. A Runner that is never closed is cleaned up when
// this process ends, however it does.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.close()
}
