package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/workspace"
)

type args map[string]any

// bench is a workspace with the tools in it, called through a real engine.
type bench struct {
	testing.TB
	dir    string
	engine *engine.Engine
	asked  []approval.Question // what was asked, and approved
}

type setup struct {
	Options
	mode  tongs.Mode
	rules []tongs.Rule
	roots []workspace.Root
	nope  bool // nobody to ask
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	b := &bench{TB: t, dir: t.TempDir()}
	ws, err := workspace.Open(workspace.Options{Dir: b.dir, Roots: s.roots, LockDir: filepath.Join(t.TempDir(), "locks")})
	b.must(err)
	t.Cleanup(func() { _ = ws.Close() })
	list, err := Tools(s.Options)
	b.must(err)
	b.must(err)
	opt := engine.Options{Tools: list, Workspace: ws, Mode: s.mode, Rules: func() []tongs.Rule { return s.rules }}
	if !s.nope {
		opt.Approval = &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{
			approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
				b.asked = append(b.asked, q)
				return approval.Answer{Approved: true}, nil
			}),
		}}
	}
	b.engine, err = engine.New(opt)
	b.must(err)
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// put writes a file behind the tools' back.
func (b *bench) put(name, content string) {
	b.Helper()
	host := filepath.Join(b.dir, name)
	b.must(os.MkdirAll(filepath.Dir(host), 0o755))
	b.must(os.WriteFile(host, []byte(content), 0o644))
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

func (b *bench) call(tool string, a args) *tongs.Result {
	b.Helper()
	raw, err := json.Marshal(a)
	b.must(err)
	return b.engine.Call(context.Background(), &tongs.Call{Tool: tool, Args: raw, Session: "s"})
}

func (b *bench) ok(tool string, a args) *tongs.Result {
	b.Helper()
	res := b.call(tool, a)
	if !res.OK() {
		b.Fatalf("%s %v: %v", tool, a, res.Error)
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

func value[T any](b *bench, r *tongs.Result) T {
	b.Helper()
	v, err := tongs.ValueOf[T](r)
	b.must(err)
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
