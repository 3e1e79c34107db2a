package shellsyntax_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// told spells effects in one line each: "execute git log", "read a.txt", "write ? must", "network host sends".
func told(effects []tongs.Effect) []string {
	var out []string
	for _, e := range effects {
		target := e.Target()
		switch {
		case e.Unknown:
			target = "?"
		case e.Kind == tongs.EffectExecute:
			target = strings.ReplaceAll(strings.Join(e.Argv, " "), "\x00", "«")
		}
		line := e.Kind.String() + " " + target
		for mark, set := range map[string]bool{" must": e.MustAsk, " sends": e.Sends, " confined": e.Confined, " bound": e.Version != "" && e.Version != tongs.Absent} {
			if set {
				line += mark
			}
		}
		out = append(out, line)
	}
	return out
}

func analyse(t *testing.T, s *site, src string) *shellsyntax.Analysis {
	t.Helper()
	an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return an
}

// TestEffects holds, for one command of each kind, exactly the effects that it has.
func TestEffects(t *testing.T) {
	s := newSite(t)
	for src, want := range map[string]string{
		"git log | head -3":                      "execute git log|execute head -3",
		"env -i A=1 timeout 5 nice git log":      "execute git log",
		"git -C src --no-pager log":              "read src|execute git log",
		"cat a.txt 2>/dev/null":                  "execute cat a.txt|read a.txt",
		"cat ~/x":                                "execute cat /home/somebody/x|read ?",
		"echo x > out.txt":                       "write out.txt|execute echo x",
		"echo x > /etc/x":                        "write ? must|execute echo x",
		"cat < a.txt > b.txt":                    "read a.txt|write b.txt|execute cat",
		"exec 3<>/dev/tcp/Example.com/80":        "network example.com:80 sends",
		"rm -rf build src/x":                     "execute rm -rf build src/x|delete build|delete src/x",
		"rm *":                                   "execute rm «*|execute ?|delete ?",
		"rm -- *":                                "execute rm -- «*|delete ?",
		"mv a.txt c.txt":                         "execute mv a.txt c.txt|read a.txt|delete a.txt|write c.txt|write c.txt/a.txt",
		"cp a.txt src":                           "execute cp a.txt src|read a.txt|write src/a.txt",
		"cp -r src dst":                          "execute cp -r src dst|read src|write ?|write dst|write dst/src",
		"tee -a x y":                             "execute tee -a x y|write x|write y",
		"sed -i s/a/b/ a.txt":                    "execute sed -i s/a/b/ a.txt|read a.txt|write a.txt",
		"dd if=a.txt of=b.txt":                   "execute dd if=a.txt of=b.txt|read a.txt|write b.txt",
		"sort -o b.txt a.txt":                    "execute sort -o b.txt a.txt|write b.txt|read a.txt",
		"curl https://Example.com:8443/x":        "execute curl https://Example.com:8443/x|network example.com:8443",
		"curl -d a=b https://example.com":        "execute curl -d a=b https://example.com|network example.com sends",
		"curl -d @a.txt https://example.com":     "execute curl -d @a.txt https://example.com|read a.txt|network example.com sends",
		"curl -H 'Authorization: x' https://a.b": "execute curl -H Authorization: x https://a.b|network a.b sends",
		`curl -o f "https://a.b/$X"`:             `execute curl -o f https://a.b/«"https://a.b/$X"|write f|network a.b sends`,
		"curl -o f https://$X/a":                 "execute curl -o f https://«https://$X/a|write f|execute ?|write ?|read ?|network ?",
		"git push origin":                        "execute git push origin|network ? sends",
		"bash script.sh x":                       "execute bash script.sh x bound",
		"cd docs && bash ../script.sh":           "execute cd docs|read docs|execute bash script.sh bound",
		"./script.sh":                            "execute ./script.sh bound",
		"cd docs && ../script.sh":                "execute cd docs|read docs|execute ./script.sh bound",
		"make test":                              "execute make test bound",
		"npm test":                               "execute npm test bound",
		"./absent.sh":                            "execute ./absent.sh",
		"xargs -n1 grep foo":                     "execute grep foo «(input of xargs)|read ?|read ?",
		"find . -name x -delete":                 "execute find . -name x -delete|read .|delete ?",
		"sudo git log":                           "execute sudo git log|execute git log",
		"$X":                                     "execute ?",
		"# nothing":                              "execute :",
		"x=1":                                    "execute :",
		"echo {1..3} {a,b}c '{d,e}'":             "execute echo 1 2 3 ac bc {d,e}",
		"x='a b'; echo $x \"$x\"":                "execute echo a b a b",
		"x=ls xm=rm; $x{m,y} a":                  "execute ?",
		"x=a; echo ${x}{m,y} $x-{m,y}":           "execute echo am ay a-m a-y",
		"tar xf a.tar":                           "execute tar xf a.tar|read a.tar|write ?",
		"tar -czf out.tgz src":                   "execute tar -czf out.tgz src|write out.tgz|read src",
		"(cd src && ls); ls":                     "execute cd src|read src|execute ls|read .",
		"cd src || exit; cat main.go":            "execute cd src|read src|execute exit|execute cat main.go|read main.go|read src/main.go",
		"diff <(sort a.txt) b.txt":               "execute sort a.txt|read a.txt|execute diff «<(sort a.txt) b.txt|read b.txt",
	} {
		if got := strings.Join(told(analyse(t, s, src).Effects), "|"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
}

// Every effect of every command in the tables survives the way to a question and back, and names no NUL in what is shown.
func TestEffectsTravel(t *testing.T) {
	s := newSite(t)
	for _, src := range slices.Concat(table(t, "approved.txt"), table(t, "asked.txt"), table(t, "blocked.txt")) {
		an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
		if err != nil {
			continue
		}
		for _, e := range an.Effects {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var back tongs.Effect
			if err := json.Unmarshal(data, &back); err != nil || !back.Same(e) {
				t.Errorf("%q: %v came back as %v (%v)", src, e, back, err)
			}
			if shown := strings.Join(shellsyntax.Shown(e.Argv), " "); strings.Contains(shown, "\x00") {
				t.Errorf("%q: %q is shown", src, shown)
			}
			if e.Unknown && e.Why == "" {
				t.Errorf("%q: an unknown %s effect does not say why", src, e.Kind)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	s := newSite(t)
	for _, src := range []string{"", "  \n ", "if true; then", "echo 'a", "ls | | cat", "a\x00b", "$(", "ls )", "for x in"} {
		_, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
		if tongs.CodeOf(err) != tongs.CodeInvalidArgs {
			t.Errorf("%q: %v, want INVALID_ARGS", src, err)
		}
	}
	_, err := shellsyntax.Analyse("ls\n  echo 'a", s.world, shellsyntax.Options{})
	if e, ok := err.(*tongs.Error); !ok || e.Details["line"] != 2 || e.Details["column"] != 8 {
		t.Errorf("%v, want line 2 column 8 in its details", err)
	}
}

// What is too large is unknown, whatever it is, and takes no time to find out.
func TestLimits(t *testing.T) {
	s := newSite(t)
	deep := strings.Repeat("$(", 150) + "ls" + strings.Repeat(")", 150)
	for name, src := range map[string]string{
		"long":       "ls " + strings.Repeat("a", 70<<10),
		"brackets":   strings.Repeat("(", 5000) + "ls" + strings.Repeat(")", 5000),
		"deep":       "echo " + deep,
		"if":         strings.Repeat("if ", 3000) + "ls" + strings.Repeat("; then ls; fi", 3000),
		"lists":      strings.Repeat("ls; ", 12000) + "ls",
		"and":        strings.Repeat("ls && ", 8000) + "ls",
		"pipes":      strings.Repeat("ls | ", 8000) + "ls",
		"loops":      strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 30) + "ls" + strings.Repeat("; done", 30),
		"braces":     "$X " + strings.Repeat("{a,b}", 500),
		"paths":      "cat " + strings.Repeat("a.txt ", 10000),
		"functions":  functions(25),
		"sh":         "sh -c " + strings.Repeat("sh\\ -c\\ ", 20) + "ls; $X",
		"recursion":  "f() { f; }; f",
		"words":      nest("ls " + strings.Repeat("$x ", 18000)),
		"many paths": nest("cat " + strings.Repeat("a$i ", 14000)),
		"arrays":     nest("a=(" + strings.Repeat("$x ", 18000) + ")"),
		"parts":      nest("a=\"" + strings.Repeat("$x", 27000) + "\""),
		"case":       "case a in " + strings.Repeat("a) ls ;& ", 3000) + " esac",
		"arithmetic": "echo $((" + strings.Repeat("(", 180) + "x" + strings.Repeat(")", 180) + "))",
		"effects":    many(600, "tool%d; "),
	} {
		an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
		if err != nil {
			continue // refused is as good
		}
		if !slices.ContainsFunc(an.Effects, func(e tongs.Effect) bool { return e.Unknown }) {
			t.Errorf("%s: nothing of it is unknown: %d effects", name, len(an.Effects))
		}
		if len(an.Effects) > 600 {
			t.Errorf("%s: %d effects", name, len(an.Effects))
		}
	}
}

// nest returns a command in six loops.
func nest(src string) string {
	return strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 6) + src + strings.Repeat("; done", 6)
}

// functions returns a script whose functions call each other in 2^n ways.
func functions(n int) string {
	var b strings.Builder
	b.WriteString("f0() { ls; }; ")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "f%d() { f%d; f%d; }; ", i, i-1, i-1)
	}
	fmt.Fprintf(&b, "f%d", n-1)
	return b.String()
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestPOSIX(t *testing.T) {
	s := newSite(t)
	an, err := shellsyntax.Analyse("cat {a,b}.txt > /dev/null 2>&1", s.world, shellsyntax.Options{POSIX: true})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(told(an.Effects), "|")
	for _, want := range []string{"execute cat a.txt b.txt", "execute cat {a,b}.txt"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s does not tell %q: sh may read it either way", got, want)
		}
	}
	if _, err := shellsyntax.Analyse("cat <(ls)", s.world, shellsyntax.Options{POSIX: true}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%v: what sh cannot parse is refused", err)
	}
}

func TestStdin(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		interpreter, input, want string
	}{
		{"bash", "git status\n", "execute git status"},
		{"/bin/bash", "rm x\n", "execute rm x|delete ?"},
		{"bash", "git sta", "execute bash|execute ?"},
		{"bash", "\n", "execute :"},
		{"bash", "cat a.txt\n", "execute cat a.txt|read ?"},
		{"bash", "alias ls=rm\n", "execute alias ls=rm|execute ?"},
		{"sh", "git status\n", "execute git status"},
		{"python3 -i", "import os\n", "execute python3 -i|execute ?"},
		{"psql", "select 1;\n", "execute psql|execute ?"},
		{"zsh", "ls\n", "execute zsh|execute ?"},
	} {
		an, err := shellsyntax.AnalyseStdin(strings.Fields(tt.interpreter), tt.input, s.world, shellsyntax.Options{})
		if err != nil {
			t.Errorf("%s %q: %v", tt.interpreter, tt.input, err)
			continue
		}
		if got := strings.Join(told(an.Effects), "|"); got != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.interpreter, tt.input, got, tt.want)
		}
	}
	if _, err := shellsyntax.AnalyseStdin([]string{"bash"}, "if\n", s.world, shellsyntax.Options{}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%v, want INVALID_ARGS", err)
	}
	if _, err := shellsyntax.AnalyseStdin(nil, "ls\n", s.world, shellsyntax.Options{}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%v, want INVALID_ARGS", err)
	}
}

func TestReadOnly(t *testing.T) {
	s := newSite(t)
	for src, want := range map[string]bool{
		"ls": true, "git log | head": true, "cat a.txt && grep -rn x src": true, "cd src && ls": true, "find . -name x": true,
		"for f in a b; do cat $f.txt; done": true, "sed -n 1p a.txt": true, "awk '{print}' a.txt": true, "test -f x || echo no": true,
		"cat /etc/passwd": false, "ls > x": false, "rm x": false, "git commit -m x": false, "make": false, "mytool": false, "cat $X": false,
		"python tool.py": false, "curl https://a.b": false, "$X": false, "tee": false, "sed -i s/a/b/ a.txt": false, "PATH=x ls": false,
		"./script.sh": false, "kill 1": false, "git fetch": false,
	} {
		if got := analyse(t, s, src).ReadOnly; got != want {
			t.Errorf("%q: read-only %v, want %v", src, got, want)
		}
	}
}

// A program in the workspace is bound by its content, and by none where the command itself may change it first.
func TestBoundPrograms(t *testing.T) {
	s := newSite(t)
	one := analyse(t, s, "./script.sh").Effects[0]
	write(t, filepath.Join(s.dir, "script.sh"), "rm -rf src\n")
	two := analyse(t, s, "./script.sh").Effects[0]
	if one.Version == "" || one.Version == two.Version {
		t.Errorf("versions %q and %q of another content", one.Version, two.Version)
	}
	grant := policy.Propose([]tongs.Effect{one})
	if len(grant) != 1 || !grant[0].Covers(one) || grant[0].Covers(two) {
		t.Errorf("a grant for one content covers another: %v", grant)
	}
	for _, src := range []string{
		"echo x > script.sh; ./script.sh", "cp a.txt script.sh && bash script.sh", "mv a.txt script.sh; ./script.sh", "tar xf a.tar; ./script.sh",
		"echo all: > Makefile; make", "sed -i s/a/b/ script.sh; ./script.sh", "git checkout main; ./script.sh", "cd src; tee ../script.sh; bash ../script.sh",
	} {
		if !slices.ContainsFunc(analyse(t, s, src).Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute && e.Unknown }) {
			t.Errorf("%q is bound to a content that it changes", src)
		}
	}
	absent := analyse(t, s, "./new.sh").Effects[0]
	if !absent.NoGrant || policy.Propose([]tongs.Effect{absent}) != nil {
		t.Errorf("a program that is not there yet could be remembered: %+v", absent)
	}
}

// A program of the workspace that a bare name finds is no system program.
func TestLookPath(t *testing.T) {
	s := newSite(t)
	write(t, filepath.Join(s.dir, "bin/git"), "#!/bin/sh\n")
	s.world.LookPath = func(name string) (string, bool) {
		if name == "git" {
			return filepath.Join(s.dir, "bin/git"), true
		}
		return "/usr/bin/" + name, true
	}
	if got := strings.Join(told(analyse(t, s, "git log; head -1").Effects), "|"); got != "execute ./bin/git log bound|execute head -1" {
		t.Errorf("got %s", got)
	}
	if v, effects, _ := s.decide("git log", permissiveRules()...); v.Decision == tongs.PreApproved {
		t.Errorf("a planted git is approved%s", explain(v, effects))
	}
}

func TestScratch(t *testing.T) {
	s := newSite(t)
	s.world.Scratch = []string{"/tmp-private"}
	if got := strings.Join(told(analyse(t, s, "cat /tmp-private/x").Effects), "|"); got != "execute cat /tmp-private/x|read ?" {
		t.Errorf("outside of a full sandbox: %s", got)
	}
	s.world.Confined = true
	for src, want := range map[string]string{
		"git log > /tmp-private/out; cat /tmp-private/out": "execute git log|execute cat /tmp-private/out|read ? confined",
		"make > /tmp-private/out":                          "write ? confined|execute make bound|execute ?",
		"cat /tmp-private/../etc/passwd":                   "execute cat /tmp-private/../etc/passwd|read ?",
		"cat /tmp-private2/x":                              "execute cat /tmp-private2/x|read ?",
	} {
		if got := strings.Join(told(analyse(t, s, src).Effects), "|"); got != want {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}

// Secrets, protected names and links are flagged by the workspace, since effects carry paths.
func TestWorkspaceFlags(t *testing.T) {
	s := newSite(t)
	if err := os.Symlink("a.txt", filepath.Join(s.dir, "in-link")); err != nil {
		t.Fatal(err)
	}
	rules := append(permissiveRules(), tongs.Rule{
		Layer: tongs.LayerUser, Toolset: "shell", Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "**", Decision: tongs.PreApproved,
	})
	for src, want := range map[string]tongs.Decision{
		"cat .env":                            tongs.Ask,
		"cat src/../.env":                     tongs.Ask,
		"cat in-link":                         tongs.PreApproved,
		"cat out-link/passwd":                 tongs.Ask,
		"echo x > new.txt":                    tongs.PreApproved,
		"echo x > in-link":                    tongs.PreApproved,
		"echo x > .git/hooks/pre-commit":      tongs.Ask,
		"cd .git && echo x > config":          tongs.Ask,
		"git log | tee .git/hooks/pre-commit": tongs.Ask,
		"echo x > .envrc":                     tongs.Ask,
		"echo x > out-link":                   tongs.Ask,
	} {
		v, effects, err := s.decide(src, rules...)
		if err != nil || v.Decision != want {
			t.Errorf("%q: %s, want %s (%v)%s", src, v.Decision, want, err, explain(v, effects))
		}
	}
	for _, src := range []string{"rm -rf .git", "rm -rf .", "rm -rf $PWD/.git; rm -rf ./.git/"} {
		if v, effects, _ := s.decide(src, append(rules, rule("rm", tongs.PreApproved))...); v.Decision == tongs.PreApproved {
			t.Errorf("%q: approved%s", src, explain(v, effects))
		}
	}
}

// The places of commands are those of the source, so that a person can be shown the risky part.
func TestPositions(t *testing.T) {
	s := newSite(t)
	src := "git log |\n  head -3; bash -c 'rm x' > out # done"
	an := analyse(t, s, src)
	var got []string
	for _, c := range an.Commands {
		if c.Start < 0 || c.End < c.Start || c.End > len(src) {
			t.Fatalf("%+v is outside the source", c)
		}
		got = append(got, fmt.Sprintf("%d:%d %s", c.Line, c.Column, src[c.Start:c.End]))
	}
	want := []string{"1:1 git log", "2:3 head -3", "2:12 bash -c 'rm x' > out", "2:12 bash -c 'rm x' > out"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	inner := an.Commands[3]
	if inner.Text != "rm x" || inner.Within != "bash -c" || len(inner.Effects) == 0 {
		t.Errorf("the nested command is %+v", inner)
	}
	if risky := analyse(t, s, "ls; $X y").Commands[1]; risky.Risk == "" || risky.Text != "$X y" {
		t.Errorf("the risky part is not marked: %+v", risky)
	}
}

// A world that knows nothing is never lenient.
func TestNothingKnown(t *testing.T) {
	for _, src := range slices.Concat(table(t, "approved.txt"), table(t, "asked.txt"), table(t, "blocked.txt")) {
		an, err := shellsyntax.Analyse(src, shellsyntax.World{}, shellsyntax.Options{})
		if err == nil && len(an.Effects) == 0 {
			t.Errorf("%q has no effects", src)
		}
	}
	an, err := shellsyntax.Analyse("cat a.txt", shellsyntax.World{}, shellsyntax.Options{})
	if err != nil || an.ReadOnly || !an.Effects[1].Unknown {
		t.Errorf("a world that knows nothing is lenient: %v %v", an, err)
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, name := range []string{"approved.txt", "asked.txt", "blocked.txt"} {
		for _, src := range table(f, name) {
			f.Add(src)
		}
	}
	s := newSite(f)
	f.Fuzz(func(t *testing.T, src string) {
		an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{POSIX: len(src)%2 == 0})
		if err != nil {
			if tongs.CodeOf(err) != tongs.CodeInvalidArgs {
				t.Errorf("%q: %v", src, err)
			}
			return
		}
		if len(an.Effects) == 0 {
			t.Errorf("%q has no effects", src)
		}
		if _, err := s.space.Check(an.Effects); tongs.CodeOf(err) == tongs.CodeInternal {
			t.Errorf("%q: %v", src, err)
		}
	})
}

// What is known of the beginning of a word ends where the shell may split it.
func TestSplitBeginning(t *testing.T) {
	s := newSite(t)
	for src, want := range map[string]string{
		`f() { tool $1; }; f "a b$X"`:                          "execute tool a«$1",
		`f() { tool $1; }; f "a*b$X"`:                          "execute tool a«$1",
		`f() { tool "$1"; }; f "a b$X"`:                        "execute tool a b«\"$1\"",
		"shopt -s expand_aliases; alias tool='tool x'\ntool y": "execute shopt -s expand_aliases|execute alias tool=tool x|execute tool x y|execute tool y",
	} {
		if got := strings.Join(told(analyse(t, s, src).Effects), "|"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
}

// Bash expands the word after >& a second time where it is no descriptor: what is quoted in it, or in a value, runs.
func TestExpandedTwice(t *testing.T) {
	s := newSite(t)
	for src, want := range map[string]bool{
		"echo hi >&'$(rm x)'": true, "echo hi >&a'`rm x`'": true, `echo hi >&"$v"`: true, `echo hi >&"\$(rm x)"`: true,
		`echo hi >&\$\(rm\ x\)`: true, "v='$(rm x)'; echo hi >&\"$v\"": true, "echo hi >&$'\\x24(rm x)'": true, "echo hi >&{a,b}": true,
		"echo hi >&out.txt": false, "echo hi >&2": false, "echo hi 2>&1": false, "echo hi >&-": false, "cat <&0": false,
		"exec 3>&1; echo hi >&3": false, "echo hi &> '$(rm x)'": false,
	} {
		got := slices.ContainsFunc(analyse(t, s, src).Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute && e.Unknown })
		if got != want {
			t.Errorf("%q: may run anything %v, want %v", src, got, want)
		}
	}
}
