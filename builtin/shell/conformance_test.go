package shell

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/tooltest"
)

func TestConformance(t *testing.T) {
	needsLinux(t)
	host := &bench{TB: t}
	set, err := New(Options{Background: true, Settle: 1})
	host.must(err)
	t.Cleanup(set.CloseAll)
	caller := func(t tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
		b := &bench{TB: host.TB, set: set, dir: dir}
		opt := b.engineOptions(dir, setup{})
		b.rebuild(opt, tool)
		return b.engine
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
			b := &bench{TB: host.TB, set: set, dir: dir}
			b.rebuild(b.engineOptions(dir, setup{}))
			res := b.engine.Call(context.Background(), &tongs.Call{
				Tool: "shell", Session: "output", Args: json.RawMessage(`{"command":"true","background":true}`),
			})
			if !res.OK() {
				t.Fatalf("%v", res.Error)
			}
			b.rebuild(b.engineOptions(dir, setup{}), tool)
			return b.engine
		},
		Valid: []string{`{"action":"list"}`},
	})
	tooltest.Snapshot(t, "testdata/specs", set.Tools()...)
}
