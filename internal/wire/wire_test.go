package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if question := os.Getenv(answerEnv); question != "" {
		os.Exit(answering(question))
	}
	os.Exit(m.Run())
}

// A limit that can be configured must reach somebody: each field of config.Limits is used where the parts are wired.
func TestEveryLimitIsConsumed(t *testing.T) {
	used := map[string]bool{}
	var files []string
	for _, dir := range []string{".", "../../cmd/tongs"} {
		in, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, in...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch from := sel.X.(type) {
			case *ast.Ident:
				used[sel.Sel.Name] = used[sel.Sel.Name] || from.Name == "l" || from.Name == "limits"
			case *ast.SelectorExpr:
				used[sel.Sel.Name] = used[sel.Sel.Name] || from.Sel.Name == "Limits"
			}
			return true
		})
	}
	for field := range reflect.TypeFor[config.Limits]().Fields() {
		if !used[field.Name] {
			t.Errorf("limits: %s is read from configuration, and nobody consumes it", field.Name)
		}
	}
}

// A rule about a host allows it to be an address of this machine or network only where its word is put into effect.
func TestMeantHosts(t *testing.T) {
	rule := func(d tongs.Decision, change func(*tongs.Rule)) []tongs.Rule {
		r := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "wiki.corp", Decision: d}
		if change != nil {
			change(&r)
		}
		return []tongs.Rule{r}
	}
	for name, c := range map[string]struct {
		rules []tongs.Rule
		mode  tongs.Mode
		want  bool
	}{
		"pre-approved":        {rule(tongs.PreApproved, nil), tongs.ModeSafe, true},
		"pre-approved, all":   {rule(tongs.PreApproved, nil), tongs.ModeAll, true},
		"asks":                {rule(tongs.Ask, nil), tongs.ModeSafe, true},
		"asks, of all":        {rule(tongs.Ask, nil), tongs.ModeNone, true},
		"would ask, mode all": {rule(tongs.Ask, nil), tongs.ModeAll, false},
		"blocked":             {rule(tongs.Blocked, nil), tongs.ModeSafe, false},
		"untrusted":           {rule(tongs.PreApproved, func(r *tongs.Rule) { r.Untrusted = true }), tongs.ModeSafe, false},
		"a default":           {rule(tongs.PreApproved, func(r *tongs.Rule) { r.Fallback = true }), tongs.ModeSafe, false},
		"a pattern":           {rule(tongs.PreApproved, func(r *tongs.Rule) { r.Pattern = "*.corp" }), tongs.ModeSafe, false},
		"none":                {nil, tongs.ModeAll, false},
	} {
		if got := ruleNamesHost(func() []tongs.Rule { return c.rules }, c.mode)("Wiki.Corp"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// In a state directory that the environment names, nobody is remembered to have approved anything for always.
func TestSessionGrantsHideAlways(t *testing.T) {
	book := policy.NewMemoryBook()
	key := policy.Key{Tool: "edit", Roots: "r", Session: "s"}
	for i, scope := range []policy.Scope{policy.ScopeAlways, policy.ScopeSession} {
		own := key
		if scope == policy.ScopeAlways {
			own.Session = ""
		}
		cover, err := policy.ParseCover("write a.txt")
		if err != nil {
			t.Fatal(err)
		}
		if err := book.Add(t.Context(), policy.Grant{ID: string(rune('a' + i)), Scope: scope, Key: own, Covers: []policy.Cover{cover}, RulesDigest: "d"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := book.Find(t.Context(), key)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d grants, %v", len(all), err)
	}
	left, err := sessionGrants{book}.Find(t.Context(), key)
	if err != nil || len(left) != 1 || left[0].Scope != policy.ScopeSession {
		t.Errorf("left are %v, %v", left, err)
	}
	h := Host{Home: t.TempDir()}
	if h.ownState(t.TempDir()) || !h.ownState(filepath.Join(h.Home, ".local", "state", "tongs")) && runtime.GOOS == "linux" {
		t.Error("the own state directory is not told from others")
	}
}
