package worker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/worker"
)

// parsed reads a worker file as a person writes it, and adds it with its model.
func (b *bench) parsed(name, matter string, m played) *worker.File {
	b.Helper()
	w, err := config.ParseWorker("/w/"+name+".worker", []byte("---\nname: "+name+"\n"+matter+"\n---\nDo it.\n"), config.WorkerOptions{Own: true})
	b.must(err)
	f := w.File
	f.Model = name
	b.files[name], b.models[name] = &f, m
	return &f
}

// The tests of this file are defects of another program with worker files, whose design this one takes up.

// "blocked" was asked about like "ask".
func TestBlockedIsBlocked(t *testing.T) {
	for _, matter := range []string{
		"toolsets: {filesystem: {approval: {tools: {write_file: blocked}}}}",
		"toolsets: {filesystem: {approval: {default: blocked}}}",
		"toolsets: {filesystem: {rules: [{pattern: '**', approval: blocked, effects: [write]}]}}",
		"toolsets: {filesystem: {}}\napproval: {tools: {write_file: blocked}}",
		"toolsets: {filesystem: {}}\napproval: {mode: none, tools: {write_file: blocked}}",
		"toolsets: {filesystem: {}}\nzones: {workspace: {mode: rw, approval: {write: blocked}}}",
	} {
		b := newBench(t)
		f := b.parsed("w", matter, lines(calls("write_file", args("path", "a.txt", "content", "x"))))
		b.told(b.run(f, "go"), "BLOCKED")
		if len(b.asked) != 0 || b.read("a.txt") != "!no such file or directory" {
			t.Errorf("%s: asked %d, the file is %q", matter, len(b.asked), b.read("a.txt"))
		}
	}
}

// The zone of a path was looked for in its spelling, so that /src/../secret was in /src.
func TestZoneOfAPathThatIsNotNormal(t *testing.T) {
	for _, path := range []string{"src/../secret.txt", "./src/../secret.txt", "src//..//secret.txt", "src/./../secret.txt", "/cache/../secret.txt", "src/../src/../secret.txt"} {
		b := newBench(t)
		b.write("src/a.txt", "one\n")
		b.write("secret.txt", "hidden\n")
		f := b.parsed("w", "toolsets: {filesystem: {}}\nzones: {src: {path: src, mode: rw}}",
			lines(calls("read_file", args("path", path), "write_file", args("path", path+".new", "content", "x"))))
		s := b.run(f, "go")
		if strings.Contains(s.Answer, "hidden") || b.read("secret.txt.new") != "!no such file or directory" || strings.Count(s.Answer, "BLOCKED")+strings.Count(s.Answer, "INVALID_PATH") != 2 {
			t.Errorf("%s: %s", path, s.Answer)
		}
	}
}

// A worker without a sandbox of its own got that of the worker that called it.
func TestChildWithoutZonesGetsNone(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "hidden\n")
	b.parsed("child", "toolsets: {filesystem: {}, search: {}}",
		lines(calls("read_file", args("path", "a.txt"), "list_directory", args("path", "."), "grep", args("pattern", "hidden"), "write_file", args("path", "b.txt", "content", "x"))))
	f := b.parsed("parent", "toolsets: {filesystem: {}, search: {}, workers: [child]}\nzones: {workspace: {mode: rw}}", lines(calls("child", args("input", "x"))))
	b.offer()
	s := b.run(f, "go")
	if strings.Count(s.Answer, "BLOCKED") != 4 || strings.Contains(s.Answer, "hidden\n") || b.read("b.txt") != "!no such file or directory" {
		t.Error(s.Answer)
	}
}

// A toolset that was not known was skipped, with a worker that lacked what it was written for, or that lacked its rules.
func TestUnknownToolsetIsAnError(t *testing.T) {
	_, err := config.ParseWorker("/w/w.worker", []byte("---\ntoolsets: {filesystem: {}, shel: {rules: []}}\n---\nDo it.\n"), config.WorkerOptions{})
	if err == nil || !strings.Contains(err.Error(), `unknown key "shel" in toolsets; did you mean "shell"?`) {
		t.Error(err)
	}
}

// Approval was looked up under another name than the one by which a tool was admitted. Here every name of a tool is the
// tool.
func TestApprovalByEveryName(t *testing.T) {
	names := []string{"write_file", "write"}
	for _, said := range names {
		for _, called := range names {
			for _, matter := range []string{"toolsets: {filesystem: {approval: {tools: {%s: %s}}}}", "toolsets: {filesystem: {}}\napproval: {tools: {%s: %s}}"} {
				b := newBench(t)
				b.say = func(approval.Question) bool { return false }
				play := lines(calls(called, args("path", "a.txt", "content", "x")))
				b.told(b.run(b.parsed("w", fmt.Sprintf(matter, said, "blocked"), play), "go"), "BLOCKED")
				b.told(b.run(b.parsed("w", fmt.Sprintf(matter, said, "ask"), play), "go"), "DENIED")
				if len(b.asked) != 1 || b.read("a.txt") != "!no such file or directory" {
					t.Errorf("%s, said of %s, called as %s: asked %d", matter, said, called, len(b.asked))
				}
			}
		}
	}
}

// What a file says of searches holds for the tools that search, and they are those of their toolset.
func TestSearchToolset(t *testing.T) {
	tools, err := search.Tools(search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if !slices.Contains(worker.SearchTools, tool.Spec().Name) {
			t.Errorf("%s is not among the tools that search", tool.Spec().Name)
		}
	}
	if len(tools) != len(worker.SearchTools) {
		t.Errorf("%v", worker.SearchTools)
	}
	b := newBench(t)
	b.write("a.txt", "one\n")
	both := lines(calls("grep", args("pattern", "one"), "read_file", args("path", "a.txt")))
	s := b.run(b.parsed("w", "toolsets: {search: {}}", both), "go")
	b.told(s, "a.txt")
	b.told(s, `there is no tool "read_file"`)
	b.told(b.run(b.parsed("w", "toolsets: {filesystem: {}}", both), "go"), "[grep] a.txt:1")
	for _, said := range []string{"{default: blocked}", "{tools: {grep: blocked}}"} {
		s := b.run(b.parsed("w", "toolsets: {filesystem: {}, search: {approval: "+said+"}}", both), "go")
		b.told(s, "[grep] BLOCKED")
		b.told(s, "one")
	}
}
