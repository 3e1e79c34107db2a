package code

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
	"github.com/tongs-ai/tongs/approval"
	"github.com/tongs-ai/tongs/confine"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/netguard"
	"github.com/tongs-ai/tongs/output"
	"github.com/tongs-ai/tongs/registry"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// runner is the one sandbox of the tests: starting it is what takes time.
var runner = sync.OnceValues(func() (*sandbox.Runner, error) { return sandbox.New(sandbox.Options{}) })

type args map[string]any

// bench is a workspace with the tool in it, called through a real engine that runs programs in a real sandbox.
type bench struct {
	testing.TB
	dir    string
	spill  string
	tool   tongs.Tool
	engine *engine.Engine
	mu     sync.Mutex
	asked  []approval.Question
}

type setup struct {
	rules   []tongs.Rule
	private string // a host that may be private
	partial bool   // the sandbox says that it is not full
	answer  func(q approval.Question) approval.Answer
	tool    tongs.Tool
	dir     string
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox of these tests needs Linux")
	}
	b := &bench{TB: t, dir: s.dir, tool: s.tool}
	if b.dir == "" {
		b.dir = realDir(t)
	}
	run, err := runner()
	b.must(err)
	state := realDir(t)
	spill, err := output.OpenSpill(filepath.Join(state, "spill"))
	b.must(err)
	b.spill = spill.Dir()
	ws, err := workspace.Open(workspace.Options{
		Dir: b.dir, LockDir: filepath.Join(state, "locks"),
		Roots: []workspace.Root{{Name: output.Root, Dir: spill.Dir(), Inside: true}},
	})
	b.must(err)
	t.Cleanup(func() { _ = ws.Close() })
	confiner := confine.New(confine.Options{
		Runner: run, Workspace: ws, Scratch: spill.Dir(), Cache: filepath.Join(state, "cache"),
		Guard: &netguard.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}},
		Private: func(host string) bool { return s.private != "" && strings.HasPrefix(host, s.private) },
	})
	if b.tool == nil {
		opt := Options{Full: confiner.Full}
		if s.partial {
			opt.Full = nil
		}
		b.tool, err = New(opt)
		b.must(err)
	}
	reg, err := registry.New(b.tool)
	b.must(err)
	b.engine, err = engine.New(engine.Options{
		Registry: reg, Workspace: ws, Rules: func() []tongs.Rule { return s.rules }, Commands: confiner.Commands,
		Output: output.Bounds{Spill: spill},
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{
			approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.asked = append(b.asked, q)
				if s.answer == nil {
					return approval.Answer{Approved: true}, nil
				}
				return s.answer(q), nil
			}),
		}},
	})
	b.must(err)
	return b
}

// realDir is a temporary directory without links in its name.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) put(name, content string) {
	b.Helper()
	b.must(os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644))
}

func (b *bench) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(b.dir, name))
	return err == nil
}

func (b *bench) call(language, code string, more ...args) *tongs.Result {
	b.Helper()
	return b.engine.Call(context.Background(), &tongs.Call{Tool: "run_code", Session: "s", Args: b.args(language, code, more...)})
}

func (b *bench) args(language, code string, more ...args) json.RawMessage {
	a := args{"language": language, "code": code}
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	raw, err := json.Marshal(a)
	b.must(err)
	return raw
}

// ok runs a program that must succeed as a call.
func (b *bench) ok(language, code string, more ...args) (*tongs.Result, Output) {
	b.Helper()
	res := b.call(language, code, more...)
	if !res.OK() {
		b.Fatalf("%s %q: %v\n%s", language, code, res.Error, res.Content)
	}
	return res, b.value(res)
}

func (b *bench) value(res *tongs.Result) (out Output) {
	b.Helper()
	b.must(json.Unmarshal(res.Value, &out))
	return out
}

func (b *bench) fails(code tongs.Code, says string, res *tongs.Result) {
	b.Helper()
	if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%v (%q), want %s: ...%s", res.Error, res.Content, code, says)
	}
}

func (b *bench) explain(language, code string, more ...args) *tongs.Explanation {
	b.Helper()
	e, err := b.engine.Explain(context.Background(), &tongs.Call{Tool: "run_code", Session: "s", Args: b.args(language, code, more...)})
	b.must(err)
	return e
}

func (b *bench) questions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.asked)
	b.asked = nil
	return n
}

func (b *bench) equal(what string, got, want any) {
	b.Helper()
	if got != want {
		b.Errorf("%s = %#v, want %#v", what, got, want)
	}
}

func (b *bench) contains(what, got, want string) {
	b.Helper()
	if !strings.Contains(got, want) {
		b.Errorf("%s = %q, want ...%q", what, got, want)
	}
}
