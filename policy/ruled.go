package policy

import "github.com/tongs-ai/tongs"

// Ruled reports whether an ask or blocked rule names the path of the effect, so that it must be decided by itself: an
// effect on a directory above it, or one that is unknown, was judged without knowing of it and does not cover it. Of
// the input it reads what rules are held against; the effects in it do not count.
func Ruled(in Input, e tongs.Effect) bool {
	if !e.Kind.OnPath() || opaque(&e) {
		return false
	}
	j := newJudge(&in)
	j.e = &e
	for _, rules := range in.Chain {
		for i := range rules {
			if j.names(&rules[i]) {
				return true
			}
		}
	}
	return false
}

// names reports whether a rule that is in force asks for or blocks what its pattern names, and that is the effect at
// hand. A malformed pattern may name anything.
func (j *judge) names(r *tongs.Rule) bool {
	if r.Pattern == "" || r.Fallback || !r.Effects.Has(j.e.Kind) || j.about(r) == notAbout {
		return false
	}
	switch d := sane(r.Decision); {
	case d == tongs.PreApproved:
		return false
	case d == tongs.Ask && j.in.Mode == tongs.ModeAll && r.Layer != tongs.LayerManaged:
		return false
	}
	ok, err := matchPath(r.Pattern, j.e.Path)
	return ok || err != nil
}
