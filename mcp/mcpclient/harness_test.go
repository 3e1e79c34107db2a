package mcpclient_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

// desk is a whole system with one server, named srv, in the real sandbox, and a person who answers.
type desk struct {
	set    *mcpclient.Set
	opt    mcpclient.Options
	engine *engine.Engine
	// around goes around what starts servers by hand.
	around   func(tongs.Commands) tongs.Commands
	confined *confine.Confiner
	dir      string
	rules    []tongs.Rule
	guard    *network.Guard
	// programs is a private directory of programs that the sandbox shows.
	programs string

	mu    sync.Mutex
	asked []approval.Question
	say   func(approval.Question) bool
	sink  func(tongs.Update)
}

// link puts the test binary where the sandbox shows it.
func link(tb testing.TB, dir string) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, "server")
	if err := os.Link(self, path); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	return path
}

func newDesk(tb testing.TB, edit func(*mcpclient.Options)) *desk {
	tb.Helper()
	d := &desk{say: func(approval.Question) bool { return true }, guard: &network.Guard{}}
	ws, err := workspace.Open(workspace.Options{Dir: tb.TempDir(), LockDir: filepath.Join(tb.TempDir(), "locks")})
	if err != nil {
		tb.Fatal(err)
	}
	d.dir = ws.Dir()
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { runner.Close() })
	spill, err := output.OpenSpill(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	d.programs = tb.TempDir()
	d.confined = confine.New(confine.Options{
		Runner: runner, Workspace: ws, Guard: d.guard, Private: func(string) bool { return true }, Programs: d.programs,
	})
	d.opt = mcpclient.Options{
		Servers: []mcpclient.Server{{
			Name: "srv", Command: link(tb, d.dir), Env: map[string]string{"MCP_TEST_SERVER": "on"}, Tools: []string{"*"},
		}},
		Store: mcpclient.Directory(filepath.Join(tb.TempDir(), "mcp")), Root: d.dir, Packages: filepath.Join(d.programs, "mcp"), Backoff: time.Nanosecond, Grace: 5 * time.Second,
	}
	if edit != nil {
		edit(&d.opt)
	}
	d.opt.OnChange = d.swap
	d.opt.ByHand = func(_ context.Context, _ string, effects []tongs.Effect) (tongs.Commands, string) {
		var commands tongs.Commands = d.confined.Commands(d.permit(effects))
		if d.around != nil {
			commands = d.around(commands)
		}
		return commands, d.dir
	}
	if d.set, err = mcpclient.New(d.opt); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.set.Close() })
	person := approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = append(d.asked, q)
		return approval.Answer{Approved: d.say(q)}, nil
	})
	d.engine, err = engine.New(engine.Options{
		Workspace: ws, Commands: d.confined.Commands,
		Providers: map[tongs.SourceKind]engine.Provider{tongs.SourceMCP: &base.Current{Of: func() engine.Provider { return d.set }}},
		Output:    output.Bounds{Spill: spill},
		Approval:  &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{person}},
		Rules:     func() []tongs.Rule { return d.rules },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// get finds a tool.
func (d *desk) get(name string) (tongs.Tool, bool) {
	entry, ok := d.engine.Set().Lookup(name)
	return entry.Tool, ok
}

// swap makes the tools of the servers those of the engine.
func (d *desk) swap() {
	if d.engine != nil {
		_ = d.engine.Refresh(context.Background())
	}
}

// permit is that of a person who starts a server by hand.
func (d *desk) permit(effects []tongs.Effect) *tongs.Permit {
	return tongs.NewPermit(context.Background(), &tongs.Call{ID: "by-hand"}, effects, []tongs.Zone{{Path: tongs.Path{Rel: "."}, Writable: true}}, nil)
}

func (d *desk) look(tb testing.TB) *tongs.Review {
	tb.Helper()
	v, err := d.set.Look(context.Background(), "srv")
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// review approves what the server says now.
func (d *desk) review(tb testing.TB) {
	tb.Helper()
	if err := d.set.Approve(context.Background(), d.look(tb), "test"); err != nil {
		tb.Fatal(err)
	}
}

func (d *desk) call(tool, text string) *tongs.Result {
	args, _ := json.Marshal(map[string]string{"text": text})
	if text == "" {
		args = []byte("{}")
	}
	return d.engine.Call(context.Background(), &tongs.Call{Tool: "srv__" + tool, Args: args, Sink: d.sink})
}

func (d *desk) ok(tb testing.TB, tool, text string) *tongs.Result {
	tb.Helper()
	res := d.call(tool, text)
	if res.Error != nil {
		tb.Fatalf("%s: %s", tool, res.Content)
	}
	return res
}

// fails checks that a call fails with the code and says all of the words.
func (d *desk) fails(tb testing.TB, tool, text string, code tongs.Code, words ...string) *tongs.Result {
	tb.Helper()
	res := d.call(tool, text)
	if res.Error == nil || res.Error.Code != code {
		tb.Fatalf("%s: %+v: %.300s, want %s", tool, res.Error, res.Content, code)
	}
	for _, w := range words {
		if !strings.Contains(res.Content, w) {
			tb.Errorf("%s: %.600q does not say %q", tool, res.Content, w)
		}
	}
	return res
}

func (d *desk) questions() []approval.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.asked
	d.asked = nil
	return q
}

func (d *desk) write(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// restart ends the server, as a new program of ours would find it.
func (d *desk) restart(tb testing.TB) {
	tb.Helper()
	d.set.Close()
	var err error
	if d.set, err = mcpclient.New(d.opt); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.set.Close() })
	d.swap()
}
