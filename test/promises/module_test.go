//go:build linux

package promises

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
)

// zod makes zod 4 importable in the workspace.
func (p *place) zod() {
	p.Helper()
	from, err := filepath.Abs("../../bin/npm/node_modules/zod")
	must(p.T, err)
	if _, err := os.Stat(filepath.Join(from, "package.json")); err != nil {
		p.Fatalf("these tests need zod: run test/scripts/needs (%v)", err)
	}
	must(p.T, os.MkdirAll(filepath.Join(p.work, "node_modules"), 0o755))
	must(p.T, os.Symlink(from, filepath.Join(p.work, "node_modules", "zod")))
}

// newModule is a place with a module that a person approved, whose tools run without a question.
func newModule(t *testing.T, file, source string, tools ...string) *place {
	t.Helper()
	p := newPlace(t)
	p.zod()
	p.module(file, source, tools...)
	p.approve("This is the module", "module", "review", file)
	return p
}

// module writes a module and the configuration that names it.
func (p *place) module(file, source string, tools ...string) {
	p.Helper()
	p.config("toolsets:\n  custom:\n    module: " + p.put(file, source) + "\n    tools: [" + strings.Join(tools, ", ") + "]\n    approval: {default: preApproved}\n")
}

const zodImport = "import { z } from 'zod';\n"

func Test000_CustomTools_FunctionAndSchema(t *testing.T) {
	p := newModule(t, "tools.ts", example(t, "000/function.ts"), "calculateFibonacci")
	if res := p.call("calculateFibonacci", map[string]any{"n": 10}); string(res.Value) != "55" {
		t.Errorf("the value is %s", res.Value)
	}
	p.says(p.ok("describe", "calculateFibonacci"), "Calculate the nth Fibonacci number", "Position in sequence")
	p.fails(2, []string{"INVALID_ARGS", "n"}, "call", "calculateFibonacci", "n=-1")
}

// The full tool object, in a worker with the configuration of the document. What is listed and not exported is a clear error of the
// check, and the tool that is not listed is not exposed.
func Test000_WorkerConfiguration(t *testing.T) {
	p := newPlace(t)
	p.zod()
	dir := filepath.Join(p.home, "config", "workers")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.Rename(filepath.Join(p.work, "node_modules"), filepath.Join(dir, "node_modules")))
	p.put(filepath.Join(dir, "tools.ts"), example(t, "000/object.ts"))
	calculator := "---\nmodel: script:calculator.script\n" + example(t, "000/calculator.yaml") + "---\nCalculate.\n"
	file := p.put(filepath.Join(dir, "calculator.worker"), calculator)
	p.put(filepath.Join(dir, "calculator.script"),
		"turns:\n- offered: calculateFibonacci\n  calls:\n  - tool: calculateFibonacci\n    args: {n: 20}\n- expect: '6765'\n  text: It is 6765.\n")
	p.fails(2, []string{"exports no calculateFactorial", "it exports calculateFibonacci"}, "worker", "check", file)

	p.put(filepath.Join(dir, "tools.ts"), example(t, "000/object.ts")+"\nexport const calculateFactorial: NamedTool = { ...calculateFibonacci, name: 'calculateFactorial' };\nexport const secret = calculateFactorial;\n")
	p.says(p.ok("worker", "check", file), "calculator: ok", "calculateFactorial", "calculateFibonacci")
	p.approve("calculateFactorial", "module", "review", filepath.Join(dir, "tools.ts"))
	p.says(p.ok("run", "calculator", "go"), "It is 6765.")
	p.put(filepath.Join(dir, "calculator.script"), "turns:\n- withheld: secret\n  text: Only those.\n")
	p.says(p.ok("run", "calculator", "go"), "Only those.")
}

// What 'worker check' finds without running anything.
func Test000_WorkerCheck(t *testing.T) {
	p := newPlace(t)
	for name, tt := range map[string]struct{ custom, says string }{
		"missing file":    {"module: ./none.ts\n    tools: [a]", "none.ts is not there"},
		"empty list":      {"module: ./there.py\n    tools: []", "no tools of"},
		"missing python":  {"module: ./there.py\n    tools: [there, nope]", "has no nope; it has there"},
		"missing package": {"module: ./imports.ts\n    tools: [a]", "npm install left-pad"},
		"bad syntax":      {"module: ./bad.ts\n    tools: [a]", "bad.ts:1:"},
	} {
		dir := filepath.Join(p.home, "config", "workers")
		p.put(filepath.Join(dir, "there.py"), "def there(n: int) -> int:\n    return n\n")
		p.put(filepath.Join(dir, "imports.ts"), "import pad from 'left-pad';\nexport const a = pad;\n")
		p.put(filepath.Join(dir, "bad.ts"), "export const = ;\n")
		file := p.put(filepath.Join(dir, "x.worker"), "---\nmodel: script:x\ntoolsets:\n  custom:\n    "+tt.custom+"\n---\nHi.\n")
		t.Run(name, func(t *testing.T) {
			p := &place{T: t, home: p.home, work: p.work, env: p.env}
			p.fails(2, []string{tt.says}, "worker", "check", file)
		})
	}
}

// The tool's own name counts, and the export's is another one for calls and rules. A key that is no key is an error that names it.
func Test000_ToolInterface(t *testing.T) {
	p := newPlace(t)
	p.zod()
	p.module("tools.ts", zodImport+`
const of = (more) => ({ description: 'Says it.', parameters: z.object({ text: z.string() }), execute: async ({ text }) => text, ...more });
export const own = of({ name: 'say_it' });
export const required = of({ requiresApproval: true });
export const free = of({ requiresApproval: (input) => input.text !== 'free' });
export const misspelt = of({ needsAproval: false });
export const twice = of({ requiresApproval: false, needsApproval: true });
export class Shout {
  description = 'Shouts.';
  schema = z.object({ text: z.string() });
  end = '!';
  async execute({ text }) { return text + this.end; }
}
export class Static {
  static description = 'Whispers.';
  static schema = z.object({ text: z.string() });
  execute({ text }) { return text.toLowerCase(); }
}
export class Odd { schema = z.object({}); needApproval = true; execute() {} }
`, "own", "required", "free", "misspelt", "twice", "Shout", "Static", "Odd")
	if s := p.confirm("This is the module", "module", "review", "tools.ts"); s.exit() == 0 {
		t.Errorf("three of its tools are wrong: %s", s.all)
	}
	for _, name := range []string{"say_it", "own"} {
		if res := p.call(name, map[string]any{"text": "x"}); res.Content != "x" {
			t.Errorf("%s: %q", name, res.Content)
		}
	}
	p.says(p.ok("tools"), "say_it")
	p.says(p.ok("call", "Shout", "text=hey"), "hey!")
	p.says(p.ok("call", "Static", "text=HEY"), "hey")
	p.says(p.ok("call", "free", "text=free"), "free")
	p.fails(3, []string{"APPROVAL_REQUIRED"}, "call", "free", "text=other")
	p.fails(3, []string{"APPROVAL_REQUIRED"}, "call", "required", "text=x")
	p.fails(1, []string{"unknown key needsAproval", "needsApproval, requiresApproval"}, "call", "misspelt", "text=x")
	p.fails(1, []string{"both needsApproval and requiresApproval"}, "call", "twice", "text=x")
	p.fails(1, []string{"unknown key needApproval"}, "call", "Odd")
}

// A tool with the interface of the specification: its own name, schemas of both sides, and results that are a value or an error.
func Test002_ToolDefinitionSchema(t *testing.T) {
	verbatim := example(t, "002/read_file.ts")
	const body = "const { path, encoding = 'utf-8' } = inputSchema.parse(args)\n    // Implementation\n"
	if !strings.Contains(verbatim, body) {
		t.Fatal("the example has another body")
	}
	source := "import fs from 'node:fs';\n" + zodImport + "type Tool = any;\nexport " + strings.Replace(verbatim, body, `const { path } = args;
    if (path === 'none') return { ok: false, error: { code: 'FILE_NOT_FOUND', message: 'there is no ' + path, details: { path } } };
    if (path === 'denied') return { ok: false, error: { code: 'DENIED', message: 'a person said no' } };
    if (path === 'wrong') return { content: 'x', size: 'large', modified: 'now' };
    if (path === 'nothing') return;
    return { ok: true, value: { content: fs.readFileSync(path, 'utf-8'), size: 3, modified: 'now' } };
`, 1)
	p := newModule(t, "tools.ts", source, "readFileTool")
	p.put("a.txt", "one")
	res := p.call("read_file", map[string]any{"path": "a.txt"})
	var value struct {
		Content string
		Size    int
	}
	must(t, json.Unmarshal(res.Value, &value))
	if value.Content != "one" || value.Size != 3 || res.Metadata["module"] != "tools.ts" {
		t.Errorf("%+v, %v", value, res.Metadata)
	}
	p.fails(1, []string{"FILE_NOT_FOUND", "there is no none"}, "call", "read_file", "path=none")
	p.fails(1, []string{"EXECUTION_ERROR", "a person said no"}, "call", "read_file", "path=denied")
	p.fails(1, []string{"EXECUTION_ERROR", "outputSchema", "size"}, "call", "read_file", "path=wrong")
	p.fails(1, []string{"EXECUTION_ERROR", "outputSchema"}, "call", "read_file", "path=nothing")
	p.fails(2, []string{"encoding"}, "call", "read_file", "path=a.txt", "encoding=latin-1")
}

// Tool.define of the document, which makes an object with an id and an init; the tool is in the example as it stands.
func Test004_ToolDefine(t *testing.T) {
	p := newPlace(t)
	p.zod()
	p.put("tool.ts", `export namespace Tool {
  export interface Metadata {}
  export const define = <P, M>(id: string, definition: any) => ({ id, init: async (ctx) => (typeof definition === 'function' ? definition(ctx) : definition) });
}
`)
	source := "import fs from 'node:fs/promises';\ntype ReadSchema = any;\n" + example(t, "004/read.ts") +
		"export const lazy = Tool.define('late', async (ctx) => ({ description: 'Made in ' + ctx.workingDir, parameters: z.object({}), execute: async () => 'late' }));\n"
	p.module("tools.ts", source, "readTool", "lazy")
	p.approve("readTool", "module", "review", "tools.ts")
	p.put("a.txt", "one\n")
	res := p.call("read", map[string]any{"path": "a.txt"})
	if res.Title != "Read a.txt" || res.Content != "one\n" || res.Metadata["bytes"] != 4.0 || res.Metadata["path"] != "a.txt" {
		t.Errorf("%+v", res)
	}
	_, errs, _ := p.run("call", "read", "path=a.txt")
	p.says(errs, "Reading a.txt...")
	p.says(p.ok("describe", "late"), "Made in "+p.work)
}

// Results with attachments, and metadata that pretends to be ours; updates and printed lines arrive while the call runs, each at the
// call that it is about, in every language.
func Test004_ResultStreaming(t *testing.T) {
	for _, tt := range []struct{ language, file, source string }{
		{"TypeScript", "tools.ts", zodImport + `
export async function work({ name }, ctx) {
  ctx.metadata({ title: 'Starting ' + name, metadata: { step: 1 } });
  console.log('log of ' + name);
  console.error('error of ' + name);
  await new Promise((done) => setTimeout(done, 20));
  ctx.metadata({ title: 'Processing ' + name });
  return { title: 'Completed ' + name, metadata: { processedCount: 2, approvedBy: 'root' }, output: 'All of ' + name,
    attachments: [{ name: 'dot.png', mime: 'image/png', data: Buffer.from([1, 2, 3]) }] };
}
export const workSchema = z.object({ name: z.string() });
`},
		{"Python", "tools.py", `import sys, time
def work(name: str, ctx):
    ctx.metadata(title="Starting " + name, metadata={"step": 1})
    print("log of " + name)
    print("error of " + name, file=sys.stderr)
    time.sleep(0.02)
    ctx.metadata("Processing " + name)
    return {"title": "Completed " + name, "metadata": {"processedCount": 2, "approvedBy": "root"}, "output": "All of " + name,
            "attachments": [{"name": "dot.png", "mimeType": "image/png", "data": bytes([1, 2, 3])}]}
`},
	} {
		t.Run(tt.language, func(t *testing.T) {
			p := newPlace(t)
			p.zod()
			p.module(tt.file, tt.source, "work")
			p.approve("work", "module", "review", tt.file)
			streams(p, tt.file == "tools.ts")
		})
	}
}

// streams makes two calls at a time, and looks at what each was told.
func streams(p *place, together bool) {
	p.Helper()
	sys := p.system()
	var all sync.WaitGroup
	names := []string{"a", "b"}
	heard, results := make([]strings.Builder, 2), make([]*tongs.Result, 2)
	for i, name := range names {
		call := &tongs.Call{Tool: "work", Args: json.RawMessage(`{"name":"` + name + `"}`), Sink: func(u tongs.Update) {
			heard[i].WriteString(u.Title + "|" + u.Stream + " " + u.Text + "\n")
			if u.Title == "Starting "+name && u.Metadata["step"] != 1.0 {
				p.Errorf("the metadata of an update is %v", u.Metadata)
			}
		}}
		if all.Go(func() { results[i] = sys.Call(context.Background(), call) }); !together {
			all.Wait()
		}
	}
	all.Wait()
	for i, name := range names {
		res := results[i]
		if res.Error != nil {
			p.Fatal(res.Error)
		}
		if res.Title != "Completed "+name || res.Content != "All of "+name || res.Metadata["processedCount"] != 2.0 || res.Metadata["approvedBy"] != nil {
			p.Errorf("%+v", res)
		}
		if len(res.Attachments) != 1 || string(res.Attachments[0].Data) != "\x01\x02\x03" || res.Attachments[0].MIME != "image/png" {
			p.Errorf("attachments %+v", res.Attachments)
		}
		p.says(heard[i].String(), "Starting "+name, "Processing "+name, "stdout log of "+name, "stderr error of "+name)
		if other := names[1-i]; strings.Contains(heard[i].String(), "of "+other) {
			p.Errorf("%s hears of %s: %s", name, other, heard[i].String())
		}
	}
}

// A module and the custom tools of the forge are in one worker.
func Test000_ModuleAndForge(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Join(p.home, "config", "workers")
	p.put(filepath.Join(dir, "tools.py"), "def double(n: int) -> int:\n    return 2 * n\n")
	p.script("from-forge", "echo from the forge", "parameters: []\n")
	p.approveTool("from-forge")
	both := "toolsets:\n  custom: {module: ./tools.py, tools: [double], approval: {default: preApproved}}\n"
	script := "turns:\n- offered: [double, from-forge, create_custom_tool]\n  calls:\n  - {tool: double, args: {n: 21}}\n  - {tool: from-forge}\n- expect: ['42', from the forge]\n  text: Both.\n"
	p.worker("both", both+"  forge: {approval: {default: preApproved}}", script)
	p.approve("double", "module", "review", filepath.Join(dir, "tools.py"))
	p.says(p.ok("run", "both", "go"), "Both.")
	p.worker("one", both, "turns:\n- offered: double\n  withheld: [from-forge, create_custom_tool]\n  text: One.\n")
	p.says(p.ok("run", "one", "go"), "One.")
}
