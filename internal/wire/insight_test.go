package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A rule that a person saves in the console goes to their own file, as it was shown, holds at once, and cannot loosen what
// an administrator says.
func TestSavedRules(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := at("home", "config", "config.yaml")
	write(file, "# mine\ntoolsets:\n  shell:\n    rules:\n      - pattern: make\n        approval: ask\n")
	write(at("policy.yaml"), "toolsets:\n  shell:\n    rules:\n      - pattern: sudo\n        approval: blocked\n")
	write(at("ws", "a.txt"), "one\n")
	t.Setenv("HOME", at("home"))
	t.Setenv("TONGS_CONFIG_DIR", at("home", "config"))
	t.Setenv("TONGS_STATE_DIR", at("home", "state"))
	h := Host{Workspace: at("ws"), Attended: true, Managed: at("policy.yaml"), ManagedOwner: os.Getuid()}
	sys, err := h.Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	decided := func(command string) tongs.Decision {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"command": command})
		e, err := sys.Engine.Explain(t.Context(), &tongs.Call{Tool: "shell", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		return e.Decision
	}
	rules := sys.insight().Rules
	lines := []string{"blocked command head", "preApproved command sudo"}
	draft, err := rules.Draft(lines)
	if err != nil || draft.Path != file || len(draft.Rules) != 2 || !strings.Contains(draft.Diff, `+      - pattern: "head"`) {
		t.Fatalf("%+v, %v", draft, err)
	}
	if got := decided("head a.txt"); got != tongs.PreApproved {
		t.Errorf("a draft changed something: %s", got)
	}
	if _, err := rules.Save(lines, "sha256:other"); tongs.CodeOf(err) != tongs.CodeStaleFile {
		t.Errorf("what was not shown was saved: %v", err)
	}
	if _, err := rules.Save(lines, draft.Base); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(data), "# mine\n") || !strings.Contains(string(data), "pattern: make") {
		t.Errorf("%s, %v", data, err)
	}
	if head, sudo := decided("head a.txt"), decided("sudo ls"); head != tongs.Blocked || sudo != tongs.Blocked {
		t.Errorf("head is %s, sudo is %s", head, sudo)
	}
	if _, err := rules.Save(lines, draft.Base); err == nil {
		t.Error("saved twice")
	}
	if d, err := rules.Draft([]string{"ask everything"}); d != nil || tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%+v, %v", d, err)
	}
	write(file, "toolsets: {shell: {rules: []}}\n")
	if d, err := rules.Draft([]string{"ask command ls"}); d == nil || len(d.Rules) != 1 || err == nil {
		t.Errorf("a file that cannot take a rule: %+v, %v", d, err)
	}
}
