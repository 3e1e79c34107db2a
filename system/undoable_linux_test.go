package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// person answers the questions of a system.
type person struct {
	asked  []approval.Question
	answer approval.Answer
}

// undoing opens a system with a configuration, and somebody who answers.
func undoing(t *testing.T, config string) (s *system.System, p *person, work string) {
	t.Helper()
	dir := place(t, config)
	p = &person{}
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		p.asked = append(p.asked, q)
		return p.answer, nil
	})}
	return open(t, opt), p, filepath.Join(dir, "work")
}

// makes calls a tool for a session and says how often somebody was asked.
func (p *person) makes(t *testing.T, s tongs.Caller, session, tool string, args map[string]any) (asked int, res *tongs.Result) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	before := len(p.asked)
	res = s.Call(t.Context(), &tongs.Call{Tool: tool, Args: data, Session: session})
	return len(p.asked) - before, res
}

// free fails where a call asks or fails; asks where it does neither of these: nobody says yes.
func (p *person) free(t *testing.T, s tongs.Caller, session, tool string, args map[string]any) {
	t.Helper()
	if asked, res := p.makes(t, s, session, tool, args); asked != 0 || res.Error != nil {
		t.Fatalf("%s %v asks %d times: %s", tool, args, asked, res.Content)
	}
}

func (p *person) asks(t *testing.T, s tongs.Caller, session, tool string, args map[string]any) approval.Question {
	t.Helper()
	asked, res := p.makes(t, s, session, tool, args)
	if asked != 1 || res.Error == nil {
		t.Fatalf("%s %v asks %d times: %s", tool, args, asked, res.Content)
	}
	return p.asked[len(p.asked)-1]
}

func put(t *testing.T, work, name, text string) {
	t.Helper()
	file := filepath.Join(work, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever a session did is taken back by one undo, to the byte, and nobody was asked on the way.
func TestUndoableSessionIsTakenBack(t *testing.T) {
	s, p, work := undoing(t, "approval: {undoable: preApproved}\n")
	put(t, work, "b.txt", "b\n")
	put(t, work, "dir/sub/x", "x\n")
	if err := os.Chmod(filepath.Join(work, "b.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := look(t, work)
	p.free(t, s, "s", "edit", map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"})
	p.free(t, s, "s", "write_file", map[string]any{"path": "b.txt", "content": "new"})
	p.free(t, s, "s", "shell", map[string]any{"command": "sed -i s/two/three/ a.txt && echo more >> b.txt"})
	p.free(t, s, "s", "move_file", map[string]any{"from": "b.txt", "to": "dir/b.txt"})
	p.free(t, s, "s", "shell", map[string]any{"command": "mv dir/b.txt c.txt; rm a.txt; mkdir e; echo e > e/f"})
	p.free(t, s, "s", "delete_file", map[string]any{"path": "dir", "recursive": true})
	p.free(t, s, "s", "shell", map[string]any{"command": "rm -r e"})
	if look(t, work) == before {
		t.Fatal("nothing changed")
	}
	after := look(t, work)
	for range 2 {
		p.free(t, s, "s", "undo", map[string]any{"session": "s"})
		if got := look(t, work); got != before {
			t.Fatalf("taken back it is\n%s\nand was\n%s", got, before)
		}
		p.free(t, s, "s", "redo", map[string]any{})
		if got := look(t, work); got != after {
			t.Fatalf("made again it is\n%s\nand was\n%s", got, after)
		}
	}
}

// look lists a tree: types, modes, contents and times of files.
func look(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(name string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintf(&b, "%s %v", rel, fi.Mode())
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A program that goes on in the background writes directly, so what it does is not undoable, whatever rule frees the program.
func TestBackgroundIsNotUndoable(t *testing.T) {
	s, p, work := undoing(t, "approval: {undoable: preApproved}\ntoolsets: {shell: {rules: [{pattern: rm, approval: preApproved}]}}\n")
	p.free(t, s, "s", "shell", map[string]any{"command": "rm a.txt"})
	p.free(t, s, "s", "undo", map[string]any{})
	q := p.asks(t, s, "s", "shell", map[string]any{"command": "rm a.txt", "background": true})
	if !strings.Contains(q.Why, "does not count as undoable: the command cannot be run on a copy of the files: it goes on in the background") {
		t.Errorf("why: %s", q.Why)
	}
	if _, err := os.Stat(filepath.Join(work, "a.txt")); err != nil {
		t.Error(err)
	}
}

// Commands write directly to a directory that is let through: nothing there counts as undoable.
func TestLetThroughIsNotUndoable(t *testing.T) {
	s, p, work := undoing(t, "approval: {undoable: preApproved}\nsandbox: {through: [cache, deep/cache]}\n")
	put(t, work, "cache/x", "x")
	put(t, work, "deep/cache/x", "x")
	put(t, work, "cache2/x", "x")
	for _, path := range []string{"cache/x", "cache", "deep"} {
		q := p.asks(t, s, "s", "delete_file", map[string]any{"path": path, "recursive": true})
		if !strings.Contains(q.Why, "commands write there directly (sandbox.through)") {
			t.Errorf("why: %s", q.Why)
		}
	}
	p.free(t, s, "s", "delete_file", map[string]any{"path": "cache2", "recursive": true})
}

// A file that the session made, and that is as the session left it, is free also where undo could not keep it.
func TestOwnFilesAreFree(t *testing.T) {
	config := "approval: {undoable: preApproved}\nlimits: {undoableBytes: 10}\n"
	s, p, work := undoing(t, config)
	long := strings.Repeat("long ", 10)
	put(t, work, "theirs.txt", long)
	p.asks(t, s, "s", "delete_file", map[string]any{"path": "theirs.txt"})
	p.asks(t, s, "s", "shell", map[string]any{"command": "rm theirs.txt"})
	for _, name := range []string{"one.txt", "two.txt", "three.txt", "four.txt"} {
		p.free(t, s, "s", "write_file", map[string]any{"path": name, "content": long})
	}
	p.free(t, s, "s", "edit", map[string]any{"path": "one.txt", "oldString": long, "newString": "x" + long})
	p.asks(t, s, "other", "delete_file", map[string]any{"path": "one.txt"})
	p.free(t, s, "s", "delete_file", map[string]any{"path": "one.txt"})
	p.free(t, s, "s", "shell", map[string]any{"command": "echo more >> two.txt"})
	p.free(t, s, "s", "shell", map[string]any{"command": "rm two.txt"})
	p.free(t, s, "s", "move_file", map[string]any{"from": "three.txt", "to": "moved.txt"})
	p.asks(t, s, "s", "delete_file", map[string]any{"path": "moved.txt"}) // renamed, not made
	put(t, work, "four.txt", long+"by hand")
	p.asks(t, s, "s", "delete_file", map[string]any{"path": "four.txt"})
	// Stricter words go before it.
	s, p, _ = undoing(t, config+"toolsets: {filesystem: {rules: [{pattern: '*.txt', effects: [delete], approval: ask}]}}\n")
	p.free(t, s, "s", "write_file", map[string]any{"path": "one.txt", "content": long})
	p.asks(t, s, "s", "delete_file", map[string]any{"path": "one.txt"})
	// Without the setting nothing changes.
	s, p, _ = undoing(t, "")
	p.free(t, s, "s", "write_file", map[string]any{"path": "one.txt", "content": long})
	p.asks(t, s, "s", "delete_file", map[string]any{"path": "one.txt"})
	p.asks(t, s, "s", "shell", map[string]any{"command": "rm a.txt"})
}

// Many small calls are bulk, in whichever session they are made.
func TestManySmallCallsAsk(t *testing.T) {
	s, p, work := undoing(t, "approval: {undoable: preApproved}\nlimits: {undoableHour: 4}\n")
	for i := range 4 {
		name := fmt.Sprintf("f%d", i)
		put(t, work, name, "x")
		if i%2 == 0 {
			p.free(t, s, name, "delete_file", map[string]any{"path": name})
		} else {
			p.free(t, s, name, "shell", map[string]any{"command": "rm " + name})
		}
	}
	if q := p.asks(t, s, "s", "delete_file", map[string]any{"path": "a.txt"}); !strings.Contains(q.Why, "limits.undoableHour") {
		t.Errorf("why: %s", q.Why)
	}
	p.asks(t, s, "s", "shell", map[string]any{"command": "rm a.txt"})
	p.free(t, s, "s", "write_file", map[string]any{"path": "new.txt", "content": "x"})
}

// A program that may use the network has it on the copy, too.
func TestUndoableProgramsHaveTheirNetwork(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the net\n") }))
	listener, err := net.Listen("tcp", "127.0.0.2:0") // programs reach 127.0.0.1 without the proxy, and so not at all
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	s, p, work := undoing(t, "approval: {undoable: preApproved}\ntoolsets: {shell: {rules: [{pattern: curl, approval: preApproved}]}, web: {hosts: ['"+host+"']}}\n")
	command := map[string]any{"command": "curl -s -o a.txt " + server.URL + "/"}
	p.answer = approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{"network " + host + " (private address)"}}
	if asked, res := p.makes(t, s, "s", "shell", command); asked != 1 || res.Error != nil {
		t.Fatalf("asked %d times: %s", asked, res.Content)
	}
	put(t, work, "a.txt", "one\n")
	p.free(t, s, "s", "shell", command)
	if data, _ := os.ReadFile(filepath.Join(work, "a.txt")); string(data) != "from the net\n" {
		t.Fatalf("a.txt is %q", data)
	}
	p.free(t, s, "s", "undo", map[string]any{})
	if data, _ := os.ReadFile(filepath.Join(work, "a.txt")); string(data) != "one\n" {
		t.Errorf("a.txt is %q", data)
	}
}
