package shell

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

// bench is a workspace with the tools in it, called through a real engine that runs commands in a real sandbox.
type bench struct {
	testing.TB
	dir    string
	set    *Set
	engine *engine.Engine
	spill  *output.Spill

	mu    sync.Mutex
	asked []approval.Question // what was asked
}

type setup struct {
	Options
	mode    tongs.Mode
	rules   []tongs.Rule
	private []string // hosts that may be private
	// answer answers questions; nil approves each once.
	answer func(q approval.Question) approval.Answer
	limits sandbox.Limits
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	needsLinux(t)
	b := &bench{TB: t, dir: realDir(t)}
	var err error
	b.set, err = New(s.Options)
	b.must(err)
	t.Cleanup(b.set.CloseAll)
	b.rebuild(b.engineOptions(b.dir, s))
	return b
}

// needsLinux skips where there is no sandbox in which everything that is tested here exists: namespaces, /dev/pts.
func needsLinux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the commands of these tests need Linux")
	}
}

// engineOptions are those of an engine over dir whose commands run in the sandbox.
func (b *bench) engineOptions(dir string, s setup) engine.Options {
	b.Helper()
	run, err := runner()
	b.must(err)
	b.spill, err = output.OpenSpill(filepath.Join(realDir(b), "spill"))
	b.must(err)
	ws, err := workspace.Open(workspace.Options{
		Dir: dir, LockDir: filepath.Join(realDir(b), "locks"),
		Roots: []workspace.Root{{Name: output.Root, Dir: b.spill.Dir(), Inside: true}},
	})
	b.must(err)
	b.Cleanup(func() { _ = ws.Close() })
	confiner := confine.New(confine.Options{
		Runner: run, Workspace: ws, Scratch: b.spill.Dir(), Limits: s.limits,
		Guard: &netguard.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}},
		Private: func(host string) bool {
			for _, name := range s.private {
				if strings.HasPrefix(host, name) {
					return true
				}
			}
			return false
		},
	})
	rules := append(Rules(), s.rules...)
	return engine.Options{
		Workspace: ws, Mode: s.mode, Rules: func() []tongs.Rule { return rules }, Commands: confiner.Commands,
		Output:   output.Bounds{Spill: b.spill, Limits: output.Limits{Spill: 64 << 20}},
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{b.person(s.answer)}},
	}
}

func (b *bench) person(answer func(approval.Question) approval.Answer) approval.Channel {
	return approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, q)
		if answer == nil {
			return approval.Answer{Approved: true}, nil
		}
		return answer(q), nil
	})
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

func (b *bench) put(name, content string, mode os.FileMode) {
	b.Helper()
	host := filepath.Join(b.dir, name)
	b.must(os.MkdirAll(filepath.Dir(host), 0o755))
	b.must(os.WriteFile(host, []byte(content), mode))
	b.must(os.Chmod(host, mode))
}

func (b *bench) get(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	b.must(err)
	return string(data)
}

func (b *bench) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(b.dir, name))
	return err == nil
}

func (b *bench) callAs(ctx context.Context, session, tool string, a args, sink func(tongs.Update)) *tongs.Result {
	b.Helper()
	raw, err := json.Marshal(a)
	b.must(err)
	return b.engine.Call(ctx, &tongs.Call{Tool: tool, Args: raw, Session: session, Sink: sink})
}

func (b *bench) call(tool string, a args) *tongs.Result {
	b.Helper()
	return b.callAs(context.Background(), "s", tool, a, nil)
}

// sh runs a command and returns its value; it must succeed as a call.
func (b *bench) sh(command string, more ...args) Output {
	b.Helper()
	return value[Output](b, b.shell(command, more...))
}

// shell runs a command that must succeed as a call.
func (b *bench) shell(command string, more ...args) *tongs.Result {
	b.Helper()
	a := args{"command": command}
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	res := b.call("shell", a)
	if !res.OK() {
		b.Fatalf("shell %v: %v\n%s", a, res.Error, res.Content)
	}
	return res
}

func (b *bench) fails(code tongs.Code, says, tool string, a args) *tongs.Result {
	b.Helper()
	res := b.call(tool, a)
	if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%s %v: %v (%q), want %s: ...%s", tool, a, res.Error, res.Content, code, says)
	}
	return res
}

func (b *bench) explain(tool string, a args) *tongs.Explanation {
	b.Helper()
	raw, err := json.Marshal(a)
	b.must(err)
	e, err := b.engine.Explain(context.Background(), &tongs.Call{Tool: tool, Args: raw, Session: "s"})
	b.must(err)
	return e
}

// questions returns what was asked since the last time.
func (b *bench) questions() []approval.Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

// value decodes the value, also of a failed call.
func value[T any](b *bench, r *tongs.Result) (v T) {
	b.Helper()
	b.must(json.Unmarshal(r.Value, &v))
	return v
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

// rebuild makes the engine anew, with the tools of the set unless others are given.
func (b *bench) rebuild(opt engine.Options, tools ...tongs.Tool) {
	b.Helper()
	if tools == nil {
		tools = b.set.Tools()
	}
	var err error
	opt.Registry, err = registry.New(tools...)
	b.must(err)
	b.engine, err = engine.New(opt)
	b.must(err)
}
