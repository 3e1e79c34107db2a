// Package workbench is what the tests of tools that run programs share: the bench of package base, with an engine that runs
// commands in a real sandbox.
package workbench

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

// Main is the TestMain of a package whose tests run programs.
func Main(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// runner is the one sandbox of a test binary: starting it is what takes time.
var runner = sync.OnceValues(func() (*sandbox.Runner, error) { return sandbox.New(sandbox.Options{}) })

// Args are the arguments of a call.
type Args = base.Args

// Options say what a bench is like. The zero value is meaningful.
type Options struct {
	// Dir is the workspace; empty is a new directory.
	Dir   string
	Mode  tongs.Mode
	Rules []tongs.Rule
	// Private are hosts that may be private, each by how it begins.
	Private []string
	// Answer answers questions; nil approves each once.
	Answer func(q approval.Question) approval.Answer
	Limits sandbox.Limits
	// Cached gives programs caches that outlive a run. Caches are those of benches that share them.
	Cached bool
	Caches sandbox.Caches
	// Roots are further roots of the workspace, Sealed those of them that programs do not change by the way; Programs is
	// where tools keep programs of their own.
	Roots    []workspace.Root
	Sealed   []string
	Programs string
}

// Bench is a workspace with tools in it, whose programs run in the sandbox.
type Bench struct {
	*base.Bench
	Confiner *confine.Confiner
}

// New makes a bench without tools: Build adds them to the options of the engine that it returns. It skips on systems other
// than Linux; where Linux has no sandbox, the test fails.
func New(t testing.TB, o Options) (*Bench, engine.Options) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the programs of these tests need Linux")
	}
	common, opt := base.New(t, o.base())
	b := &Bench{Bench: common}
	return b, b.confine(opt, o)
}

// Open opens the workspace, and returns the options of an engine over it. It can be called again for another engine.
func (b *Bench) Open(o Options) engine.Options {
	b.Helper()
	return b.confine(b.Bench.Open(o.base()), o)
}

func (o Options) base() base.Options {
	return base.Options{Dir: o.Dir, Mode: o.Mode, Rules: o.Rules, Answer: o.Answer, Roots: o.Roots}
}

// confine gives an engine the sandbox.
func (b *Bench) confine(opt engine.Options, o Options) engine.Options {
	b.Helper()
	run, err := runner()
	b.Must(err)
	state := base.RealDir(b.TB)
	caches := o.Caches
	if o.Cached {
		caches = sandbox.CachesIn(filepath.Join(state, "cache"))
	}
	b.Confiner = confine.New(confine.Options{
		Runner: run, Workspace: opt.Workspace, Scratch: b.Spill.Dir(), Caches: caches, Runs: filepath.Join(state, "runs"),
		Limits: o.Limits, Programs: o.Programs, Sealed: o.Sealed,
		Guard: &network.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}},
		Private: func(host string) bool {
			return slices.ContainsFunc(o.Private, func(name string) bool { return strings.HasPrefix(host, name) })
		},
	})
	opt.Commands = b.Confiner.Commands
	return opt
}

// RealDir is a temporary directory without links in its name.
func RealDir(t testing.TB) string {
	t.Helper()
	return base.RealDir(t)
}

// Value decodes the value of a result, also of a failed call.
func Value[T any](b *Bench, r *tongs.Result) T {
	b.Helper()
	return base.Value[T](b.Bench, r)
}
