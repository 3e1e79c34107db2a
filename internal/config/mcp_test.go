package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/config"
)

func loadMCP(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.UserFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none")})
}

func TestMCPServers(t *testing.T) {
	cfg, err := loadMCP(t, `
mcp:
  files:
    command: npx
    args: [-y, server, 8080, ""]
    env: {TOKEN: "${T}", EMPTY: ""}
    tools: [read, write]
    network: [packages.example.com]
    timeout: 90s
    sandbox: off
    approval: {default: ask, tools: {read: preApproved}}
  far:
    url: https://a.test/mcp
    headers: {Authorization: "Bearer ${T}"}
toolsets:
  mcp:
    old: {command: x, sandbox: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]config.MCPServer{}
	for _, m := range cfg.Toolsets.MCP {
		byName[m.Name] = m
	}
	f := byName["files"]
	if f.Command != "npx" || strings.Join(f.Args, "|") != "-y|server|8080|" || f.Env["TOKEN"] != "${T}" || !f.Unconfined ||
		f.Timeout != 90*time.Second || f.Network[0] != "packages.example.com" || f.Origin != "config.yaml:3" {
		t.Errorf("%+v", f)
	}
	if v, ok := f.Env["EMPTY"]; !ok || v != "" {
		t.Error("an empty variable was lost")
	}
	if far := byName["far"]; far.Headers["Authorization"] != "Bearer ${T}" {
		t.Errorf("%+v", far)
	}
	if old := byName["old"]; old.Command != "x" || old.Unconfined {
		t.Errorf("%+v", old)
	}
	found := false
	for _, r := range cfg.Rules {
		found = found || r.Tool == "files__read"
	}
	if !found {
		t.Errorf("%+v", cfg.Rules)
	}
	for text, want := range map[string]string{
		"mcp: {a__b: {command: x}}":                                  "without __",
		"mcp: {a: {}}":                                               "either a command or a url",
		"mcp: {a: {command: x, url: y}}":                             "either a command or a url",
		"mcp: {a: {command: x, sandbox: maybe}}":                     "one of on, off",
		"mcp: {a: {command: x, timeout: soon}}":                      "should be a time",
		"mcp: {a: {command: x}}\ntoolsets: {mcp: {a: {command: x}}}": "given twice",
		"mcp: {a: {command: x, comand: y}}":                          "did you mean",
	} {
		if _, err := loadMCP(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAddAndRemoveMCP(t *testing.T) {
	server := config.MCPServer{
		Name: "new", Command: "npx", Args: []string{"-y", "a: b # c", "<x>", "", "\u202e\"'\\"},
		Env: map[string]string{"A-B": "${X}", "Z": "on"}, Tools: []string{"*"}, Network: []string{"a.test"}, Unconfined: true, Timeout: time.Minute,
	}
	for name, before := range map[string]string{
		"empty":      "",
		"no key":     "# mine\napproval:\n  mode: safe   # keep\n",
		"no newline": "approval: {mode: safe}",
		"null":       "mcp:\napproval:\n  mode: safe\n",
		"others":     "approval:\n  mode: safe\nmcp:\n    # first\n    one:\n        command: x\n\n    two: {url: \"https://a.test\"}\n# end\nlimits:\n  readLines: 10\n",
		"crlf":       "approval:\r\n  mode: safe\r\n",
	} {
		after, err := config.AddMCP([]byte(before), server)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for line := range strings.Lines(before) {
			if !strings.Contains(string(after), strings.TrimRight(line, "\r\n")) {
				t.Errorf("%s: lost %q", name, line)
			}
		}
		if _, err := config.AddMCP(after, server); err == nil {
			t.Errorf("%s: added twice", name)
		}
		back, found, err := config.RemoveMCP(after, "new")
		if err != nil || !found {
			t.Errorf("%s: %v %v", name, found, err)
		}
		if got := strings.TrimRight(string(back), "\n"); got != strings.TrimRight(before, "\n") && name != "null" {
			t.Errorf("%s: after removing\n%s\nwas\n%s", name, back, before)
		}
	}
	if _, err := config.AddMCP([]byte("mcp: {a: {command: x}}\n"), server); err == nil || !strings.Contains(err.Error(), "yourself") {
		t.Error(err)
	}
	if _, err := config.AddMCP([]byte("mpc: 1\n"), server); err == nil {
		t.Error("a broken file was added to")
	}
	if _, found, err := config.RemoveMCP([]byte("mcp:\n  a: {command: x}\n"), "b"); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
}
