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

func TestChangingOneByteStopsIt(t *testing.T) {
	for _, name := range []string{"tool.yaml", "echo-go.go", "echo-go"} {
		b := newBench(t, workbench.Options{Mode: tongs.ModeAll, Answer: deny})
		b.echo("go")
		b.OK("echo-go", args{"value": "x"})
		if q := b.Questions(); len(q) > 0 {
			t.Fatalf("asked: %v", q)
		}
		path := filepath.Join(b.forge, "echo-go", name)
		data, err := os.ReadFile(path)
		b.Must(err)
		at := len(data) - 1
		if name == "tool.yaml" {
			at = strings.Index(string(data), "Prints")
		}
		data[at] ^= 1
		if name == "echo-go.go" {
			data[at] = ' '
		}
		b.Must(os.WriteFile(path, data, 0o755)) // in place: the directory does not change
		b.refresh()
		res := b.Call("echo-go", args{"value": "x"})
		if res.OK() || res.Error.Code == tongs.CodeStaleFile { // noticed between lookup and plan: the next call is judged
			res = b.Call("echo-go", args{"value": "x"})
		}
		b.Fails(tongs.CodeDenied, "", res)
		q := b.Questions()
		if len(q) == 0 {
			t.Fatalf("%s: nobody was asked", name)
		}
		shown := q[0].Preview
		if !strings.Contains(shown, name) || name != "echo-go" && !strings.Contains(shown, "\n+") {
			t.Errorf("%s: the question shows %q", name, shown)
		}
		if s := b.status("echo-go"); name != "echo-go.go" && s.Status != tongs.StatusChanged {
			t.Errorf("%s: %+v", name, s)
		}
		b.approve("echo-go")
		if name != "echo-go" { // that one is no program any more
			b.OK("echo-go", args{"value": "x"})
		}
	}
}

func TestRunsInTheWorkspace(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("where", "", `pwd; echo "$FORGE_WORKSPACE"; echo "$AGENT_WORKSPACE_ROOT"; echo made > made.txt; ls "$HOME/.ssh" 2>&1 | head -1`)
	out := workbench.Value[forge.Output](b.Bench, b.OK("where")).Stdout
	if !strings.HasPrefix(out, b.Dir+"\n"+b.Dir+"\n"+b.Dir+"\n") || b.Get("made.txt") != "made\n" {
		t.Errorf("%q", out)
	}
	b.script("reader", "needs: [read]\n", `echo x > other.txt`)
	if res := b.Call("reader"); !strings.Contains(res.Content, "(exit code 2)") || b.Exists("other.txt") {
		t.Errorf("a tool that needs no write wrote: %s", res.Content)
	}
}

func TestProgramKnowsItsCall(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("which", "", `echo "$TONGS_CALL_ID|$TONGS_SESSION_ID|$TONGS_MESSAGE_ID|$TONGS_AGENT"`)
	call := &tongs.Call{ID: "c1", Session: "s", Message: "m\n1", Agents: []string{"main", "helper"}, Tool: "which"}
	if res := b.Engine.Call(t.Context(), call); !strings.Contains(res.Content, "c1|s|m\n1|helper") {
		t.Errorf("%+v", res)
	}
	call = &tongs.Call{ID: "c2", Session: "s", Message: "a\x00b", Tool: "which"}
	if res := b.Engine.Call(t.Context(), call); !strings.Contains(res.Content, "c2|s||") {
		t.Errorf("%+v", res)
	}
}

func TestResults(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("object", "", `echo '{"count": 3, "names": ["a"]}'; echo note >&2`)
	if res := b.OK("object"); string(res.Value) != `{"count": 3, "names": ["a"]}` || res.Metadata["exitCode"] != 0 {
		t.Errorf("value %s, metadata %v", res.Value, res.Metadata)
	}
	b.script("fails", "", `echo some; echo 'the reason' >&2; exit 137`)
	res := b.OK("fails")
	b.Contains("content", res.Content, "some\n[stderr]\nthe reason\n(exit code 137)")
	b.outOfTime("slow", `echo early; trap '' TERM; sleep 60 & sleep 60`)
	b.script("binary", "", `printf '\377\376'; head -c 3000000 /dev/zero`)
	if res := b.OK("binary"); len(res.Content) > 100_000 {
		t.Errorf("%d bytes", len(res.Content))
	}
	b.script("online", "", `exec 3<>/dev/tcp/127.0.0.1/9`)
	if res := b.Call("online"); !strings.Contains(res.Content, "(exit code 2)") {
		t.Errorf("it reached the network: %s", res.Content)
	}
}

func TestUnapprovedAsksOnceASession(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.tool("fresh", "tool.yaml", "name: fresh\ndescription: d\nentrypoint: run\nusage: Use it daily.\n", "run", "#!/bin/sh\necho hi\n")
	spec, _ := b.get("fresh")
	b.Contains("description", spec.Spec().Description, "Use it daily.")
	b.Contains("description", spec.Spec().Description, "Not approved yet")
	b.OK("fresh")
	q := b.Questions()
	if len(q) != 1 || !strings.Contains(q[0].Preview, "echo hi") {
		t.Fatalf("%+v", q)
	}
	b.OK("fresh")
	if q := b.Questions(); len(q) != 0 {
		t.Errorf("asked again in the same session: %+v", q)
	}
	b.tool("fresh", "run", "#!/bin/sh\necho ho\n")
	b.OK("fresh")
	if q := b.Questions(); len(q) != 1 {
		t.Errorf("a change was not asked about: %+v", q)
	}
	if left, _ := filepath.Glob(filepath.Join(b.state, "programs", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRunCustomTool(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("odd", "parameters:\n  - {name: timeout, type: integer}\n  - {name: tool_name, type: string}\n", `echo "$@"`)
	res := b.OK("run_custom_tool", args{"tool_name": "odd", "arguments": args{"timeout": 7, "tool_name": "x"}, "timeout": 20})
	b.Contains("output", res.Content, "--timeout=7 --tool_name=x")
	b.Contains("direct", b.OK("odd", args{"timeout": 8}).Content, "--timeout=8")
	b.Fails(tongs.CodeUnknownTool, "there are odd", b.Call("run_custom_tool", args{"tool_name": "od"}))
	b.Fails(tongs.CodeUnknownTool, "", b.Call("run_custom_tool", args{"tool_name": "read_file", "arguments": args{"path": "x"}}))
	b.script("stuck", "", `sleep 60`)
	b.Fails(tongs.CodeTimeout, "killed after 1s", b.Call("run_custom_tool", args{"tool_name": "stuck", "timeout": 1}))
	b.Fails(tongs.CodeInvalidArgs, "", b.Call("odd", args{"colour": "red"}))
}

func TestShadowingInheritsAskAndBlocked(t *testing.T) {
	b := newBench(t, workbench.Options{Answer: deny, Rules: []tongs.Rule{{Tool: "edit", Decision: tongs.Blocked}}})
	for _, name := range []string{"read_file", "edit", "write_file"} {
		b.script(name, "", `echo mine`)
	}
	if w := strings.Join(b.Engine.Set().Warnings(), "\n"); !strings.Contains(w, "read_file") || !strings.Contains(w, "edit") {
		t.Errorf("warnings %q", w)
	}
	b.Fails(tongs.CodeBlocked, "", b.Call("edit"))
	if e := b.Explain("read_file"); e.Decision == tongs.PreApproved {
		t.Errorf("the freedom of the built-in was inherited: %+v", e)
	}
	b.script("build_custom_tool", "", `echo mine`)
	if tool, _ := b.get("build_custom_tool"); !tool.Spec().Source.BuiltIn() {
		t.Error("a control tool was shadowed")
	}
}
