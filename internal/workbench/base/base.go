// Package base is what the tests of all tools share: a workspace with tools in it, called through a real engine, and a
// person who answers questions. Package workbench adds programs in a sandbox.
package base

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/workspace"
)

// Args are the arguments of a call.
type Args map[string]any

// Options say what a bench is like. The zero value is meaningful.
type Options struct {
	// Dir is the workspace; empty is a new directory.
	Dir   string
	Mode  tongs.Mode
	Rules []tongs.Rule
	// Roots are further roots of the workspace; Journal keeps what is changed there.
	Roots   []workspace.Root
	Journal workspace.Journal
	// Answer answers questions; nil approves each once. Nobody leaves nobody to ask.
	Answer func(q approval.Question) approval.Answer
	Nobody bool
}

// Bench is a workspace with tools in it. Its methods fail the test.
type Bench struct {
	testing.TB
	Dir    string
	Engine *engine.Engine
	Spill  *output.Spill

	mu    sync.Mutex
	asked []approval.Question
}

// New makes a bench without tools: Build adds them to the options of the engine that it returns.
func New(t testing.TB, o Options) (*Bench, engine.Options) {
	t.Helper()
	b := &Bench{TB: t, Dir: o.Dir}
	if b.Dir == "" {
		b.Dir = RealDir(t)
	}
	return b, b.Open(o)
}

// In is the same bench for a subtest.
func (b *Bench) In(t testing.TB) *Bench {
	return &Bench{TB: t, Dir: b.Dir, Engine: b.Engine, Spill: b.Spill}
}

// Open opens the workspace, and returns the options of an engine over it. It can be called again for another engine.
func (b *Bench) Open(o Options) engine.Options {
	b.Helper()
	state := RealDir(b.TB)
	var err error
	b.Spill, err = output.OpenSpill(filepath.Join(state, "spill"))
	b.Must(err)
	ws, err := workspace.Open(workspace.Options{
		Dir: b.Dir, LockDir: filepath.Join(state, "locks"), Journal: o.Journal,
		Roots: append([]workspace.Root{{Name: output.Root, Dir: b.Spill.Dir(), Inside: true}}, o.Roots...),
	})
	b.Must(err)
	b.Cleanup(func() { _ = ws.Close() })
	desk := &approval.Desk{Store: approval.NewMemory(approval.Options{})}
	if !o.Nobody {
		desk.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
			b.mu.Lock()
			b.asked = append(b.asked, q)
			b.mu.Unlock()
			if o.Answer == nil {
				return approval.Answer{Approved: true}, nil
			}
			return o.Answer(q), nil
		})}
	}
	return engine.Options{
		Workspace: ws, Mode: o.Mode, Rules: func() []tongs.Rule { return o.Rules }, Approval: desk,
		Output: output.Bounds{Spill: b.Spill, Limits: output.Limits{Spill: 64 << 20}},
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

// Put writes a file behind the tools' back, with the mode 0644 unless another is given.
func (b *Bench) Put(name, content string, mode ...os.FileMode) {
	b.Helper()
	mode = append(mode, 0o644)
	host := filepath.Join(b.Dir, name)
	b.Must(os.MkdirAll(filepath.Dir(host), 0o755))
	b.Must(os.WriteFile(host, []byte(content), mode[0]))
	b.Must(os.Chmod(host, mode[0]))
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
		maps.Copy(all, a)
	}
	raw, err := json.Marshal(all)
	b.Must(err)
	return raw
}

// Call calls a tool in the session s.
func (b *Bench) Call(tool string, list ...Args) *tongs.Result {
	b.Helper()
	return b.CallIn(context.Background(), "s", tool, list...)
}

// CallIn calls a tool in a session.
func (b *Bench) CallIn(ctx context.Context, session, tool string, list ...Args) *tongs.Result {
	b.Helper()
	return b.Engine.Call(ctx, &tongs.Call{Tool: tool, Args: b.JSON(list...), Session: session})
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

// Fails wants a result to be a failure of this code that says this, and returns it.
func (b *Bench) Fails(code tongs.Code, says string, res *tongs.Result) *tongs.Result {
	b.Helper()
	if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%v (%q), want %s: ...%s", res.Error, res.Content, code, says)
	}
	return res
}

// Explain returns how a call would be decided.
func (b *Bench) Explain(tool string, list ...Args) *tongs.Explanation {
	b.Helper()
	e, err := b.Engine.Explain(context.Background(), &tongs.Call{Tool: tool, Args: b.JSON(list...), Session: "s"})
	b.Must(err)
	return e
}

// Asked returns what was asked since Questions was last called.
func (b *Bench) Asked() []approval.Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
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

// Contains wants a text to hold others.
func (b *Bench) Contains(what, got string, wants ...string) {
	b.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			b.Errorf("%s = %q, want ...%q", what, got, want)
		}
	}
}

// Current is the provider that a test has now: it may replace it while the engine runs.
type Current struct {
	Of   func() engine.Provider
	told engine.Provider // that of the last refresh
}

// Tools implements engine.Provider.
func (c *Current) Tools() []tongs.Tool { return c.Of().Tools() }

// Reviewed implements engine.Provider.
func (c *Current) Reviewed(src tongs.Source) bool { return c.Of().Reviewed(src) }

// Close implements engine.Provider. The test closes what it made.
func (c *Current) Close() error { return nil }

// Refresh implements engine.Provider.
func (c *Current) Refresh(ctx context.Context) bool {
	now := c.Of()
	changed := now.Refresh(ctx) || c.told != now
	c.told = now
	return changed
}
