package shell

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestConformance(t *testing.T) {
	set := newBench(t, setup{Options: Options{Background: true, Settle: 1}}).set
	in := func(dir string) (*bench, engine.Options) {
		o := setup{}.bench()
		o.Dir = dir
		common, opt := workbench.New(t, o)
		return &bench{Bench: common, set: set}, opt
	}
	caller := func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
		b, opt := in(dir)
		b.rebuild(opt, tool)
		return b.Engine
	}
	tooltest.Run(t, set.Tools()[0], tooltest.Options{
		Caller: caller, Files: map[string]string{"a.txt": "one\n", "sub/b": ""},
		Valid: []string{
			`{"command":"cat a.txt"}`, `{"command":"echo x > new; exit 3","timeout":20}`, `{"command":"pwd","workdir":"sub"}`,
			`{"command":"cat","stdin":"x"}`, `{"command":"cd sub","persist":true}`, `{"command":"tty","pty":true}`,
			`{"command":"true","background":true}`,
		},
		Blocking: []string{`{"command":"echo started; sleep 1000","timeout":600}`},
	})
	tooltest.Run(t, set.Tools()[1], tooltest.Options{
		Caller: func(t tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
			b, opt := in(dir)
			b.rebuild(opt)
			res := b.Engine.Call(context.Background(), &tongs.Call{
				Tool: "shell", Session: "output", Args: json.RawMessage(`{"command":"true","background":true}`),
			})
			if !res.OK() {
				t.Fatalf("%v", res.Error)
			}
			b.rebuild(opt, tool)
			return b.Engine
		},
		Valid: []string{`{"action":"list"}`},
	})
	tooltest.Snapshot(t, "testdata/specs", set.Tools()...)
}
