//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A database of the workspace: read and changed at the terminal, by an MCP client and by a worker.
func TestSQLThroughEverySurface(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	file := filepath.Dir(d.write("a.txt", "one\n")) + "/app.db"
	if said, err := exec.Command("sqlite3", file, "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users(name) VALUES('Ada'),('Grace')").CombinedOutput(); err != nil {
		t.Fatalf("the tests need sqlite3: %v: %s", err, said)
	}
	out, stderr, code := d.run("call", "sql_query", "file=app.db", "sql=SELECT name FROM users WHERE id = ?", "params=[2]")
	if code != 0 || !strings.Contains(out, "Grace") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if _, stderr, code = d.run("call", "sql_query", "file=app.db", "sql=DELETE FROM users"); code != 1 || !strings.Contains(stderr, "may not delete from users") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	c := d.terminal("call", "sql_query", "file=app.db", "write=true", "sql=UPDATE users SET name = 'Lin' WHERE id = 1")
	c.expect(` sql_query  writes app.db`)
	c.expect(`UPDATE users SET name`)
	c.expect(`changes: update users`)
	c.expect(chosen)
	c.typing("y")
	c.expect(`1 row changed`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	client, _ := d.mcpClient("--wait", "0s")
	names := map[string]any{"file": "app.db", "sql": "SELECT group_concat(name) FROM users"}
	if said := mcpCall(t, client, "sql_query", names); !strings.Contains(said, "Lin,Grace") {
		t.Errorf("over MCP: %s", said)
	}
	change := map[string]any{"file": "app.db", "sql": "DELETE FROM users", "write": true}
	if said := mcpCall(t, client, "sql_query", change); !strings.HasPrefix(said, "APPROVAL_REQUIRED") {
		t.Errorf("over MCP: %s", said)
	}
	if _, stderr, code := d.run("call", "sql_query", "connection=dev", "sql=SELECT 1"); code != 2 || !strings.Contains(stderr, "none is configured") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	d.own("clerk", "toolsets: {sql: {}}\n", "turns:\n  - calls: [{tool: sql_query, args: {file: app.db, sql: 'SELECT count(*) AS n FROM users'}}]\n  - text: done\n")
	if out, stderr, code := d.run("run", "clerk", "count them", "--format", "json"); code != 0 || !strings.Contains(out, "done") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if out, _, _ := d.run("log", "list", "--tool", "sql_query"); strings.Count(out, "sql_query") < 6 {
		t.Errorf("the log: %s", out)
	}
}
