package files

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/workspace"
)

type args = base.Args

// bench is a workspace with the tools in it.
type bench struct{ *base.Bench }

type setup struct {
	Options
	mode  tongs.Mode
	rules []tongs.Rule
	roots []workspace.Root
	nope  bool // nobody to ask
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	b, opt := base.New(t, base.Options{Mode: s.mode, Rules: s.rules, Roots: s.roots, Nobody: s.nope})
	list, err := Tools(s.Options)
	b.Must(err)
	b.Build(opt, list...)
	return &bench{b}
}

func (b *bench) fails(code tongs.Code, says, tool string, a args) *tongs.Result {
	b.Helper()
	return b.Fails(code, says, b.Call(tool, a))
}

// value is that of a call that succeeded.
func value[T any](b *bench, r *tongs.Result) T {
	b.Helper()
	v, err := tongs.ValueOf[T](r)
	b.Must(err)
	return v
}
