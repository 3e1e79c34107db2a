package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tongs-ai/tongs/engine/approval"
)

// shellIn runs a command in the workspace, outside of Tongs.
func (d *desk) shellIn(command string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "sh", "-ec", command)
	cmd.Dir, cmd.Env = filepath.Join(d.dir, "ws"), append(d.env, "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}

// asked makes a call that nobody answers in time, and returns its question.
func (d *desk) asked(c *mcp.ClientSession, tool string, args map[string]any) string {
	d.t.Helper()
	said := mcpCall(d.t, c, tool, args)
	found := regexp.MustCompile(`\(question (\w+)\)`).FindStringSubmatch(said)
	if !strings.HasPrefix(said, "APPROVAL_REQUIRED") || found == nil {
		d.t.Fatalf("it does not ask: %s", said)
	}
	return found[1]
}

// waits returns the question that a call waits for, once its changes are kept.
func (d *desk) waits() string {
	d.t.Helper()
	for range 200 {
		out, _, _ := d.run("approvals", "list", "--format", "json")
		var list []approval.Question
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			d.t.Fatal(err)
		}
		if len(list) > 0 && list[0].Late != nil {
			return list[0].ID
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Fatal("no call waits")
	return ""
}

// later makes everything that waits ten minutes older.
func (d *desk) later() {
	d.t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(d.dir, "home", "state", "tongs.db"), sqlite.OpenReadWrite)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	for _, table := range []string{"questions", "parked"} {
		err := sqlitex.Execute(conn, "UPDATE "+table+" SET created = created - ?, expires = expires - ?",
			&sqlitex.ExecOptions{Args: []any{int64(10 * time.Minute), int64(10 * time.Minute)}})
		if err != nil || conn.Changes() == 0 && table == "questions" {
			d.t.Fatalf("%s: %v", table, err)
		}
	}
}

// approveLate approves a question at a terminal, in a process of its own.
func (d *desk) approveLate(want, id string, flags ...string) {
	d.t.Helper()
	c := d.terminal(append([]string{"approvals", "approve", id}, flags...)...)
	c.typing(c.expect(`type (\w+) and press Enter: `)[1] + "\r")
	c.expect(want)
	c.exit()
}

const commitRepository = "git init -q -b main; git config user.name Ada; git config user.email ada@example.com; " +
	"git add -A; git commit -q -m first; echo two > a.txt; git add -A"

// A person answers ten minutes later, at a terminal, when the server that asked is gone. The changes are made as they were shown.
// The client starts another server, in a session of its own, and the same call returns the recorded result, once.
func TestALateYesAfterTheServerRestarted(t *testing.T) {
	for _, c := range []struct {
		name, setup, command string
		// made prints the same before and after another look, and was not before.
		made, want string
	}{
		{"git commit", commitRepository, "git commit -q -m second && git rev-parse HEAD", "git fsck --strict && git log --format=%s", "second\nfirst"},
		{"date", "echo old > f", "date +%s%N > f; cat f", "grep -c '^[0-9]\\{19\\}$' f || true", "1"},
		{"npm version", `echo '{"name":"shop","version":"1.2.3"}' > package.json`, "npm version patch --no-git-tag-version", "grep -c 1.2.4 package.json || true", "1"},
	} {
		for _, ended := range []string{"killed", "closed", "killed while it waits"} {
			t.Run(c.name+", "+ended, func(t *testing.T) {
				d := newDesk(t)
				d.shellIn(c.setup)
				args := map[string]any{"command": c.command}
				first, signal := d.mcpClient("--wait", map[bool]string{true: "1m", false: "0s"}[ended == "killed while it waits"])
				var id string
				if ended == "killed while it waits" {
					go func() { _, _ = first.CallTool(t.Context(), &mcp.CallToolParams{Name: "shell", Arguments: args}) }()
					id = d.waits()
				} else {
					id = d.asked(first, "shell", args)
				}
				if ended != "closed" {
					signal(syscall.SIGKILL)
				}
				_ = first.Close()
				d.later()
				d.approveLate("The changes are made", id)
				if got := d.shellIn(c.made); got != c.want {
					t.Fatalf("made %q, want %q", got, c.want)
				}
				before := d.shellIn("find . -type f -exec sha256sum {} + | sort")
				second, _ := d.mcpClient("--wait", "0s")
				said := mcpCall(t, second, "shell", args)
				if strings.Contains(said, "APPROVAL_REQUIRED") || !strings.Contains(said, "(changed: ") {
					t.Fatalf("the same call: %s", said)
				}
				if c.name == "git commit" && !strings.Contains(said, d.shellIn("git rev-parse HEAD")) {
					t.Errorf("the result is not that of the commit: %s", said)
				}
				if now := d.shellIn("find . -type f -exec sha256sum {} + | sort"); now != before {
					t.Errorf("it ran again:\n%s\nbefore:\n%s", now, before)
				}
				if said := mcpCall(t, second, "shell", args); strings.Contains(said, "(changed: ") && c.name != "git commit" {
					t.Errorf("the recorded result is returned twice: %s", said)
				}
			})
		}
	}
}

// The same for an edit whose arguments the person changed, to another file.
func TestALateEditAfterTheServerRestarted(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	args := map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"}
	first, signal := d.mcpClient("--wait", "0s")
	id := d.asked(first, "edit", args)
	signal(syscall.SIGKILL)
	_ = first.Close()
	d.later()
	d.approveLate("Approved", id, "--args", `{"path":"b.txt","oldString":"one","newString":"three"}`)
	second, _ := d.mcpClient("--wait", "0s")
	said := mcpCall(t, second, "edit", args)
	if d.read("a.txt") != "one\n" || d.read("b.txt") != "three\n" || !strings.Contains(said, `path from "a.txt" to "b.txt"`) {
		t.Errorf("a.txt %q, b.txt %q: %s", d.read("a.txt"), d.read("b.txt"), said)
	}
	if next := d.asked(second, "edit", args); next == id {
		t.Error("the answer served twice")
	}
}

// Where the file changed meanwhile nothing is made. The person, the agent and the next question are told why.
func TestALateYesAfterARestartAndAChange(t *testing.T) {
	d := newDesk(t)
	d.write("f", "old\n")
	args := map[string]any{"command": "date +%s%N > f"}
	first, signal := d.mcpClient("--wait", "0s")
	id := d.asked(first, "shell", args)
	signal(syscall.SIGKILL)
	_ = first.Close()
	d.later()
	d.write("f", "somebody else\n")
	d.approveLate(`the changes were not made: .*f.*asks anew`, id)
	second, _ := d.mcpClient("--wait", "0s")
	said := mcpCall(t, second, "shell", args)
	if d.read("f") != "somebody else\n" || !strings.Contains(said, "APPROVAL_REQUIRED") || !strings.Contains(said, "were not made: ") {
		t.Errorf("f %q: %s", d.read("f"), said)
	}
	next := regexp.MustCompile(`\(question (\w+)\)`).FindStringSubmatch(said)
	if next == nil || next[1] == id {
		t.Fatalf("question %s after %s", next, id)
	}
	if shown, _, _ := d.run("approvals", "show", next[1]); !strings.Contains(shown, "were not made: ") {
		t.Errorf("the next question does not tell why:\n%s", shown)
	}
}

// While the session that asked is there, no other one of the same client is told what its call returned, or waits for its question.
// Another client never is.
func TestALateResultIsNotForOtherSessions(t *testing.T) {
	d := newDesk(t)
	d.write("f", "old\n")
	args := map[string]any{"command": "date +%s%N > f; echo of the first"}
	first, signal := d.mcpClient("--wait", "0s")
	id := d.asked(first, "shell", args)
	second, _ := d.mcpClient("--wait", "0s")
	if other := d.asked(second, "shell", args); other == id {
		t.Error("another session waits for the question of one that is there")
	}
	d.approveLate("The changes are made", id)
	if said := mcpCall(t, second, "shell", args); strings.Contains(said, "(changed: ") {
		t.Errorf("another session has the result of one that is there: %s", said)
	}
	signal(syscall.SIGKILL)
	_ = first.Close()
	cmd := d.command("mcp", "--wait", "0s")
	stranger, err := mcp.NewClient(&mcp.Implementation{Name: "stranger", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if said := mcpCall(t, stranger, "shell", args); strings.Contains(said, "(changed: ") {
		t.Errorf("another client has it: %s", said)
	}
	third, _ := d.mcpClient("--wait", "0s")
	if said := mcpCall(t, third, "shell", args); !strings.Contains(said, "of the first") || !strings.Contains(said, "(changed: ") {
		t.Errorf("the next session of the client: %s", said)
	}
}
