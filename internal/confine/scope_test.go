package confine_test

import (
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/workspace"
)

// A program that is kept for later calls was given what was decided for the call that it was started for. A call for which
// less was decided has another scope, so that it is not served by that program.
func TestScopesAreThoseOfWhatWasDecided(t *testing.T) {
	ws, err := workspace.Open(workspace.Options{
		Dir: t.TempDir(), LockDir: filepath.Join(t.TempDir(), "locks"), Roots: []workspace.Root{{Name: "tools", Dir: t.TempDir(), Writable: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	c := confine.New(confine.Options{Workspace: ws, Sealed: []string{"tools"}})
	run := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"m", "tool"}}
	scope := func(more ...tongs.Effect) string {
		t.Helper()
		permit := tongs.NewPermit(t.Context(), &tongs.Call{ID: "c", Tool: "run"}, append([]tongs.Effect{run}, more...), ws.Zones(), nil)
		s, err := c.Commands(permit).(tongs.Scoped).Scope(false)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain := scope()
	if read := scope(tongs.Effect{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "a.txt"}}); read != plain {
		t.Error("what every program may do anyway makes another scope")
	}
	seen := map[string]string{plain: "nothing"}
	for what, e := range map[string]tongs.Effect{
		"a host":           {Kind: tongs.EffectNetwork, Host: "example.com"},
		"another host":     {Kind: tongs.EffectNetwork, Host: "example.org:8443"},
		"a protected name": {Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".envrc"}, MustAsk: true},
		"a sealed root":    {Kind: tongs.EffectWrite, Path: tongs.Path{Root: "tools", Rel: "x"}},
	} {
		s := scope(e)
		if other := seen[s]; other != "" {
			t.Errorf("a program that was given %s serves calls that were given %s", what, other)
		}
		seen[s] = what
		if scope(e) != s {
			t.Errorf("%s: the same has two scopes", what)
		}
	}
}
