package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) {
		return
	}
	os.Exit(m.Run())
}

// bench is a project and a keeper.
type bench struct {
	t   *testing.T
	k   *Keeper
	c   Client
	top string
	n   int
}

func newBench(t *testing.T, client string) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := ClientNamed(client)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, c: c, top: top, k: &Keeper{StateDir: filepath.Join(t.TempDir(), "state")}}
	b.sh("mkdir src && echo a > src/a && echo b > b && echo SECRET > .env")
	return b
}

func (b *bench) sh(script string) {
	b.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = b.top
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

func (b *bench) tell(name string, more map[string]any) string {
	b.t.Helper()
	all := map[string]any{"session_id": "s1", "cwd": b.top, "hook_event_name": name}
	for key, v := range more {
		all[key] = v
	}
	data, _ := json.Marshal(all)
	ev, err := b.c.Decode(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.k.Handle(b.t.Context(), b.c, ev)
}

// call is a call of a native tool that does something.
func (b *bench) call(tool string, input map[string]any, do string) {
	b.t.Helper()
	b.n++
	more := map[string]any{"tool_name": tool, "tool_input": input, "tool_use_id": fmt.Sprintf("t%d", b.n)}
	before, after := "PreToolUse", "PostToolUse"
	for name, kind := range b.c.events {
		switch {
		case kind == Before:
			before = name
		case kind == After && !strings.HasSuffix(name, "Failure"):
			after = name
		}
	}
	if note := b.tell(before, more); note != "" {
		b.t.Error(note)
	}
	b.sh(do)
	if note := b.tell(after, more); note != "" {
		b.t.Error(note)
	}
}

func (b *bench) journal() *journal.Journal {
	b.t.Helper()
	j, err := journal.Open(journal.Options{Dir: b.k.journal(), NoSync: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = j.Close() })
	return j
}

// undo takes back what a selector means.
func (b *bench) undo(s journal.Selector) error {
	b.t.Helper()
	j := b.journal()
	if err := Settle(b.t.Context(), j, b.top); err != nil {
		return err
	}
	s.Top = b.top
	list, err := j.Select(s)
	if err != nil {
		return err
	}
	u, err := j.Undo(b.t.Context(), journal.Entry{Tool: "undo", Roots: map[string]string{tongs.WorkspaceRoot: b.top}}, list, nil)
	if err != nil {
		return err
	}
	defer u.Close()
	if len(u.Conflicts) > 0 {
		return &journal.ConflictError{Conflicts: u.Conflicts}
	}
	_, err = u.Commit(b.t.Context())
	return err
}

func (b *bench) is(want map[string]string) {
	b.t.Helper()
	for name, text := range want {
		data, err := os.ReadFile(filepath.Join(b.top, name))
		if got := string(data); got != text || err != nil && text != "" {
			b.t.Errorf("%s is %q, want %q (%v)", name, got, text, err)
		}
	}
}

// The last call, everything since the last prompt, and a session are taken back, for each client by the tools that it has.
func TestCallPromptSession(t *testing.T) {
	t.Parallel()
	for client, tools := range map[string][2]string{
		"claude-code": {"Bash", "Write"}, "codex": {"Bash", "apply_patch"}, "gemini": {"run_shell_command", "write_file"},
		"opencode": {"bash", "write"}, "copilot": {"Bash", "Write"},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, client)
			prompt := ""
			for name, kind := range b.c.events {
				if kind == Prompt {
					prompt = name
				}
			}
			file := filepath.Join(b.top, "new")
			b.tell(prompt, nil)
			b.call(tools[0], map[string]any{"command": "x"}, "rm -rf src")
			b.tell(prompt, nil)
			b.call(tools[1], map[string]any{"file_path": file, "filePath": file, "command": "*** Begin Patch\n*** Add File: new\n+x\n"}, "echo x > new")
			b.call(tools[0], map[string]any{"command": "x"}, "rm b .env")
			if err := b.undo(journal.Selector{}); err != nil {
				t.Fatal(err)
			}
			b.is(map[string]string{"b": "b\n", ".env": "SECRET\n", "new": "x\n", "src/a": ""})
			list, err := b.journal().List(journal.Filter{Top: b.top})
			if err != nil {
				t.Fatal(err)
			}
			var last journal.Entry
			for _, e := range list {
				if e.Client == client && e.Tool == tools[1] {
					last = e
				}
			}
			if last.Prompt == "" || last.Session != "s1" || last.Call == "" {
				t.Fatalf("%+v", last)
			}
			if err := b.undo(journal.Selector{Call: last.Prompt}); err != nil {
				t.Fatal(err)
			}
			b.is(map[string]string{"new": "", "src/a": "", "b": "b\n"})
			if err := b.undo(journal.Selector{Session: "s1", All: true}); err != nil {
				t.Fatal(err)
			}
			b.is(map[string]string{"src/a": "a\n", "b": "b\n", ".env": "SECRET\n"})
		})
	}
}

// A call whose end nobody told belongs to the call, and a change between calls to nobody: undo leaves it alone.
func TestEndsAndPeople(t *testing.T) {
	t.Parallel()
	b := newBench(t, "claude-code")
	b.call("Bash", nil, "echo agent > b")
	b.sh("echo person > b; echo mine > mine")
	b.tell("PreToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": "k"})
	b.sh("rm -rf src") // and the client is killed
	if err := b.undo(journal.Selector{}); err != nil {
		t.Fatal(err)
	}
	b.is(map[string]string{"src/a": "a\n", "b": "person\n", "mine": "mine\n"})
	err := b.undo(journal.Selector{})
	if err == nil || !strings.Contains(err.Error(), "b: its") {
		t.Errorf("%v", err)
	}
	b.is(map[string]string{"b": "person\n", "mine": "mine\n"})
	list, err := b.journal().List(journal.Filter{Top: b.top})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list, func(e journal.Entry) bool { return e.Outside && e.Tool == OutsideTool }) {
		t.Errorf("%v", list)
	}
}

// What only reads is not kept for, and an unknown tool is.
func TestWhichCalls(t *testing.T) {
	t.Parallel()
	c, _ := ClientNamed("claude-code")
	for tool, want := range map[string]bool{
		"Read": false, "Grep": false, "Agent": false, "mcp__tongs__edit": false, "Bash": true, "Monitor": true, "Unheard": true,
		"mcp__other__write": true, "NotebookEdit": true,
	} {
		if got := c.Changes(Event{Tool: tool}); got != want {
			t.Errorf("%s: %t", tool, got)
		}
	}
}

// Two clients at once lose nothing.
func TestTwoClients(t *testing.T) {
	t.Parallel()
	one := newBench(t, "claude-code")
	c, _ := ClientNamed("codex")
	var group sync.WaitGroup
	for i, client := range []Client{one.c, c} {
		group.Go(func() {
			for n := range 10 {
				b := &bench{t: t, k: one.k, c: client, top: one.top, n: 100 * n}
				b.call("Bash", nil, fmt.Sprintf("echo %d > f%d-%d; echo %d >> b%d", n, i, n, n, i))
			}
		})
	}
	group.Wait()
	j := one.journal()
	files := map[string]bool{}
	list, err := j.List(journal.Filter{Top: one.top})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		for c, err := range j.Changes(e.ID) {
			if err != nil {
				t.Fatal(err)
			}
			files[c.Path.Rel] = true
		}
		if e.Outside {
			t.Errorf("%v was taken for somebody else's", e)
		}
	}
	if len(files) != 22 {
		t.Errorf("%d files: %v", len(files), files)
	}
	if err := one.undo(journal.Selector{All: true}); err != nil {
		t.Fatal(err)
	}
	one.is(map[string]string{"b": "b\n", "b0": "", "f0-3": "", "f1-9": ""})
}

// The home is no project, nor is what contains the state.
func TestRefused(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	b := newBench(t, "claude-code")
	for _, dir := range []string{home, filepath.Dir(home), "/"} {
		ev := Event{Client: "claude-code", Kind: Start, Dir: dir, Session: "s"}
		if note := b.k.Handle(t.Context(), b.c, ev); !strings.Contains(note, "does not keep") {
			t.Errorf("%s: %q", dir, note)
		}
		ev.Kind, ev.Tool = Before, "Bash"
		if note := b.k.Handle(t.Context(), b.c, ev); note != "" {
			t.Errorf("%s: said at every call: %q", dir, note)
		}
	}
	if entries, err := os.ReadDir(b.k.StateDir); err == nil && len(entries) > 0 {
		t.Errorf("%v", entries)
	}
}

// hookProcess runs the hook as a client does.
func hookProcess(ctx context.Context, state, input string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "guard", "hook", "claude-code")
	cmd.Env = append(os.Environ(), "TONGS_STATE_DIR="+state, "CLAUDE_PROJECT_DIR=")
	cmd.Stdin = strings.NewReader(input)
	return cmd
}

// Whatever is wrong, the call goes on, and one line says that it is not kept.
func TestNothingIsBlocked(t *testing.T) {
	t.Parallel()
	b := newBench(t, "claude-code")
	event := fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"t"}`, b.top)
	shut := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(shut, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state, input string
		says         bool
	}{
		"well": {b.k.StateDir, event, false}, "garbage": {b.k.StateDir, "{", true}, "empty": {b.k.StateDir, "", true},
		"no state": {filepath.Join(shut, "state"), event, true}, "gone": {b.k.StateDir, strings.Replace(event, b.top, b.top+"/none", 1), true},
		"unknown event": {b.k.StateDir, strings.Replace(event, "PreToolUse", "Notification", 1), false},
	} {
		var out, errs bytes.Buffer
		cmd := hookProcess(t.Context(), c.state, c.input)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v: %s", name, err, errs.String())
		}
		var said struct {
			Message  string          `json:"systemMessage"`
			Decision json.RawMessage `json:"hookSpecificOutput"`
		}
		if out.Len() > 0 && json.Unmarshal(out.Bytes(), &said) != nil || said.Decision != nil || (said.Message != "") != c.says || strings.Contains(said.Message, "\n") {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

// Hooks that are killed at any moment leave a state from which everything can be undone.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, "claude-code")
	b.sh("for i in $(seq 300); do echo $i > src/f$i; done")
	b.tell("UserPromptSubmit", nil)
	event := fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t"}`, b.top)
	for n := range 25 {
		b.sh(fmt.Sprintf("rm -f src/f%d; for i in $(seq 40); do echo %d >> src/g$i; done", n+1, n))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*2*time.Millisecond)
		_ = hookProcess(ctx, b.k.StateDir, event).Run()
		cancel()
	}
	j := b.journal()
	if err := Settle(t.Context(), j, b.top); err != nil {
		t.Fatal(err)
	}
	for { // by name, the newest first: of some, no call is known
		list, err := j.List(journal.Filter{Top: b.top})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(e journal.Entry) bool {
			by, err := j.UndoneBy(e.ID)
			return len(e.Undoes) == 0 && err == nil && by == nil
		})
		if i < 0 {
			break
		}
		if err := b.undo(journal.Selector{Call: list[i].ID}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		b.is(map[string]string{fmt.Sprintf("src/f%d", i+1): fmt.Sprintf("%d\n", i+1)})
	}
	b.is(map[string]string{"src/g1": "", "src/a": "a\n"})
}
