package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tongs-ai/tongs"
)

// RuleID identifies what a rule says, whoever reads it and wherever it stands: moving a line does not change it, and two
// rules that say the same in the same layer have the same.
func RuleID(r tongs.Rule) string {
	sum := sha256.Sum256(encode(nil, 0, &r))
	return "r_" + hex.EncodeToString(sum[:6])
}

// RuleIDs returns the IDs of the rules that decided the effects of the verdict, that which decided the whole first.
func (v Verdict) RuleIDs() []string {
	var ids []string
	add := func(r *tongs.Rule) {
		if r == nil {
			return
		}
		if id := RuleID(*r); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(v.Rule)
	last := v.Rule
	for i := range v.Effects {
		if r := v.Effects[i].Rule; r != last {
			add(r)
			last = r
		}
	}
	return ids
}

// Basis is what a decision rested on besides the effects and the base rules, in a form that can be kept: with it, the
// same call can be decided again by other rules. The session and the agents of the key are those of the call.
type Basis struct {
	Spec SpecBasis `json:"spec"`
	// Names are those that rules may know the call by, beyond the spec's.
	Names     []string        `json:"names,omitempty"`
	Via       *SpecBasis      `json:"via,omitempty"`
	Shadowed  *SpecBasis      `json:"shadowed,omitempty"`
	Reviewed  bool            `json:"reviewed,omitempty"`
	Unplanned bool            `json:"unplanned,omitempty"`
	Default   *tongs.Decision `json:"default,omitempty"`
	Say       *tongs.Decision `json:"say,omitempty"`
	Mode      tongs.Mode      `json:"mode,omitzero"`
	// Callers are the rules of the links of the chain after the base, those that bear on the effects.
	Callers [][]tongs.Rule `json:"callers,omitempty"`
	// Roots is the start of the key's.
	Roots string `json:"roots,omitempty"`
	// Effects is how many of the effects it is about, in their order, where there are several bases; 0 is all of them.
	Effects int `json:"effects,omitempty"`
	// Outside says that no rule decided: an effect was outside what the caller may touch.
	Outside bool `json:"outside,omitempty"`
	// Contained says that the call could run on a copy where a rule wants that, Defers that it would where nobody said
	// anything, if the machine can do so.
	Contained bool `json:"contained,omitempty"`
	Defers    bool `json:"defers,omitempty"`
	// Changed says that it is about what a program changed on a copy; Cut that more was changed than the effects name.
	Changed bool `json:"changed,omitempty"`
	Cut     bool `json:"cut,omitempty"`
}

// SpecBasis is what decisions read of a spec.
type SpecBasis struct {
	Name     string            `json:"name"`
	Aliases  []string          `json:"aliases,omitempty"`
	Toolset  string            `json:"toolset,omitempty"`
	Source   tongs.Source      `json:"source,omitzero"`
	Needs    tongs.Permissions `json:"needs,omitempty"`
	Optional tongs.Permissions `json:"optional,omitempty"`
	Default  tongs.Decision    `json:"default,omitzero"`
}

// rootsKept is how much of the key's roots a basis holds: enough to tell workspaces apart.
const rootsKept = 16

// Basis returns what the decision about the input rests on.
func (in Input) Basis() Basis {
	b := Basis{
		Reviewed: in.Reviewed, Unplanned: in.Unplanned, Default: in.Default, Say: in.Say, Mode: in.Mode,
		Roots: in.Key.Roots[:min(len(in.Key.Roots), rootsKept)],
		Via:   specBasis(in.Via), Shadowed: specBasis(in.Shadowed),
	}
	if s := specBasis(in.Spec); s != nil {
		b.Spec = *s
	}
	for _, name := range in.Names {
		if name != b.Spec.Name && !slices.Contains(b.Spec.Aliases, name) && !slices.Contains(b.Names, name) {
			b.Names = append(b.Names, name)
		}
	}
	if len(in.Chain) > 1 {
		b.Callers = in.relevantRules()
	}
	return b
}

// relevantRules returns the rules of the callers that bear on any of the effects; nil where none does. A link keeps its place,
// since grants know it.
func (in Input) relevantRules() (links [][]tongs.Rule) {
	j := newJudge(&in)
	effects := make([]*tongs.Effect, len(in.Effects))
	for i := range in.Effects {
		effects[i] = &in.Effects[i]
	}
	some := false
	for _, rules := range in.Chain[1:] {
		kept := []tongs.Rule{}
		for i := range rules {
			if j.bears(&rules[i], effects) {
				kept = append(kept, rules[i])
			}
		}
		links, some = append(links, kept), some || len(kept) > 0
	}
	if !some {
		return nil
	}
	return links
}

func specBasis(s *tongs.Spec) *SpecBasis {
	if s == nil {
		return nil
	}
	return &SpecBasis{
		Name: s.Name, Aliases: s.Aliases, Toolset: s.Toolset, Source: s.Source, Needs: s.Needs, Optional: s.Optional, Default: s.Default,
	}
}

func (b *SpecBasis) spec() *tongs.Spec {
	if b == nil {
		return nil
	}
	return &tongs.Spec{
		Name: b.Name, Aliases: b.Aliases, Toolset: b.Toolset, Source: b.Source, Needs: b.Needs, Optional: b.Optional, Default: b.Default,
	}
}

// Input returns the input of a decision about the effects by the base rules, with the rest as it was. The key is that of
// the call in a workspace with the given roots, where these are the basis's, else zero, so that no grant answers.
func (b Basis) Input(effects []tongs.Effect, base []tongs.Rule, roots, session string, agents []string) Input {
	in := Input{
		Spec: b.Spec.spec(), Names: b.Names, Via: b.Via.spec(), Shadowed: b.Shadowed.spec(), Reviewed: b.Reviewed,
		Effects: effects, Unplanned: b.Unplanned, Default: b.Default, Say: b.Say, Mode: b.Mode,
		Chain: append([][]tongs.Rule{base}, b.Callers...),
	}
	if b.Roots == roots[:min(len(roots), rootsKept)] {
		in.Key = Key{Tool: b.Spec.Name, Source: b.Spec.Source, Roots: roots, Session: session, Agents: agents}
	}
	return in
}
