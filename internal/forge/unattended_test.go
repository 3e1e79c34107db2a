package forge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// Whoever names the state directory has said nothing about what a person approved or built: every tool is shown whole, and
// asked about, however the records look.
func TestRecordsOfOthersCountForNothing(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll, Answer: deny})
	b.script("fine", "", "echo fine")
	b.script("bad", "", "echo harmless")
	b.tool("bad", "run", "#!/bin/sh\necho harmless; echo evil\n") // a question would show one line, as a change
	b.script("off", "", "echo off")
	b.Must(b.set.Disable("off"))
	var err error
	b.set, err = forge.New(forge.Options{Dir: b.forge, State: b.state, NoApprovals: true})
	b.Must(err)
	b.refresh()
	for _, name := range []string{"fine", "bad"} {
		if s := b.status(name); s.Status != tongs.StatusUnapproved || s.ApprovedBy != "" {
			t.Errorf("%+v", s)
		}
		if tool, ok := b.get(name); !ok || !strings.Contains(tool.Spec().Description, "Not approved yet") || b.set.Reviewed(tool.Spec().Source) {
			t.Errorf("%s: %+v", name, tool.Spec())
		}
		b.Fails(tongs.CodeDenied, "", b.Call(name))
		q := b.Questions()
		if len(q) != 1 || !strings.Contains(q[0].Preview, "#!/bin/sh\n") || !strings.Contains(q[0].Preview, "entrypoint: run") || strings.Contains(q[0].Preview, "@@") {
			t.Errorf("%s: %+v", name, q)
		}
	}
	if s := b.status("off"); s.Status != tongs.StatusDisabled {
		t.Errorf("%+v", s)
	}
}

// A program that lies where builds are kept is taken for one only by those whose state that is.
func TestBuildsOfOthersCountForNothing(t *testing.T) {
	for _, others := range []bool{false, true} {
		b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, func(o *forge.Options) { o.NoApprovals = others })
		b.tool("t", "tool.yaml", "name: t\ndescription: d\nentrypoint: t.sh\n", "t.sh", "#!/bin/sh\necho t\n", "t_test.sh", "#!/bin/sh\n")
		for _, again := range []bool{false, !others} {
			if v := workbench.Value[forge.Built](b.Bench, b.OK("build_custom_tool", args{"name": "t"})); v.Cached != again {
				t.Errorf("state of others %t: cached %t, want %t", others, v.Cached, again)
			}
		}
	}
}

// Where the directory is closed, tools in it can be run, and none can be made or built.
func TestClosed(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, func(o *forge.Options) { o.Closed = "not on the word of the environment" })
	b.script("a", "", "echo a")
	b.OK("a")
	for _, res := range []*tongs.Result{
		b.Call("create_custom_tool", args{"name": "b", "description": "d"}), b.Call("build_custom_tool", args{"name": "a"}),
	} {
		b.Fails(tongs.CodeConfigError, "not on the word of the environment", res)
	}
	if _, err := os.Lstat(filepath.Join(b.forge, "b")); err == nil {
		t.Error("it was made all the same")
	}
}
