package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

// site is a set of directories that configuration is read from.
type site struct {
	t   *testing.T
	opt config.Options
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, opt: config.Options{
		Workspace: filepath.Join(dir, "ws"), ConfigDir: filepath.Join(dir, "home", ".config", "tongs"),
		Managed: filepath.Join(dir, "etc", "policy.yaml"), ManagedOwner: os.Getuid(),
		Home: filepath.Join(dir, "home"),
	}}
	for _, d := range []string{s.opt.Workspace, s.opt.ConfigDir, filepath.Dir(s.opt.Managed)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *site) write(path, text string) *site {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *site) managed(text string) *site { return s.write(s.opt.Managed, text) }
func (s *site) user(text string) *site {
	return s.write(filepath.Join(s.opt.ConfigDir, "config.yaml"), text)
}

func (s *site) workspace(text string) *site {
	return s.write(filepath.Join(s.opt.Workspace, "tongs.yaml"), text)
}

func (s *site) trust() *site {
	s.opt.Trusted = func(string, string) bool { return true }
	return s
}

func (s *site) load() *config.Config {
	s.t.Helper()
	c, err := config.Load(s.opt)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *site) fail() string {
	s.t.Helper()
	_, err := config.Load(s.opt)
	if err == nil {
		s.t.Fatal("Load succeeded, want an error")
	}
	if code := tongs.CodeOf(err); code != tongs.CodeConfigError {
		s.t.Errorf("code = %s, want CONFIG_ERROR", code)
	}
	return err.Error()
}

func rules(c *config.Config) (list []string) {
	for _, r := range c.Rules {
		list = append(list, r.String())
	}
	return list
}

const seed = `
name: calculator
toolsets:
  filesystem: {}
  shell:
    rules:
      - pattern: "git "
        approval: preApproved
  custom:
    module: "./tools.ts"      # Relative to worker file
    tools:                    # Whitelist of tools to expose
      - calculateFibonacci
      - calculateFactorial
    approval:
      default: ask            # Secure default for all custom tools
      tools:
        calculateFibonacci: preApproved   # Override for specific tool
  external:
    package: "@vercel/ai-tools"
    import: "webSearchTools"
    approval:
      default: ask
      tools:
        web_search: preApproved
`

func TestNoFiles(t *testing.T) {
	c := newSite(t).load()
	if c.Mode != tongs.ModeSafe || c.Granted != tongs.AllPermissions || len(c.Rules) != 0 {
		t.Errorf("defaults: %+v", c)
	}
	if c.Limits.ReadLines != 2000 || c.Limits.StreamBytes != 30_000 || c.Limits.WebBytes != 5<<20 {
		t.Errorf("limits: %+v", c.Limits)
	}
}

func TestSeedIsValidInEveryLayer(t *testing.T) {
	for name, write := range map[string]func(*site, string) *site{
		"policy.yaml": (*site).managed, "config.yaml": (*site).user, "tongs.yaml": (*site).workspace,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c := write(s, seed).load()
			if len(c.Rules) != 5 {
				t.Fatalf("rules: %q", rules(c))
			}
			if r := c.Rules[0]; r.Pattern != "git " || r.Origin != name+":7" || r.Toolset != "shell" {
				t.Errorf("shell rule: %+v", r)
			}
			custom := c.Toolsets.Custom
			if len(custom) != 1 || filepath.Base(custom[0].Module) != "tools.ts" || !filepath.IsAbs(custom[0].Module) {
				t.Errorf("custom: %+v", custom)
			}
			external := c.Toolsets.External
			if len(external) != 1 || !slices.Equal(external[0].Tools, []string{"web_search"}) || external[0].Import != "webSearchTools" || external[0].Dir != filepath.Dir(custom[0].Module) {
				t.Errorf("external: %+v", external)
			}
			if untrusted := name == "tongs.yaml"; c.Rules[0].Untrusted != untrusted || custom[0].Untrusted != untrusted {
				t.Errorf("untrusted = %v, %v, want %v", c.Rules[0].Untrusted, custom[0].Untrusted, untrusted)
			}
		})
	}
}

const everything = `approval:
  mode: none
  default: ask
  tools:
    edit: preApproved
    "delete_*": blocked
toolsets:
  filesystem:
    rules:
      - {pattern: "src/**", effects: [write], approval: preApproved, match: [src/a.go], notMatch: [lib/a.go]}
      - pattern: "secrets/**"
        approval: blocked
    approval:
      default: ask
      tools: {read_file: ask}
  shell:
    rules:
      - pattern: "git log"
        approval: preApproved
      - {pattern: "sudo ", approval: blocked}
    default: blocked
  web:
    hosts: ["*.example.com"]
    rules:
      - {pattern: "evil.example", approval: blocked}
  search: {}
  code:
  todo:
  mcp:
    docs:
      command: docs-server
      args: [--stdio]
      env: {DEPTH: 3}
      tools: [find]
      sandbox: false
      approval: {default: ask, tools: {find: preApproved}}
    remote: {url: "https://mcp.example.com"}
  workers: [reviewer]
zones:
  cache: {path: ~/.cache/x, mode: rw, approval: {write: preApproved, delete: ask}}
  lib: {path: ../lib}
limits: {readLines: 500, webBytes: 1MiB, shellTimeout: 5m}
retention: {rows: forever, spills: 12h, questions: 2w}
descriptions: texts
permissions: [read, write]
`

func TestEveryKey(t *testing.T) {
	s := newSite(t).user(everything)
	t.Setenv("HOME", s.opt.Home)
	c := s.load()
	want := []string{
		`tools *: default ask (user, config.yaml:3)`,
		`edit: preApproved (user, config.yaml:5)`,
		`delete_*: blocked (user, config.yaml:6)`,
		`toolset filesystem write "src/**": preApproved (user, config.yaml:10)`,
		`tools * read,write,delete "secrets/**": blocked (user, config.yaml:11)`,
		`toolset filesystem: default ask (user, config.yaml:14)`,
		`read_file: ask (user, config.yaml:15)`,
		`toolset shell execute "git log": preApproved (user, config.yaml:18)`,
		`tools * execute "sudo ": blocked (user, config.yaml:20)`,
		`toolset shell execute: default blocked (user, config.yaml:21)`,
		`toolset project execute: default blocked (user, config.yaml:21)`,
		`toolset web network "*.example.com": preApproved (user, config.yaml:23)`,
		`tools * network "evil.example": blocked (user, config.yaml:25)`,
		`docs__*: default ask (user, config.yaml:36)`,
		`docs__find: preApproved (user, config.yaml:36)`,
		`tools * write "/cache/**": preApproved (user, config.yaml:40)`,
		`tools * delete "/cache/**": ask (user, config.yaml:40)`,
	}
	if diff := cmp.Diff(want, rules(c)); diff != "" {
		t.Error(diff)
	}
	if c.Mode != tongs.ModeNone || c.Granted != tongs.Read|tongs.Write {
		t.Errorf("mode %s, permissions %s", c.Mode, c.Granted)
	}
	wantZones := []config.Zone{
		{Name: "cache", Dir: filepath.Join(s.opt.Home, ".cache", "x"), Writable: true, Layer: tongs.LayerUser, Origin: "config.yaml:40"},
		{Name: "lib", Dir: filepath.Join(filepath.Dir(s.opt.ConfigDir), "lib"), Layer: tongs.LayerUser, Origin: "config.yaml:41"},
	}
	if diff := cmp.Diff(wantZones, c.Zones); diff != "" {
		t.Error(diff)
	}
	if m := c.Toolsets.MCP; len(m) != 2 || !m[0].Unconfined || m[0].Env["DEPTH"] != "3" || m[1].Unconfined {
		t.Errorf("mcp: %+v", m)
	}
	shown := map[string]config.Setting{}
	for _, set := range c.Settings() {
		shown[set.Key] = set
	}
	for key, want := range map[string]config.Setting{
		"approval.mode":       {"approval.mode", "none", "config.yaml:2"},
		"limits.readLines":    {"limits.readLines", "500", "config.yaml:42"},
		"limits.webBytes":     {"limits.webBytes", "1MiB", "config.yaml:42"},
		"limits.shellTimeout": {"limits.shellTimeout", "300s", "config.yaml:42"},
		"limits.grepMatches":  {"limits.grepMatches", "100", "default"},
		"retention.rows":      {"retention.rows", "forever", "config.yaml:43"},
		"retention.spills":    {"retention.spills", "12h0m0s", "config.yaml:43"},
		"retention.questions": {"retention.questions", "14d", "config.yaml:43"},
		"permissions":         {"permissions", []string{"read", "write"}, "config.yaml:45"},
		"rules[1]":            {"rules[1]", "edit: preApproved (user)", "config.yaml:5"},
	} {
		if diff := cmp.Diff(want, shown[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestDesign4_ManagedModeIsACeiling(t *testing.T) {
	all, none, safe := tongs.ModeAll, tongs.ModeNone, tongs.ModeSafe
	for _, tt := range []struct {
		name                     string
		managed, user, workspace string
		flag                     *tongs.Mode
		trusted, unattended      bool
		want                     tongs.Mode
	}{
		{name: "nothing", want: safe},
		{name: "user all", user: "all", want: all},
		{name: "managed caps the user", managed: "safe", user: "all", want: safe},
		{name: "managed caps the flag", managed: "safe", flag: &all, want: safe},
		{name: "managed none", managed: "none", user: "all", flag: &all, want: none},
		{name: "managed all loosens nothing", managed: "all", want: safe},
		{name: "flag over user", user: "none", flag: &all, want: all},
		{name: "flag may be stricter", user: "all", flag: &none, want: none},
		{name: "workspace all never counts", workspace: "all", trusted: true, want: safe},
		{name: "workspace stricter", user: "all", workspace: "none", trusted: true, want: none},
		{name: "untrusted workspace stricter", user: "all", workspace: "safe", want: safe},
		{name: "untrusted workspace milder", user: "none", workspace: "safe", want: none},
		{name: "unattended: all from the flag", flag: &all, unattended: true, want: safe},
		{name: "unattended: all from the user", user: "all", unattended: true, want: all},
		{name: "unattended: stricter flag", user: "all", flag: &none, unattended: true, want: none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t)
			s.opt.Mode, s.opt.Unattended = tt.flag, tt.unattended
			mode := func(m string) string { return "approval: {mode: " + m + "}\n" }
			if tt.managed != "" {
				s.managed(mode(tt.managed))
			}
			if tt.user != "" {
				s.user(mode(tt.user))
			}
			if tt.workspace != "" {
				s.workspace(mode(tt.workspace))
			}
			if tt.trusted {
				s.trust()
			}
			if got := s.load().Mode; got != tt.want {
				t.Errorf("mode = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUntrustedWorkspaceCanOnlyNarrow(t *testing.T) {
	s := newSite(t).user("zones: {cache: {path: /var/cache/x, mode: rw}}\nlimits: {readLines: 100}\n").workspace(`
approval: {mode: all, tools: {edit: preApproved, delete_file: blocked}}
zones:
  cache: {path: /var/cache/x, mode: ro}
  root: {path: /, mode: rw}
limits: {readLines: 5000, lineLength: 100}
retention: {rows: 1h}
descriptions: evil
permissions: [read]
`)
	c := s.load()
	for _, r := range c.Rules {
		if !r.Untrusted {
			t.Errorf("rule %s is not marked as untrusted", r)
		}
	}
	if len(c.Zones) != 1 || c.Zones[0].Writable {
		t.Errorf("zones: %+v", c.Zones)
	}
	if c.Mode != tongs.ModeSafe || c.Descriptions != "" || c.Granted != tongs.Read {
		t.Errorf("mode %s, descriptions %q, permissions %s", c.Mode, c.Descriptions, c.Granted)
	}
	if c.Limits.ReadLines != 100 || c.Limits.LineLength != 100 || c.Retention.Rows.Hours() != 90*24 {
		t.Errorf("limits %+v, retention %+v", c.Limits, c.Retention)
	}
	if len(c.Ignored) != 6 {
		t.Errorf("ignored: %+v", c.Ignored)
	}
	for _, set := range c.Settings() {
		if strings.Contains(set.Key, "rules") && strings.Contains(set.Value.(string), "preApproved") {
			t.Errorf("shown though it does not count: %+v", set)
		}
	}
}

func TestDesign4_TrustIsBoundToContent(t *testing.T) {
	s := newSite(t).workspace("approval: {tools: {edit: preApproved}}\n")
	var asked []string
	s.opt.Trusted = func(path, hash string) bool {
		asked = append(asked, path, hash)
		return hash == config.Hash([]byte("approval: {tools: {edit: preApproved}}\n"))
	}
	if c := s.load(); c.Rules[0].Untrusted {
		t.Error("a trusted file is marked as untrusted")
	}
	s.workspace("approval: {tools: {edit: preApproved}} \n")
	if c := s.load(); !c.Rules[0].Untrusted {
		t.Error("a changed file is still trusted")
	}
	if len(asked) != 4 || asked[0] != filepath.Join(s.opt.Workspace, "tongs.yaml") || asked[1] == asked[3] {
		t.Errorf("asked: %q", asked)
	}
}

func TestDesign4_UnattendedEnvironmentCanOnlyNarrow(t *testing.T) {
	s := newSite(t).user("approval: {mode: safe, tools: {edit: preApproved}}\n")
	other := t.TempDir()
	s.write(filepath.Join(other, "config.yaml"), "approval: {mode: all, tools: {delete_file: preApproved, shell: blocked}}\n")
	s.opt.ConfigDir = ""
	s.opt.Unattended = true
	t.Setenv("TONGS_CONFIG_DIR", other)
	c := s.load()
	want := []string{
		"edit: preApproved (user, config.yaml:1)", "delete_file: preApproved (user, config.yaml:1)",
		"shell: blocked (user, config.yaml:1)",
	}
	if diff := cmp.Diff(want, rules(c)); diff != "" {
		t.Fatal(diff)
	}
	if c.Rules[0].Untrusted || !c.Rules[1].Untrusted || !c.Rules[2].Untrusted {
		t.Errorf("untrusted: %+v", c.Rules)
	}
	if c.Mode != tongs.ModeSafe {
		t.Errorf("mode = %s", c.Mode)
	}
	// Attended, the same directory is the user's own.
	s.opt.Unattended = false
	if c := s.load(); c.Mode != tongs.ModeAll || len(c.Rules) != 2 || c.Rules[0].Untrusted {
		t.Errorf("attended: mode %s, rules %q", c.Mode, rules(c))
	}
}

func TestDesign4_UnattendedOwnDirectoryNamedByEnvironment(t *testing.T) {
	s := newSite(t).user("approval: {mode: all}\n")
	t.Setenv("TONGS_CONFIG_DIR", s.opt.ConfigDir)
	s.opt.ConfigDir, s.opt.Unattended = "", true
	if c := s.load(); c.Mode != tongs.ModeAll || len(c.Files) != 3 {
		t.Errorf("mode %s, files %+v", c.Mode, c.Files)
	}
}

func TestPasswdHomeIgnoresTheEnvironment(t *testing.T) {
	s := newSite(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(s.opt.Home, "elsewhere"))
	s.opt.ConfigDir, s.opt.Home, s.opt.Unattended = "", "", true
	c := s.load()
	named := filepath.Join(s.opt.Home, "elsewhere")
	for _, f := range c.Files {
		if f.Layer == tongs.LayerUser && !f.Narrows && (strings.HasPrefix(f.Path, named) || strings.HasPrefix(f.Path, os.Getenv("HOME"))) {
			t.Errorf("the user layer is found through the environment: %+v", f)
		}
	}
}

func TestManagedLimitsCap(t *testing.T) {
	s := newSite(t).managed("limits: {readLines: 300, grepMatches: 50}\nretention: {rows: 60d}\n").
		user("limits: {readLines: 1000, grepMatches: 10}\nretention: {rows: 1h}\n").
		workspace("limits: {grepMatches: 40, globMax: 7}\n").trust()
	c := s.load()
	if c.Limits.ReadLines != 300 || c.Limits.GrepMatches != 10 || c.Limits.GlobMax != 7 || c.Retention.Rows.Hours() != 60*24 {
		t.Errorf("limits %+v, retention %+v", c.Limits, c.Retention)
	}
}

func TestProblemsCanBeFound(t *testing.T) {
	s := newSite(t).user("approvl: {}\n")
	_, err := config.Load(s.opt)
	p, ok := errors.AsType[config.Problem](err)
	if !ok || p.Line != 1 || p.Column != 1 || p.File != filepath.Join(s.opt.ConfigDir, "config.yaml") {
		t.Errorf("problem: %+v", p)
	}
}

// What a call gets by itself never exceeds the most that it can ask for.
func TestUsualLimitsFitTheMost(t *testing.T) {
	c := newSite(t).user("limits: {shellTimeout: 20m}").load()
	if c.Limits.ShellTimeout != 20*time.Minute || c.Limits.ShellTimeoutMax != 20*time.Minute {
		t.Errorf("the most does not follow: %v of %v", c.Limits.ShellTimeout, c.Limits.ShellTimeoutMax)
	}
	c = newSite(t).user("limits: {shellTimeout: 20m, shellTimeoutMax: 5m, jobsMax: 3}").load()
	if c.Limits.ShellTimeout != 5*time.Minute || c.Limits.Jobs != 3 || len(c.Ignored) != 1 {
		t.Errorf("%v, %d jobs, ignored %v", c.Limits.ShellTimeout, c.Limits.Jobs, c.Ignored)
	}
	c = newSite(t).managed("limits: {codeTimeoutMax: 30s}").user("limits: {codeTimeout: 1h}").load()
	if c.Limits.CodeTimeout != 30*time.Second || c.Limits.CodeTimeoutMax != 30*time.Second {
		t.Errorf("the administrator's limit does not hold: %v of %v", c.Limits.CodeTimeout, c.Limits.CodeTimeoutMax)
	}
}

func TestCheckpoint(t *testing.T) {
	const file = "audit: {checkpoint: {command: [sh, -c, 'cat >> heads'], every: 5m, required: true}}"
	c := newSite(t).user(file).load()
	if p := c.Audit.Checkpoint; p == nil || len(p.Command) != 3 || p.Every != 5*time.Minute || !p.Required {
		t.Errorf("%+v", p)
	}
	c = newSite(t).user("audit: {checkpoint: {url: 'https://u:hunter2@logs.example/heads'}}").load()
	if p := c.Audit.Checkpoint; p == nil || p.Every != 10*time.Minute || p.Required || strings.Contains(p.String(), "hunter2") {
		t.Errorf("%v", p)
	}
	c = newSite(t).workspace(file).load()
	if c.Audit.Checkpoint != nil || len(c.Ignored) != 1 {
		t.Errorf("a workspace file runs a command of its own: %+v, %v", c.Audit, c.Ignored)
	}
	if c = newSite(t).workspace(file).trust().load(); c.Audit.Checkpoint != nil || len(c.Ignored) != 1 {
		t.Errorf("so does a trusted one: %+v, %v", c.Audit, c.Ignored)
	}
	for _, bad := range []string{
		"audit: {checkpoint: {}}", "audit: {checkpoint: {command: []}}", "audit: {checkpoint: {url: 'http://logs.example/'}}", "audit: {checkpoint: {url: 'http://127.logs.example/'}}", "audit: {checkpoint: {url: 'file:///x'}}",
		"audit: {checkpoint: {url: 'https://x/', command: [a]}}", "audit: {checkpoint: {url: 'https://x/', every: 0s}}", "audit: {head: x}",
	} {
		if text := newSite(t).user(bad).fail(); !strings.Contains(text, "checkpoint") && !strings.Contains(text, "head") {
			t.Errorf("%s: %s", bad, text)
		}
	}
}
