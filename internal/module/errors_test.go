package module_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// Each mistake has a sentence of its own, and the other tools of the module work.
func TestMistakesHaveSentences(t *testing.T) {
	const tools = `import { z } from 'zod';
export function good({ n }: { n: number }) { return n; }
export const goodSchema = z.object({ n: z.number() });
export function bare() { return 1; }
export function listed() { return 1; }
export const listedSchema = z.array(z.string());
export function worded() { return 1; }
export const wordedSchema = 'n: number';
export function old() { return 1; }
export const oldSchema = { _def: {}, safeParse() {} };
export function dated() { return 1; }
export const datedSchema = z.object({ d: z.date() });
export const noObject = { name: 'noObject', execute: async () => 1 };
export const constant = 42;
export const thing = { a: 1 };
`
	const python = `import os
CONSTANT = 1
class Kind: pass
def good(n: int): return n
def bare(a): return a
def odd(k: os.DirEntry): return k
def many(*n: int): return n
`
	const goTools = `package tools
const Constant = 1
type Kind struct{}
type In struct{ N int }
func Good(in In) int { return in.N }
func Bare(a, b int) int { return a }
func Three(in In) (int, int, error) { return 1, 2, nil }
`
	for _, tt := range []struct {
		file, source string
		says         map[string]string
	}{
		{"tools.ts", tools, map[string]string{
			"absent":   "tools.ts exports no absent; it exports bare, constant, dated, good, listed, noObject, old, thing, worded",
			"bare":     "the function bare has no schema; export const bareSchema = z.object({...}) beside it",
			"listed":   "listedSchema is of the wrong kind: want z.object({...}), and it describes a array",
			"worded":   "wordedSchema is of the wrong kind",
			"old":      "oldSchema is a schema of zod 3, or older; zod 4 is needed: npm install zod@4",
			"dated":    "datedSchema is of the wrong kind: Date cannot be represented in JSON Schema",
			"noObject": "the tool object noObject has no inputSchema",
			"constant": "the export constant is a number; a tool is a function or a tool object",
			"thing":    "the export thing is an object without an execute function",
		}},
		{"tools.py", python, map[string]string{
			"absent":   "tools.py has no absent; it has good, bare, odd, many",
			"bare":     "the parameter a of bare has no type hint, so that there is no schema",
			"odd":      "odd",
			"many":     "the parameter n of many has no name to call it by",
			"CONSTANT": "CONSTANT is a int; a tool is a function with type hints",
			"Kind":     "Kind is a type; a tool is a function",
		}},
		{"tools.go", goTools, map[string]string{
			"absent":   "tools.go exports no function Absent; it exports Good",
			"Bare":     "it takes 2 arguments, so that there is no schema for them; a tool takes one struct",
			"Three":    "it returns more than a value and an error",
			"Constant": "Constant of tools.go is a constant; a tool is a function",
			"Kind":     "Kind of tools.go is a type; a tool is a function",
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, tt.file, tt.source)
			b.zod()
			b.use(tt.file, append(slices.Sorted(maps.Keys(tt.says)), "good")...)
			v, err := b.set.Look(context.Background(), tt.file)
			b.Must(err)
			b.Must(b.set.Approve(context.Background(), v, "test"))
			b.open()
			if filepath.Ext(tt.file) != ".go" { // of Go, what is wrong shows without running it
				if _, err = b.set.Learn(context.Background(), tt.file); err == nil {
					t.Error("nothing is wrong with it")
				}
				if got := b.value("good", args{"n": 3}); got != "3" {
					t.Errorf("the good one says %s", got)
				}
			}
			for tool, says := range tt.says {
				b.Fails(tongs.CodeConfigError, says, b.Call(tool))
			}
			for _, st := range b.set.States()[0].Tools {
				if (st.Status == tongs.StatusBroken) != (st.Name != "good") {
					t.Errorf("%+v", st)
				}
			}
		})
	}
}

// What is wrong with a module as a whole shows before anything of it runs, where it can.
func TestModulesThatCannotBeUsed(t *testing.T) {
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	for _, tt := range []struct {
		name, file, source, says string
		change                   func(b *bench)
	}{
		{"no file", "gone.ts", "", "the module gone.ts is not there", func(b *bench) { b.Must(os.Remove(filepath.Join(b.Dir, "gone.ts"))) }},
		{"no zod", "tools.ts", seedFunction, "it imports \"zod\", which is not installed: run 'npm install zod' in ", nil},
		{"old zod", "tools.ts", seedFunction, "it imports zod 3.22.4, and zod 4 is needed: run 'npm install zod@4' in ", func(b *bench) {
			b.Put("node_modules/zod/package.json", `{"name": "zod", "version": "3.22.4", "main": "index.js"}`, 0o644)
			b.Put("node_modules/zod/index.js", "exports.z = {}", 0o644)
		}},
		{"syntax", "tools.ts", "export function x( {", "tools.ts:1:", nil},
		{"an image", "tools.ts", "import x from './a.png'; console.log(x)", "a file of this kind cannot be imported", func(b *bench) { b.Put("a.png", "x", 0o644) }},
		{"no Node", "tools.ts", "export const x = 1", "needs node, which is not installed on this machine; install Node.js 20", func(b *bench) { b.opt.LookPath = none }},
		{"no Python", "tools.py", "", "needs python3, which is not installed on this machine; install Python 3.10", func(b *bench) { b.opt.LookPath = none }},
		{"no Go", "tools.go", "package x", "needs go, which is not installed on this machine; install Go", func(b *bench) { b.opt.LookPath = none }},
		{"Go syntax", "tools.go", "package x\nfunc {", "tools.go:2:6", nil},
		{"Go main", "tools.go", "package main\nfunc main() {}", "its package has a main function", nil},
		{"C", "tools.go", "package x\nimport \"C\"", "built without a C compiler", nil},
		{"Go without go.mod", "tools.go", "package x\nimport _ \"example.com/y\"", "it imports example.com/y, and has no go.mod", nil},
		{"a FIFO", "tools.py", "", "is no regular file", func(b *bench) {
			b.Must(os.Remove(filepath.Join(b.Dir, "tools.py")))
			b.Must(os.Mkdir(filepath.Join(b.Dir, "tools.py"), 0o755))
		}},
		{"an odd name", "my-tools.py", "", "is no name that Python can import", nil},
		{"an unknown language", "tools.rb", "", "a module is a .ts, .js, .py or .go file", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, tt.file, tt.source)
			if tt.change != nil {
				tt.change(b)
			}
			b.use(tt.file, "x")
			st := b.set.States()[0]
			if st.Status != tongs.StatusBroken {
				t.Errorf("%+v", st)
			}
			contains(t, st.Detail, tt.says)
			b.Fails(tongs.CodeConfigError, tt.says, b.Call("x"))
		})
	}
	b := newBench(t, workbench.Options{}, "tools.ts", seedFunction)
	b.use("tools.ts")
	contains(t, b.set.States()[0].Detail, "no tools of ", "are listed, so that it exposes none; name them under tools")
}

// A module that does not load says so with its stack, and loads once it is mended.
func TestModuleThatFailsToLoad(t *testing.T) {
	for _, tt := range []struct{ file, source, says string }{
		{"tools.js", "function deep() { throw new TypeError('no such thing'); }\ndeep();\nexport const x = 1;", "TypeError: no such thing\n    at deep"},
		{"tools.py", "def deep():\n    raise KeyError('no such thing')\ndeep()\ndef x(): pass", "File \"tools.py\", line 2, in deep"},
		{"tools.js", "process.exit(7)\nexport const x = 1;", "exit code 7"},
		{"tools.py", "import absent_module\ndef x(): pass", "No module named 'absent_module'"},
		{"tools.go", "package x\n\nfunc X() int { return \"one\" }", "does not compile:\n"},
		{"tools.go", "package x\n\nfunc init() { panic(\"no such thing\") }\n\nfunc X() int { return 1 }", "panic: no such thing"},
	} {
		t.Run(tt.file+" "+tt.says, func(t *testing.T) {
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, tt.file, tt.source)
			b.use(tt.file, "x")
			v, err := b.set.Look(context.Background(), tt.file)
			b.Must(err)
			b.Must(b.set.Approve(context.Background(), v, "test"))
			if _, err := b.set.Learn(context.Background(), tt.file); err == nil {
				t.Error("it loads")
			} else {
				contains(t, err.Error(), tt.says)
			}
			res := b.Call("x")
			if res.OK() {
				t.Fatal("it loads")
			}
			contains(t, res.Error.Message, tt.says)
		})
	}
}
