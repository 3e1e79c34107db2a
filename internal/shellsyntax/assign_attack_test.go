package shellsyntax_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// trusting are rules and grants of the kind that an assignment gets around: exact and open ones, for make and a script.
func trusting() []tongs.Rule {
	rules := shellsyntax.Defaults("shell")
	for _, pattern := range []string{
		"= make test", "make", "= ./script.sh", "= npm test", "go", "env", "xargs", "timeout", "sudo", "bash", "true", "cat", "find", "nice",
	} {
		rules = append(rules, rule(pattern, tongs.PreApproved))
	}
	return rules
}

// assigning are ways to give a program a variable that decides what it runs.
var assigning = []string{
	`TOOL='sh evil.sh;' make test`,
	`HELPER=id ./script.sh`,
	`RM='sh evil.sh;' make test`,
	`env TOOL=x make test`,
	`env -- TOOL=x make test`,
	`env -u A TOOL=x make test`,
	`env -S 'TOOL=x make test'`,
	`/usr/bin/env TOOL=x make test`,
	`export TOOL=x; make test`,
	`export TOOL=x && make test`,
	"export TOOL=x\nmake test",
	`TOOL=x; export TOOL; make test`,
	`export TOOL; TOOL=x; make test`,
	`export A=1 TOOL=x; make test`,
	`declare -x TOOL=x; make test`,
	`declare -gx TOOL=x; make test`,
	`typeset -x TOOL=x; make test`,
	`TOOL=x; declare -x TOOL; make test`,
	`declare -rx TOOL=x; make test`,
	`f() { local -x TOOL=x; make test; }; f`,
	`f() { export TOOL=x; }; f; make test`,
	`f() { make test; }; TOOL=x f`,
	`set -a; TOOL=x; make test`,
	`set -o allexport; TOOL=x; make test`,
	`export TOOL; read TOOL < a.txt; make test`,
	`export TOOL; printf -v TOOL %s x; make test`,
	`export TOOL; for TOOL in x y; do make test; done`,
	`export TOOL; : ${TOOL:=x}; make test`,
	`export TOOL; (( TOOL = 1 )); make test`,
	`export TOOL; mapfile TOOL < a.txt; make test`,
	`export TOOL; getopts ab TOOL; make test`,
	`export TOOL+=x; make test`,
	`TOOL+=x make test`,
	`if true; then export TOOL=x; fi; make test`,
	`true || export TOOL=x; make test`,
	`for i in 1 2; do make test; export TOOL=x; done`,
	`while true; do make test; TOOL=x; export TOOL; done`,
	`case a in *) export TOOL=x;; esac; make test`,
	`eval 'export TOOL=x'; make test`,
	`TOOL=x eval 'make test'`,
	`TOOL=x eval true; make test`,
	`TOOL=x :; make test`,
	`command export TOOL=x; make test`,
	`builtin export TOOL=x; make test`,
	`TOOL=x command make test`,
	`TOOL=x exec make test`,
	`exec env TOOL=x make test`,
	`timeout 5 env TOOL=x make test`,
	`TOOL=x timeout 5 make test`,
	`nice env TOOL=x nice make test`,
	`echo test | xargs env TOOL=x make`,
	`echo test | TOOL=x xargs make`,
	`find . -name a -exec env TOOL=x make test ';'`,
	`sudo TOOL=x make test`,
	`bash -c 'TOOL=x make test'`,
	`TOOL=x bash -c 'make test'`,
	`export TOOL=x; bash -c 'make test'`,
	`bash -c 'export TOOL=x; make test'`,
	"bash <<X\nexport TOOL=x\nmake test\nX",
	`echo 'TOOL=x make test' | bash`,
	`(export TOOL=x; make test)`,
	`{ export TOOL=x; }; make test`,
	`export TOOL=x & make test; wait; export TOOL=y; make test`,
	`make TOOL=x test`,
	`make test TOOL=x`,
	`make TOOL:=x test`,
	`make -e test`,
	`make MAKEFLAGS=-fevil.mk test`,
	`MAKEFLAGS=-fevil.mk make test`,
	`GNUMAKEFLAGS=--eval=x make test`,
	`MAKEFILES=evil.mk make test`,
	`make SHELL=./evil test`,
	`make --eval=x test`,
	`make DIR=.. test`,
	`make DIR= test`,
	`X=1 npm test`,
	`LANG='() { :; }; sh evil.sh' ./script.sh`,
	`LC_ALL=../../evil make test`,
	`TZ=:/tmp/evil ./script.sh`,
	`TERM=../../evil ./script.sh`,
	`NODE_ENV='x; sh evil.sh' npm test`,
	`CI='$(sh evil.sh)' make test`,
	`CGO_ENABLED=x go test`,
	`alias make='env TOOL=x make'; make test`,
	`TOOL[0]=x make test`,
	`TOOL=$(cat a.txt) make test`,
	`A=1 TOOL=x make test`,
	`LANG=C TOOL=x make test`,
	`trap 'export TOOL=x' USR1; kill -USR1 $$; make test`,
	`coproc export TOOL=x; make test`,
	`env -i make test`,
	`env - make test`,
	`exec -c make test`,
	`TOOL=x env make test`,
	`unset -v TOOL; export TOOL=x; make test`,
	`export -- TOOL=x; make test`,
	`export "TOOL=x"; make test`,
	`T=TOOL; export $T=x; make test`,
	`declare -x -- TOOL=x; make test`,
	`declare -n R=TOOL; export R; TOOL=x; R=y; make test`,
	`time TOOL=x make test`,
	`! TOOL=x make test`,
	`TOOL=x make test | cat`,
	`cat <(TOOL=x make test)`,
	`cat "$(TOOL=x make test)"`,
	`echo x | while read TOOL; do export TOOL; make test; done`,
	`trap 'make test' EXIT; export TOOL=x`,
	`trap 'make test' EXIT; eval 'export TOOL=x'`,
	`trap "trap 'make test' EXIT" USR1; export TOOL=x`,
	`bash -c "trap 'make test' EXIT; export TOOL=x"`,
	`eval "trap 'make test' EXIT"; export TOOL=x`,
	`f() { trap 'make test' EXIT; }; f; export TOOL=x`,
	`f() { make test; }; export TOOL=x; f`,
	`export REPLY; read < a.txt; make test`,
	`export OPTARG; getopts a: opt -a x; make test`,
	`export TOOL; exec {TOOL}> b.txt; make test`,
	`while export TOOL=x; do make test; break; done`,
	`until false; do make test; export TOOL=x; done`,
	`echo | export TOOL=x; make test`,
	`env -iS 'TOOL=x make test'`,
	`env -vS 'TOOL=x make test'`,
	`env --split-string='TOOL=x make test'`,
	`env A=1 env B=2 make test`,
	`find . -exec sh -c 'TOOL=$1 make test' _ x ';'`,
	`busybox env TOOL=x make test`,
	`make -- TOOL=x test`,
	`make "TOOL =x" test`,
	`make TOOL+=x test`,
	`make -j TOOL=x test`,
	`export TOOL; let TOOL=1; make test`,
	`export TOOL; : $((TOOL=1)); make test`,
	`export TOOL; for ((TOOL=0; TOOL<2; TOOL++)); do make test; done`,
	`TOOL=x true && TOOL=y make test`,
	`{ TOOL=x make test; } > /dev/null`,
	`export TOOL=x; export -n TOOL; make test`,
	`declare -x TOOL; readonly TOOL=x; make test`,
	`alias m='make test'; shopt -s expand_aliases; TOOL=x m`,
	`for i in 1 2; do make test; eval 'export TOOL=x'; done`,
	`g() { export TOOL=x; }; for i in 1 2; do make test; g; done`,
	`g() { h; }; h() { export TOOL=x; }; for i in 1 2; do make test; g; done`,
	`for i in 1 2; do make test; TOOL=x :; done`,
	`for i in 1 2; do make test; TOOL=x; done; export TOOL; make test`,
	`export TOOL; select TOOL in a b; do make test; done`,
}

// TestAssignmentsAreNotCoveredByWhatSaysNothingOfThem holds a rule or a grant to what it names.
func TestAssignmentsAreNotCoveredByWhatSaysNothingOfThem(t *testing.T) {
	s := newSite(t)
	for _, src := range assigning {
		if v, effects, err := s.decide(src, trusting()...); err == nil && v.Decision == tongs.PreApproved {
			t.Errorf("%s is %s: %s %v", src, v.Decision, v.By, effects)
		}
	}
}

// TestGrantsKnowTheirAssignments gives a grant for make and for a script as they are, and tries them with more.
func TestGrantsKnowTheirAssignments(t *testing.T) {
	s := newSite(t)
	var grants []policy.Grant
	key := policy.Key{Tool: "shell", Source: tongs.Source{Kind: tongs.SourceBuiltin}}
	judge := func(src string) (policy.Verdict, []tongs.Effect) {
		an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{})
		if err != nil {
			return policy.Verdict{Decision: tongs.Blocked}, nil
		}
		return policy.Decide(policy.Input{
			Spec: shellSpec(), Names: []string{"shell"}, Effects: an.Effects, Chain: [][]tongs.Rule{shellsyntax.Defaults("shell")},
			Grants: grants, Key: key,
		}), an.Effects
	}
	remember := func(src string) {
		v, effects := judge(src)
		covers := policy.Propose(v.Asked(effects))
		if !v.Rememberable || len(covers) == 0 {
			t.Fatalf("%s cannot be remembered: %s %v", src, v.By, effects)
		}
		for i, c := range covers {
			back, err := policy.ParseCover(c.String())
			if err != nil || back != c {
				t.Errorf("%s: %q reads back as %+v, %v", src, c, back, err)
			}
			covers[i] = back
		}
		grants = append(grants, policy.Grant{ID: "g_" + src, Scope: policy.ScopeAlways, Key: key, Covers: covers, RulesDigest: v.RulesDigest})
	}
	remember("make test")
	remember("./script.sh")
	remember("npm test")
	for _, src := range []string{"make test", "./script.sh", "LANG=C make test", "CI=1 NO_COLOR=1 ./script.sh", "env LC_ALL=C.UTF-8 make test"} {
		if v, _ := judge(src); v.Decision != tongs.PreApproved {
			t.Errorf("%s is %s: %s", src, v.Decision, v.By)
		}
	}
	for _, src := range assigning {
		if v, effects := judge(src); v.Decision == tongs.PreApproved {
			t.Errorf("%s is %s: %s %v", src, v.Decision, v.By, effects)
		}
	}
	remember("CC=clang make test")
	remember("make CC=clang all")
	for src, want := range map[string]tongs.Decision{
		"CC=clang make test": tongs.PreApproved, "env CC=clang make test": tongs.PreApproved, "export CC=clang; make test": tongs.PreApproved,
		"CC=clang B=1 make test": tongs.Ask, "CC=clang2 make test": tongs.Ask, "CC='clang ' make test": tongs.Ask, "CC=clang make all": tongs.Ask,
		"make CC=clang test": tongs.Ask, "CC=clang ./script.sh": tongs.Ask, "make CC=clang all": tongs.PreApproved, "make CC=gcc all": tongs.Ask,
		"CC=clang make CC=clang all": tongs.PreApproved, "CC=gcc make CC=clang all": tongs.Ask, "CC=$X make test": tongs.Ask,
	} {
		if v, _ := judge(src); v.Decision != want {
			t.Errorf("%s is %s: %s", src, v.Decision, v.By)
		}
	}
}

// TestOrdinaryAssignmentsAreFree holds what nobody wants to be asked about.
func TestOrdinaryAssignmentsAreFree(t *testing.T) {
	s := newSite(t)
	for _, src := range []string{
		"make test", "LANG=C make test", "LC_ALL=en_US.UTF-8 make test", "TZ=UTC ./script.sh", "CI=true npm test", "NODE_ENV=test npm test",
		"GOOS=linux GOARCH=arm64 go build ./src", "CGO_ENABLED=0 go test ./...", "GOMAXPROCS=2 go test ./src", "env FORCE_COLOR=0 make test",
		"x=1; make test", "for i in 1 2 3; do make test; done", "while read line; do make test; done < a.txt", "LANG=C; make test",
		"export NO_COLOR=1; make test", "n=$(cat a.txt); make test", "make -j4 test", "make -j 4 V=1 test", "make DEBUG=yes test", "TOOL=x; make test",
	} {
		if v, effects, err := s.decide(src, trusting()...); err != nil || v.Decision != tongs.PreApproved {
			t.Errorf("%s is %s: %s %v %v", src, v.Decision, v.By, effects, err)
		}
	}
}

// TestWhatIsInheritedIsAssigned holds a plain assignment to a variable that the shell started with.
func TestWhatIsInheritedIsAssigned(t *testing.T) {
	s := newSite(t)
	s.world.Inherits = func(name string) bool { return name == "TOOL" }
	for _, src := range []string{"TOOL=x; make test", "unset TOOL; make test", "read TOOL < a.txt; make test", "for TOOL in x; do make test; done"} {
		if v, _, err := s.decide(src, trusting()...); err == nil && v.Decision == tongs.PreApproved {
			t.Errorf("%s is %s: %s", src, v.Decision, v.By)
		}
	}
	s.world.Inherits = nil
	if v, _, err := s.decide("anything=x; make test", trusting()...); err == nil && v.Decision == tongs.PreApproved {
		t.Errorf("with nothing known of the environment: %s", v.By)
	}
}

// TestExportedBefore holds what earlier commands of a session exported.
func TestExportedBefore(t *testing.T) {
	s := newSite(t)
	for _, src := range []string{"make test", "cd docs && make -C .. test", "bash -c 'make test'", "./script.sh"} {
		an, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{Exported: []string{"LANG=C", "TOOL=x"}})
		if err != nil {
			t.Fatal(err)
		}
		v := policy.Decide(policy.Input{Spec: shellSpec(), Names: []string{"shell"}, Effects: an.Effects, Chain: [][]tongs.Rule{trusting()}})
		if v.Decision == tongs.PreApproved {
			t.Errorf("%s is %s: %s", src, v.Decision, v.By)
		}
	}
	an, err := shellsyntax.AnalyseStdin([]string{"bash"}, "export A=1; TOOL=x; B=2; export TOOL\n", s.world, shellsyntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(an.Exported, " "); !strings.HasPrefix(got, "A=") || !strings.Contains(got, " TOOL=") || strings.Contains(got, "B=") {
		t.Errorf("exported %q", got)
	}
}

// TestLaterInputBelongsToWhatIsKeptForLater holds a function and a trap that a running shell keeps to the variables that it
// gets by then.
func TestLaterInputBelongsToWhatIsKeptForLater(t *testing.T) {
	s := newSite(t)
	for _, src := range []string{"cd() { make test; }\n", "trap 'make test' USR1\n", "f() { env A=1 make test; }\n"} {
		an, err := shellsyntax.AnalyseStdin([]string{"bash"}, src, s.world, shellsyntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := policy.Decide(policy.Input{Spec: shellSpec(), Names: []string{"shell"}, Effects: an.Effects, Chain: [][]tongs.Rule{trusting()}})
		if v.Decision == tongs.PreApproved {
			t.Errorf("%s is %s: %s %v", src, v.Decision, v.By, an.Effects)
		}
	}
}

// TestBlockedIsBlockedWhateverIsAssigned holds strict rules to every spelling.
func TestBlockedIsBlockedWhateverIsAssigned(t *testing.T) {
	s := newSite(t)
	rules := append(trusting(), rule("rm", tongs.Blocked), rule("TOKEN=* curl", tongs.Blocked), rule("*", tongs.PreApproved))
	for src, want := range map[string]tongs.Decision{
		"X=1 rm a.txt": tongs.Blocked, "env X=1 rm a.txt": tongs.Blocked, "TOKEN=1 curl --version": tongs.Blocked,
		"export A=b TOKEN=1; curl --version": tongs.Blocked, "X=1 ./script.sh": tongs.PreApproved, "TOKEN=1 make test": tongs.PreApproved,
	} {
		if v, _, err := s.decide(src, rules...); err != nil || v.Decision != want {
			t.Errorf("%s is %s: %s %v", src, v.Decision, v.By, err)
		}
	}
}
