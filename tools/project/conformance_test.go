package project

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestConformance(t *testing.T) {
	needs(t, "make", "gofmt")
	list, err := Tools(Options{Registries: readRegistries})
	if err != nil {
		t.Fatal(err)
	}
	caller := func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
		b, opt := workbench.New(t, workbench.Options{Rules: Rules(), Dir: dir, Private: []string{registryName}})
		b.Build(opt, tool)
		return b.Engine
	}
	files := map[string]string{
		"go.mod": "module x\n", "a.go": "package a\nfunc F() { }\n", "make/Makefile": "test:\n\t@echo ok\n", "slow/Makefile": "test:\n\t@echo started; sleep 1000\n",
	}
	for _, tool := range list {
		switch tool.Spec().Name {
		case "run_tests":
			tooltest.Run(t, tool, tooltest.Options{
				Caller: caller, Files: files, Valid: []string{`{"path":"make","runner":"make"}`, `{"path":"make","runner":"make","timeout":20}`},
				Blocking: []string{`{"path":"slow","runner":"make","timeout":600}`},
			})
		case "format_code":
			tooltest.Run(t, tool, tooltest.Options{
				Caller: caller, Files: files, Valid: []string{`{}`, `{"check":true}`, `{"paths":["a.go"],"formatter":"gofmt"}`},
			})
		case "install_package":
			m := newRegistry(t)
			tooltest.Run(t, tool, tooltest.Options{
				Caller: caller, Files: map[string]string{"package.json": `{"name":"x"}`, ".npmrc": "registry=" + m.URL + "/npm/\n"},
				Valid: []string{`{"packages":["one"]}`, `{"packages":["one@1.0.0","two"],"dev":true,"manager":"npm"}`},
			})
		}
	}
	tooltest.Snapshot(t, "testdata/specs", list...)
}
