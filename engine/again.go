package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// ground is one decision about a call: what it rested on besides the rules, and all effects that it was about.
type ground struct {
	Basis   policy.Basis   `json:"basis"`
	Effects []tongs.Effect `json:"effects"`
}

// groundsOfCall are those of the call itself, with what the running tool met, and those of what its programs changed.
func (d *decision) groundsOfCall() (json.RawMessage, error) {
	call := &d.walk.decision
	if len(call.basis) != 1 || len(d.grounds) == 0 {
		return nil, fmt.Errorf("%d decisions about the call, and %d about its changes", len(call.basis), len(d.grounds))
	}
	list := append([]ground{{call.basis[0], append(call.effects[:len(call.effects):len(call.effects)], call.needed...)}}, d.grounds...)
	for i := range list {
		list[i].Effects = bare(list[i].Effects)
	}
	return json.Marshal(list)
}

// GrantOf returns what an approval of changes that wait remembers, nil where that is nothing. By is who gave it.
func GrantOf(p *approval.Parked, a *approval.Answer, by string) (*policy.Grant, error) {
	if !a.Approved || a.Scope != approval.Session || len(p.Grant) == 0 {
		return nil, nil
	}
	var grant policy.Grant
	if err := json.Unmarshal(p.Grant, &grant); err != nil {
		return nil, fmt.Errorf("what the approval is to be remembered for cannot be read: %w", err)
	}
	return &grant, given(&grant, a, by)
}

// bare are effects without what no rule looks at.
func bare(effects []tongs.Effect) []tongs.Effect {
	list := make([]tongs.Effect, len(effects))
	for i, e := range effects {
		e.Version, e.Why = "", ""
		list[i] = e
	}
	return list
}

// DecideAgain decides a call whose changes wait by other rules than those of its time. The verdict is the strictest one about the
// call and about any of its changes; grants do not count. An error means that it cannot be decided.
func DecideAgain(p *approval.Parked, rules []tongs.Rule) (policy.Verdict, error) {
	var list []ground
	if err := json.Unmarshal(p.Grounds, &list); err != nil {
		return policy.Verdict{}, fmt.Errorf("what the call was decided on cannot be read: %w", err)
	}
	if len(list) == 0 {
		return policy.Verdict{}, errors.New("what the call was decided on was not kept")
	}
	var strictest policy.Verdict
	for i, g := range list {
		v := policy.Decide(g.Basis.Input(g.Effects, rules, "", "", nil))
		harder := v.Step == policy.StepMustAsk && strictest.Step != policy.StepMustAsk
		if i == 0 || v.Decision > strictest.Decision || v.Decision == strictest.Decision && harder {
			strictest = v
		}
	}
	return strictest, nil
}
