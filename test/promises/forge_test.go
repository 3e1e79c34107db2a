//go:build linux

package promises

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tools is the directory of custom tools.
func (p *place) tools(elements ...string) string {
	return filepath.Join(append([]string{p.home, ".forge", "tools"}, elements...)...)
}

// script writes a custom tool by hand, a shell script, with further lines of tool.yaml.
func (p *place) script(name, program, more string) {
	p.Helper()
	p.put(p.tools(name, "tool.yaml"), "name: "+name+"\ndescription: A tool of a test.\nversion: 1.0.0\nentrypoint: "+name+".sh\n"+more)
	p.put(p.tools(name, name+".sh"), "#!/bin/sh\n"+program+"\n")
}

// approveTool is a person who approves a custom tool.
func (p *place) approveTool(name string) {
	p.Helper()
	p.approve(`This is the custom tool `+name, "forge", "approve", name)
}

// The workflow of the document, by calls of an agent: scaffold, implement, compile, update the metadata, execute. Each path, argument and name
// is spelled as the document spells it.
func Test001_ToolCreationWorkflow(t *testing.T) {
	p := sharedPlace(t)
	c := p.client()
	res := c.tool("create_custom_tool", map[string]any{"name": "greeter-001", "description": "Repeats its example."})
	p.says(content(res), "tool.yaml", "greeter-001.go")
	const dir = "~/.forge/tools/greeter-001"
	for _, step := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"write_file", map[string]any{"path": dir + "/greeter-001.go", "content": example(t, "001/boilerplate.go.txt")}, "greeter-001.go"},
		{"delete_file", map[string]any{"path": dir + "/greeter-001_test.go"}, "greeter-001_test.go"},
		{"apply_diff", map[string]any{"path": dir + "/tool.yaml", "edits": []any{
			map[string]any{"search": "parameters: []", "replace": "parameters:\n  - name: example\n    type: string\n    required: true\n    description: Example parameter"},
			map[string]any{"search": "entrypoint: greeter-001", "replace": "entrypoint: greeter-001.go"},
		}}, "Edited"},
		{"run_custom_tool", map[string]any{"tool_name": "greeter-001"}, "build it"},
		{"execute_command", map[string]any{"command": "go build -o greeter-001 greeter-001.go", "working_dir": dir + "/", "timeout": 300}, "no output"},
		{"apply_diff", map[string]any{"path": dir + "/tool.yaml", "edits": []any{
			map[string]any{"search": "entrypoint: greeter-001.go", "replace": "entrypoint: greeter-001"},
		}}, "Edited"},
	} {
		if res := c.tool(step.tool, step.args, "greeter-001"); !strings.Contains(content(res), step.says) {
			t.Fatalf("%s: %s", step.tool, content(res))
		}
	}
	run := map[string]any{"tool_name": "greeter-001", "arguments": map[string]any{"example": "a b=c"}, "timeout": 30}
	if said := content(c.tool("run_custom_tool", run, "greeter-001")); !strings.Contains(said, "Result: a b=c") {
		t.Error(said)
	}
	if said := content(c.tool("greeter-001", map[string]any{"example": "again"})); !strings.Contains(said, "Result: again") {
		t.Errorf("by its own name, as the registry has it after a refresh: %s", said)
	}
	if said := content(c.tool("greeter-001", map[string]any{})); !strings.Contains(said, "example: is required but missing") {
		t.Errorf("a required parameter: %s", said)
	}
}

// The scaffold is three files, and what the document's directory structure has.
func Test001_ScaffoldAndDirectoryStructure(t *testing.T) {
	p := sharedPlace(t)
	p.ok("forge", "new", "analyze-logs", "--description", "Analyzes logs", "--param", "since:string:required")
	for _, name := range []string{"tool.yaml", "analyze-logs.go"} {
		if _, err := os.Stat(p.tools("analyze-logs", name)); err != nil {
			t.Error(err)
		}
	}
	p.says(p.get(p.tools("analyze-logs", "tool.yaml")), "name: analyze-logs\n", "description: Analyzes logs\n", "version: 1.0.0\n", "entrypoint: analyze-logs\n",
		"name: since", "type: string", "required: true")
}

// Every key of the document's schema is read, and each type reaches the program as a flag.
func Test001_YAMLSchema(t *testing.T) {
	p := sharedPlace(t)
	keys := map[string]bool{}
	for line := range strings.SplitSeq(example(t, "001/schema.yaml"), "\n") {
		key, _, _ := strings.Cut(strings.TrimLeft(line, " -"), ":")
		keys[key] = true
	}
	yaml := "name: schema-001\ndescription: Prints its flags.\nversion: 2.1.0\nentrypoint: schema-001.sh\nusage: |\n  First line.\n  Second line.\nparameters:\n" +
		"  - {name: text, type: string, required: true, description: A text.}\n  - {name: size, type: number, required: false, description: A size.}\n" +
		"  - {name: on, type: boolean, required: false, description: A switch.}\n"
	for key := range keys {
		if key != "" && !strings.Contains(yaml, key+":") {
			t.Errorf("the key %s of the document is not tried", key)
		}
	}
	p.put(p.tools("schema-001", "tool.yaml"), yaml)
	p.put(p.tools("schema-001", "schema-001.sh"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
	p.approveTool("schema-001")
	out := p.ok("call", "schema-001", "--json", `{"on":true,"size":1.5,"text":"2024-01-01"}`)
	if out != "--text=2024-01-01\n--size=1.5\n--on=true\n" {
		t.Errorf("the flags are %q", out)
	}
	p.says(p.ok("describe", "schema-001"), "Prints its flags.", "First line.\nSecond line.", "A size.")
	p.says(p.ok("forge", "list"), "2.1.0")
}

// Flags, stdout, stderr and the exit code, FORGE_WORKSPACE, and the time-out.
func Test001_ToolExecution(t *testing.T) {
	p := sharedPlace(t)
	p.script("execution-001", `echo "$FORGE_WORKSPACE $1"; echo "a problem" >&2; case "$*" in *--slow=true*) sleep 60 ;; esac; exit 7`,
		"parameters:\n  - {name: since, type: string}\n  - {name: slow, type: boolean}\n")
	p.approveTool("execution-001")
	out := p.ok("call", "run_custom_tool", "--json", `{"tool_name":"execution-001","arguments":{"since":"2024-01-01"}}`, "--format", "json")
	p.says(out, "a problem", p.work+" --since=2024-01-01", "exit code 7")
	var res struct {
		Value struct {
			Stdout, Stderr string
			ExitCode       int
		}
	}
	if err := json.Unmarshal([]byte(out), &res); err != nil || res.Value.ExitCode != 7 || res.Value.Stderr != "a problem\n" {
		t.Errorf("%v: %+v", err, res)
	}
	p.fails(1, []string{"TIMEOUT"}, "call", "run_custom_tool", "--json", `{"tool_name":"execution-001","arguments":{"slow":true},"timeout":1}`)
	p.says(p.ok("describe", "run_custom_tool", "--format", "json"), "30 unless given")
}

// ~/.forge/tools is a path for every tool that takes one, and nothing else below the home is.
func Test001_Forge_HomePath(t *testing.T) {
	p := sharedPlace(t)
	p.script("path-001", "echo hello", "parameters: []\n")
	p.says(p.ok("call", "read_file", "path=~/.forge/tools/path-001/tool.yaml"), "name: path-001")
	p.says(p.ok("call", "list_directory", "path=~/.forge/tools/path-001"), "path-001.sh")
	p.says(p.ok("call", "grep", "pattern=echo hel+o", "path=~/.forge/tools"), "path-001.sh")
	p.says(p.ok("call", "shell", "command=cat ~/.forge/tools/path-001/tool.yaml"), "name: path-001")
	p.says(p.ok("call", "shell", "command=ls", "workdir=~/.forge/tools/path-001"), "tool.yaml")
	for _, bad := range []string{"~/.forge/tools/../secret", "~/.forge", "~/.ssh/id_rsa", "~"} {
		p.fails(1, []string{"INVALID_PATH"}, "call", "read_file", "path="+bad)
	}
}

// A tool that is not built says "build it", is not offered to models, and is shown to people.
func Test001_ToolDiscovery_NotBuilt(t *testing.T) {
	p := sharedPlace(t)
	dir := p.tools("unbuilt-001")
	p.put(filepath.Join(dir, "tool.yaml"), "name: unbuilt-001\ndescription: Waits.\nentrypoint: unbuilt-001.go\nparameters: []\n")
	p.put(filepath.Join(dir, "unbuilt-001.go"), "package main\n\nfunc main() { println(\"built\") }\n")
	p.fails(0, []string{"unbuilt-001", "build it"}, "forge", "list")
	p.fails(1, []string{"CONFIG_ERROR: tool unbuilt-001: not built", "build it"}, "call", "unbuilt-001")
	if list := p.ok("tools", "--format", "openai"); strings.Contains(list, "unbuilt-001") {
		t.Error("it is among the definitions for a model")
	}
	tools, err := p.client().ListTools(t.Context(), nil)
	must(t, err)
	for _, tool := range tools.Tools {
		if tool.Name == "unbuilt-001" {
			t.Error("an MCP client is offered it")
		}
	}
	p.worker("unbuilt", "toolsets: {custom: {}}", "turns:\n- withheld: unbuilt-001\n  text: It is not there.\n")
	p.says(p.ok("run", "unbuilt", "look"), "It is not there.")
	p.ok("forge", "build", "unbuilt-001")
	if info, err := os.Stat(filepath.Join(dir, "unbuilt-001")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the compiled binary: %v, %v", info, err)
	}
	p.approveTool("unbuilt-001")
	p.worker("built", "toolsets: {custom: {}}", "turns:\n- offered: unbuilt-001\n  text: It is there.\n")
	p.says(p.ok("run", "built", "look"), "It is there.")
	p.says(p.ok("call", "unbuilt-001"), "built")
	if strings.Contains(p.get(filepath.Join(dir, "unbuilt-001.go")), "ELF") {
		t.Error("the build replaced its source")
	}
}

// A worker that may make tools is told how; one that may not is not.
func Test001_AgentPrompt(t *testing.T) {
	p := sharedPlace(t)
	script := "conversations:\n- when: 'create_custom_tool with a name(.|\\n)*build_custom_tool compiles'\n  turns:\n  - text: I was told how.\n- when: .\n  turns:\n  - text: Nobody told me.\n"
	p.worker("maker", "toolsets: {custom: {}}", script)
	p.says(p.ok("run", "maker", "go"), "I was told how.")
	p.worker("reader", "toolsets: {filesystem: {}}", script)
	p.says(p.ok("run", "reader", "go"), "Nobody told me.")
	p.worker("narrow", "toolsets: {custom: {}}\nzones: {workspace: {mode: rw}}", script)
	p.says(p.ok("run", "narrow", "go"), "Nobody told me.")
}

// Tools are counted however they were made.
func Test001_Monitoring(t *testing.T) {
	p := newPlace(t)
	p.script("by-hand", "echo x", "parameters: []\n")
	p.ok("forge", "new", "by-command", "--description", "x", "--language", "sh")
	c := p.client()
	c.tool("create_custom_tool", map[string]any{"name": "by-call", "description": "x", "language": "sh"})
	p.approveTool("by-hand")
	p.ok("call", "by-hand")
	var stats struct {
		Created, CreatedByCall int
		Tools                  []struct {
			Tool     string
			Runs, OK int
		}
	}
	must(t, json.Unmarshal([]byte(p.ok("forge", "stats", "--format", "json")), &stats))
	if stats.Created != 3 || stats.CreatedByCall != 1 || len(stats.Tools) != 3 {
		t.Errorf("%+v", stats)
	}
}
