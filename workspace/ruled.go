package workspace

import (
	"context"
	"path"
	"slices"

	"github.com/tongs-ai/tongs"
)

// touch is an effect that a change of p has on it and on everything below it, by their names under to.
type touch struct {
	kind tongs.EffectKind
	to   tongs.Path
}

// maxRuled is how many paths that rules name one Need lists.
const maxRuled = 50

// mayTouch checks that rules let a call do to p, and where it is a directory to everything below it, what was decided
// for p as a whole. It is a Need of the effects that a rule names and nobody decided.
func (f *files) mayTouch(ctx context.Context, p tongs.Path, st stat, touches ...touch) error {
	decided := f.permit.Effects()
	var open []tongs.Effect
	visit := func(rel string) bool {
		for _, t := range touches {
			e := tongs.Effect{Kind: t.kind, Path: tongs.Path{Root: t.to.Root, Rel: path.Join(t.to.Rel, rel)}}
			if f.permit.Ruled(e.Kind, e.Path) && !slices.ContainsFunc(decided, e.SameTarget) {
				open = append(open, e)
			}
		}
		return len(open) < maxRuled
	}
	if visit(".") && st.typ == tongs.FileDirectory {
		h, err := f.w.directory(p)
		if err != nil {
			return fail("look into", p, err)
		}
		defer h.close()
		if _, err := eachBelow(ctx, h, "", visit); err != nil {
			return fail("look into", p, err)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return f.need("a rule covers it", open...)
}

// eachBelow calls visit with the name of everything below the directory, after the name of the directory itself, until
// that returns false. It follows no link.
func eachBelow(ctx context.Context, h handle, above string, visit func(rel string) bool) (more bool, err error) {
	list, err := entries(h, 0)
	if err != nil {
		return false, err
	}
	for _, name := range list {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		rel := path.Join(above, name)
		if !visit(rel) {
			return false, nil
		}
		st, err := h.lstat(name)
		if missing(err) || err == nil && st.typ != tongs.FileDirectory {
			continue
		}
		if err != nil {
			return false, err
		}
		sub, err := h.walk(name)
		if missing(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		more, err := eachBelow(ctx, sub, rel, visit)
		sub.close()
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}
