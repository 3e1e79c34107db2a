//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const moduleTools = `def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b
`

// A module is named in the configuration, looked at and approved at a terminal, called, changed, and stopped until it is
// approved again.
func TestModuleByHand(t *testing.T) {
	d := newDesk(t)
	d.write("tools.py", moduleTools)
	text := "toolsets: {custom: {module: " + filepath.Join(d.dir, "ws/tools.py") + ", tools: [add], approval: {tools: {add: preApproved}}}}\n"
	if err := os.WriteFile(filepath.Join(d.dir, "home/config/config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := d.run("module", "list"); code != 0 || !strings.Contains(out, "not approved") || !strings.Contains(stderr, "tongs module review tools.py") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if _, stderr, code := d.run("call", "add", "a=1", "b=2"); code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := d.run("module", "review", "tools.py"); code != 3 || !strings.Contains(stderr, "real terminal") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	review := func(says string) {
		t.Helper()
		term := d.terminal("module", "review", "tools.py")
		term.expect(says)
		term.typing(term.expect(`type (\w+) and press Enter: `)[1] + "\r")
		term.expect(`Adds two numbers`)
		if code := term.exit(); code != 0 {
			t.Fatalf("exit %d\n%s", code, term.screen())
		}
	}
	review(`This is the module tools.py`)
	if out, stderr, code := d.run("call", "add", "a=1", "b=2"); code != 0 || strings.TrimSpace(out) != "3" {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if out, stderr, code := d.run("describe", "add"); code != 0 || !strings.Contains(out, "Adds two numbers.") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	d.write("tools.py", moduleTools+"\n")
	if _, stderr, code := d.run("call", "add", "a=1", "b=2"); code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	review(`This changed in the module tools.py`)
	// A worker may name the module too; its approval is the same.
	d.own("calc", "toolsets: {custom: {module: "+filepath.Join(d.dir, "ws/tools.py")+", tools: [add], approval: {tools: {add: preApproved}}}}",
		"turns:\n  - {text: adding, calls: [{tool: add, args: {a: 20, b: 22}}]}\n  - {text: done}\n")
	if err := os.WriteFile(filepath.Join(d.dir, "home/config/config.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := d.run("run", "calc", "please"); code != 0 || !strings.Contains(out, "done") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if out, stderr, code := d.run("log", "list", "--tool", "add", "--format", "json"); code != 0 || !strings.Contains(out, `"agents":["calc"]`) || !strings.Contains(out, `"outcome":"ok"`) {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if out, stderr, code := d.run("module", "show", "tools.py"); code != 0 || !strings.Contains(stderr, "is ready") {
		t.Errorf("by its path: exit %d: %s%s", code, out, stderr)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "home/config/config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"module", "list"}, {"module", "show", "tools.py"}, {"module", "forget", "tools.py"}} {
		if out, stderr, code := d.run(args...); code != 0 {
			t.Errorf("%v: exit %d: %s%s", args, code, out, stderr)
		}
	}
	if out, _, _ := d.run("module", "list"); !strings.Contains(out, "not approved") {
		t.Errorf("it is still approved: %s", out)
	}
}
