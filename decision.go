package tongs

import (
	"encoding/json"
	"fmt"
)

// Decision is what happens to a call or to one of its effects. Its zero value is Ask, and a greater value is
// stricter, so that the strictest of several is their max.
type Decision int8

// The decisions, from the most lenient to the strictest.
const (
	PreApproved Decision = -1
	Ask         Decision = 0
	Blocked     Decision = 1
)

// String returns the decision as it is written in configuration.
func (d Decision) String() string {
	switch d {
	case PreApproved:
		return "preApproved"
	case Blocked:
		return "blocked"
	default:
		return "ask"
	}
}

// ParseDecision reads a decision as it is written in configuration.
func ParseDecision(s string) (Decision, error) {
	for _, d := range []Decision{PreApproved, Ask, Blocked} {
		if s == d.String() {
			return d, nil
		}
	}
	return Ask, fmt.Errorf("decision %q is not one of preApproved, ask, blocked", s)
}

// MarshalText implements encoding.TextMarshaler.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Decision) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDecision(string(text))
	return err
}

// Mode is how much is asked where no rule applies. Its zero value is Safe.
type Mode int8

// The modes. A greater one is stricter.
const (
	ModeAll  Mode = -1 // pre-approve everything that is not blocked and need not be asked
	ModeSafe Mode = 0  // rules, then defaults
	ModeNone Mode = 1  // pre-approve nothing: ask for every call
)

// String returns the mode as it is written in configuration.
func (m Mode) String() string {
	switch m {
	case ModeAll:
		return "all"
	case ModeNone:
		return "none"
	default:
		return "safe"
	}
}

// ParseMode reads a mode as it is written in configuration.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeAll, ModeSafe, ModeNone} {
		if s == m.String() {
			return m, nil
		}
	}
	return ModeSafe, fmt.Errorf("mode %q is not one of none, safe, all", s)
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// Layer says who wrote a rule. A smaller one has more authority.
type Layer uint8

// The layers of configuration.
const (
	LayerManaged   Layer = iota // an administrator, under /etc
	LayerUser                   // the user's own configuration
	LayerWorkspace              // a file in the workspace
	LayerWorker                 // a worker file or a toolset in it
)

// String returns the layer's name.
func (l Layer) String() string {
	return [...]string{"managed", "user", "workspace", "worker"}[min(l, LayerWorker)]
}

// Rule is what a person configured about some calls or effects. Every form of configuration (approval of a tool, shell
// rules, hosts, zones, defaults) becomes rules, and policy reads nothing else.
type Rule struct {
	Layer Layer `json:"layer"`
	// Origin is where the rule stands, for people: "config.yaml:12".
	Origin string `json:"origin,omitempty"`
	// Untrusted rules can only narrow: their PreApproved counts as absent.
	Untrusted bool `json:"untrusted,omitempty"`
	// Tool is the name, an alias, or a pattern with * of the tools it is about; empty means every tool.
	Tool string `json:"tool,omitempty"`
	// Toolset limits the rule to one toolset (Spec.Toolset); empty means every toolset.
	Toolset string `json:"toolset,omitempty"`
	// Effects are the kinds of effect it is about. Zero makes the rule apply to the whole call.
	Effects EffectKinds `json:"effects,omitempty"`
	// Pattern narrows Effects: a glob over paths ("src/**", "/cache/**"), whole tokens of a command ("git log *"),
	// or a host ("*.example.com"). Empty matches all. It needs Effects.
	Pattern string `json:"pattern,omitempty"`
	// Branch makes it a rule about pushes of git to the hosts of Pattern: the branches that it is about, with * for any characters,
	// or other references by their full name. Nothing but such a rule pre-approves a push.
	Branch   string   `json:"branch,omitempty"`
	Decision Decision `json:"decision"`
	// Fallback marks a default, which counts only where nothing explicit applies.
	Fallback bool `json:"fallback,omitempty"`
	// Outcome narrows a rule that pre-approves programs: they run on a copy of the files, and what they change there is
	// decided like the change of a file by any other tool. Where that cannot be, somebody is asked before they run.
	Outcome bool `json:"outcome,omitempty"`
	// Undoable narrows a rule that pre-approves writes and deletes to those that are undoable, and to files that the session
	// made itself. One that asks or blocks is about every write and delete of its Effects: what cannot be undone is graver.
	Undoable bool `json:"undoable,omitempty"`
}

// String describes the rule in one line, as explain prints it.
func (r Rule) String() string {
	what := "tools *"
	switch {
	case r.Tool != "":
		what = r.Tool
	case r.Toolset != "":
		what = "toolset " + r.Toolset
	}
	if r.Undoable {
		what += " undoable"
	}
	if r.Effects != 0 {
		what += " " + r.Effects.String()
	}
	if r.Pattern != "" {
		quoted, _ := json.Marshal(r.Pattern)
		what += " " + string(quoted)
	}
	if r.Branch != "" {
		quoted, _ := json.Marshal(r.Branch)
		what += " push " + string(quoted)
	}
	kind := ""
	if r.Fallback {
		kind = "default "
	}
	where := r.Layer.String()
	if r.Origin != "" {
		where += ", " + r.Origin
	}
	how := ""
	if r.Outcome {
		how = ", on a copy"
	}
	return fmt.Sprintf("%s: %s%s%s (%s)", what, kind, r.Decision, how, where)
}
