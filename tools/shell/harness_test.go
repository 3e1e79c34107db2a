package shell

import (
	"context"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/sandbox"
)

func TestMain(m *testing.M) { workbench.Main(m) }

type args = workbench.Args

// bench is a workspace with the tools in it.
type bench struct {
	*workbench.Bench
	set *Set
}

type setup struct {
	Options
	mode    tongs.Mode
	rules   []tongs.Rule
	private []string
	answer  func(q approval.Question) approval.Answer
	limits  sandbox.Limits
}

func (s setup) bench() workbench.Options {
	return workbench.Options{
		Mode: s.mode, Rules: append(Rules(), s.rules...), Private: s.private, Answer: s.answer, Limits: s.limits,
	}
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	common, opt := workbench.New(t, s.bench())
	b := &bench{Bench: common}
	var err error
	b.set, err = New(s.Options)
	b.Must(err)
	t.Cleanup(b.set.CloseAll)
	b.rebuild(opt)
	return b
}

// rebuild makes the engine anew, with the tools of the set unless others are given.
func (b *bench) rebuild(opt engine.Options, tools ...tongs.Tool) {
	b.Helper()
	if tools == nil {
		tools = b.set.Tools()
	}
	b.Build(opt, tools...)
}

func (b *bench) callAs(ctx context.Context, session, tool string, a args, sink func(tongs.Update)) *tongs.Result {
	b.Helper()
	return b.Engine.Call(ctx, &tongs.Call{Tool: tool, Args: b.JSON(a), Session: session, Sink: sink})
}

// sh runs a command and returns its value; it must succeed as a call.
func (b *bench) sh(command string, more ...args) Output {
	b.Helper()
	return value[Output](b, b.shell(command, more...))
}

// shell runs a command that must succeed as a call.
func (b *bench) shell(command string, more ...args) *tongs.Result {
	b.Helper()
	return b.OK("shell", append([]args{{"command": command}}, more...)...)
}

func (b *bench) fails(code tongs.Code, says, tool string, a args) *tongs.Result {
	b.Helper()
	res := b.Call(tool, a)
	b.Fails(code, says, res)
	return res
}

func value[T any](b *bench, r *tongs.Result) T {
	b.Helper()
	return workbench.Value[T](b.Bench, r)
}
