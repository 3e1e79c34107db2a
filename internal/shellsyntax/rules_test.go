package shellsyntax_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
	"github.com/tongs-ai/tongs/workspace"
)

// permissive are the programs that the rules of the tables pre-approve.
var permissive = strings.Fields(`git ls cat head tail grep rg find echo printf npm go make env xargs sed awk python python3 tee wc sort
 uniq jq diff which date sleep nohup`)

func rule(pattern string, d tongs.Decision) tongs.Rule {
	return tongs.Rule{
		Layer: tongs.LayerUser, Toolset: "shell", Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: d,
	}
}

func permissiveRules() []tongs.Rule {
	rules := shellsyntax.Defaults("shell")
	for _, name := range permissive {
		rules = append(rules, rule(name, tongs.PreApproved))
	}
	return rules
}

func shellSpec() *tongs.Spec {
	return &tongs.Spec{
		Name: "shell", Toolset: "shell", Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network,
		Source: tongs.Source{Kind: tongs.SourceBuiltin}, Default: tongs.Ask,
	}
}

// site is a workspace with some files in it.
type site struct {
	dir   string
	space *workspace.Workspace
	world shellsyntax.World
}

func newSite(t testing.TB) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a.txt": "one\ntwo\n", "b.txt": "two\n", "src/main.go": "package main\n", "docs/x.md": "#\n", "tool.py": "print(1)\n",
		"script.sh": "git status\n", "Makefile": "all:\n", "package.json": "{}\n", ".env": "KEY=1\n", ".gitignore": ".env\n",
		".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/x.sample": "", ".git/config": "", ".git/objects/x": "",
		".git/refs/heads/x": "",
	} {
		write(t, filepath.Join(dir, name), content)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out-link")); err != nil {
		t.Fatal(err)
	}
	return openSite(t, dir)
}

func openSite(t testing.TB, dir string) *site {
	t.Helper()
	w, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(t.TempDir(), "locks")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	world := shellsyntax.ViewWorld(w.View(tongs.Path{Rel: "."}))
	world.Home = "/home/somebody"
	world.Inherits = func(name string) bool {
		return slices.Contains([]string{"PATH", "HOME", "LANG", "TERM", "CI", "USER", "TMPDIR", "SHELL"}, name)
	}
	return &site{dir: dir, space: w, world: world}
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// decide judges a command as the engine would: analysis, the workspace's own check, policy. A command that cannot be
// analysed or that the workspace refuses does not run: it counts as blocked.
func (s *site) decide(src string, rules ...tongs.Rule) (policy.Verdict, []tongs.Effect, error) {
	an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
	if err != nil {
		return policy.Verdict{Decision: tongs.Blocked}, nil, err
	}
	effects, err := s.space.Check(an.Effects)
	if err != nil {
		return policy.Verdict{Decision: tongs.Blocked}, an.Effects, err
	}
	spec := shellSpec()
	return policy.Decide(policy.Input{
		Spec: spec, Names: []string{"shell"}, Effects: effects,
		Chain: [][]tongs.Rule{rules},
	}), effects, nil
}

// table reads the commands of a file: one a line, # begins a comment, a line in quotes is a Go string.
func table(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []string
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		line := scanner.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if text, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = text
		}
		list = append(list, line)
	}
	return list
}

func explain(v policy.Verdict, effects []tongs.Effect) string {
	var b strings.Builder
	for i, e := range effects {
		if i < len(v.Effects) {
			b.WriteString("\n  " + e.String() + " (" + e.Why + "): " + v.Effects[i].Decision.String() + " by " + v.Effects[i].By)
		}
	}
	return b.String()
}

func TestApproved(t *testing.T) {
	s := newSite(t)
	list := table(t, "approved.txt")
	if len(list) < 60 {
		t.Fatalf("%d commands, want at least 60", len(list))
	}
	for _, src := range list {
		v, effects, err := s.decide(src, permissiveRules()...)
		if err != nil || v.Decision != tongs.PreApproved {
			t.Errorf("%q: %s, want preApproved (%v)%s", src, v.Decision, err, explain(v, effects))
		}
	}
}

func TestAsked(t *testing.T) {
	s := newSite(t)
	list := table(t, "asked.txt")
	if len(list) < 150 {
		t.Fatalf("%d commands, want at least 150", len(list))
	}
	for _, src := range list {
		v, effects, err := s.decide(src, permissiveRules()...)
		if v.Decision == tongs.PreApproved {
			t.Errorf("%q: preApproved%s", src, explain(v, effects))
		}
		if err != nil && tongs.CodeOf(err) == tongs.CodeInternal {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestBlocked(t *testing.T) {
	s := newSite(t)
	list := table(t, "blocked.txt")
	if len(list) < 40 {
		t.Fatalf("%d commands, want at least 40", len(list))
	}
	rules := append(permissiveRules(), rule("rm", tongs.Blocked), rule("curl", tongs.Blocked), rule("git push",
		tongs.Blocked))
	for _, src := range list {
		v, effects, err := s.decide(src, rules...)
		if err != nil || v.Decision != tongs.Blocked {
			t.Errorf("%q: %s, want blocked (%v)%s", src, v.Decision, err, explain(v, effects))
		}
	}
}
