package policy

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

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

// RuledBelow returns Ruled for the reads of what is below dir, where a read of dir itself was decided: an ask rule that
// names dir was answered with it. It returns nil where no rule could name anything there. What it returns is safe for
// concurrent use.
func RuledBelow(in Input, dir tongs.Path) func(p tongs.Path) bool {
	j := newJudge(&in)
	j.e = &tongs.Effect{Kind: tongs.EffectRead, Path: dir}
	var patterns []string
	for _, rules := range in.Chain {
		for i := range rules {
			if r := &rules[i]; j.hasPathRule(r) && (clampDecision(r.Decision) == tongs.Blocked || !matches(r.Pattern, dir)) {
				patterns = append(patterns, r.Pattern)
			}
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	return func(p tongs.Path) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, p) })
	}
}

// RuledTest returns Ruled for effects of one kind, as tongs.PermitHost wants it: for any path or, for reads, for what is below
// a directory whose read was decided.
func RuledTest(in Input, kind tongs.EffectKind, below *tongs.Path) (named func(tongs.Path) bool, any bool) {
	if below != nil && kind == tongs.EffectRead {
		named = RuledBelow(in, *below)
		return named, named != nil
	}
	return func(p tongs.Path) bool { return Ruled(in, tongs.Effect{Kind: kind, Path: p}) }, true
}

// names reports whether a rule that is in force asks for or blocks what its pattern names, and that is the effect at
// hand.
func (j *judge) names(r *tongs.Rule) bool { return j.hasPathRule(r) && matches(r.Pattern, j.e.Path) }

// hasPathRule reports whether a rule is in force that asks for or blocks paths by a pattern, for effects of the kind at hand.
func (j *judge) hasPathRule(r *tongs.Rule) bool {
	if r.Pattern == "" || r.Fallback || !r.Effects.Has(j.e.Kind) || j.appliesToTool(r) == notAbout {
		return false
	}
	switch clampDecision(r.Decision) {
	case tongs.PreApproved:
		return false
	case tongs.Ask:
		return j.in.Mode != tongs.ModeAll || r.Layer == tongs.LayerManaged
	default:
		return true
	}
}

// matches reports whether a pattern names the path. A malformed one may name anything.
func matches(pattern string, p tongs.Path) bool {
	ok, err := matchPath(pattern, p)
	return ok || err != nil
}
