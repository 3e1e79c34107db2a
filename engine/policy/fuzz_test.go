package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/environ"
)

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"git log *", "src/**", "*.example.com:8080", "= a 'b c'", `"\x00"`, "[::1]:80", "{a,b", "a[", "\\", "@x", ""} {
		f.Add(s, "git log", "src/a.go", "api.example.com:8080")
	}
	f.Add("= TOOL='sh evil;' make test", "make test", "a", "TOOL=sh evil;")
	f.Add("*=* git", "git log", "a", "TOOL=\x00$X")
	f.Fuzz(func(t *testing.T, pattern, command, rel, host string) {
		argv := strings.Split(command, " ")
		var env []string
		if strings.Contains(host, "=") {
			env = []string{host}
		}
		all := effects(
			tongs.Effect{Kind: tongs.EffectExecute, Argv: argv, Env: env},
			tongs.Effect{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: rel}},
			tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "zone", Rel: rel}},
			tongs.Effect{Kind: tongs.EffectNetwork, Host: host},
		)
		free := tool("x", "", tongs.AllPermissions, tongs.PreApproved)
		for _, e := range all {
			matched := policy.Match(e.Kind, pattern, e)
			// What a lenient reading covers, a strict one meets.
			r := tongs.Rule{Effects: tongs.Kinds(e.Kind), Pattern: pattern, Decision: tongs.Blocked}
			if got := policy.Decide(input(free, effects(e), r)); matched && pattern != "" && got.Decision != tongs.Blocked {
				t.Errorf("%q covers %v and does not block it: %s", pattern, e, got.By)
			}
			// A malformed pattern covers nothing.
			if matched && pattern != "" && policy.Validate(r) != nil && e.Kind == tongs.EffectExecute && argv[0] != "" {
				t.Errorf("%q covers %v and is malformed: %v", pattern, e, policy.Validate(r))
			}
		}
		first, _, _ := strings.Cut(strings.TrimLeft(pattern, " \t\r\n"), " ")
		// A pattern that has no = in it is no word about a variable.
		if policy.Match(tongs.EffectExecute, pattern, all[0]) && len(env) > 0 && !environ.Harmless(env[0]) &&
			!strings.Contains(strings.Trim(pattern, " \t\r\n"), "=") && !strings.ContainsAny(pattern, "*\"") {
			t.Errorf("%q covers %v", pattern, all[0])
		}
		if policy.Match(tongs.EffectExecute, pattern, all[0]) && !strings.ContainsAny(first, "*'\"\\=\t\r\n") && first != argv[0] {
			t.Errorf("%q covers a command that begins with %q", pattern, argv[0])
		}
	})
}

func FuzzParseCover(f *testing.F) {
	for _, s := range []string{
		"write src/a.go", "execute = git push origin main", "network api.example.com", "execute (unknown)", `write "a\nb"`,
		`execute @"v 1" = ./x 'a b' "\xff"`, "execute 'a'*'b'", "read /cache/**", "execute @v =", "execute = =", `execute "=" x`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := policy.ParseCover(text)
		if err != nil {
			return
		}
		again, err := policy.ParseCover(c.String())
		if err != nil || again != c {
			t.Errorf("%q is %+v, spelled %q, read back as %+v, %v", text, c, c, again, err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%q was read and is refused: %v", text, err)
		}
		if strings.ContainsAny(c.String(), "\n\r\x1b\u202e") {
			t.Errorf("%q is spelled with characters that do not show: %q", text, c)
		}
		any := policy.Cover{Kind: tongs.EffectExecute, Pattern: c.Pattern, Version: c.Version}
		odd := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"a-program-nobody-has", "x"}, Version: c.Version}
		if c.Kind == tongs.EffectExecute && any.Covers(odd) && !strings.Contains(text, "a-program-nobody-has") {
			t.Errorf("%q covers every program", text)
		}
	})
}

func FuzzPropose(f *testing.F) {
	f.Add("git push", "src/[a].go", "example.com", "v1")
	f.Add("echo \xff \x00 '* \"", "(unknown)", "[::1]:1", "v 2")
	f.Add("a", "b", "c", "``")
	f.Add("a", "b", "c", "'x'")
	f.Add("a", "b", "c", "`v`")
	f.Fuzz(func(t *testing.T, command, rel, host, version string) {
		for _, e := range effects(
			tongs.Effect{Kind: tongs.EffectExecute, Argv: strings.Split(command, " "), Version: tongs.Version(version)},
			tongs.Effect{Kind: tongs.EffectExecute, Argv: strings.Split(command, " "), Env: []string{"V=" + rel, host + "=" + version}},
			tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: rel}},
			tongs.Effect{Kind: tongs.EffectNetwork, Host: host},
		) {
			for _, c := range policy.Propose(effects(e)) {
				back, err := policy.ParseCover(c.String())
				if err != nil || back != c || !back.Covers(e) {
					t.Errorf("%q: %q reads back as %+v, %v", e, c, back, err)
				}
				more := e
				more.Argv = append(append([]string{}, e.Argv...), "more")
				if e.Kind == tongs.EffectExecute && c.Covers(more) {
					t.Errorf("%q covers %q", c, more)
				}
				given := e
				given.Env = append(slices.Clone(e.Env), "TOOL=sh evil.sh;")
				if e.Kind == tongs.EffectExecute && c.Covers(given) && !slices.Contains(e.Argv, "TOOL=sh evil.sh;") && host != "TOOL" {
					t.Errorf("%q covers %q", c, given)
				}
			}
		}
	})
}
