package module_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// echo is a module of JavaScript that needs no packages. It leaves a mark when it is loaded.
const echo = `import fs from 'node:fs';
import { word } from './word.js';
try { fs.writeFileSync('loaded', 'yes'); } catch {}
export const echo = {
  description: 'Says it again.', inputSchema: { jsonSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
  execute: async ({ text }, { workspace, callId, sessionID }) => word + text + ' ' + (workspace === process.cwd()) + ' ' + typeof callId + ' ' + sessionID,
};
`

// Nothing of a module runs before a person approved its hash, and then only that.
func TestNothingRunsBeforeApproval(t *testing.T) {
	deny := false
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll, Answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: !deny} }},
		"tools.js", echo, "word.js", "export const word = 'one ';\n")
	deny = true
	b.use("tools.js", "echo")
	b.Fails(tongs.CodeDenied, "", b.Call("echo", args{"text": "x"}))
	q := b.Questions()
	if len(q) != 1 {
		t.Fatalf("asked %d times", len(q))
	}
	contains(t, q[0].Preview, "sources/tools.js", "sources/word.js", "export const word = 'one '")
	b.Explain("echo", args{"text": "x"})
	if b.Exists("loaded") {
		t.Fatal("it was loaded")
	}
	contains(t, b.spec("echo").Description, "not approved", "tongs module review tools.js")
	deny = false
	if got := b.OK("echo", args{"text": "x"}).Content; got != "one x true string s" {
		t.Errorf("got %q", got)
	}
	if n := len(b.Questions()); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if b.OK("echo", args{"text": "x"}); len(b.Questions()) != 0 {
		t.Error("asked again in the same session")
	}
	b.Fails(tongs.CodeInvalidArgs, "text", b.Call("echo", args{"txt": "x"}))
	if b.set.Reviewed(b.spec("echo").Source) {
		t.Error("an answer to a question counts for good")
	}
	b.approve("tools.js")
	contains(t, b.spec("echo").Description, "Says it again.")
	if !b.set.Reviewed(b.spec("echo").Source) {
		t.Error("it is approved, and does not count so")
	}
}

// A change of one byte, in the module or in what it imports, stops it until it is approved again.
func TestOneByteStopsIt(t *testing.T) {
	for _, tt := range []struct {
		file, source, change string
		more                 []string
	}{
		{"tools.js", echo, "word.js", []string{"word.js", "export const word = 'one ';\n"}},
		{"tools.js", echo, "tools.js", []string{"word.js", "export const word = 'one ';\n"}},
		{"tools.js", strings.Replace(echo, "./word.js", "word", 1), "node_modules/word/index.js", []string{
			"node_modules/word/package.json", `{"name": "word", "version": "1.2.3", "main": "index.js"}`,
			"node_modules/word/index.js", "exports.word = 'one ';\n",
		}},
		{"tools.py", "from word import word\ndef echo(text: str): return word + text\n", "word.py", []string{"word.py", "word = 'one '\n"}},
		{"tools.py", "import parts.word\ndef echo(text: str): return parts.word.word + text\n", "parts/word.py", []string{
			"parts/__init__.py", "", "parts/word.py", "word = 'one '\n",
		}},
	} {
		t.Run(tt.change, func(t *testing.T) {
			t.Parallel()
			refuse := false
			b := newBench(t, workbench.Options{Answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: !refuse} }},
				append([]string{tt.file, tt.source}, tt.more...)...)
			b.ready(tt.file, "echo")
			contains(t, b.OK("echo", args{"text": "x"}).Content, "one x")
			b.Put(tt.change, b.Get(tt.change)+" ", 0o644)
			refuse = true
			b.Questions()
			b.Fails(tongs.CodeDenied, "", b.Call("echo", args{"text": "x"}))
			q := b.Questions()
			if len(q) != 1 || !slices.ContainsFunc(q[0].Effects, func(e tongs.Effect) bool { return e.MustAsk && strings.Contains(e.Why, "changed since") }) {
				t.Fatalf("%+v", q)
			}
			if st := b.set.States()[0]; st.Status != tongs.StatusChanged {
				t.Errorf("%+v", st)
			}
			v, err := b.set.Look(context.Background(), tt.file)
			b.Must(err)
			if !v.Before || !v.Changed || strings.Contains(v.Text, "description: 'Says it again.'") && tt.change != "tools.js" {
				t.Errorf("not only what changed: %s", v.Text)
			}
			refuse = false
			b.Must(b.set.Approve(context.Background(), v, "test"))
			contains(t, b.OK("echo", args{"text": "x"}).Content, "one x")
		})
	}
}

// A module runs as it was approved, not as it is by the time it runs, and is known again by another process without
// being bundled or run.
func TestApprovalOutlivesTheProcess(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, "tools.js", echo, "word.js", "export const word = 'one ';\n")
	b.ready("tools.js", "echo")
	b.Must(os.RemoveAll(filepath.Join(b.Dir, "loaded")))
	b.open()
	contains(t, schemaOf(t, b.spec("echo")), `"text"`)
	if b.Exists("loaded") {
		t.Error("listing it ran it")
	}
	b.OK("echo", args{"text": "x"})
	if len(b.Questions()) != 0 {
		t.Error("asked")
	}
	// What others keep in the state does not count where approvals do not.
	b.opt.NoApprovals = true
	b.open()
	b.OK("echo", args{"text": "x"})
	if len(b.Questions()) != 1 || b.set.Reviewed(tongs.Source{Kind: tongs.SourceModule, Name: "tools.js", Digest: b.set.States()[0].Digest}) {
		t.Error("an approval counts that may not")
	}
	b.opt.NoApprovals = false
	b.open()
	b.Must(b.set.Forget("tools.js"))
	if st := b.set.States()[0]; st.Status != tongs.StatusUnapproved {
		t.Errorf("%+v", st)
	}
}

// A copy that is not what was approved is not run.
func TestTamperedCopy(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, "tools.js", echo, "word.js", "export const word = 'one ';\n")
	b.ready("tools.js", "echo")
	found, err := filepath.Glob(filepath.Join(b.opt.Programs, "*/src/module.mjs"))
	b.Must(err)
	for _, name := range found {
		data, err := os.ReadFile(name)
		b.Must(err)
		b.Must(os.Chmod(name, 0o600))
		b.Must(os.WriteFile(name, []byte(strings.Replace(string(data), "one ", "bad ", 1)), 0o600))
	}
	b.open()
	if got := b.OK("echo", args{"text": "x"}).Content; !strings.HasPrefix(got, "one x") || len(found) == 0 {
		t.Errorf("%q, %d copies", got, len(found))
	}
}

// What a link leads to is what is approved.
func TestSymlinkedModule(t *testing.T) {
	refuse := false
	b := newBench(t, workbench.Options{Answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: !refuse} }},
		"a.py", "def who() -> str: return 'a'", "b.py", "def who() -> str: return 'b'")
	b.Must(os.Symlink("a.py", filepath.Join(b.Dir, "tools.py")))
	b.ready("tools.py", "who")
	if got := b.OK("who").Content; got != "a" {
		t.Errorf("got %q", got)
	}
	b.Must(os.Remove(filepath.Join(b.Dir, "tools.py")))
	b.Must(os.Symlink("b.py", filepath.Join(b.Dir, "tools.py")))
	refuse = true
	b.Fails(tongs.CodeDenied, "", b.Call("who"))
}

// The module's own word, the configuration's, and nobody's.
func TestNeedsApproval(t *testing.T) {
	const schema = `inputSchema: { jsonSchema: { type: 'object', properties: { n: { type: 'integer' } } } }, execute: async ({ n }) => n ?? 0`
	const js = `import fs from 'node:fs';
export const always = { needsApproval: true, ` + schema + ` };
export const never = { needsApproval: false, ` + schema + ` };
export const unset = { ` + schema + ` };
export const small = { needsApproval: ({ n }) => n > 10, ` + schema + ` };
export const throws = { needsApproval: () => { throw new Error('x'); }, ` + schema + ` };
export const dies = { needsApproval: () => process.exit(1), ` + schema + ` };
export const writes = { needsApproval: () => { fs.writeFileSync('mark', 'x'); return false; }, ` + schema + ` };
`
	const py = `import os
def always(n: int = 0): return n
always_needs_approval = True
def never(n: int = 0): return n
never.needs_approval = False
def unset(n: int = 0): return n
def small(n: int = 0): return n
def small_needs_approval(n: int = 0): return n > 10
def throws(n: int = 0): return n
def throws_needs_approval(n: int = 0): raise ValueError(n)
def dies(n: int = 0): return n
def dies_needs_approval(**rest): os._exit(1)
def writes(n: int = 0): return n
def writes_needs_approval():
    open("mark", "w")
    return False
`
	const goSource = `package tools

import ("os"; "errors")

type In struct { N int ` + "`json:\"n,omitempty\"`" + ` }

func Always(in In) int { return in.N }
const AlwaysNeedsApproval = true
func Never(in In) int { return in.N }
var NeverNeedsApproval = false
func Unset(in In) int { return in.N }
func Small(in In) int { return in.N }
func SmallNeedsApproval(in In) bool { return in.N > 10 }
func Throws(in In) int { return in.N }
func ThrowsNeedsApproval(in In) (bool, error) { return false, errors.New("x") }
func Dies(in In) int { return in.N }
func DiesNeedsApproval() bool { os.Exit(1); return false }
func Writes(in In) int { return in.N }
func WritesNeedsApproval() (bool, error) { return false, os.WriteFile("mark", nil, 0o600) }
`
	tools := []string{"always", "never", "unset", "small", "throws", "dies", "writes"}
	for _, m := range []struct{ file, source string }{{"tools.js", js}, {"tools.py", py}, {"tools.go", goSource}} {
		t.Run(m.file, func(t *testing.T) {
			t.Parallel()
			say := tongs.PreApproved
			b := newBench(t, workbench.Options{Rules: []tongs.Rule{{Layer: tongs.LayerUser, Toolset: "custom", Tool: "always", Decision: say}}}, m.file, m.source)
			b.ready(m.file, tools...)
			for _, tt := range []struct {
				tool string
				n    int
				want tongs.Decision
			}{
				{"always", 1, tongs.Ask}, // the strictest of explicit words
				{"never", 1, tongs.PreApproved},
				{"unset", 1, tongs.Ask},
				{"small", 10, tongs.PreApproved},
				{"small", 11, tongs.Ask},
				{"throws", 1, tongs.Ask},
				{"dies", 1, tongs.Ask},
				{"small", 10, tongs.PreApproved}, // its host is there again
				{"writes", 1, tongs.Ask},
			} {
				if got := b.Explain(tt.tool, args{"n": tt.n}); got.Decision != tt.want {
					t.Errorf("%s %d: %s by %s, want %s", tt.tool, tt.n, got.Decision, got.Rule, tt.want)
				}
			}
			if b.Exists("mark") {
				t.Error("planning wrote a file")
			}
		})
	}
}
