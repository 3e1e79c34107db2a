package policy_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestMatchPaths(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"src/**", []string{"src", "src/a.go", "src/a/b/.c"}, []string{"srcs/a", "a/src/b", "/src/a", "Src/a"}},
		{"src/*", []string{"src/a", "src/.env"}, []string{"src/a/b", "src"}},
		{"docs", []string{"docs", "docs/a", "docs/a/b"}, []string{"docsx", "a/docs"}},
		{"docs/", []string{"docs", "docs/a/b"}, []string{"docsx"}},
		{"./docs", []string{"docs", "docs/a"}, []string{"docsx"}},
		{"build-*/", []string{"build-1", "build-1/a/b"}, []string{"build/a"}},
		{"build-*", []string{"build-1"}, []string{"build-1/a"}},
		{"**/*.go", []string{"a.go", "x/y/a.go", "x/.a.go"}, []string{"a.go/x", "/zone/a.go"}},
		{"{a,b}/*.go", []string{"a/x.go", "b/x.go"}, []string{"c/x.go"}},
		{"{a/b,c}/**", []string{"a/b/x", "c/x"}, []string{"a/x"}},
		{`src/\[id\].ts`, []string{"src/[id].ts"}, []string{"src/i.ts"}},
		{"src/[id].ts", []string{"src/i.ts"}, []string{"src/[id].ts"}},
		{".", []string{".", "a", "a/b", ".git/config"}, []string{"/zone/a"}},
		{"**", []string{".", "a", "a/.b/c"}, []string{"/zone/a", "/zone"}},
		{"/cache/**", []string{"/cache", "/cache/a/b"}, []string{"cache/a", "/caches/a"}},
		{"/cache", []string{"/cache", "/cache/a"}, []string{"cache", "/cache2"}},
		{"/*/tmp", []string{"/cache/tmp"}, []string{"cache/tmp"}},
		{"a[", nil, []string{"a[", "a"}},
		{"src/a b.go", []string{"src/a b.go"}, []string{"src/a"}},
	} {
		for _, p := range append(c.yes, c.no...) {
			e := tongs.Effect{Kind: tongs.EffectWrite, Path: path(p)}
			if got, want := policy.Match(tongs.EffectWrite, c.pattern, e), contains(c.yes, p); got != want {
				t.Errorf("%q matches %q: %v, want %v", c.pattern, p, got, want)
			}
			if policy.Match(tongs.EffectRead, c.pattern, e) {
				t.Errorf("%q matches %q as another kind", c.pattern, p)
			}
		}
	}
}

func path(s string) tongs.Path {
	rest, zone := strings.CutPrefix(s, "/")
	if !zone {
		return tongs.Path{Rel: s}
	}
	root, rel, ok := strings.Cut(rest, "/")
	if !ok {
		rel = "."
	}
	return tongs.Path{Root: root, Rel: rel}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestMatchCommands(t *testing.T) {
	for _, c := range []struct {
		pattern string
		argv    []string
		want    bool
	}{
		{"git ", []string{"git"}, true},
		{"git", []string{"git", "status"}, true},
		{"git *", []string{"git"}, true},
		{"git *", []string{"git", "log", "-1"}, true},
		{"git", []string{"gitk"}, false},
		{"git", []string{"git status"}, false},
		{"git log", []string{"git", "log", "--oneline"}, true},
		{"git log", []string{"git", "logx"}, false},
		{"git log", []string{"git"}, false},
		{"git log *", []string{"git", "log"}, true},
		{"= git log", []string{"git", "log"}, true},
		{"= git log", []string{"git", "log", "-1"}, false},
		{"= git log *", []string{"git", "log", "-1"}, true},
		{"= git log *", []string{"git", "log"}, false},
		{"= git log *", []string{"git", "log", "-1", "-2"}, false},
		{"npm run test:*", []string{"npm", "run", "test:unit"}, true},
		{"npm run test:*", []string{"npm", "run", "test"}, false},
		{"go * ./...", []string{"go", "vet", "./..."}, true},
		{"go * ./...", []string{"go", "vet", "-x", "./..."}, false},
		{"a*b*c", []string{"a-b-b-c"}, true},
		{"a*b*c", []string{"ac"}, false},
		{"a*a", []string{"a"}, false},
		{"*", []string{"anything", "at", "all"}, true},
		{"echo 'a b'", []string{"echo", "a b", "c"}, true},
		{"echo 'a b'", []string{"echo", "a", "b"}, false},
		{`echo "a\nb"`, []string{"echo", "a\nb"}, true},
		{`echo a\ b`, []string{"echo", "a b"}, true},
		{"echo '*'", []string{"echo", "*"}, true},
		{"echo '*'", []string{"echo", "x"}, false},
		{"echo 'a '*' b'", []string{"echo", "a x b"}, true},
		{"echo 'a '*' b'", []string{"echo", "a b"}, false},
		{"echo 'a '*x*' b'", []string{"echo", "a .x. b"}, true},
		{"echo ''", []string{"echo", ""}, true},
		{"echo ''", []string{"echo", "x"}, false},
		{"'=' x", []string{"=", "x"}, true},
		{"git", []string{"/usr/bin/git"}, false},
		{"git", []string{"./git"}, false},
		{"/usr/bin/git", []string{"/usr/bin/git", "log"}, true},
		{"", []string{"git"}, false},
		{"  ", []string{"git"}, false},
		{"=", []string{"git"}, false},
		{"git 'x", []string{"git", "x"}, false},
		{"git log", []string{"Git", "log"}, false},
		{"git\tlog", []string{"git", "log"}, true},
	} {
		e := tongs.Effect{Kind: tongs.EffectExecute, Argv: c.argv}
		if got := policy.Match(tongs.EffectExecute, c.pattern, e); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.argv, got)
		}
	}
}

func TestStrictWordsCannotBeEvadedBySpelling(t *testing.T) {
	for _, c := range []struct {
		pattern string
		effect  tongs.Effect
		blocked bool
	}{
		{"rm", run("/bin/rm -rf x"), true},
		{"rm", run("./rm"), true},
		{"rm", tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{`C:\tools\rm.EXE`}}, true},
		{"rm -rf", run("/bin/rm -rf x"), true},
		{"rm", run("/bin/rmdir x"), false},
		{"/bin/rm", run("rm x"), false},
		{"bad.example.com", get("bad.example.com:8443"), true},
		{"bad.example.com", get("BAD.example.com."), true},
		{"bad.example.com:443", get("bad.example.com"), true},
		{"bad.example.com:8443", get("bad.example.com"), false},
		{"*.example.com", get("a.b.example.com:1"), true},
		{"127.0.0.1", get("[::ffff:127.0.0.1]:80"), true},
		{"::1", get("[0:0:0:0:0:0:0:1]:80"), true},
	} {
		r := tongs.Rule{Effects: tongs.Kinds(c.effect.Kind), Pattern: c.pattern, Decision: tongs.Blocked}
		in := input(tool("x", "", tongs.AllPermissions, tongs.PreApproved), effects(c.effect), r)
		if got := policy.Decide(in).Decision == tongs.Blocked; got != c.blocked {
			t.Errorf("%q blocks %v: %v", c.pattern, c.effect, got)
		}
	}
	// A malformed strict rule asks; a malformed lenient one counts for nothing.
	for _, bad := range []struct {
		pattern string
		e       tongs.Effect
	}{{"a[", write("a/b")}, {"rm 'x", run("rm y")}, {"[::1", get("example.com")}} {
		r := tongs.Rule{Effects: tongs.Kinds(bad.e.Kind), Pattern: bad.pattern, Decision: tongs.Blocked}
		free := tool("x", "", tongs.AllPermissions, tongs.PreApproved)
		for _, spec := range []*tongs.Spec{free, outside(tongs.SourceMCP, "s__x", tongs.Ask)} {
			in := input(spec, effects(bad.e), r, appliesToTool(spec.Name, tongs.PreApproved))
			in.Mode = tongs.ModeAll
			want(t, in, tongs.Ask, policy.StepMustAsk)
		}
		r.Decision = tongs.PreApproved
		want(t, input(edit(), effects(bad.e), r), tongs.Ask, policy.StepDefault)
	}
}

// A rule of an untrusted file must not be able to stall decisions: each group of braces doubles the ways to match.
func TestExpensivePatternIsNotTried(t *testing.T) {
	pattern := strings.Repeat("{a,a}", 60) + "b"
	r := tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: pattern, Decision: tongs.Blocked, Untrusted: true}
	in := input(tool("x", "", tongs.Write, tongs.PreApproved), effects(write(strings.Repeat("a", 60)+"c")), r)
	want(t, in, tongs.Ask, policy.StepMustAsk)
}

func TestMatchHosts(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"example.com", "example.com", true},
		{"Example.COM", "example.com", true},
		{"example.com.", "example.com", true},
		{"example.com", "example.com.", true},
		{"example.com", "www.example.com", false},
		{"example.com", "example.com.evil.org", false},
		{"example.com", "example.com:8080", false},
		{"example.com:8080", "example.com:8080", true},
		{"example.com:8080", "example.com", false},
		{"example.com:*", "example.com:8080", true},
		{"example.com:*", "example.com", true},
		{"*.example.com", "a.example.com", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", "evilexample.com", false},
		{"*.example.com", ".example.com", false},
		{"*", "anything.org", true},
		{"*", "anything.org:81", false},
		{"*:*", "anything.org:81", true},
		{"*:443", "anything.org:443", true},
		{"localhost:8080", "localhost:8080", true},
		{"::1", "::1", true},
		{"::1", "[::1]", true},
		{"[::1]:8080", "[::1]:8080", true},
		{"[::1]:8080", "[::1]:8081", false},
		{"::1", "0:0:0:0:0:0:0:1", true},
		{"2001:DB8::1", "2001:db8::1", true},
		{"*.0.0.1", "127.0.0.1", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"\u212aelvin.org", "kelvin.org", false},
		{"", "example.com", false},
		{":80", ":80", false},
	} {
		if got := policy.Match(tongs.EffectNetwork, c.pattern, get(c.host)); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.host, got)
		}
	}
}

func TestMatchNothingUnknown(t *testing.T) {
	for _, k := range []tongs.EffectKind{tongs.EffectRead, tongs.EffectExecute, tongs.EffectNetwork, 0, 255} {
		e := unknown(k)
		e.Argv, e.Host, e.Path = []string{"git"}, "example.com", tongs.Path{Rel: "a"}
		for _, p := range []string{"*", "**", ".", "git", "", policy.UnknownPattern} {
			if policy.Match(k, p, e) {
				t.Errorf("%q matches an unknown %v", p, k)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	kinds := map[string]tongs.EffectKinds{
		"path": tongs.Kinds(tongs.EffectRead, tongs.EffectWrite), "argv": tongs.Kinds(tongs.EffectExecute),
		"host": tongs.Kinds(tongs.EffectNetwork), "mixed": tongs.Kinds(tongs.EffectWrite, tongs.EffectExecute), "none": 0,
		"odd": 64,
	}
	for _, c := range []struct{ kinds, tool, pattern, wrong string }{
		{"path", "", "src/**", ""},
		{"path", "", "/cache/{a,b}/*", ""},
		{"path", "", ".", ""},
		{"path", "", "./", ""},
		{"path", "", "docs/", ""},
		{"path", "", "a[", "not a glob"},
		{"path", "", "a{b", "not a glob"},
		{"path", "", "{a,b}{a,b}{a,b}{a,b}", ""},
		{"path", "", "{a,b}{a,b}{a,b}{a,b}{a,b}", "groups of braces"},
		{"path", "", "{" + strings.Repeat("a,", 33) + "a}", "commas"},
		{"path", "", strings.Repeat(`\{,\}`, 40), ""},
		{"path", "", "../x", `no ".."`},
		{"path", "", "a/./b", `no "."`},
		{"path", "", "a//b", "empty part"},
		{"path", "", "/", "name a zone"},
		{"path", "", "~/x", "home directory"},
		{"argv", "", "git log *", ""},
		{"argv", "", "= git log", ""},
		{"argv", "", "   ", "is empty"},
		{"argv", "", "=", "is empty"},
		{"argv", "", "'' x", "first word is empty"},
		{"argv", "", "git 'x", "not closed"},
		{"argv", "", `git "x`, "not closed"},
		{"argv", "", `git "\q"`, "escape"},
		{"argv", "", `git \`, "backslash"},
		{"host", "", "*.example.com:8080", ""},
		{"host", "", "*:443", ""},
		{"host", "", "[::1]:80", ""},
		{"host", "", "https://example.com", "URL"},
		{"host", "", "example.com/x", "URL"},
		{"host", "", "api.*.com", "a * can stand only"},
		{"host", "", "a..b", "empty part"},
		{"host", "", "münchen.de", "xn--"},
		{"host", "", "exa mple.com", "cannot be in"},
		{"host", "", "example.com:0", "port"},
		{"host", "", "example.com:x", "port"},
		{"host", "", "example.com:", "not a host"},
		{"host", "", "1:2:3", "IPv6"},
		{"mixed", "", "x", "one rule for each"},
		{"mixed", "", "", ""},
		{"none", "", "x", "say which effects"},
		{"none", "edit", "", ""},
		{"none", "server__*", "", ""},
		{"none", "a b", "", "tool"},
		{"none", "é", "", "tool"},
		{"odd", "", "", "kind"},
	} {
		err := policy.Validate(tongs.Rule{Effects: kinds[c.kinds], Tool: c.tool, Pattern: c.pattern})
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s %q: %v", c.kinds, c.pattern, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s %q: got %v, want %q", c.kinds, c.pattern, err, c.wrong)
		}
	}
	for _, r := range []tongs.Rule{{Decision: 2}, {Decision: -3}, {Layer: 4}} {
		if policy.Validate(r) == nil {
			t.Errorf("%+v is valid", r)
		}
	}
}

func TestCheckExamples(t *testing.T) {
	rule := func(k tongs.EffectKind, pattern string, d tongs.Decision) tongs.Rule {
		return tongs.Rule{Effects: tongs.Kinds(k), Pattern: pattern, Decision: d}
	}
	for name, c := range map[string]struct {
		rule            tongs.Rule
		match, notMatch []string
		wrong           string
	}{
		"command":       {rule(tongs.EffectExecute, "git ", tongs.PreApproved), []string{"git status", "git commit -m 'a b'"}, []string{"gitk"}, ""},
		"not matching":  {rule(tongs.EffectExecute, "git log", tongs.PreApproved), []string{"git status"}, nil, `does not match the example "git status"`},
		"matching":      {rule(tongs.EffectExecute, "git", tongs.PreApproved), nil, []string{"git push"}, `matches "git push"`},
		"strict":        {rule(tongs.EffectExecute, "rm", tongs.Blocked), []string{"/bin/rm x"}, nil, ""},
		"lenient":       {rule(tongs.EffectExecute, "rm", tongs.PreApproved), nil, []string{"/bin/rm x"}, ""},
		"path":          {rule(tongs.EffectWrite, "src/**", tongs.PreApproved), []string{"src/a"}, []string{"/src/a", "a"}, ""},
		"zone":          {rule(tongs.EffectWrite, "/cache/**", tongs.PreApproved), []string{"/cache/a", "/cache"}, []string{"cache/a"}, ""},
		"path, unclean": {rule(tongs.EffectWrite, "src/**", tongs.PreApproved), []string{"src/../a"}, nil, "clean path"},
		"host":          {rule(tongs.EffectNetwork, "*.a.org", tongs.PreApproved), []string{"x.a.org"}, []string{"a.org"}, ""},
		"host, bad":     {rule(tongs.EffectNetwork, "*.a.org", tongs.PreApproved), []string{"https://x.a.org"}, nil, "not a host"},
		"empty command": {rule(tongs.EffectExecute, "git", tongs.PreApproved), []string{" "}, nil, "is empty"},
		"no effects":    {tongs.Rule{Tool: "edit"}, []string{"x"}, nil, "examples need"},
		"bad rule":      {rule(tongs.EffectWrite, "a[", tongs.Ask), nil, nil, "glob"},
		"none":          {tongs.Rule{Tool: "edit"}, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := policy.CheckExamples(c.rule, c.match, c.notMatch)
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
}
