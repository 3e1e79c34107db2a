package workspace

import (
	"context"
	"fmt"
	"testing"

	"github.com/tongs-ai/tongs"
)

// What a rule names is covered neither by an effect on a directory above it nor by one that is unknown.
func TestRuledPathsAreDecidedByName(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/a": "a", "d/sub/b": "b", "e/x": "x"})
	files := func(rules []string, effects ...tongs.Effect) tongs.Files {
		checked, err := w.Check(effects)
		must(t, err)
		return (&grant{rules: rules, effects: checked}).of(w)
	}
	anything := func(kind tongs.EffectKind) tongs.Effect { return tongs.Effect{Kind: kind, Unknown: true} }
	for _, wide := range []tongs.Effect{reading(in(".")), reading(in("d")), anything(tongs.EffectRead)} {
		f := files([]string{"read d/sub/b", "read d/sub"}, wide)
		_, err := f.Open(in("d/sub/b"))
		wantNeed(t, err, "d/sub/b")
		for _, err := range f.ReadDir(in("d/sub")) {
			wantNeed(t, err, "d/sub")
		}
		got, err := f.Open(in("d/a"))
		must(t, err)
		must(t, got.Close())
	}
	_, err := files([]string{"write d/a"}, anything(tongs.EffectWrite)).Replace(t.Context(), in("d/a"), tongs.Replacing{}, content("new"))
	wantNeed(t, err, "d/a")

	_, err = files([]string{"delete d/sub/b"}, deleting(in("d"))).Remove(t.Context(), in("d"), true)
	if need := wantNeed(t, err, "d/sub/b"); len(need.Effects) != 1 || need.Effects[0].String() != "delete d/sub/b" {
		t.Errorf("needs %v", need.Effects)
	}
	err = files([]string{"read d/a", "delete d/a", "write new/sub/b"}, deleting(in("d")), writing(in("new"))).Rename(t.Context(), in("d"), in("new"), tongs.Renaming{})
	if need := wantNeed(t, err); len(need.Effects) != 3 {
		t.Errorf("needs %v", need.Effects)
	}
	err = files([]string{"read e/x"}, deleting(in("e/x")), writing(in("y"))).Rename(t.Context(), in("e/x"), in("y"), tongs.Renaming{})
	wantNeed(t, err, "e/x")

	// Decided by name as well, all of it is done.
	must(t, files([]string{"read e/x"}, deleting(in("e/x")), writing(in("y")), reading(in("e/x"))).Rename(t.Context(), in("e/x"), in("y"), tongs.Renaming{}))
	gone, err := files([]string{"delete d/sub/b"}, deleting(in("d")), deleting(in("d/sub/b"))).Remove(t.Context(), in("d"), true)
	must(t, err)
	if len(gone) != 4 {
		t.Errorf("removed %v", gone)
	}
}

// A Need lists a bounded number of paths, and looking for them ends with the call.
func TestRuledPathsAreListedBounded(t *testing.T) {
	names, rules := map[string]string{}, []string{}
	for i := range 2 * maxRuled {
		names[fmt.Sprintf("d/%03d", i)] = ""
		rules = append(rules, fmt.Sprintf("delete d/%03d", i))
	}
	w := newWorkspace(t, names)
	checked, err := w.Check([]tongs.Effect{deleting(in("d"))})
	must(t, err)
	g := &grant{rules: rules, effects: checked}
	_, err = g.of(w).Remove(t.Context(), in("d"), true)
	if need := wantNeed(t, err); len(need.Effects) != maxRuled {
		t.Errorf("needs %d effects", len(need.Effects))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.of(w).Remove(ctx, in("d"), true)
	wantCode(t, err, tongs.CodeCancelled)
}
