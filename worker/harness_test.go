package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
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
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// bench is a workspace with real tools in a real engine, a person who answers, and models that are played.
type bench struct {
	testing.TB
	dir      string
	engine   *engine.Engine
	registry *registry.Registry
	tools    []tongs.Tool
	runner   *worker.Runner
	store    worker.Store
	ws       *workspace.Workspace
	journal  *journal.Journal
	models   map[string]model.Model
	files    map[string]*worker.File
	// say answers questions; nil says yes.
	say func(q approval.Question) bool

	mu     sync.Mutex
	asked  []approval.Question
	events []worker.Event
}

func newBench(t testing.TB, more ...tongs.Tool) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, dir: dir, store: &worker.Memory{}, models: map[string]model.Model{}, files: map[string]*worker.File{}}
	b.journal, err = journal.Open(journal.Options{Dir: filepath.Join(t.TempDir(), "journal"), NoSync: true})
	b.must(err)
	t.Cleanup(func() { _ = b.journal.Close() })
	zone := filepath.Join(t.TempDir(), "cache")
	b.must(os.MkdirAll(zone, 0o755))
	spill, err := output.OpenSpill(filepath.Join(t.TempDir(), "spill"))
	b.must(err)
	b.ws, err = workspace.Open(workspace.Options{
		Dir: dir, LockDir: filepath.Join(t.TempDir(), "locks"), Journal: b.journal,
		Roots: []workspace.Root{{Name: "cache", Dir: zone, Writable: true}, {Name: "spill", Dir: spill.Dir()}},
	})
	b.must(err)
	t.Cleanup(func() { _ = b.ws.Close() })
	list, err := files.Tools(files.Options{})
	b.must(err)
	finders, err := search.Tools(search.Options{})
	b.must(err)
	todos, err := todo.Tools()
	b.must(err)
	b.registry, err = registry.New(slices.Concat(list, finders, todos, []tongs.Tool{runTool(t), fetchTool(t)}, more)...)
	b.must(err)
	b.engine, err = engine.New(engine.Options{
		Workspace: b.ws, Output: output.Bounds{Spill: spill, Limits: output.Limits{Content: 4000}},
		Providers: map[tongs.SourceKind]engine.Provider{tongs.SourceBuiltin: b.registry, tongs.SourceWorker: provided{b}},
		HTTP:      func(*tongs.Permit) tongs.HTTP { return answering{} },
		Approval:  &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{approval.Callback(b.answer)}},
	})
	b.must(err)
	b.runner, err = worker.New(worker.Options{
		Caller: b.engine, Tools: b.engine.Tools, Store: b.store, Workspace: dir, Events: b.event, Changes: b.changes,
		Resolve: func(s string) (tongs.Path, error) { return b.ws.Resolve(tongs.Path{Rel: "."}, s) },
		Open: func(_ context.Context, name string) (model.Model, error) {
			if m := b.models[name]; m != nil {
				return m, nil
			}
			return nil, fmt.Errorf("there is no model %q", name)
		},
		Find: func(_ context.Context, _ *worker.File, name string) (*worker.File, error) {
			if f := b.files[name]; f != nil {
				return f, nil
			}
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no worker %q", name)
		},
	})
	b.must(err)
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) trusts(src tongs.Source) bool {
	for _, f := range b.files {
		if src.Kind == tongs.SourceWorker && f.Hash == src.Digest && f.Trusted {
			return true
		}
	}
	return false
}

func (b *bench) answer(_ context.Context, q approval.Question) (approval.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, q)
	return approval.Answer{Approved: b.say == nil || b.say(q), Reason: "for the test"}, nil
}

func (b *bench) event(e worker.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

// seen are the events of a type.
func (b *bench) seen(typ worker.EventType) (list []worker.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Type == typ {
			list = append(list, e)
		}
	}
	return list
}

func (b *bench) changes(_ context.Context, call string) (list []worker.Change, err error) {
	entries, err := b.journal.List(journal.Filter{Call: call})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		for c, err := range b.journal.Changes(e.ID) {
			if err != nil {
				return nil, err
			}
			before, after := b.journal.Sides(&e, &c)
			diff := journal.Diff(c.Path, c.From, before, after)
			list = append(list, worker.Change{Path: c.Path.String(), Added: strings.Count(diff, "\n+") - 1, Removed: strings.Count(diff, "\n-"), Diff: diff})
		}
	}
	return list, nil
}

// write puts a file into the workspace.
func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.WriteFile(path, []byte(text), 0o644))
}

func (b *bench) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		return "!" + errors.Unwrap(err).Error()
	}
	return string(data)
}

// worker adds a worker that plays m.
func (b *bench) worker(f worker.File, m model.Model) *worker.File {
	b.Helper()
	if f.Toolsets == nil {
		f.Toolsets = []string{"filesystem", "search", "todo", "test"}
	}
	f.Path, f.Hash, f.Model = "/w/"+f.Name+".worker", "sha256:"+f.Name, f.Name
	if f.Instructions == "" {
		f.Instructions = "Do it."
	}
	b.files[f.Name] = &f
	b.models[f.Name] = m
	return &f
}

// offer makes the workers tools.
func (b *bench) offer() {
	b.Helper()
	tools, err := b.runner.Tools(slices.Collect(maps.Values(b.files))...)
	b.must(err)
	for _, t := range tools {
		if t.Spec().Source.BuiltIn() {
			b.must(b.registry.Register(t))
		} else {
			b.tools = append(b.tools, t)
		}
	}
	b.must(b.engine.Refresh(context.Background()))
}

// provided are the workers that are tools of their own names.
type provided struct{ b *bench }

func (p provided) Tools() []tongs.Tool            { return p.b.tools }
func (p provided) Refresh(context.Context) bool   { return true }
func (p provided) Reviewed(src tongs.Source) bool { return p.b.trusts(src) }
func (p provided) Close() error                   { return nil }

func (b *bench) run(f *worker.File, prompt string) *worker.Session {
	b.Helper()
	return b.job(worker.Job{File: f, Prompt: prompt})
}

func (b *bench) job(job worker.Job) *worker.Session {
	b.Helper()
	s, err := b.runner.Run(b.Context(), job)
	b.must(err)
	return s
}

// played is a model that is a function of the turn, counted from 0, and of what it was told last.
type played func(turn int, told string) model.Message

func (p played) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn := 0
	for _, m := range req.Messages {
		if m.Role == model.Assistant {
			turn++
		}
	}
	msg := p(turn, told(req.Messages[len(req.Messages)-1]))
	msg.Role = model.Assistant
	if stream != nil {
		stream(model.Delta{Text: msg.Text()})
	}
	stop := model.StopEnd
	if len(msg.Calls()) > 0 {
		stop = model.StopCalls
	}
	return &model.Response{Message: msg, Stop: stop, Usage: model.Usage{Input: 100, Output: 10}, Model: "played"}, nil
}

func told(m model.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
		if p.Result != nil {
			fmt.Fprintf(&b, "[%s] %s\n", p.Result.Name, p.Result.Text)
		}
	}
	return b.String()
}

// say and calls make messages.
func say(text string) model.Message { return model.Message{Parts: []model.Part{{Text: text}}} }

func calls(list ...string) (m model.Message) {
	for i := 0; i+1 < len(list); i += 2 {
		m.Parts = append(m.Parts, model.Part{Call: &model.Call{ID: fmt.Sprintf("k%d", i), Name: list[i], Args: list[i+1]}})
	}
	return m
}

// lines plays messages in order, and at the end says what it was told.
func lines(list ...model.Message) played {
	return func(turn int, told string) model.Message {
		if turn < len(list) {
			return list[turn]
		}
		return say(told)
	}
}

// runTool and fetchTool stand for a shell and the web: they have the effects, and do nothing.
func runTool(t testing.TB) tongs.Tool {
	t.Helper()
	type in struct {
		Command string `json:"command" jsonschema:"What to run."`
	}
	tool, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "run", Aliases: []string{"execute"}, Description: "Runs.", Needs: tongs.Execute, Toolset: "test", Default: tongs.PreApproved},
		Plan: func(_ context.Context, _ *tongs.View, in in) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: strings.Fields(in.Command)}}}, nil
		},
		Run: func(_ context.Context, _ *tongs.Env, in in) (string, error) { return "ran " + in.Command, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func fetchTool(t testing.TB) tongs.Tool {
	t.Helper()
	type in struct {
		Host string `json:"host" jsonschema:"Where."`
	}
	tool, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "fetch", Description: "Fetches.", Needs: tongs.Network, Toolset: "test", Default: tongs.PreApproved},
		Plan: func(_ context.Context, _ *tongs.View, in in) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: in.Host}}}, nil
		},
		Run: func(_ context.Context, env *tongs.Env, in in) (string, error) { return "fetched " + in.Host, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

type answering struct{}

func (answering) Do(*http.Request) (*http.Response, error) { return nil, errors.New("no network here") }

// args is JSON of keys and values.
func args(list ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i].(string)] = list[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// recording shows each request to look before the model gets it.
type recording struct {
	model.Model
	look func(*model.Request)
}

func (r recording) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	r.look(req)
	return r.Model.Turn(ctx, req, stream)
}

func openPlayed(m model.Model) func(context.Context, string) (model.Model, error) {
	return func(context.Context, string) (model.Model, error) { return m, nil }
}
