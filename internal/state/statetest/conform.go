// Package statetest holds what every policy.Book and every tongs.State must do.
package statetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Grant returns a grant to add.
func Grant(id string, scope policy.Scope) policy.Grant {
	g := policy.Grant{
		ID: id, Scope: scope, RulesDigest: "r1", By: "ada", At: time.Now().Round(0),
		Key: policy.Key{
			Tool: "edit", Source: tongs.Source{Kind: tongs.SourceForge, Name: "x", Digest: "1"}, Roots: "w1",
			Agents: []string{"main", "child"},
		},
		Covers: []policy.Cover{{Kind: tongs.EffectWrite, Pattern: "src/**"}},
	}
	if scope == policy.ScopeSession {
		g.Key.Session = "s1"
	}
	return g
}

// Book tests a book of grants. Make returns a new, empty one.
func Book(t *testing.T, open func(t *testing.T) policy.Book) {
	t.Run("find by key", func(t *testing.T) { findByKey(t, open(t)) })
	t.Run("list and revoke", func(t *testing.T) { listAndRevoke(t, open(t)) })
	t.Run("invalid grants", func(t *testing.T) { invalidGrants(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { concurrentGrants(t, open(t)) })
}

func add(t *testing.T, b policy.Book, g policy.Grant) {
	t.Helper()
	if err := b.Add(context.Background(), g); err != nil {
		t.Fatal(err)
	}
}

func findByKey(t *testing.T, b policy.Book) {
	always, session := Grant("g_always", policy.ScopeAlways), Grant("g_session", policy.ScopeSession)
	add(t, b, always)
	add(t, b, session)
	key := session.Key
	found, err := b.Find(t.Context(), key)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, g := range found {
		if g.RulesDigest != "r1" || len(g.Covers) != 1 || g.Covers[0] != always.Covers[0] || g.By != "ada" || !g.At.Equal(always.At) && !g.At.Equal(session.At) {
			t.Errorf("%+v", g)
		}
	}
	for name, tt := range map[string]struct {
		change func(*policy.Key)
		want   int
	}{
		"other session": {func(k *policy.Key) { k.Session = "s2" }, 1},
		"no session":    {func(k *policy.Key) { k.Session = "" }, 1},
		"other tool":    {func(k *policy.Key) { k.Tool = "edit2" }, 0},
		"other kind":    {func(k *policy.Key) { k.Source.Kind = tongs.SourceMCP }, 0},
		"other source":  {func(k *policy.Key) { k.Source.Name = "y" }, 0},
		"other digest":  {func(k *policy.Key) { k.Source.Digest = "2" }, 0},
		"other roots":   {func(k *policy.Key) { k.Roots = "w2" }, 0},
		"other agent":   {func(k *policy.Key) { k.Agents = []string{"main"} }, 0},
		"agents joined": {func(k *policy.Key) { k.Agents = []string{"main,child"} }, 0},
	} {
		k := key
		tt.change(&k)
		if found, err := b.Find(t.Context(), k); err != nil || len(found) != tt.want {
			t.Errorf("%s: %d grants, %v", name, len(found), err)
		}
	}
}

func listAndRevoke(t *testing.T, b policy.Book) {
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	start := time.Now()
	for i := range 3 {
		g := Grant(fmt.Sprintf("g%d", i), policy.ScopeAlways)
		g.At = start.Add(time.Duration(i) * time.Second)
		add(t, b, g)
	}
	list, err := b.List(t.Context())
	if err != nil || len(list) != 3 || list[0].ID != "g2" || list[2].ID != "g0" {
		t.Fatalf("%+v, %v", list, err)
	}
	if had, err := b.Revoke(t.Context(), "g1"); !had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
	if had, err := b.Revoke(t.Context(), "g1"); had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
	if found, _ := b.Find(t.Context(), Grant("", policy.ScopeAlways).Key); len(found) != 2 {
		t.Errorf("%d found after one of three was revoked", len(found))
	}
}

func invalidGrants(t *testing.T, b policy.Book) {
	add(t, b, Grant("g", policy.ScopeAlways))
	for name, change := range map[string]func(*policy.Grant){
		"the same ID":       func(*policy.Grant) {},
		"no ID":             func(g *policy.Grant) { g.ID = "" },
		"no scope":          func(g *policy.Grant) { g.ID, g.Scope = "h", "" },
		"scope once":        func(g *policy.Grant) { g.ID, g.Scope = "h", "once" },
		"no covers":         func(g *policy.Grant) { g.ID, g.Covers = "h", nil },
		"no rules":          func(g *policy.Grant) { g.ID, g.RulesDigest = "h", "" },
		"session, but none": func(g *policy.Grant) { g.ID, g.Scope = "h", policy.ScopeSession },
	} {
		g := Grant("g", policy.ScopeAlways)
		change(&g)
		if b.Add(t.Context(), g) == nil {
			t.Errorf("%s: added", name)
		}
	}
	if list, _ := b.List(t.Context()); len(list) != 1 {
		t.Errorf("%d grants", len(list))
	}
}

func concurrentGrants(t *testing.T, b policy.Book) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := b.Add(context.Background(), Grant(fmt.Sprintf("g%d", i), policy.ScopeSession)); err != nil {
				t.Error(err)
			}
			if _, err := b.Find(context.Background(), Grant("", policy.ScopeSession).Key); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := b.List(t.Context()); err != nil || len(list) != 20 {
		t.Errorf("%d grants, %v", len(list), err)
	}
}

// State tests the state of sessions. Make returns a new, empty one.
func State(t *testing.T, open func(t *testing.T) func(session string) tongs.State) {
	sessions := open(t)
	s, other := sessions("s1"), sessions("s2")
	ctx := t.Context()
	type value struct {
		N    int
		Text string
	}
	var v value
	if found, err := s.Load(ctx, "files/read", &v); found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	want := value{1 << 40, "a\x00<é>"}
	if err := s.Save(ctx, "files/read", want); err != nil {
		t.Fatal(err)
	}
	if found, err := sessions("s1").Load(ctx, "files/read", &v); !found || err != nil || v != want {
		t.Errorf("%+v, %v, %v", v, found, err)
	}
	if found, _ := other.Load(ctx, "files/read", &v); found {
		t.Error("another session sees it")
	}
	if found, _ := s.Load(ctx, "files", &v); found {
		t.Error("another key sees it")
	}
	want.N = 2
	if err := s.Save(ctx, "files/read", want); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, "files/read", &v); err != nil || v != want {
		t.Errorf("%+v, %v", v, err)
	}
	if err := s.Save(ctx, "bad", func() {}); err == nil {
		t.Error("saved a function")
	}
	var n int
	if found, err := s.Load(ctx, "files/read", &n); !found || err == nil {
		t.Errorf("a value of another type: %v, %v", found, err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := s.Save(context.Background(), fmt.Sprintf("k%d", i), i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		if found, err := s.Load(ctx, fmt.Sprintf("k%d", i), &n); !found || err != nil || n != i {
			t.Errorf("k%d: %d, %v, %v", i, n, found, err)
		}
	}
}
