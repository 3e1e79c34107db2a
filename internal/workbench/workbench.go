// Package workbench is what the tests of tools that run programs share: a workspace with tools in it, called through a real
// engine that runs commands in a real sandbox, and a person who answers questions.
package workbench

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/confine"
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
type Args map[string]any

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

// Bench is a workspace with tools in it. Its methods fail the test.
type Bench struct {
	testing.TB
	Dir      string
	Engine   *engine.Engine
	Spill    *output.Spill
	Confiner *confine.Confiner

	mu    sync.Mutex
	asked []approval.Question
}

// New makes a bench without tools: Build adds them to the options of the engine that it returns. It skips on systems other
// than Linux; where Linux has no sandbox, the test fails.
func New(t testing.TB, o Options) (*Bench, engine.Options) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the programs of these tests need Linux")
	}
	b := &Bench{TB: t, Dir: o.Dir}
	if b.Dir == "" {
		b.Dir = RealDir(t)
	}
	return b, b.Open(o)
}

// Open opens the workspace, and returns the options of an engine over it. It can be called again for another engine.
func (b *Bench) Open(o Options) engine.Options {
	b.Helper()
	run, err := runner()
	b.Must(err)
	state := RealDir(b.TB)
	b.Spill, err = output.OpenSpill(filepath.Join(state, "spill"))
	b.Must(err)
	ws, err := workspace.Open(workspace.Options{
		Dir: b.Dir, LockDir: filepath.Join(state, "locks"),
		Roots: append([]workspace.Root{{Name: output.Root, Dir: b.Spill.Dir(), Inside: true}}, o.Roots...),
	})
	b.Must(err)
	b.Cleanup(func() { _ = ws.Close() })
	caches := o.Caches
	if o.Cached {
		caches = sandbox.CachesIn(filepath.Join(state, "cache"))
	}
	b.Confiner = confine.New(confine.Options{
		Runner: run, Workspace: ws, Scratch: b.Spill.Dir(), Caches: caches, Runs: filepath.Join(state, "runs"),
		Limits: o.Limits, Programs: o.Programs, Sealed: o.Sealed,
		Guard: &network.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}},
		Private: func(host string) bool {
			for _, name := range o.Private {
				if strings.HasPrefix(host, name) {
					return true
				}
			}
			return false
		},
	})
	return engine.Options{
		Workspace: ws, Mode: o.Mode, Rules: func() []tongs.Rule { return o.Rules }, Commands: b.Confiner.Commands,
		Output: output.Bounds{Spill: b.Spill, Limits: output.Limits{Spill: 64 << 20}},
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{
			approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
				b.mu.Lock()
				b.asked = append(b.asked, q)
				b.mu.Unlock()
				if o.Answer == nil {
					return approval.Answer{Approved: true}, nil
				}
				return o.Answer(q), nil
			}),
		}},
	}
}

// Build makes the engine that calls the tools.
func (b *Bench) Build(opt engine.Options, tools ...tongs.Tool) {
	b.Helper()
	var err error
	opt.Tools = tools
	b.Engine, err = engine.New(opt)
	b.Must(err)
}

// RealDir is a temporary directory without links in its name.
func RealDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Must ends the test where there is an error.
func (b *Bench) Must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// Put writes a file behind the tools' back.
func (b *Bench) Put(name, content string, mode os.FileMode) {
	b.Helper()
	host := filepath.Join(b.Dir, name)
	b.Must(os.MkdirAll(filepath.Dir(host), 0o755))
	b.Must(os.WriteFile(host, []byte(content), mode))
	b.Must(os.Chmod(host, mode))
}

// Get reads a file.
func (b *Bench) Get(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.Dir, name))
	b.Must(err)
	return string(data)
}

// Exists reports whether there is something of this name.
func (b *Bench) Exists(name string) bool {
	_, err := os.Lstat(filepath.Join(b.Dir, name))
	return err == nil
}

// JSON spells arguments; later ones replace those before.
func (b *Bench) JSON(list ...Args) json.RawMessage {
	b.Helper()
	all := Args{}
	for _, a := range list {
		for k, v := range a {
			all[k] = v
		}
	}
	raw, err := json.Marshal(all)
	b.Must(err)
	return raw
}

// Call calls a tool in the session s.
func (b *Bench) Call(tool string, list ...Args) *tongs.Result {
	b.Helper()
	return b.Engine.Call(context.Background(), &tongs.Call{Tool: tool, Args: b.JSON(list...), Session: "s"})
}

// OK calls a tool, which must succeed.
func (b *Bench) OK(tool string, list ...Args) *tongs.Result {
	b.Helper()
	res := b.Call(tool, list...)
	if !res.OK() {
		b.Fatalf("%s %v: %v\n%s", tool, list, res.Error, res.Content)
	}
	return res
}

// Fails wants a result to be a failure of this code that says this.
func (b *Bench) Fails(code tongs.Code, says string, res *tongs.Result) {
	b.Helper()
	if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%v (%q), want %s: ...%s", res.Error, res.Content, code, says)
	}
}

// Explain returns how a call would be decided.
func (b *Bench) Explain(tool string, list ...Args) *tongs.Explanation {
	b.Helper()
	e, err := b.Engine.Explain(context.Background(), &tongs.Call{Tool: tool, Args: b.JSON(list...), Session: "s"})
	b.Must(err)
	return e
}

// Questions returns what was asked since the last time.
func (b *Bench) Questions() []approval.Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

// Value decodes the value of a result, also of a failed call.
func Value[T any](b *Bench, r *tongs.Result) (v T) {
	b.Helper()
	b.Must(json.Unmarshal(r.Value, &v))
	return v
}

// Equal wants two values to be the same.
func (b *Bench) Equal(what string, got, want any) {
	b.Helper()
	if got != want {
		b.Errorf("%s = %#v, want %#v", what, got, want)
	}
}

// Contains wants a text to hold another.
func (b *Bench) Contains(what, got, want string) {
	b.Helper()
	if !strings.Contains(got, want) {
		b.Errorf("%s = %q, want ...%q", what, got, want)
	}
}
