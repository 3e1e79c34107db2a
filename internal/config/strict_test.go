package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

func TestStrictYAML(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "approval:\n  mdoe: safe\n", []string{
			`config.yaml:2:3: unknown key "mdoe" in approval; did you mean "mode"?`, "2 |   mdoe: safe", "|   ^",
		}},
		{"unknown key far from any", "frobnicate: 1\n", []string{`unknown key "frobnicate"; the keys here are approval, `}},
		{"unknown toolset", "toolsets:\n  shel: {}\n", []string{`2:3: unknown key "shel" in toolsets; did you mean "shell"?`}},
		{"unknown key in a rule", "toolsets: {shell: {rules: [{patern: x, approval: ask}]}}\n", []string{
			`unknown key "patern" in toolsets.shell.rules[0]; did you mean "pattern"?`,
		}},
		{"several problems at once", "approvl: {}\nlimit: {}\n", []string{`1:1: unknown key "approvl"`, `2:1: unknown key "limit"; did you mean "limits"?`}},
		{"decision", "approval: {default: aks}\n", []string{`1:21: approval.default is "aks"; it should be one of preApproved, ask, blocked; did you mean "ask"?`}},
		{"decision of another type", "approval: {default: true}\n", []string{`approval.default should be one of preApproved, ask, blocked, not true`}},
		{"mapping wanted", "approval: ask\n", []string{`1:11: approval should be a mapping (key: value), not the text "ask"`}},
		{"list wanted", "permissions: read\n", []string{`permissions should be a list, not the text "read"`}},
		{"text wanted", "toolsets: {shell: {rules: [{pattern: 5, approval: ask}]}}\n", []string{`should be text, not the number 5; put it in quotes`}},
		{"permission", "permissions: [reed]\n", []string{`permissions[0] is "reed"; it should be one of read, write, execute, network; did you mean "read"?`}},
		{"effects", "toolsets: {filesystem: {rules: [{pattern: a, effects: [execute], approval: ask}]}}\n", []string{`effects[0] is "execute"; it should be one of read, write, delete`}},
		{"no effects", "toolsets: {filesystem: {rules: [{pattern: a, effects: [], approval: ask}]}}\n", []string{`effects is empty`}},
		{"rule without a pattern", "toolsets: {shell: {rules: [{approval: ask}]}}\n", []string{`toolsets.shell.rules[0] needs a pattern and an approval`}},
		{"rule without an approval", "toolsets: {shell: {rules: [{pattern: git}]}}\n", []string{`needs a pattern and an approval`}},
		{"limit", "limits: {readLines: lots}\n", []string{`limits.readLines is "lots"; want a whole number`}},
		{"limit out of range", "limits: {readLines: 0}\n", []string{`limits.readLines is "0"; want 1 to 1000000`}},
		{"negative limit", "limits: {webBytes: -1}\n", []string{`want a number of bytes`}},
		{"overflow", "limits: {webBytes: 9999999999999999GiB}\n", []string{`want a number of bytes`}},
		{"retention", "retention: {rows: 3x}\n", []string{`want a time like 12h, 30d or 8w, or forever`}},
		{"retention of nothing", "retention: {rows: 0d}\n", []string{`want a time like`}},
		{"zone name", "zones: {\"../x\": {path: /a}}\n", []string{`zone name "../x"`}},
		{"zone of ours", "zones: {spill: {path: /a}}\n", []string{`zone "spill" is provided by Tongs`}},
		{"zone without path", "zones: {a: {mode: rw}}\n", []string{`zone "a" needs a path`}},
		{"mcp with both", "toolsets: {mcp: {a: {command: x, url: y}}}\n", []string{`needs either a command or a url`}},
		{"custom without a module", "toolsets: {custom: {tools: [a]}}\n", []string{`lists tools but no module`}},
		{"duplicate key", "approval: {}\nlimits: {}\napproval: {}\n", []string{`3:1: the key "approval" is given twice; the first is in line 1`}},
		{"anchor", "approval: &a {}\n", []string{`1:11: anchors and aliases are not allowed`}},
		{"alias bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", []string{`anchors and aliases are not allowed`}},
		{"merge key", "approval:\n  <<: {default: ask}\n", []string{`merge keys are not allowed`}},
		{"tag", "approval: !!map {}\n", []string{`tags are not allowed`}},
		{"two documents", "approval: {}\n---\nlimits: {}\n", []string{`a second document starts here`}},
		{"tab", "approval:\n\tmode: safe\n", []string{`2:1: there is a tab in the indentation; use spaces`}},
		{"not UTF-8", "approval: {}\n# \xff\n", []string{`2:1: the line is not valid UTF-8`}},
		{"NUL", "approval: {}\n#\x00\n", []string{`control character U+0000`}},
		{"escape sequence", "approval: {}\n#\x1b[2J\n", []string{`control character U+001B`}},
		{"deep flow", strings.Repeat("[", 100_000), []string{`nested more than`}},
		{"deep block", strings.Repeat("- ", 100_000) + "x", []string{`nested more than`}},
		{"deep indentation", deepBlock(200), []string{`nested more than`}},
		{"question marks", strings.Repeat("? ", 100_000) + "x", []string{`keys are not allowed`}},
		{"a list", "- a\n- b\n", []string{`the file should be a mapping (key: value), not a list`}},
		{"just text", "hello\n", []string{`the file should be a mapping (key: value), not the text "hello"`}},
		{"unclosed", "approval: {default: ask\n", []string{"config.yaml:1:"}},
		{"many keys", strings.Repeat("a: b\n", 10_000), []string{`more than 20000 words and marks`}},
		{"a long list", "permissions: [" + strings.Repeat("a,", 100_000) + "]", []string{`more than 20000 words and marks`}},
		{"large", "# " + strings.Repeat("x", 1<<20), []string{`at most 1048576 are read`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newSite(t).user(tt.text).fail()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("error is:\n%s\nwant in it:\n%s", got, want)
				}
			}
			if strings.ContainsAny(got, "\x00\x1b") || len(got) > 4000 {
				t.Errorf("the message is not fit to print: %d bytes", len(got))
			}
		})
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// A file that is not plain ASCII is fine as long as it is text.
func TestOddButValidFiles(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "comment": "# nothing\n", "null": "approval:\n", "BOM": "\uFEFFapproval: {mode: none}\n",
		"CRLF": "approval:\r\n  mode: none\r\n", "document marks": "---\napproval: {mode: none}\n...\n",
		"unicode": "name: Ünïcode 🦀\napproval: {mode: none}\n", "JSON": `{"approval": {"mode": "none"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newSite(t).user(text).load()
			if strings.Contains(text, "none") && c.Mode.String() != "none" {
				t.Errorf("mode = %s", c.Mode)
			}
		})
	}
}

func TestUnreadableFilesStopEverything(t *testing.T) {
	for name, write := range map[string]func(*site, string) *site{
		"policy.yaml": (*site).managed, "config.yaml": (*site).user, "tongs.yaml": (*site).workspace,
	} {
		t.Run("broken "+name, func(t *testing.T) {
			s := newSite(t)
			if got := write(s, "{{{").fail(); !strings.Contains(got, name) {
				t.Errorf("error %q does not name %s", got, name)
			}
		})
		t.Run(name+" is a directory", func(t *testing.T) {
			s := newSite(t)
			path := map[string]string{
				"policy.yaml": s.opt.Managed, "config.yaml": filepath.Join(s.opt.ConfigDir, name),
				"tongs.yaml": filepath.Join(s.opt.Workspace, name),
			}[name]
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if got := s.fail(); !strings.Contains(got, name) {
				t.Errorf("error %q does not name %s", got, name)
			}
		})
	}
	t.Run("a link in the workspace", func(t *testing.T) {
		s := newSite(t)
		secret := filepath.Join(t.TempDir(), "id_rsa")
		s.write(secret, "BEGIN PRIVATE KEY\n")
		if err := os.Symlink(secret, filepath.Join(s.opt.Workspace, "tongs.yaml")); err != nil {
			t.Fatal(err)
		}
		if got := s.fail(); !strings.Contains(got, "symbolic link") || strings.Contains(got, "PRIVATE") {
			t.Errorf("error: %s", got)
		}
	})
	t.Run("a dangling link as policy", func(t *testing.T) {
		s := newSite(t)
		if err := os.Symlink("nowhere", s.opt.Managed); err != nil {
			t.Fatal(err)
		}
		if got := s.fail(); !strings.Contains(got, "does not exist") {
			t.Errorf("error: %s", got)
		}
	})
}

func TestManagedFileMustBeTheAdministrators(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits are not how Windows tells who can write")
	}
	s := newSite(t).managed("approval: {}\n")
	for _, mode := range []os.FileMode{0o646, 0o666} {
		if err := os.Chmod(s.opt.Managed, mode); err != nil {
			t.Fatal(err)
		}
		if got := s.fail(); !strings.Contains(got, "writable by others") {
			t.Errorf("mode %o: %s", mode, got)
		}
	}
	if err := os.Chmod(s.opt.Managed, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(s.opt.Managed), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := s.fail(); !strings.Contains(got, filepath.Dir(s.opt.Managed)+" is writable by others") {
		t.Errorf("open directory: %s", got)
	}
	if err := os.Chmod(filepath.Dir(s.opt.Managed), 0o755); err != nil {
		t.Fatal(err)
	}
	s.load()
	if os.Getuid() != 0 {
		s.opt.ManagedOwner = 0
	} else if err := os.Chown(s.opt.Managed, 4321, -1); err != nil {
		t.Fatal(err)
	}
	if got := s.fail(); !strings.Contains(got, "is owned by user") {
		t.Errorf("foreign owner: %s", got)
	}
}

// What counts because of where it is must be the user's own, on the whole way to it.
func TestUserFilesMustBeTheUsers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits are not how Windows tells who can write")
	}
	change := map[string]func(s *site) error{
		"file open to all":      func(s *site) error { return os.Chmod(filepath.Join(s.opt.ConfigDir, "config.yaml"), 0o666) },
		"directory open to all": func(s *site) error { return os.Chmod(s.opt.ConfigDir, 0o777) },
		"home open to all":      func(s *site) error { return os.Chmod(s.opt.Home, 0o777) },
		"removed by anybody": func(s *site) error {
			return errors.Join(os.Remove(filepath.Join(s.opt.ConfigDir, "config.yaml")), os.Chmod(s.opt.ConfigDir, 0o777))
		},
	}
	if os.Getuid() == 0 {
		change["a stranger's file"] = func(s *site) error { return os.Chown(filepath.Join(s.opt.ConfigDir, "config.yaml"), 4321, -1) }
		change["a stranger's directory"] = func(s *site) error { return os.Chown(s.opt.ConfigDir, 4321, -1) }
		change["a stranger's home"] = func(s *site) error { return os.Chown(s.opt.Home, 4321, -1) }
		change["a link to a stranger's file"] = func(s *site) error {
			file, other := filepath.Join(s.opt.ConfigDir, "config.yaml"), filepath.Join(s.opt.Workspace, "theirs")
			return errors.Join(os.Rename(file, other), os.Chown(other, 4321, -1), os.Symlink(other, file))
		}
	}
	for name, change := range change {
		for _, unattended := range []bool{false, true} {
			s := newSite(t).user("approval: {mode: all}\n")
			s.opt.Unattended = unattended
			if c := s.load(); c.Mode != tongs.ModeAll {
				t.Fatalf("mode %s", c.Mode)
			}
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if got := s.fail(); !strings.Contains(got, "run: ch") || !strings.Contains(got, "(mode ") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// A worker of the user's directory is trusted because it is there.
func TestOwnWorkersMustBeTheUsers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits are not how Windows tells who can write")
	}
	s := newSite(t)
	path := filepath.Join(s.opt.ConfigDir, "mine.worker")
	s.write(path, "---\ndescription: d\n---\nDo it.\n")
	if w, err := config.LoadWorker(path, config.WorkerOptions{Own: true}); err != nil || !w.Trusted {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadWorker(path, config.WorkerOptions{Own: true}); err == nil || !strings.Contains(err.Error(), "writable by others") {
		t.Errorf("%v", err)
	}
}

func TestDirectories(t *testing.T) {
	t.Setenv("TONGS_STATE_DIR", "relative")
	if _, err := config.FindStateDir(); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("relative state directory: %v", err)
	}
	state := filepath.Join(t.TempDir(), "a", "state")
	t.Setenv("TONGS_STATE_DIR", state)
	if got, err := config.FindStateDir(); err != nil || got != state {
		t.Errorf("state directory %s, %v", got, err)
	}
	if err := config.MakeStateDir(state); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o755, 0o700} {
		if err := os.Chmod(state, mode); err != nil {
			t.Fatal(err)
		}
		if err := config.MakeStateDir(state); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{state, filepath.Dir(state)} {
		if err := errors.Join(os.Chmod(state, 0o700), os.Chmod(open, 0o777)); err != nil {
			t.Fatal(err)
		}
		if err := config.MakeStateDir(state); err == nil || !strings.Contains(err.Error(), open+" is writable by others") {
			t.Errorf("%s is open: %v", open, err)
		}
		if err := config.CheckStateDir(state); err == nil || !strings.Contains(err.Error(), open+" is writable by others") {
			t.Errorf("%s is open: %v", open, err)
		}
	}
}

func TestDesign4_StateOrConfigurationInsideTheWorkspaceIsRefused(t *testing.T) {
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	for private, ok := range map[string]bool{
		filepath.Join(dir, "other"):            true,
		filepath.Join(dir, "ws2"):              true,
		ws:                                     false,
		filepath.Join(ws, "missing", "state"):  false,
		dir:                                    false,
		filepath.Join(link, "deep", "missing"): false,
	} {
		if err := config.Apart(ws, private); (err == nil) != ok {
			t.Errorf("Apart(ws, %s) = %v", private, err)
		}
	}
}

// AGENT_WORKSPACE_ROOT is the cap; the workspace is --workspace or the current directory inside it.
func TestDesign9_WorkspaceRootOfTheEnvironmentIsTheCap(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "cap", "ws")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AGENT_WORKSPACE_ROOT", filepath.Join(dir, "cap"))
	t.Chdir(ws)
	if got, limit, err := config.FindWorkspace(""); err != nil || got != ws || limit != filepath.Join(dir, "cap") {
		t.Errorf("FindWorkspace = %s, %s, %v", got, limit, err)
	}
	if _, _, err := config.FindWorkspace(dir); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("outside the cap: %v", err)
	}
	if err := os.Symlink(dir, filepath.Join(ws, "out")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.FindWorkspace("out"); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("outside the cap by a link: %v", err)
	}
	if _, _, err := config.FindWorkspace("missing"); err == nil {
		t.Error("a missing workspace is accepted")
	}
	t.Setenv("AGENT_WORKSPACE_ROOT", ".")
	if _, _, err := config.FindWorkspace(""); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("relative cap: %v", err)
	}
	t.Setenv("AGENT_WORKSPACE_ROOT", filepath.Join(dir, "cap"))
	t.Chdir(dir)
	if _, _, err := config.FindWorkspace(""); err == nil || !strings.Contains(err.Error(), "current directory") {
		t.Errorf("current directory outside the cap: %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(everything))
	f.Add([]byte("a: [b, {c: d}]\n- x\n? y\n"))
	f.Add([]byte("approval: |\n  text\n...\n---\n"))
	f.Add([]byte("\"a\\x41\": 'b''c'\n# c\n"))
	dir := f.TempDir()
	path := filepath.Join(dir, "config.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none", "policy.yaml")})
		if err != nil {
			if strings.ContainsRune(err.Error(), 0x1b) || !strings.Contains(err.Error(), "config.yaml") {
				t.Errorf("error %q", err)
			}
			return
		}
		for _, r := range c.Rules {
			if r.Origin == "" || r.Untrusted {
				t.Errorf("rule without an origin: %+v", r)
			}
		}
	})
}
