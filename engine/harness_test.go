package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/workspace"
)

// desk is a person: it answers every question by a function and remembers what it was shown.
type desk struct {
	mu     sync.Mutex
	asked  []approval.Question
	answer func(q approval.Question) approval.Answer
}

func (d *desk) Ask(_ context.Context, q approval.Question) (*approval.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, q)
	if d.answer == nil {
		return nil, nil // cannot show it
	}
	a := d.answer(q)
	a.Channel, a.By = "test", "ada"
	return &a, nil
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked)
}

func (d *desk) last() approval.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[len(d.asked)-1]
}

func yes(approval.Question) approval.Answer {
	return approval.Answer{Approved: true, Scope: approval.Once}
}

func no(approval.Question) approval.Answer {
	return approval.Answer{Reason: "not today"}
}

func forever(approval.Question) approval.Answer {
	return approval.Answer{Approved: true, Scope: approval.Always}
}

// bench is an engine on a temporary workspace, with a person and a log to look at.
type bench struct {
	*engine.Engine
	dir    string
	person *desk
	log    audit.Log
	opt    engine.Options
}

func setup(t testing.TB, tools []tongs.Tool, change ...func(*engine.Options)) *bench {
	t.Helper()
	dir := t.TempDir()
	ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(t.TempDir(), "locks")})
	if err != nil {
		t.Fatal(err)
	}
	person := &desk{}
	b := &bench{dir: ws.Dir(), person: person, log: audit.NewMemory()}
	b.opt = engine.Options{
		Tools: tools, Workspace: ws, Audit: b.log, Grants: policy.NewMemoryBook(),
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{person}},
	}
	for _, f := range change {
		f(&b.opt)
	}
	if b.Engine, err = engine.New(b.opt); err != nil {
		t.Fatal(err)
	}
	return b
}

func rules(rules ...tongs.Rule) func(*engine.Options) {
	return func(o *engine.Options) { o.Rules = func() []tongs.Rule { return rules } }
}

func mode(m tongs.Mode) func(*engine.Options) { return func(o *engine.Options) { o.Mode = m } }

func (b *bench) call(tool, args string) *tongs.Result {
	return b.Call(context.Background(), &tongs.Call{Tool: tool, Args: json.RawMessage(args), Session: "s"})
}

func (b *bench) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func (b *bench) rows(t *testing.T) []audit.Row {
	t.Helper()
	rows, err := b.log.Rows(context.Background(), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(rows)
	return rows
}

// must fails the test unless the result has the code; an empty code means success.
func must(t *testing.T, res *tongs.Result, code tongs.Code) {
	t.Helper()
	var got tongs.Code
	if res.Error != nil {
		got = res.Error.Code
	}
	if got != code {
		t.Fatalf("code %q, want %q: %s", got, code, res.Content)
	}
}

type echoIn struct {
	Text string `json:"text" jsonschema:"what to say"`
	Loud bool   `json:"loud,omitempty" jsonschema:"whether to shout"`
}

type echoOut struct {
	Said string `json:"said"`
}

func (o echoOut) Present(r *tongs.Result) { r.Content = o.Said }

// tool makes a tool of a run function, named "echo" unless the spec says otherwise.
func tool(t testing.TB, spec tongs.Spec, plan func(*tongs.View, echoIn) (*tongs.Plan, error), run func(context.Context, *tongs.Env, echoIn) (echoOut, error)) tongs.Tool {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "echo"
	}
	spec.Description = "Says it back."
	def := tongs.Def[echoIn, echoOut]{Spec: spec, Run: run}
	if run == nil {
		def.Run = func(_ context.Context, _ *tongs.Env, in echoIn) (echoOut, error) { return echoOut{in.Text}, nil }
	}
	if plan != nil {
		def.Plan = func(_ context.Context, v *tongs.View, in echoIn) (*tongs.Plan, error) { return plan(v, in) }
	}
	made, err := tongs.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// writer is a tool that writes its text into the file "out".
func writer(t testing.TB, spec tongs.Spec) tongs.Tool {
	spec.Needs |= tongs.Read | tongs.Write
	return tool(t, spec, planWrite("out"), runWrite("out"))
}

func planWrite(name string) func(*tongs.View, echoIn) (*tongs.Plan, error) {
	return func(v *tongs.View, _ echoIn) (*tongs.Plan, error) {
		p, err := v.Files.Resolve(name)
		return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: p}}}, err
	}
}

func runWrite(name string) func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
	return func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		return echoOut{in.Text}, put(ctx, env, name, in.Text)
	}
}
