package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

// recorder is a test that remembers its failures instead of failing.
type recorder struct {
	*testing.T
	mu       sync.Mutex
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// record returns the failures of f.
func record(t *testing.T, f func(tb TB)) []string {
	t.Helper()
	r := &recorder{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.failures
}

type sizeIn struct {
	Path  string `json:"path" jsonschema:"File to measure." alias:"file"`
	Twice bool   `json:"twice,omitempty" jsonschema:"Count it twice."`
}

type sizeOut struct {
	Size int `json:"size"`
}

// sample is a tool made of functions, so that each can be broken by itself.
type sample struct {
	spec  *tongs.Spec
	plan  func(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error)
	call  func(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error)
	plans atomic.Int32
}

func (s *sample) Spec() *tongs.Spec { return s.spec }

func (s *sample) Plan(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
	s.plans.Add(1)
	return s.plan(ctx, view, call)
}

func (s *sample) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	return s.call(ctx, env, call)
}

func newSample(t *testing.T) *sample {
	t.Helper()
	made, err := tongs.New(tongs.Def[sizeIn, sizeOut]{
		Spec: tongs.Spec{
			Name: "size", Title: "Size", Description: "Measures a file.", Needs: tongs.Read, Default: tongs.PreApproved,
			Aliases: []string{"measure"}, Hints: tongs.Hints{ReadOnly: true},
		},
		Plan: func(_ context.Context, view *tongs.View, in sizeIn) (*tongs.Plan, error) {
			path, err := view.Files.Resolve(in.Path)
			if err != nil {
				return nil, err
			}
			version, err := view.Files.Version(path)
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: path, Version: version}}}, err
		},
		Run: func(_ context.Context, env *tongs.Env, in sizeIn) (sizeOut, error) {
			path, err := env.Files.Resolve(in.Path)
			if err != nil {
				return sizeOut{}, err
			}
			file, err := env.Files.Open(path)
			if err != nil {
				return sizeOut{}, err
			}
			defer file.Close()
			n, err := io.Copy(io.Discard, file)
			return sizeOut{int(n)}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	planner, ok := made.(tongs.Planner)
	if !ok {
		t.Fatal("the tool is no planner")
	}
	return &sample{spec: made.Spec(), plan: planner.Plan, call: made.Call}
}

var sampleOptions = Options{
	Valid: []string{`{"path":"a.txt"}`, `{"path":"dir/b.txt","twice":true}`},
	Files: map[string]string{"a.txt": "hello", "dir/b.txt": "there"},
}

func TestGoodToolPasses(t *testing.T) {
	tool := newSample(t)
	Run(t, tool, sampleOptions)
	if tool.plans.Load() == 0 {
		t.Error("nothing was planned")
	}
	if failures := record(t, func(tb TB) { Run(tb, newSample(t), sampleOptions) }); len(failures) > 0 {
		t.Errorf("the recorder saw %q", failures)
	}
}

func TestLazyToolPasses(t *testing.T) {
	Run(t, tongs.Lazy(tongs.Spec{Name: "size"}, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return newSample(t), nil
	}), sampleOptions)
	failures := record(t, func(tb TB) {
		Run(tb, tongs.Lazy(tongs.Spec{Name: "size"}, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
			return nil, errors.New("no luck")
		}), sampleOptions)
	})
	if len(failures) != 1 || !strings.Contains(failures[0], "no luck") {
		t.Errorf("got %q", failures)
	}
}

// Each way to be broken is found by the check that is there for it.
func TestBrokenTools(t *testing.T) {
	var counter atomic.Int64
	for _, test := range []struct {
		name   string
		broken func(s *sample, opt *Options)
		want   string
	}{
		{"no examples", func(_ *sample, o *Options) { o.Valid = nil }, "give at least one example"},
		{"no spec", func(s *sample, _ *Options) { s.spec = nil }, "has no spec"},
		{"name", func(s *sample, _ *Options) { s.spec.Name = "no good" }, "cannot be registered"},
		{"description", func(s *sample, _ *Options) { s.spec.Description = strings.Repeat("word ", 21) }, "about 21 tokens"},
		{"no description", func(s *sample, _ *Options) { s.spec.Description = "" }, "no description"},
		{"no input schema", func(s *sample, _ *Options) { s.spec.Input = nil }, "not of type object"},
		{"schema does not compile", func(s *sample, _ *Options) {
			s.spec.Input.Properties["path"].Pattern = "("
		}, "input schema of size"},
		{"output schema does not compile", func(s *sample, _ *Options) {
			s.spec.Output.Properties["size"].Ref = "https://example.com/other.json"
		}, "output schema of size"},
		{"several types", func(s *sample, _ *Options) {
			s.spec.Input.Properties["path"].Type, s.spec.Input.Properties["path"].Types = "", []string{"null", "string"}
		}, "input.properties.path: it has several types"},
		{"several types inside", func(s *sample, _ *Options) {
			s.spec.Output.Properties["size"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Types: []string{"null", "string"}}}
		}, "output.properties.size.items: it has several types"},
		{"bare true", func(s *sample, _ *Options) {
			s.spec.Output.Properties["size"] = &jsonschema.Schema{}
		}, "output.properties.size: the schema is true"},
		{"names a $schema", func(s *sample, _ *Options) {
			s.spec.Input.Schema = "https://json-schema.org/draft/2020-12/schema"
		}, "input: it names a $schema"},
		{"property without a description", func(s *sample, _ *Options) {
			s.spec.Input.Properties["twice"].Description = ""
		}, "input.properties.twice: it has no description"},
		{"argument alias of nothing", func(s *sample, _ *Options) {
			s.spec.ArgAliases = map[string]string{"x": "nothing"}
		}, `alias "x" means "nothing"`},
		{"hints contradict", func(s *sample, _ *Options) { s.spec.Hints.Destructive = true }, "says that it is read-only"},
		{"schema cannot be encoded", func(s *sample, _ *Options) {
			s.spec.Input.Properties["path"].Types = []string{"string"}
		}, "cannot be encoded"},
		{"takes unknown properties", func(s *sample, _ *Options) { s.spec.Input.AdditionalProperties = nil }, "unknown property:"},
		{"takes every value", func(s *sample, _ *Options) {
			s.spec.Input.Properties["twice"] = &jsonschema.Schema{Description: "Anything."}
		}, "property twice takes every value"},
		{"caller does not refuse", func(_ *sample, o *Options) {
			o.Caller = func(TB, tongs.Tool, string) tongs.Caller { return lenient{} }
		}, "property path is of the wrong type"},
		{"caller returns nothing", func(_ *sample, o *Options) {
			o.Caller = func(TB, tongs.Tool, string) tongs.Caller { return lenient{silent: true} }
		}, "returned no result"},
		{"example is no object", func(_ *sample, o *Options) { o.Valid = []string{`[]`} }, "is not a JSON object"},
		{"example fails", func(_ *sample, o *Options) { o.Valid = []string{`{"path":"gone.txt"}`} }, "failed: FILE_NOT_FOUND"},
		{"plan fails", func(s *sample, _ *Options) {
			s.plan = func(context.Context, *tongs.View, *tongs.Call) (*tongs.Plan, error) {
				return nil, errors.New("no plan")
			}
		}, "cannot be explained"},
		{"plan writes", func(s *sample, _ *Options) {
			plan := s.plan
			s.plan = func(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
				host := view.Files.Host(tongs.Path{Rel: "litter"})
				if err := os.WriteFile(host, nil, 0o600); err != nil {
					return nil, err
				}
				return plan(ctx, view, call)
			}
		}, "made litter"},
		{"plan touches a file and puts it back", func(s *sample, _ *Options) {
			plan := s.plan
			s.plan = func(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
				host := view.Files.Host(tongs.Path{Rel: "litter"})
				if err := errors.Join(os.WriteFile(host, nil, 0o600), os.Remove(host)); err != nil {
					return nil, err
				}
				return plan(ctx, view, call)
			}
		}, "changed ."},
		{"plans differ", func(s *sample, _ *Options) {
			plan := s.plan
			s.plan = func(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
				p, err := plan(ctx, view, call)
				if err == nil {
					p.Message = fmt.Sprint(counter.Add(1))
				}
				return p, err
			}
		}, "two plans differ"},
		{"effect without permission", func(s *sample, _ *Options) {
			s.spec.Optional, s.spec.Needs = 0, tongs.Network
		}, "may not read a.txt"},
		{"effect without permission, caller does not mind", func(_ *sample, o *Options) {
			o.Caller = func(TB, tongs.Tool, string) tongs.Caller { return lenient{} }
		}, `"write anything" needs the permission write`},
		{"output does not match", func(s *sample, _ *Options) {
			s.call = func(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
				return &tongs.Result{Value: json.RawMessage(`{"size":"five"}`)}, nil
			}
		}, "want integer"},
		{"value is missing", func(s *sample, _ *Options) {
			s.call = func(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
				return &tongs.Result{Content: "5"}, nil
			}
		}, "does not match its output schema"},
		{"result is no JSON", func(s *sample, _ *Options) {
			s.call = func(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
				return &tongs.Result{Value: json.RawMessage(`{"size":5}`), Metadata: map[string]any{"f": func() {}}}, nil
			}
		}, "cannot be encoded"},
		{"read-only call writes", func(s *sample, _ *Options) {
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if err := os.WriteFile(env.Files.Host(tongs.Path{Rel: "made.txt"}), nil, 0o600); err != nil {
					return nil, err
				}
				return call(ctx, env, c)
			}
		}, `the read-only call {"path":"a.txt"} made made.txt`},
		{"ignores cancellation", func(s *sample, _ *Options) {
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				return call(context.WithoutCancel(ctx), env, c)
			}
		}, "was cancelled and returned a result all the same"},
		{"hangs when cancelled", func(s *sample, o *Options) {
			o.patience = 50 * time.Millisecond
			o.Engine = func(e *engine.Options) { e.Grace = time.Millisecond }
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if ctx.Err() != nil {
					<-t.Context().Done()
				}
				return call(ctx, env, c)
			}
		}, "did not return within 50ms"},
		{"another error when cancelled", func(s *sample, _ *Options) {
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if ctx.Err() != nil {
					return nil, errors.New("who knows")
				}
				return call(ctx, env, c)
			}
		}, "returned another error: who knows"},
		{"writes when cancelled", func(s *sample, _ *Options) {
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if ctx.Err() != nil {
					return nil, errors.Join(os.WriteFile(env.Files.Host(tongs.Path{Rel: "late"}), nil, 0o600), ctx.Err())
				}
				return call(ctx, env, c)
			}
		}, "made late"},
		{"caller ignores cancellation", func(_ *sample, o *Options) {
			o.Caller = func(TB, tongs.Tool, string) tongs.Caller { return lenient{} }
		}, "cancelled before it began was not CANCELLED"},
		{"blocking call ignores cancellation", func(s *sample, o *Options) {
			o.Blocking = []string{`{"path":"./a.txt"}`}
			call := s.call
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if !strings.Contains(string(c.Args), "./") {
					return call(ctx, env, c)
				}
				return &tongs.Result{Value: json.RawMessage(`{"size":5}`)}, nil
			}
		}, "was cancelled and returned a result all the same"},
		{"parallel calls disturb each other", func(s *sample, _ *Options) {
			call := s.call
			var running atomic.Int32
			all := make(chan struct{})
			s.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
				if !strings.HasPrefix(c.Session, "parallel") {
					return call(ctx, env, c)
				}
				if running.Add(1) == 2 {
					close(all)
				}
				<-all
				return nil, errors.New("state is gone")
			}
		}, "in parallel, "},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := newSample(t)
			opt := sampleOptions
			test.broken(tool, &opt)
			failures := record(t, func(tb TB) { Run(tb, tool, opt) })
			for _, f := range failures {
				if strings.Contains(f, test.want) {
					return
				}
			}
			t.Errorf("want a failure about %q, got %q", test.want, failures)
		})
	}
}

// lenient is a caller that lets everything pass.
type lenient struct{ silent bool }

func (l lenient) Call(context.Context, *tongs.Call) *tongs.Result {
	if l.silent {
		return nil
	}
	return &tongs.Result{Value: json.RawMessage(`{"size":5}`)}
}

func (l lenient) Explain(_ context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	return &tongs.Explanation{Tool: call.Tool, Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Unknown: true}}}, nil
}

func (l lenient) Within(tongs.Scope) tongs.Caller { return l }

func TestBlockingToolPasses(t *testing.T) {
	tool := newSample(t)
	call := tool.call
	tool.call = func(ctx context.Context, env *tongs.Env, c *tongs.Call) (*tongs.Result, error) {
		if strings.Contains(string(c.Args), "dir/b.txt") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return call(ctx, env, c)
	}
	opt := sampleOptions
	opt.Valid, opt.Blocking = opt.Valid[:1], []string{`{"path":"dir/b.txt"}`}
	Run(t, tool, opt)
}

func TestSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	tool := newSample(t)
	check := func(want string, accept bool) {
		t.Helper()
		failures := record(t, func(tb TB) { compare(tb, dir, accept, []tongs.Tool{tool}) })
		if want == "" && len(failures) > 0 || want != "" && (len(failures) != 1 || !strings.Contains(failures[0], want)) {
			t.Errorf("got %q, want %q", failures, want)
		}
	}
	check("is missing", false)
	check("", true)
	check("", false)
	file := filepath.Join(dir, "size.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"inputSchema"`, `"readOnlyHint": true`, `"read"`, `"default": "preApproved"`, `"measure"`, `"file": "path"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the snapshot lacks %s:\n%s", part, text)
		}
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	check("", false)
	tool.spec.Default = tongs.Ask
	check("differs", false)
	check("", true)
	tool.spec.Name = "measure_it"
	tool.spec.Aliases = nil
	failures := record(t, func(tb TB) { Snapshot(tb, dir, tool) })
	if len(failures) != 2 || !strings.Contains(failures[0], "is missing") || !strings.Contains(failures[1], "left over") {
		t.Errorf("got %q", failures)
	}
	check("", true)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the left-over file is still there: %v", err)
	}
}
