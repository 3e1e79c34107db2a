package policy

import (
	"cmp"

	"github.com/tongs-ai/tongs"
)

// said is a rule together with what it comes to for the effect at hand.
type said struct {
	rule     *tongs.Rule
	decision tongs.Decision
}

func (s said) is(d tongs.Decision) bool { return s.rule != nil && s.decision == d }

// strictest keeps the stricter of s and a further word; of equal ones, that which explains best.
func (s *said) strictest(rule *tongs.Rule, d tongs.Decision) {
	if rule == nil {
		return
	}
	if s.rule == nil || d > s.decision || d == s.decision && before(rule, s.rule) {
		s.rule, s.decision = rule, d
	}
}

// words are what the rules of one link of the chain say about one effect.
type words struct {
	// word is the strictest explicit word that counts.
	word said
	// trusted is true where a trusted explicit word is among them.
	trusted bool
	// outcome is true where one of the words that pre-approve the effect wants it on a copy.
	outcome bool
	// pushes is true where one of them pre-approves the push at hand.
	pushes bool
	// managedAsk is an explicit ask of an administrator; maybe is a blocked rule that the effect may turn out to meet.
	managedAsk, maybe *tongs.Rule
	// blockedDefault is a blocked default that no word of its own layer lifts.
	blockedDefault *tongs.Rule
	// fallback is the strictest over the layers of each layer's most specific default. floor is the strictest of the
	// defaults that can only narrow.
	fallback, floor said
}

// with returns the words of two links together.
func (w words) with(o words) words {
	w.word.strictest(o.word.rule, o.word.decision)
	w.trusted = w.trusted || o.trusted
	w.outcome = w.outcome || o.outcome
	w.pushes = w.pushes || o.pushes
	w.managedAsk = first(w.managedAsk, o.managedAsk)
	w.maybe = first(w.maybe, o.maybe)
	w.blockedDefault = first(w.blockedDefault, o.blockedDefault)
	w.fallback.strictest(o.fallback.rule, o.fallback.decision)
	w.floor.strictest(o.floor.rule, o.floor.decision)
	return w
}

// layers counts the layers of configuration.
const layers = int(tongs.LayerWorker) + 1

// gather collects what rules say about the effect at hand.
func (j *judge) gather(rules []tongs.Rule) (w words) {
	var lifted [layers]bool
	var defaults [layers]said
	for i := range rules {
		r := &rules[i]
		a := j.apply(r)
		if a.meets == no {
			continue
		}
		layer := min(r.Layer, tongs.LayerWorker)
		switch {
		case a.meets == maybe:
			j.maybe(&w, r, a)
		case r.Fallback && a.narrow:
			w.narrow(r, a.decision)
		case r.Fallback:
			specific(&defaults[layer], r, a.decision)
		default:
			w.word.strictest(r, a.decision)
			w.outcome = w.outcome || r.Outcome
			w.pushes = w.pushes || r.Branch != "" && a.decision == tongs.PreApproved
			if a.decision == tongs.Ask && r.Layer == tongs.LayerManaged {
				w.managedAsk = first(w.managedAsk, r)
			}
			if !a.narrow && !r.Undoable { // it is about no tool and no path, so it makes no exception for one
				w.trusted, lifted[layer] = true, true
			}
		}
	}
	for layer, d := range defaults {
		switch {
		case !d.is(tongs.Blocked):
			w.fallback.strictest(d.rule, d.decision)
		case !lifted[layer]:
			w.blockedDefault = first(w.blockedDefault, d.rule)
		}
	}
	return w
}

// narrow takes up a default that can only make the verdict stricter.
func (w *words) narrow(r *tongs.Rule, d tongs.Decision) {
	if d == tongs.Blocked {
		w.blockedDefault = first(w.blockedDefault, r)
		return
	}
	w.floor.strictest(r, d)
}

// maybe takes up an ask or blocked rule that the effect may or may not meet. What a tool from outside does is unknown as
// a rule; it is judged as what it is, by its source and digest, and held by the sandbox to what was decided: there such
// a rule only rules out a lenient default. A built-in tool that cannot tell what it would do asks.
func (j *judge) maybe(w *words, r *tongs.Rule, a application) {
	if !j.spec.Source.BuiltIn() && opaque(j.e) {
		w.floor.strictest(r, tongs.Ask)
		return
	}
	if a.decision == tongs.Blocked {
		w.maybe = first(w.maybe, r)
	} else if r.Layer == tongs.LayerManaged && !r.Fallback {
		w.managedAsk = first(w.managedAsk, r)
	}
	if r.Fallback {
		w.floor.strictest(r, tongs.Ask)
		return
	}
	w.word.strictest(r, tongs.Ask)
}

// application is how a rule bears on the effect at hand.
type application struct {
	meets    meeting
	decision tongs.Decision
	// narrow is true where the rule can only make the verdict stricter.
	narrow bool
}

// apply decides whether and how a rule counts.
func (j *judge) apply(r *tongs.Rule) application {
	d := clampDecision(r.Decision)
	if r.Effects != 0 && !r.Effects.Has(j.e.Kind) && !j.mayDelete(r) {
		return application{}
	}
	about := j.appliesToTool(r)
	if about == notAbout {
		return application{}
	}
	narrow := about == aboutNarrowly || r.Untrusted
	if d == tongs.PreApproved {
		// A general lenient default was not written for tools from outside.
		general := r.Fallback && r.Toolset == "" && (r.Tool == "" || r.Tool == "*")
		if narrow || general && !j.spec.Source.BuiltIn() {
			return application{}
		}
	}
	if r.Undoable && d == tongs.PreApproved && !j.undoable() {
		return application{}
	}
	return application{meets: j.appliesToEffect(r, d), decision: d, narrow: narrow}
}

// undoable reports whether the effect at hand is one that undo takes back, or that is about the session's own file. What a
// tool from outside does is not in the journal.
func (j *judge) undoable() bool {
	return (j.e.Undoable || j.e.Own) && !opaque(j.e) && j.spec.Source.BuiltIn()
}

// mayDelete reports whether a word about deletes bears on the effect: an unknown write may be one.
func (j *judge) mayDelete(r *tongs.Rule) bool {
	return j.e.Kind == tongs.EffectWrite && opaque(j.e) && r.Effects.Has(tongs.EffectDelete) && r.Decision != tongs.PreApproved
}

// appliesToEffect decides whether the effect is one that the rule is about.
func (j *judge) appliesToEffect(r *tongs.Rule, d tongs.Decision) meeting {
	lenient := d == tongs.PreApproved
	switch {
	case r.Effects == 0 && r.Pattern == "":
		return yes
	case r.Effects == 0:
		// Validate refuses it; if it comes all the same, its leniency is void and its strictness is not.
		if lenient {
			return no
		}
		return maybe
	case !r.Effects.Has(j.e.Kind):
		return j.mayApplyUnknown()
	case r.Branch != "":
		return j.appliesToPush(r, lenient)
	case r.Pattern == "":
		return yes
	case opaque(j.e) && lenient:
		return no
	case opaque(j.e):
		return j.mayApplyUnknown()
	case lenient:
		return leniently(r.Pattern, j.e)
	default:
		return strictly(r.Pattern, j.e)
	}
}

// mayApplyUnknown is maybe for an unknown effect, except where the tool has no permission for that kind: then there is
// nothing that it could do.
func (j *judge) mayApplyUnknown() meeting {
	if j.spec.Source.BuiltIn() && !(j.spec.Needs | j.spec.Optional).Has(j.e.Kind.Permission()) {
		return no
	}
	return maybe
}

// aboutness is how a rule's Tool and Toolset fit the call.
type aboutness uint8

const (
	notAbout aboutness = iota
	aboutNarrowly
	aboutFully
)

// appliesToTool decides whether the rule is about the tool. A rule that is about a shadowed built-in, or about the toolset of a
// redirecting tool, was written without knowing of the tool that would run: only its strictness counts.
func (j *judge) appliesToTool(r *tongs.Rule) aboutness {
	if r.Tool == "" && r.Toolset == "" {
		return aboutFully
	}
	if s := j.in.Shadowed; s != nil && (r.Toolset == "" || r.Toolset == s.Toolset) && named(r.Tool, s) {
		return aboutNarrowly
	}
	if !anyName(r.Tool, j.in.Names) && !named(r.Tool, j.spec) {
		return notAbout
	}
	if r.Toolset == "" || r.Toolset == j.spec.Toolset {
		return aboutFully
	}
	if v := j.in.Via; v != nil && r.Toolset == v.Toolset {
		return aboutNarrowly
	}
	return notAbout
}

// named reports whether pattern is one of the spec's names; an empty one is every name.
func named(pattern string, s *tongs.Spec) bool {
	return pattern == "" || starMatch(pattern, s.Name) || anyName(pattern, s.Aliases)
}

func anyName(pattern string, names []string) bool {
	if pattern == "" {
		return true
	}
	for _, name := range names {
		if starMatch(pattern, name) {
			return true
		}
	}
	return false
}

// specific keeps the more specific of two defaults of one layer, the stricter of equally specific ones.
func specific(s *said, r *tongs.Rule, d tongs.Decision) {
	if s.rule != nil {
		if c := cmp.Compare(specificity(r), specificity(s.rule)); c != 0 {
			if c > 0 {
				s.rule, s.decision = r, d
			}
			return
		}
	}
	s.strictest(r, d)
}

// specificity orders defaults: one for a tool before one for a toolset before one for a kind of effect.
func specificity(r *tongs.Rule) (n int) {
	if r.Tool != "" && r.Tool != "*" {
		n += 8
	}
	if r.Toolset != "" {
		n += 4
	}
	if r.Effects != 0 {
		n += 2
	}
	if r.Pattern != "" {
		n++
	}
	if r.Branch != "" {
		n++
	}
	return n
}

// first returns the rule that explains better, so that the order of rules does not show.
func first(a, b *tongs.Rule) *tongs.Rule {
	switch {
	case a == nil:
		return b
	case b == nil || !before(b, a):
		return a
	default:
		return b
	}
}

// before orders rules of the same decision: those about more than what can be undone, more authority, more specific, then by
// their text.
func before(a, b *tongs.Rule) bool {
	return cmp.Or(
		cmp.Compare(flag(a.Undoable), flag(b.Undoable)),
		cmp.Compare(a.Layer, b.Layer),
		cmp.Compare(specificity(b), specificity(a)),
		cmp.Compare(a.Origin, b.Origin),
		cmp.Compare(a.Pattern, b.Pattern),
		cmp.Compare(a.Branch, b.Branch),
		cmp.Compare(a.Tool, b.Tool),
		cmp.Compare(a.Toolset, b.Toolset),
		cmp.Compare(a.Effects, b.Effects),
		cmp.Compare(a.Decision, b.Decision),
	) < 0
}
