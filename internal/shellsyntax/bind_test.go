package shellsyntax_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// bound are commands with the files they run, and the file that an attacker changes after they were approved.
var bound = map[string]struct {
	command string
	files   map[string]string
	change  string
}{
	"the program":                {"./run.sh", map[string]string{"run.sh": "true\n"}, "run.sh"},
	"a script":                   {"sh run.sh", map[string]string{"run.sh": "true\n"}, "run.sh"},
	"a Python script":            {"python3 x.py", map[string]string{"x.py": "1\n"}, "x.py"},
	"a sourced file":             {". ./env.sh", map[string]string{"env.sh": "A=1\n"}, "env.sh"},
	"what a sourced file reads":  {". ./env.sh", map[string]string{"env.sh": ". ./more.sh\n", "more.sh": "A=1\n"}, "more.sh"},
	"an included makefile":       {"make test", map[string]string{"Makefile": "include rules.mk\n", "rules.mk": "test:\n"}, "rules.mk"},
	"several includes":           {"make test", map[string]string{"Makefile": "include a.mk \\\n b.mk\n", "a.mk": "", "b.mk": "test:\n"}, "b.mk"},
	"an include of an include":   {"make test", map[string]string{"Makefile": "include a.mk\n", "a.mk": "-include b.mk\n", "b.mk": "test:\n"}, "b.mk"},
	"an include that is made":    {"make test", map[string]string{"Makefile": "-include local.mk\ntest:\n"}, "local.mk"},
	"an earlier makefile":        {"make test", map[string]string{"Makefile": "test:\n"}, "GNUmakefile"},
	"another makefile":           {"make -f b.mk test", map[string]string{"b.mk": "sinclude c.mk\n", "c.mk": "test:\n"}, "c.mk"},
	"make elsewhere":             {"make -C docs test", map[string]string{"docs/Makefile": "include c.mk\n", "docs/c.mk": "test:\n"}, "docs/c.mk"},
	"make after cd":              {"cd docs && make test", map[string]string{"docs/Makefile": "include c.mk\n", "docs/c.mk": "test:\n"}, "docs/c.mk"},
	"a program of a recipe":      {"make test", map[string]string{"Makefile": "test:\n\t@./t.sh\n", "t.sh": "true\n"}, "t.sh"},
	"a script of a recipe":       {"make test", map[string]string{"Makefile": "test:\n\tbash -e src/t.sh $(X)\n", "src/t.sh": "true\n"}, "src/t.sh"},
	"a recipe in one line":       {"make test", map[string]string{"Makefile": "test: ; ./t.sh\n", "t.sh": "true\n"}, "t.sh"},
	"what a makefile asks":       {"make test", map[string]string{"Makefile": "V := $(shell ./v.sh)\ntest:\n", "v.sh": "true\n"}, "v.sh"},
	"make again":                 {"make test", map[string]string{"Makefile": "test:\n\t$(MAKE) -C src t\n", "src/Makefile": "t:\n"}, "src/Makefile"},
	"an earlier makefile there":  {"make test", map[string]string{"Makefile": "test:\n\t$(MAKE) -C src t\n", "src/Makefile": "t:\n"}, "src/GNUmakefile"},
	"a library":                  {"./run.sh", map[string]string{"run.sh": "#!/bin/sh\n. ./lib.sh\n", "lib.sh": "true\n"}, "lib.sh"},
	"a library beside it":        {"src/run.sh", map[string]string{"src/run.sh": "source \"$(dirname \"$0\")/lib.sh\"\n", "src/lib.sh": "true\n"}, "src/lib.sh"},
	"by a variable":              {"./run.sh", map[string]string{"run.sh": "D=$(pwd)\n\"$D/lib.sh\"\n", "lib.sh": "true\n"}, "lib.sh"},
	"after cd in it":             {"src/run.sh", map[string]string{"src/run.sh": "cd \"${0%/*}\"\n./lib.sh\n", "src/lib.sh": "true\n"}, "src/lib.sh"},
	"a library that is made":     {"./run.sh", map[string]string{"run.sh": "[ -f local.sh ] && . ./local.sh\n"}, "local.sh"},
	"a library of a library":     {"./run.sh", map[string]string{"run.sh": ". ./a.sh\n", "a.sh": "sh b.sh\n", "b.sh": ". ./a.sh\n"}, "b.sh"},
	"another language":           {"./run.sh", map[string]string{"run.sh": "exec python3 -u x.py \"$@\"\n", "x.py": "1\n"}, "x.py"},
	"behind wrappers":            {"./run.sh", map[string]string{"run.sh": "env A=1 timeout 5 nice ./h.sh\n", "h.sh": "1\n"}, "h.sh"},
	"in a text":                  {"./run.sh", map[string]string{"run.sh": "bash -ec 'cd . && ./h.sh'\n", "h.sh": "1\n"}, "h.sh"},
	"in a substitution":          {"./run.sh", map[string]string{"run.sh": "echo $(if true; then ./h.sh; fi)\n", "h.sh": "1\n"}, "h.sh"},
	"make of a script":           {"./run.sh", map[string]string{"run.sh": "make test\n", "Makefile": "include a.mk\n", "a.mk": "test:\n"}, "a.mk"},
	"a package":                  {"npm test", map[string]string{"package.json": `{"scripts":{"test":"true"}}`}, "package.json"},
	"a script of a package":      {"npm test", map[string]string{"package.json": `{"scripts":{"test":"node t.js"}}`, "t.js": "1\n"}, "t.js"},
	"what runs before it":        {"npm run build", map[string]string{"package.json": `{"scripts":{"build":"true","prebuild":"sh p.sh"}}`, "p.sh": "1\n"}, "p.sh"},
	"a script of a script":       {"npm test", map[string]string{"package.json": `{"scripts":{"test":"npm run a","a":"npm test && ./h.sh"}}`, "h.sh": "1\n"}, "h.sh"},
	"a large program":            {"./run.sh", map[string]string{"run.sh": "#" + strings.Repeat("x", 2<<20) + "\n"}, "run.sh"},
	"a program with a NUL in it": {"./run", map[string]string{"run": "\x7fELF\x00"}, "run"},
}

// TestApprovedCommandsAreBoundToWhatTheyRun approves a command for ever, changes a file that it runs, and tries it again.
func TestApprovedCommandsAreBoundToWhatTheyRun(t *testing.T) {
	for name, c := range bound {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			_ = os.Remove(filepath.Join(s.dir, "Makefile"))
			for file, content := range c.files {
				write(t, filepath.Join(s.dir, file), content)
			}
			before := analyse(t, s, c.command)
			covers := policy.Propose(before.Effects)
			if len(covers) == 0 {
				t.Fatalf("cannot be remembered: %v", before.Effects)
			}
			covered := func(effects []tongs.Effect) bool {
				for _, e := range effects {
					ok := false
					for _, cover := range covers {
						ok = ok || cover.Covers(e)
					}
					if !ok {
						return false
					}
				}
				return true
			}
			write(t, filepath.Join(s.dir, "unrelated.txt"), "x")
			if again := analyse(t, s, c.command); !covered(again.Effects) {
				t.Errorf("asked again although nothing changed: %v", again.Effects)
			}
			write(t, filepath.Join(s.dir, c.change), c.files[c.change]+"# evil\n")
			if after := analyse(t, s, c.command); covered(after.Effects) {
				t.Errorf("still covered: %+v", after.Effects)
			}
		})
	}
}

// TestBoundFilesThatTheCommandChangesFirst holds a command to what it was when it was looked at.
func TestBoundFilesThatTheCommandChangesFirst(t *testing.T) {
	s := newSite(t)
	write(t, filepath.Join(s.dir, "run.sh"), ". ./lib.sh\n")
	write(t, filepath.Join(s.dir, "lib.sh"), "true\n")
	write(t, filepath.Join(s.dir, "Makefile"), "include rules.mk\n")
	for _, src := range []string{"echo evil > lib.sh; ./run.sh", "rm lib.sh; ./run.sh", "cp a.txt rules.mk && make test", "./run.sh; echo x >> lib.sh; ./run.sh"} {
		unknown := false
		for _, e := range analyse(t, s, src).Effects {
			unknown = unknown || e.Kind == tongs.EffectExecute && e.Unknown
		}
		if !unknown {
			t.Errorf("%q is bound to a content that it changes", src)
		}
	}
}

// TestBindingSaysWhatItCovers reads what a person is shown, and what is not bound.
func TestBindingSaysWhatItCovers(t *testing.T) {
	s := newSite(t)
	write(t, filepath.Join(s.dir, "run.sh"), ". ./lib.sh\n\"$TOOL\"\n")
	write(t, filepath.Join(s.dir, "lib.sh"), "true\n")
	why := analyse(t, s, "./run.sh").Effects[0].Why
	for _, part := range []string{"run.sh", "lib.sh", "not to what else they run or load"} {
		if !strings.Contains(why, part) {
			t.Errorf("%q does not say %q", why, part)
		}
	}
	var text strings.Builder
	for i := range 200 {
		write(t, filepath.Join(s.dir, fmt.Sprintf("lib/%d.sh", i)), "true\n")
		fmt.Fprintf(&text, ". lib/%d.sh\n", i)
	}
	write(t, filepath.Join(s.dir, "many.sh"), text.String())
	if e := analyse(t, s, "./many.sh").Effects[0]; !e.NoGrant {
		t.Errorf("more files than can be bound, and it can be remembered: %+v", e)
	}
	if e := analyse(t, s, "cd $X; make test").Effects; !e[len(e)-1].NoGrant {
		t.Errorf("make in a directory that is not known can be remembered: %+v", e)
	}
}

// TestLinksThatLeadElsewhereLater changes where a name leads, not what is there.
func TestLinksThatLeadElsewhereLater(t *testing.T) {
	s := newSite(t)
	write(t, filepath.Join(s.dir, "run.sh"), ". ./lib.sh\n")
	write(t, filepath.Join(s.dir, "good.sh"), "true\n")
	write(t, filepath.Join(s.dir, "evil.sh"), "true\n")
	link := filepath.Join(s.dir, "lib.sh")
	if err := os.Symlink("good.sh", link); err != nil {
		t.Fatal(err)
	}
	before := analyse(t, s, "./run.sh").Effects[0].Version
	_ = os.Remove(link)
	if err := os.Symlink("evil.sh", link); err != nil {
		t.Fatal(err)
	}
	if analyse(t, s, "./run.sh").Effects[0].Version == before {
		t.Error("a link to another file of the same content is the same")
	}
}
