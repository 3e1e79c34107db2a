package policy_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// The tests in this file hold Decide against what must be true of every input, on many random ones. The pools are small,
// so that rules, effects and grants often meet.

const rounds = 20000

type maker struct{ *rand.Rand }

func pick[T any](m maker, list ...T) T { return list[m.IntN(len(list))] }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

var decisions = []tongs.Decision{tongs.PreApproved, tongs.Ask, tongs.Blocked}

func (m maker) effect() tongs.Effect {
	e := pick(m, read("a"), read("src/a.go"), write("src/a.go"), write("docs"), remove("src"), remove("src/a.go"), run("git log"),
		run("git push origin"), run("/bin/rm x"), run("./run.sh"), get("example.com"), get("api.example.com:8080"), post("example.com"),
		unknown(tongs.EffectExecute), unknown(tongs.EffectWrite), unknown(tongs.EffectNetwork), tongs.Effect{})
	e.MustAsk = m.chance(4)
	if e.Kind == tongs.EffectWrite || e.Kind == tongs.EffectDelete {
		e.Undoable, e.Own = m.chance(40), m.chance(10)
	}
	e.NoGrant = e.NoGrant || m.chance(5)
	if e.Kind == tongs.EffectExecute && !e.Unknown && m.chance(30) {
		e.Env = pick(m, []string{"LANG=C"}, []string{"TOOL=x"}, []string{"LANG=C", "TOOL=x y"}, []string{"TOOL=\x00$X"})
	}
	if e.Kind == tongs.EffectExecute && m.chance(20) {
		e.Version = pick(m, tongs.Version("v1"), "v2")
	}
	return e
}

func (m maker) rule() tongs.Rule {
	r := tongs.Rule{
		Layer: pick(m, tongs.LayerManaged, tongs.LayerUser, tongs.LayerWorkspace, tongs.LayerWorker), Untrusted: m.chance(20),
		Tool: pick(m, "", "", "edit", "e*", "shell", "*", "run"), Toolset: pick(m, "", "", "filesystem", "custom"),
		Decision: pick(m, decisions...), Fallback: m.chance(30),
	}
	switch m.IntN(4) {
	case 0:
		r.Effects = tongs.Kinds(pick(m, tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete), tongs.EffectWrite)
		r.Pattern = pick(m, "", "src/**", "src", "**/*.go", "a", "/cache/**")
		if m.chance(30) {
			r.Effects, r.Undoable, r.Fallback = tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), true, false
		}
	case 1:
		r.Effects = tongs.Kinds(tongs.EffectExecute)
		r.Pattern = pick(m, "", "git", "git log", "= git log", "rm", "*", "TOOL=x git", "= TOOL='x y' git log", "*=* git")
	case 2:
		r.Effects = tongs.Kinds(tongs.EffectNetwork)
		r.Pattern = pick(m, "", "example.com", "*.example.com", "*")
	}
	return r
}

func (m maker) rules(n int) []tongs.Rule {
	rules := make([]tongs.Rule, m.IntN(n+1))
	for i := range rules {
		rules[i] = m.rule()
	}
	return rules
}

func (m maker) input() policy.Input {
	spec := &tongs.Spec{
		Name: "edit", Toolset: pick(m, "filesystem", "custom", ""), Needs: tongs.Permissions(m.IntN(16)),
		Default: pick(m, decisions[:2]...), Source: tongs.Source{Kind: pick(m, tongs.SourceBuiltin, tongs.SourceBuiltin, tongs.SourceForge, tongs.SourceMCP)},
	}
	if m.chance(70) {
		spec.Source.Digest = "d"
	}
	if m.chance(3) {
		spec.Default = tongs.Blocked
	}
	in := policy.Input{
		Spec: spec, Names: []string{"edit"}, Mode: pick(m, tongs.ModeSafe, tongs.ModeSafe, tongs.ModeAll, tongs.ModeNone),
		Reviewed: m.chance(50), Unplanned: m.chance(30), Chain: [][]tongs.Rule{m.rules(4)},
	}
	for range 1 + m.IntN(3) {
		in.Effects = append(in.Effects, m.effect())
	}
	for range m.IntN(3) {
		in.Chain = append(in.Chain, m.rules(2))
	}
	if m.chance(20) {
		in.Say = decision(pick(m, decisions...))
	}
	if m.chance(20) {
		in.Default = decision(pick(m, decisions...))
	}
	if m.chance(10) {
		in.Names = append(in.Names, "run")
		in.Via = &tongs.Spec{Name: "run", Toolset: "forge"}
	}
	if m.chance(10) {
		in.Shadowed = &tongs.Spec{Name: "edit", Toolset: "filesystem", Default: pick(m, decisions...)}
	}
	return in
}

// check runs f on random inputs. The seed is fixed, so that a failure can be looked at.
func check(t *testing.T, f func(m maker, in policy.Input)) {
	t.Helper()
	m := maker{rand.New(rand.NewPCG(1, 2))}
	for range rounds {
		if f(m, m.input()); t.Failed() {
			return
		}
	}
}

// notLooser fails where after is more lenient than before, which includes an ask that could not be remembered and now can.
func notLooser(t *testing.T, what string, in, changed policy.Input) {
	t.Helper()
	before, after := policy.Decide(in), policy.Decide(changed)
	if after.Decision < before.Decision {
		t.Errorf("%s: %s (%s) became %s (%s)\nbefore %+v\nafter  %+v", what, before.Decision, before.By, after.Decision, after.By, in, changed)
	}
	if before.Decision == tongs.Ask && after.Decision == tongs.Ask && after.Rememberable && !before.Rememberable {
		t.Errorf("%s: the ask (%s) became rememberable (%s)\nbefore %+v\nafter  %+v", what, before.By, after.By, in, changed)
	}
}

func withRule(in policy.Input, link int, r tongs.Rule) policy.Input {
	in.Chain = slices.Clone(in.Chain)
	in.Chain[link] = append(slices.Clone(in.Chain[link]), r)
	return in
}

func TestPropertyBlockedWordNeverLoosens(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		r := m.rule()
		r.Decision, r.Fallback = tongs.Blocked, false
		notLooser(t, "a blocked word", in, withRule(in, m.IntN(len(in.Chain)), r))
	})
}

// An ask word lifts a blocked default, of its own layer or of the tool; it loosens nothing else.
func TestPropertyAskWordNeverLoosens(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		r := m.rule()
		r.Decision, r.Fallback = tongs.Ask, false
		for _, rules := range in.Chain {
			if slices.ContainsFunc(rules, func(o tongs.Rule) bool { return o.Fallback && o.Decision == tongs.Blocked && o.Layer == r.Layer }) {
				return
			}
		}
		if in.Spec.Default == tongs.Blocked || in.Default != nil && *in.Default == tongs.Blocked {
			return
		}
		notLooser(t, "an ask word", in, withRule(in, m.IntN(len(in.Chain)), r))
	})
}

func TestPropertyUntrustedLayerNeverLoosens(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		changed := in
		for range 1 + m.IntN(4) {
			r := m.rule()
			r.Untrusted = true
			changed = withRule(changed, m.IntN(len(in.Chain)), r)
		}
		notLooser(t, "an untrusted layer", in, changed)
	})
}

func TestPropertyLosingTrustNeverLoosens(t *testing.T) {
	check(t, func(_ maker, in policy.Input) {
		changed := in
		changed.Chain = nil
		for _, rules := range in.Chain {
			rules = slices.Clone(rules)
			for i := range rules {
				rules[i].Untrusted = true
			}
			changed.Chain = append(changed.Chain, rules)
		}
		before, after := policy.Decide(in), policy.Decide(changed)
		// A default that was overridden leniently by a more specific one stands again; nothing gets looser than with no rules.
		bare := in
		bare.Chain = nil
		if none := policy.Decide(bare); after.Decision < none.Decision {
			t.Errorf("untrusted rules made %s (%s) of %s (%s); trusted it was %s\n%+v", after.Decision, after.By, none.Decision, none.By, before.Decision, changed)
		}
	})
}

func TestPropertyMoreEffectsNeverLoosen(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		changed := in
		changed.Effects = slices.Insert(slices.Clone(in.Effects), m.IntN(len(in.Effects)+1), m.effect())
		notLooser(t, "one more effect", in, changed)
	})
}

func TestPropertyMoreLinksNeverLoosen(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		changed := in
		changed.Chain = slices.Insert(slices.Clone(in.Chain), 1+m.IntN(len(in.Chain)), m.rules(3))
		notLooser(t, "one more link", in, changed)
		empty := in
		empty.Chain = append(slices.Clone(in.Chain), nil)
		if before, after := policy.Decide(in), policy.Decide(empty); !reflect.DeepEqual(before, after) {
			t.Errorf("a link without rules changed\n%+v to\n%+v", before, after)
		}
	})
}

func TestPropertyStricterModeNeverLoosens(t *testing.T) {
	check(t, func(_ maker, in policy.Input) {
		for mode := tongs.ModeAll; mode < tongs.ModeNone; mode++ {
			stricter := in
			in.Mode, stricter.Mode = mode, mode+1
			if a, b := policy.Decide(in), policy.Decide(stricter); b.Decision < a.Decision {
				t.Errorf("mode %s: %s, mode %s: %s\n%+v", in.Mode, a.Decision, stricter.Mode, b.Decision, in)
			}
		}
	})
}

func TestPropertyModeNoneIsNeverPreApproved(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		in.Mode = tongs.ModeNone
		in = granted(in, anyGrant(in))
		if v := policy.Decide(in); v.Decision == tongs.PreApproved || v.Rememberable {
			t.Errorf("%s by %s, rememberable %v\n%+v", v.Decision, v.By, v.Rememberable, in)
		}
	})
}

func TestPropertyOrderOfRulesDoesNotMatter(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		mixed := in
		mixed.Chain = nil
		for _, rules := range in.Chain {
			rules = slices.Clone(rules)
			m.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
			mixed.Chain = append(mixed.Chain, rules)
		}
		if a, b := policy.Decide(in), policy.Decide(mixed); !reflect.DeepEqual(a, b) {
			t.Errorf("the order made\n%+v of\n%+v", b, a)
		}
	})
}

func TestPropertyDecideIsPure(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		before := clone(in)
		a, b := policy.Decide(in), policy.Decide(in)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("twice is not the same:\n%+v\n%+v", a, b)
		}
		if !reflect.DeepEqual(in, before) {
			t.Errorf("Decide changed its input to %+v", in)
		}
		if len(a.Effects) != len(in.Effects) || a.By == "" || a.Reason == "" {
			t.Errorf("an incomplete verdict %+v", a)
		}
	})
}

func clone(in policy.Input) policy.Input {
	in.Effects, in.Chain = slices.Clone(in.Effects), slices.Clone(in.Chain)
	for i := range in.Chain {
		in.Chain[i] = slices.Clone(in.Chain[i])
	}
	return in
}

// A grant turns an ask that could be remembered into preApproved, and does nothing else.
func TestPropertyGrantsAnswerOnlyWhatCanBeRemembered(t *testing.T) {
	answered := 0
	check(t, func(m maker, in policy.Input) {
		before := policy.Decide(in)
		after := policy.Decide(granted(in, anyGrant(in)))
		if before.Decision == after.Decision {
			return
		}
		answered++
		if before.Decision != tongs.Ask || !before.Rememberable || after.Step != policy.StepGrant || in.Mode != tongs.ModeSafe {
			t.Errorf("a grant made %s (%s) of %s (%s)\n%+v", after.Decision, after.By, before.Decision, before.By, in)
		}
		for i, e := range in.Effects {
			if after.Effects[i].Step == policy.StepGrant && (e.MustAsk || e.NoGrant || e.Sends || e.Kind == tongs.EffectDelete) {
				t.Errorf("a grant answered for %+v", e)
			}
		}
	})
	if answered < rounds/100 {
		t.Errorf("grants answered only %d of %d", answered, rounds)
	}
}

// What can be remembered is answered by what is proposed, the next time.
func TestPropertyProposalAnswersTheSameCall(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		v := policy.Decide(in)
		if !v.Rememberable {
			return
		}
		again := granted(in, policy.Grant{
			ID: "g", Scope: policy.ScopeAlways, Key: policy.Key{Tool: in.Spec.Name, Source: in.Spec.Source, Roots: "r"},
			Covers: policy.Propose(v.Asked(in.Effects)), RulesDigest: v.RulesDigest,
		})
		if err := again.Grants[0].Validate(); err != nil {
			t.Errorf("the proposal is refused: %v", err)
		}
		if after := policy.Decide(again); after.Step != policy.StepGrant {
			t.Errorf("asked again: %s\n%+v", after.By, in)
		}
	})
}
