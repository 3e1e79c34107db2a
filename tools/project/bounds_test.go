package project

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/sandbox"
)

// A runner that never ends is killed, and what it reported until then is kept.
func TestARunnerThatNeverEnds(t *testing.T) {
	needs(t, "node")
	b := newBench(t, setup{})
	b.Put("package.json", `{"scripts": {"test": "node --test --test-concurrency=1"}}`)
	b.Put("test/a.test.mjs", "import test from 'node:test';\ntest('first', () => {});\ntest('bad', () => { throw new Error('kept'); });\n")
	b.Put("test/b.test.mjs", "import test from 'node:test';\ntest('for ever', () => new Promise(() => setInterval(() => {}, 1000)));\n")
	res := b.Call("run_tests", args{"timeout": 5})
	b.Fails(tongs.CodeTimeout, "what it reported until then is kept; give it a longer timeout", res)
	out := workbench.Value[TestOutput](b, res)
	if out.Passed != 1 || out.Failed != 1 || !out.TimedOut {
		t.Errorf("%+v", out)
	}
	failure(b, out, "bad", "test/a.test.mjs", 3, "kept")
}

// A runner that writes without end is ended by the sandbox. Neither what it writes nor a line without an end is kept in memory.
func TestARunnerThatWritesAGigabyte(t *testing.T) {
	needs(t, "python3")
	b := newBench(t, setup{limits: sandbox.Limits{Output: 1 << 30}})
	b.Put("test_a.py", "import os, unittest\n\nclass T(unittest.TestCase):\n    def test_1(self):\n        pass\n\n    def test_2(self):\n"+
		"        for i in range(1100):\n            os.write(1 + i % 2, b'x' * (1 << 20))\n")
	b.Put("pytest.py", "raise ImportError\n")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res := b.Call("run_tests", args{"timeout": 300})
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Fails(tongs.CodeExecutionError, "the limit of output was reached; what it reported until then is kept", res)
	if out := workbench.Value[TestOutput](b, res); out.Passed != 1 || out.Failed != 0 {
		t.Errorf("%+v", out)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 200<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
	if len(res.Content) > 100<<10 {
		t.Errorf("the content has %d bytes", len(res.Content))
	}
}

// A report without an end of line, or with lines that are no report, costs no memory and is not counted.
func TestLinesAreBounded(t *testing.T) {
	longest, n := 0, 0
	l := &lines{each: func(line string) { longest, n = max(longest, len(line)), n+1 }}
	for range 64 {
		l.Write([]byte(strings.Repeat("x", 1<<20)))
	}
	l.Write([]byte("\nshort\r\nlast"))
	l.end()
	if longest != maxLine || n != 3 || cap(l.buf) > 4*maxLine {
		t.Errorf("%d lines, the longest %d, %d kept", n, longest, cap(l.buf))
	}
	r := &report{}
	for range 1000 {
		r.fail(Failure{Name: "x", Message: strings.Repeat("long\n", 10000)})
	}
	if r.failed != 1000 || len(r.failures) != maxFailures || len(r.failures[0].Message) > maxMessage+10 {
		t.Errorf("%d failures, %d kept, %d bytes", r.failed, len(r.failures), len(r.failures[0].Message))
	}
	deep := strings.Repeat("<testsuite>", 10000) + strings.Repeat("</testsuite>", 10000)
	if err := readJUnit(r, deep); err == nil && r.failed != 1000 {
		t.Errorf("nested suites: %v", err)
	}
	if err := readJUnit(r, `<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>`); err == nil {
		t.Error("entities are taken")
	}
}

// Progress is told while tests run.
func TestProgress(t *testing.T) {
	needs(t, "node")
	b := newBench(t, setup{})
	b.Put("package.json", `{"scripts": {"test": "node --test"}}`)
	b.Put("a.test.mjs", "import test from 'node:test';\nfor (let i = 0; i < 3; i++) test('t' + i, () => new Promise((r) => setTimeout(r, 400)));\n")
	var mu sync.Mutex
	var told []string
	res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "run_tests", Session: "s", Sink: func(u tongs.Update) {
		mu.Lock()
		defer mu.Unlock()
		if u.Done > 0 {
			told = append(told, u.Title)
		}
	}})
	mu.Lock()
	defer mu.Unlock()
	if !res.OK() || !slices.Contains(told, "1 passed, 0 failed, 0 skipped") || len(told) < 2 {
		t.Errorf("%s\ntold %q", res.Content, told)
	}
}
