package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/guard"
)

// files are those of a client before, by name.
var files = map[string]map[string]string{
	"claude-code": {".claude/settings.json": "{\n\t// mine\n\t\"hooks\": {\"PreToolUse\": [\n\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}, // last\n\t]},\n\t\"model\": \"x\"\n}"},
	"codex":       {".codex/config.toml": "model = \"x\" # mine", ".codex/hooks.json": `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"mine"}]}]}}`},
	"gemini":      {".gemini/settings.json": "{}"},
	"opencode":    {}, "copilot": {},
}

func all(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.IsDir() {
			found[rel] = "dir"
			return nil
		}
		data, err := os.ReadFile(name)
		found[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func equal(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is\n%s\nwas\n%s", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is left", name)
		}
	}
}

func put(t *testing.T, home string, texts map[string]string) Place {
	t.Helper()
	for _, v := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(v, "")
	}
	for name, text := range texts {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return Place{StateDir: filepath.Join(t.TempDir(), "state"), Home: home, Program: "/opt/my tongs/tongs"}
}

func installed(t *testing.T, c guard.Client, p Place) {
	t.Helper()
	changes, err := Plan(c, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := Install(c, p, changes); err != nil {
		t.Fatal(err)
	}
}

// What nobody touched is byte for byte what it was, installed once or twice.
func TestRemoveLeavesNoTrace(t *testing.T) {
	for name, texts := range files {
		c, err := guard.ClientNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		p := put(t, home, texts)
		before := all(t, home)
		installed(t, c, p)
		once := all(t, home)
		joined := ""
		for _, text := range once {
			joined += text
		}
		if !strings.Contains(joined, "guard hook "+name) && !strings.Contains(joined, `"guard", "hook"`) {
			t.Errorf("%s: no hook in %v", name, once)
		}
		installed(t, c, p)
		equal(t, all(t, home), once)
		list, err := List(p.StateDir)
		if err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
		if err := Remove(c, p); err != nil {
			t.Fatal(err)
		}
		equal(t, all(t, home), before)
		if err := Remove(c, p); err != ErrNotInstalled {
			t.Errorf("%v", err)
		}
	}
}

// From a file that somebody changed since, only our entries go.
func TestRemoveFromChangedFiles(t *testing.T) {
	for name, texts := range files {
		c, _ := guard.ClientNamed(name)
		home := t.TempDir()
		p := put(t, home, texts)
		installed(t, c, p)
		for file := range texts {
			path := filepath.Join(home, file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(data, []byte(`"model": "x"`), []byte(`"model": "y"`), 1)
			changed = bytes.Replace(changed, []byte(`model = "x"`), []byte(`model = "y"`), 1)
			if bytes.Equal(changed, data) {
				changed = append(data, '\n')
			}
			if err := os.WriteFile(path, changed, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		if err := Remove(c, p); err != nil {
			t.Fatal(err)
		}
		for file, text := range all(t, home) {
			if strings.Contains(text, "tongs") {
				t.Errorf("%s:\n%s", file, text)
			}
			for _, mine := range []string{"lint", "// mine", "// last", "# mine", `"command":"mine"`} {
				if strings.Contains(texts[file], mine) && !strings.Contains(text, mine) {
					t.Errorf("%s lost %s:\n%s", file, mine, text)
				}
			}
		}
	}
}

// Codex runs a hook only with the digest of it: what stands before ours counts.
func TestCodexTrust(t *testing.T) {
	c, _ := guard.ClientNamed("codex")
	home := t.TempDir()
	p := put(t, home, files["codex"])
	installed(t, c, p)
	config, err := os.ReadFile(filepath.Join(home, ".codex/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`hooks.json:pre_tool_use:1:0"]`, `hooks.json:post_tool_use:0:0"]`, `hooks.json:stop:0:0"]`} {
		if !strings.Contains(string(config), want) {
			t.Errorf("%s is not in\n%s", want, config)
		}
	}
	p.Project = t.TempDir()
	if _, err := Plan(c, p); err == nil {
		t.Error("a project's hooks, which Codex does not run, were installed")
	}
}

// A file that cannot be read is not written to.
func TestOddSettings(t *testing.T) {
	c, _ := guard.ClientNamed("claude-code")
	for _, text := range []string{"{", `{"hooks": []}`, `{"hooks": {"PreToolUse": {}}}`, "[]"} {
		p := put(t, t.TempDir(), map[string]string{".claude/settings.json": text})
		if changes, err := Plan(c, p); err == nil {
			t.Errorf("%s became %s", text, changes[0].After)
		}
	}
	p := put(t, t.TempDir(), map[string]string{".claude/settings.json": ""})
	changes, err := Plan(c, p)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(changes[0].After) {
		t.Errorf("%s", changes[0].After)
	}
}
