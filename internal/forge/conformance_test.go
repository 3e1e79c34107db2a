package forge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

// The three tools that make and run others behave as every tool does. Each call of the suite finds the forge as it was made.
func TestConformance(t *testing.T) {
	b := newBench(t, workbench.Options{})
	builtins, err := b.set.Builtins()
	b.Must(err)
	caller := func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
		entries, err := os.ReadDir(b.forge)
		b.Must(err)
		for _, e := range entries {
			b.Must(os.RemoveAll(filepath.Join(b.forge, e.Name())))
		}
		b.tool("greet", "tool.yaml", "name: greet\ndescription: Greets.\nentrypoint: greet.sh\nparameters:\n  - {name: who, type: string}\n",
			"greet.sh", "#!/bin/sh\necho \"hello $1\"\n", "greet_test.sh", "#!/bin/sh\n./greet.sh | grep hello\n")
		b.tool("stuck", "tool.yaml", "name: stuck\ndescription: Waits.\nentrypoint: stuck.sh\n",
			"stuck.sh", "#!/bin/sh\nsleep 1000\n", "stuck_test.sh", "#!/bin/sh\nsleep 1000\n")
		common, opt := workbench.New(t, b.with(workbench.Options{Dir: dir}))
		opt.Tools = []tongs.Tool{tool}
		opt.Providers = map[tongs.SourceKind]engine.Provider{tongs.SourceForge: b.set}
		common.Engine, err = engine.New(opt)
		b.Must(err)
		return common.Engine
	}
	for name, o := range map[string]tooltest.Options{
		"create_custom_tool": {Valid: []string{
			`{"name":"one","description":"d"}`,
			`{"name":"two","description":"d","language":"sh","usage":"u","parameters":[{"name":"a","type":"string","required":true}]}`,
			`{"name":"three","description":"d","language":"python","source":"#!/usr/bin/env python3\n"}`,
		}},
		"build_custom_tool": {Valid: []string{`{"name":"greet"}`, `{"name":"greet","again":true}`}, Blocking: []string{`{"name":"stuck"}`}},
		"run_custom_tool":   {Valid: []string{`{"tool_name":"greet"}`, `{"tool_name":"greet","arguments":{"who":"x"},"timeout":20}`}},
	} {
		for _, tool := range builtins {
			if tool.Spec().Name == name {
				o.Caller = caller
				t.Run(name, func(t *testing.T) { tooltest.Run(t, tool, o) })
			}
		}
	}
	tooltest.Snapshot(t, "testdata/specs", builtins...)
}
