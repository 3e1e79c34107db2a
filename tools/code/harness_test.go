package code

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench"
)

func TestMain(m *testing.M) { workbench.Main(m) }

type args = workbench.Args

// bench is a workspace with the tool in it.
type bench struct {
	*workbench.Bench
	tool tongs.Tool
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
	opt := workbench.Options{Dir: s.dir, Rules: s.rules, Answer: s.answer, Cached: true}
	if s.private != "" {
		opt.Private = []string{s.private}
	}
	common, engine := workbench.New(t, opt)
	b := &bench{Bench: common, tool: s.tool}
	if b.tool == nil {
		opt := Options{Full: b.Confiner.Full}
		if s.partial {
			opt.Full = nil
		}
		var err error
		b.tool, err = New(opt)
		b.Must(err)
	}
	b.Build(engine, b.tool)
	return b
}

func given(language, code string, more []args) []args {
	return append([]args{{"language": language, "code": code}}, more...)
}

func (b *bench) call(language, code string, more ...args) *tongs.Result {
	b.Helper()
	return b.Call("run_code", given(language, code, more)...)
}

// ok runs a program that must succeed as a call.
func (b *bench) ok(language, code string, more ...args) (*tongs.Result, Output) {
	b.Helper()
	res := b.OK("run_code", given(language, code, more)...)
	return res, b.value(res)
}

func (b *bench) value(res *tongs.Result) Output {
	b.Helper()
	return workbench.Value[Output](b.Bench, res)
}

func (b *bench) explain(language, code string, more ...args) *tongs.Explanation {
	b.Helper()
	return b.Explain("run_code", given(language, code, more)...)
}
