package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

// Direct asks before anything runs, so it is the stricter word, and that of any file stands.
func TestStricterWritesStand(t *testing.T) {
	const direct, outcome = "sandbox: {writes: direct}\n", "sandbox: {writes: outcome}\n"
	for _, c := range []struct {
		name                     string
		managed, user, workspace string
		trusted                  bool
		want                     config.Writes
		ignored                  int
	}{
		{name: "nobody", want: config.Outcome},
		{name: "the user", user: direct, want: config.Direct},
		{name: "an untrusted workspace asks before", workspace: direct, want: config.Direct},
		{name: "and cannot ask less", user: direct, workspace: outcome, want: config.Direct, ignored: 1},
		{name: "nor can a trusted one", user: direct, workspace: outcome, trusted: true, want: config.Direct, ignored: 1},
		{name: "the administrator", managed: direct, user: outcome, want: config.Direct, ignored: 1},
		{name: "a user stricter than the administrator", managed: outcome, user: direct, want: config.Direct},
		{name: "all agree", managed: outcome, user: outcome, workspace: outcome, want: config.Outcome},
	} {
		s := newSite(t).managed(c.managed).user(c.user).workspace(c.workspace)
		if c.trusted {
			s.trust()
		}
		if got := s.load(); got.Sandbox.Writes != c.want || len(got.Ignored) != c.ignored {
			t.Errorf("%s: %s, ignored %v", c.name, got.Sandbox.Writes, got.Ignored)
		}
	}
}

// What is let through is written undecided: only a file that somebody vouches for can say so.
func TestThrough(t *testing.T) {
	s := newSite(t).user("sandbox: {through: [node_modules, ~/.cache/x]}\n").workspace("sandbox: {through: [src, node_modules]}\n")
	c := s.load()
	home := strings.TrimSuffix(c.Sandbox.Through[1], filepath.FromSlash("/.cache/x"))
	if len(c.Sandbox.Through) != 2 || !filepath.IsAbs(home) || len(c.Ignored) != 2 || !strings.Contains(c.Ignored[0].What, `"src"`) {
		t.Errorf("through %q, ignored %v", c.Sandbox.Through, c.Ignored)
	}
	if c = s.trust().load(); len(c.Sandbox.Through) != 3 || len(c.Ignored) != 0 {
		t.Errorf("through %q, ignored %v", c.Sandbox.Through, c.Ignored)
	}
	want := []string{filepath.Join(s.opt.Workspace, "node_modules"), c.Sandbox.Through[1], filepath.Join(s.opt.Workspace, "src")}
	if got := c.Sandbox.Paths(s.opt.Workspace); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	for _, wrong := range []string{".", "..", "../x", "a/../..", "''", "'**/node_modules'", "[x]"} {
		if msg := newSite(t).user("sandbox: {through: [" + wrong + "]}\n").fail(); !strings.Contains(msg, "through") {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

func TestWritesOfARule(t *testing.T) {
	c := newSite(t).user("toolsets: {shell: {rules: [{pattern: 'make ', approval: preApproved, writes: outcome}, " +
		"{pattern: 'go ', approval: preApproved, writes: direct}, {pattern: 'npm ', approval: preApproved}]}}\n").load()
	if !c.Rules[0].Outcome || c.Rules[1].Outcome || c.Rules[2].Outcome {
		t.Errorf("rules %+v", c.Rules)
	}
	if got := c.Rules[0].String(); got != `toolset shell execute "make ": preApproved, on a copy (user, config.yaml:1)` {
		t.Errorf("%s", got)
	}
	for _, wrong := range []string{
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: ask, writes: outcome}]}}",
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: blocked, writes: direct}]}}",
		"toolsets: {shell: {rules: [{pattern: 'build/**', effects: [write], approval: preApproved, writes: outcome}]}}",
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: preApproved, writes: both}]}}",
		"toolsets: {filesystem: {rules: [{pattern: 'a', approval: preApproved, writes: outcome}]}}",
		"sandbox: {writes: maybe}",
		"sandbox: {write: direct}",
	} {
		if msg := newSite(t).user(wrong + "\n").fail(); !strings.Contains(msg, "writ") {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

// How much undo keeps is about the whole state of the user: no workspace, trusted or not, can make it forget.
func TestWorkspaceCannotMakeUndoForget(t *testing.T) {
	s := newSite(t).user("limits: {journalBytes: 1GiB}\n").workspace("limits: {journalBytes: 16MiB}\nretention: {changes: 1h}\n")
	for range 2 {
		if c := s.load(); c.Limits.JournalBytes != 1<<30 || c.Retention.Changes.Hours() != 30*24 || len(c.Ignored) != 2 {
			t.Errorf("%d, %s, ignored %v", c.Limits.JournalBytes, c.Retention.Changes, c.Ignored)
		}
		s.trust()
	}
	if c := s.managed("limits: {journalBytes: 64MiB}\n").load(); c.Limits.JournalBytes != 64<<20 {
		t.Errorf("the administrator's is %d", c.Limits.JournalBytes)
	}
}

// Hosts of commands are allowed by a person's own file only; any file can ask for them, block them or limit their methods.
func TestHostsOfCommands(t *testing.T) {
	network := tongs.Kinds(tongs.EffectNetwork)
	s := newSite(t).user("sandbox:\n  network:\n    hosts:\n      - npm\n      - mirror.example:8081\n      - {host: plain.example, methods: [GET, HEAD]}\n      - {host: evil.example, approval: blocked}\n")
	s.workspace("sandbox: {network: {hosts: [pypi, {host: go, approval: ask}, {host: plain.example, approval: ask, methods: [GET]}]}}\n")
	for _, trusted := range []bool{false, true} {
		if trusted {
			s.trust()
		}
		c := s.load()
		allowed, asked, blocked := map[string]int{}, []string{}, []string{}
		for _, r := range c.Rules {
			switch {
			case r.Effects != network:
			case r.Decision == tongs.PreApproved && !r.Untrusted:
				allowed[r.Pattern+" "+r.Toolset]++
			case r.Decision == tongs.Ask:
				asked = append(asked, r.Pattern+r.Toolset)
			case r.Decision == tongs.Blocked:
				blocked = append(blocked, r.Pattern+r.Toolset)
			}
		}
		for _, host := range []string{"registry.npmjs.org", "registry.yarnpkg.com", "mirror.example:8081", "plain.example"} {
			if allowed[host+" shell"] != 1 || allowed[host+" code"] != 1 || allowed[host+" git"] != 1 || allowed[host+" project"] != 1 {
				t.Errorf("%s: allowed %v", host, allowed)
			}
		}
		if len(allowed) != 16 || !slices.Equal(asked, []string{"proxy.golang.org", "sum.golang.org", "plain.example"}) || !slices.Equal(blocked, []string{"evil.example"}) {
			t.Errorf("allowed %v, asked %v, blocked %v", allowed, asked, blocked)
		}
		if got := c.Sandbox.MethodsFor("plain.example"); !slices.Equal(got, []string{"GET"}) || c.Sandbox.MethodsFor("registry.npmjs.org") != nil {
			t.Errorf("methods %v", got)
		}
		if !slices.ContainsFunc(c.Ignored, func(i config.Ignored) bool { return strings.Contains(i.What, "pypi.org") }) {
			t.Errorf("trusted %t: ignored %v", trusted, c.Ignored)
		}
	}
	for wrong, says := range map[string]string{
		"npn": "did you mean npm?", "{approval: ask}": "needs a host", "{host: npm, methods: [POST]}": "GET", "https://npm.example": "URL",
		"{host: npm, approval: blocked, methods: [GET]}": "whatever the method", "{host: npm, methods: []}": "name at least one",
	} {
		if msg := newSite(t).user("sandbox: {network: {hosts: [" + wrong + "]}}\n").fail(); !strings.Contains(msg, says) {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

// Pushes are allowed by a person's own file only; any file can ask for them or block them.
func TestPushes(t *testing.T) {
	s := newSite(t).user("sandbox:\n  network:\n    pushes:\n      - {host: github.com, branch: agent/*, approval: preApproved}\n      - {host: '*', branch: main, approval: blocked}\n")
	s.workspace("sandbox: {network: {pushes: [{host: evil.example, branch: '*', approval: preApproved}, {host: github.com, branch: refs/tags/*, approval: ask}]}}\n").trust()
	c := s.load()
	var got []string
	for _, r := range c.Rules {
		if r.Branch != "" && !r.Untrusted {
			got = append(got, strings.Join([]string{r.Decision.String(), r.Toolset, r.Pattern, r.Branch}, " "))
		}
	}
	slices.Sort(got)
	want := []string{
		"ask  github.com refs/tags/*", "blocked  * main", "preApproved code github.com agent/*", "preApproved git github.com agent/*", "preApproved project github.com agent/*", "preApproved shell github.com agent/*",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules %q", got)
	}
	if !slices.ContainsFunc(c.Ignored, func(i config.Ignored) bool { return strings.Contains(i.What, "sandbox.network.pushes: evil.example *") }) {
		t.Errorf("ignored %v", c.Ignored)
	}
	for wrong, says := range map[string]string{
		"{host: github.com, approval: ask}": "needs a host, a branch and an approval", "{host: github.com, branch: x}": "needs a host, a branch",
		"{host: 'https://github.com', branch: x, approval: ask}": "URL", "{host: github.com, branch: 'a b', approval: ask}": "no branch has this name",
		"{host: github.com, branch: a..b, approval: ask}": "no branch has this name", "github.com": "pushes",
	} {
		if msg := newSite(t).user("sandbox: {network: {pushes: [" + wrong + "]}}\n").fail(); !strings.Contains(msg, says) {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

// A limit of methods covers all hosts that its entry allows, and the same host at other ports.
func TestMethodLimitsOfPatterns(t *testing.T) {
	c := newSite(t).user("sandbox: {network: {hosts: [{host: '*.corp.example', methods: [GET, HEAD]}, {host: 'plain.example:*', methods: [GET]}]}}\n").load()
	for host, want := range map[string][]string{
		"npm.corp.example": {"GET", "HEAD"}, "NPM.corp.example:8443": {"GET", "HEAD"}, "plain.example": {"GET"}, "plain.example:8080": {"GET"},
		"corp.example": nil, "other.example": nil,
	} {
		if got := c.Sandbox.MethodsFor(host); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}
