package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

// tool makes a tool: "name alias alias".
func tool(t testing.TB, kind tongs.SourceKind, names string, edit ...func(*tongs.Spec)) tongs.Tool {
	t.Helper()
	words := strings.Fields(names)
	spec := tongs.Spec{
		Name: words[0], Description: "A tool.", Aliases: words[1:], Source: tongs.Source{Kind: kind, Name: "origin"},
	}
	for _, e := range edit {
		e(&spec)
	}
	made, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: spec,
		Run:  func(context.Context, *tongs.Env, struct{}) (string, error) { return string(kind), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func control(s *tongs.Spec) { s.Control = true }

func names(tools []tongs.Tool) string {
	var list []string
	for _, tool := range tools {
		list = append(list, string(tool.Spec().Source.Kind)+":"+tool.Spec().Name)
	}
	return strings.Join(list, " ")
}

// builtIn offers built-in tools.
func builtIn(tools ...tongs.Tool) registry.Offer {
	return registry.Offer{Kind: tongs.SourceBuiltin, From: "the program", Tools: tools}
}

// approved offers tools of a kind that a person approved.
func approved(tool tongs.Tool) registry.Offer {
	return registry.Offer{
		Kind: tool.Spec().Source.Kind, From: "elsewhere", Tools: []tongs.Tool{tool}, Reviewed: func(tongs.Source) bool { return true },
	}
}

// What each name means, where all tools that are not built in were approved.
func TestRegister(t *testing.T) {
	const b, c, m, x, w = tongs.SourceBuiltin, tongs.SourceForge, tongs.SourceModule, tongs.SourceMCP, tongs.SourceWorker
	type step struct {
		kind  tongs.SourceKind
		names string
		edit  func(*tongs.Spec)
	}
	none := func(*tongs.Spec) {}
	for _, test := range []struct {
		name  string
		tools []step
		// list is what can be called, fail a part of the error.
		list, fail string
		lookups    map[string]string // word → "kind:name shadowed"
		warnings   int
	}{
		{
			name: "two tools", tools: []step{{b, "read_file read", none}, {b, "edit", none}}, list: "builtin:read_file builtin:edit",
			lookups: map[string]string{"read": "builtin:read_file", "read_file": "builtin:read_file", "edit": "builtin:edit", "no": ""},
		},
		{name: "same name", tools: []step{{b, "a", none}, {b, "a", none}}, fail: `name "a" of the tool a`},
		{name: "same alias", tools: []step{{b, "a z", none}, {b, "b z", none}}, fail: `alias "z" of`},
		{name: "alias is a name", tools: []step{{b, "a", none}, {b, "b a", none}}, fail: `alias "a" of`},
		{name: "name is an alias", tools: []step{{b, "a b", none}, {b, "b", none}}, fail: `name "b" of`},
		{name: "alias of itself", tools: []step{{b, "a a", none}}, fail: `alias "a" of`},
		{name: "bad name", tools: []step{{b, "a", func(s *tongs.Spec) { s.Aliases = []string{"no good"} }}}, fail: `alias "no good"`},
		{
			name: "custom over built-in", tools: []step{{b, "a x", none}, {b, "b", none}, {c, "a", none}}, list: "builtin:b forge:a",
			lookups: map[string]string{"a": "forge:a a", "x": "forge:a a", "b": "builtin:b"}, warnings: 1,
		},
		{
			name: "in the other order", tools: []step{{c, "a", none}, {b, "a", none}}, list: "forge:a",
			lookups: map[string]string{"a": "forge:a a"}, warnings: 1,
		},
		{name: "module over built-in", tools: []step{{b, "a", none}, {m, "a", none}}, list: "module:a", warnings: 1},
		{name: "MCP over built-in", tools: []step{{b, "a", none}, {x, "a", none}}, list: "mcp:a", warnings: 1},
		{name: "worker over built-in", tools: []step{{b, "a", none}, {w, "a", none}}, fail: `cannot take the word "a"`},
		{name: "unknown kind over built-in", tools: []step{{b, "a", none}, {"other", "a", none}}, fail: `cannot take the word "a"`},
		{name: "custom over custom", tools: []step{{c, "a", none}, {c, "a", none}}, fail: `name "a"`},
		{name: "MCP over custom", tools: []step{{b, "a", none}, {c, "a", none}, {x, "a", none}}, fail: `name "a"`},
		{
			name: "custom takes an alias", tools: []step{{b, "shell bash sh", none}, {c, "bash", none}}, list: "builtin:shell forge:bash",
			lookups: map[string]string{"bash": "forge:bash shell", "shell": "builtin:shell", "sh": "builtin:shell"}, warnings: 1,
		},
		{
			name: "alias takes an alias", tools: []step{{b, "shell bash", none}, {c, "mine bash", none}}, list: "builtin:shell forge:mine",
			lookups: map[string]string{"bash": "forge:mine shell", "mine": "forge:mine shell"}, warnings: 1,
		},
		{name: "alias never takes a name", tools: []step{{b, "shell", none}, {c, "mine shell", none}}, fail: `an alias cannot take a name`},
		{name: "control name", tools: []step{{b, "forge", control}, {c, "forge", none}}, fail: "is a control tool"},
		{name: "control name by MCP", tools: []step{{x, "forge", none}, {b, "forge", control}}, fail: "is a control tool"},
		{name: "control alias", tools: []step{{b, "forge f", control}, {c, "f", none}}, fail: "is a control tool"},
		{name: "control alias by alias", tools: []step{{b, "forge f", control}, {c, "g f", none}}, fail: "is a control tool"},
		{name: "control of a custom tool", tools: []step{{b, "a", none}, {c, "a", control}}, list: "forge:a", warnings: 1},
		{name: "two built-ins at once", tools: []step{{b, "a x", none}, {b, "b y", none}, {c, "x y", none}}, fail: "two built-in tools"},
		{
			name: "name and alias of one", tools: []step{{b, "a x", none}, {c, "a x", none}}, list: "forge:a",
			lookups: map[string]string{"x": "forge:a a"}, warnings: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var offers []registry.Offer
			for _, s := range test.tools {
				offers = append(offers, approved(tool(t, s.kind, s.names, s.edit)))
			}
			var r registry.Catalog
			r.Take(offers...)
			faults := r.Set().Faults()
			if test.fail != "" {
				if len(faults) != 1 || !strings.Contains(faults[0].String(), test.fail) {
					t.Fatalf("got %v, want %q", faults, test.fail)
				}
				return
			}
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			var list []tongs.Tool
			for _, e := range r.Set().Entries() {
				list = append(list, e.Tool)
			}
			if got := names(list); test.list != "" && got != test.list {
				t.Errorf("list is %s, want %s", got, test.list)
			}
			if got := r.Set().Warnings(); len(got) != test.warnings {
				t.Errorf("warnings are %q", got)
			}
			for word, want := range test.lookups {
				entry, ok := r.Set().Lookup(word)
				got := ""
				if ok {
					got = names([]tongs.Tool{entry.Tool})
				}
				if entry.Shadowed != nil {
					got += " " + entry.Shadowed.Name
				}
				if got != want || ok != (want != "") {
					t.Errorf("%s is %q, want %q", word, got, want)
				}
			}
		})
	}
}

func TestNilTools(t *testing.T) {
	if _, err := registry.New(nil); err == nil {
		t.Error("a nil tool was taken")
	}
	if _, err := registry.New(tongs.Lazy(tongs.Spec{}, nil)); err == nil {
		t.Error("a tool without a name was taken")
	}
	var r registry.Registry
	if err := r.Replace(nil); err == nil {
		t.Error("a nil tool replaced something")
	}
	if err := r.Register(nil); err == nil {
		t.Error("a nil tool was registered")
	}
	if r.Has("x") || len(r.List()) != 0 || r.Unregister("x") || r.Set().Nearest("x") != nil {
		t.Error("the zero registry is not empty")
	}
	var s *registry.Set
	if _, ok := s.Lookup("x"); ok || s.Entries() != nil || s.Warnings() != nil || s.Nearest("x") != nil {
		t.Error("a nil set is not empty")
	}
	var c registry.Catalog
	if c.Take(); c.Set() == nil {
		t.Error("the set is nil")
	}
}

func TestRegisterAllIsAllOrNothing(t *testing.T) {
	r, err := registry.New(tool(t, "", "a"))
	if err != nil {
		t.Fatal(err)
	}
	before := r.Set()
	if err := r.RegisterAll(tool(t, "", "b"), tool(t, "", "a")); err == nil {
		t.Fatal("a duplicate was taken")
	}
	if r.Set() != before || r.Has("b") {
		t.Error("a part was registered")
	}
}

func TestReplaceAndUnregister(t *testing.T) {
	const b, c = tongs.SourceBuiltin, tongs.SourceForge
	r, err := registry.New(tool(t, b, "a old"), tool(t, b, "z"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(tool(t, b, "a new")); err != nil || r.Has("old") || !r.Has("new") || names(r.List()) != "builtin:a builtin:z" {
		t.Errorf("after replacing: %s, %v", names(r.List()), err)
	}
	if r.Unregister("new") {
		t.Error("an alias was unregistered")
	}
	if !r.Unregister("a") || r.Unregister("a") || names(r.List()) != "builtin:z" {
		t.Errorf("after unregistering: %s", names(r.List()))
	}
	// Tools of other kinds come from their providers.
	if err := r.Register(tool(t, c, "k")); err == nil || !strings.Contains(err.Error(), "forge") {
		t.Errorf("a custom tool was registered: %v", err)
	}
	if err := r.Replace(tool(t, c, "z")); err == nil || names(r.List()) != "builtin:z" {
		t.Errorf("a custom tool replaced a built-in: %v", err)
	}
}

// A custom tool shadows a built-in, whose rules go on to hold, and the built-in is back when it is gone.
func TestShadowedToolComesBack(t *testing.T) {
	const b, c = tongs.SourceBuiltin, tongs.SourceForge
	var all registry.Catalog
	own := builtIn(tool(t, b, "a new"), tool(t, b, "z"), tool(t, b, "k", control))
	all.Take(own, approved(tool(t, c, "a again")))
	if e, _ := all.Set().Lookup("again"); e.Shadowed == nil || e.Shadowed.Name != "a" || e.Kind != c {
		t.Errorf("shadowed is %v", e.Shadowed)
	}
	all.Take(own)
	if e, _ := all.Set().Lookup("a"); e.Kind != b || e.Shadowed != nil {
		t.Errorf("after it is gone: %+v", e)
	}
	all.Take(own, approved(tool(t, c, "k")))
	if e, _ := all.Set().Lookup("k"); e.Kind != b {
		t.Error("a control tool was replaced by a custom one")
	}
}

// Only a person's approval lets a tool take the name of a built-in. A digest is none: servers have one from the start.
func TestUnapprovedToolTakesNoNameOfABuiltIn(t *testing.T) {
	digest := func(s *tongs.Spec) { s.Source.Digest = "sha256:x" }
	for _, kind := range []tongs.SourceKind{tongs.SourceForge, tongs.SourceModule, tongs.SourceMCP} {
		for _, names := range []string{"a", "short", "mine short"} {
			custom := tool(t, kind, names, digest)
			approvals := 0
			offer := registry.Offer{Kind: kind, From: "elsewhere", Tools: []tongs.Tool{custom, tool(t, kind, "free", digest)}}
			var all registry.Catalog
			own := builtIn(tool(t, "", "a short"))
			word := strings.Fields(names)[len(strings.Fields(names))-1]
			for _, yes := range []bool{false, true, false} {
				if approvals > 0 || yes {
					offer.Reviewed = func(tongs.Source) bool { approvals++; return yes }
				}
				changed := all.Changed()
				all.Take(own, offer)
				e, _ := all.Set().Lookup(word)
				if yes != (e.Tool == custom) || yes != (e.Shadowed != nil) || yes != (len(all.Set().Faults()) == 0) {
					t.Errorf("%s %s, approved %t: %+v, faults %v", kind, names, yes, e, all.Set().Faults())
				}
				if e, ok := all.Set().Lookup("free"); !ok || e.Kind != kind {
					t.Errorf("a tool with a name of its own is not offered: %+v", e)
				}
				select {
				case <-changed:
				default:
					t.Errorf("%s %s: an approval was not announced", kind, names)
				}
			}
			if approvals != 2 {
				t.Errorf("%d questions about approvals, want those about the one tool that wants the name", approvals)
			}
		}
	}
}

func TestEnabled(t *testing.T) {
	needs := func(p tongs.Permissions) func(*tongs.Spec) { return func(s *tongs.Spec) { s.Needs = p } }
	r, err := registry.New(tool(t, "", "free"), tool(t, "", "r", needs(tongs.Read)), tool(t, "", "rw", needs(tongs.Read|tongs.Write)),
		tool(t, "", "n", needs(tongs.Network)))
	if err != nil {
		t.Fatal(err)
	}
	for granted, want := range map[tongs.Permissions]string{
		0:                        "builtin:free",
		tongs.Read:               "builtin:free builtin:r",
		tongs.Read | tongs.Write: "builtin:free builtin:r builtin:rw",
		tongs.AllPermissions:     "builtin:free builtin:r builtin:rw builtin:n",
	} {
		if got := names(r.Enabled(granted)); got != want {
			t.Errorf("%s: %s, want %s", granted, got, want)
		}
	}
	if got := len(r.Definitions()); got != 4 {
		t.Errorf("%d definitions", got)
	}
}

func TestNearest(t *testing.T) {
	r, err := registry.New(tool(t, "", "read_file read"), tool(t, "", "shell bash execute_command"), tool(t, "", "grep"))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]string{
		"readFile": {"read_file"}, "bsh": {"shell"}, "grpe": {"grep"}, "quantum": nil, "": nil,
	} {
		if got := r.Set().Nearest(word); !slices.Equal(got, want) {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestChanged(t *testing.T) {
	r, err := registry.New()
	if err != nil {
		t.Fatal(err)
	}
	r.Refresh(t.Context())
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"register", func() { _ = r.Register(tool(t, "", "a")) }},
		{"replace", func() { _ = r.Replace(tool(t, "", "b")) }},
		{"unregister", func() { r.Unregister("b") }},
	} {
		if step.change(); !r.Refresh(t.Context()) || r.Refresh(t.Context()) {
			t.Errorf("%s was not reported, or twice", step.name)
		}
	}
	_ = r.Register(tool(t, "", "a"))
	r.Unregister("nothing")
	if r.Refresh(t.Context()) {
		t.Error("a change that failed was reported")
	}

	var c registry.Catalog
	own := builtIn(tool(t, "", "a"))
	isClosed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	before := c.Changed()
	if c.Take(own); !isClosed(before) {
		t.Error("new tools were not announced")
	}
	before = c.Changed()
	if c.Take(own); isClosed(before) {
		t.Error("tools that are as they were were announced")
	}
	if c.Take(); !isClosed(before) {
		t.Error("tools that went were not announced")
	}
}

func TestConcurrentChanges(t *testing.T) {
	r, err := registry.New()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name := fmt.Sprintf("tool%d", i)
			if err := r.Register(tool(t, "", name)); err != nil {
				t.Error(err)
			}
			if _, ok := r.Get(name); !ok {
				t.Errorf("%s is missing", name)
			}
			if i%2 == 0 && !r.Unregister(name) {
				t.Errorf("%s could not be removed", name)
			}
		})
	}
	wg.Wait()
	if got := len(r.List()); got != 8 {
		t.Errorf("%d tools are left", got)
	}
}

func BenchmarkLookup(b *testing.B) {
	var tools []tongs.Tool
	for i := range 60 {
		tools = append(tools, tool(b, "", fmt.Sprintf("tool%d alias%d", i, i)))
	}
	r, err := registry.New(tools...)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := r.Set().Lookup("alias33"); !ok {
			b.Fatal("missing")
		}
	}
}

func ExampleRegistry() {
	greet, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Says hello.", Aliases: []string{"hello"}},
		Run:  func(context.Context, *tongs.Env, struct{}) (string, error) { return "hello", nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := registry.New(greet)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, ok := r.Get("hello")
	fmt.Println(found.Spec().Name, ok, r.Set().Nearest("gret"))
	fmt.Println(r.Register(greet))
	// Output:
	// greet true [greet]
	// name "greet" of the tool greet is taken by the tool greet already; rename one, or replace it explicitly
}
