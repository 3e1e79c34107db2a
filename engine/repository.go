package engine

import (
	"context"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// recorded are effects on git directories that somebody is asked about, and the digest of the rules that were looked at.
type recorded struct {
	effects []tongs.Effect
	rules   string
}

// recordedGrant is what an approval for the session remembers of what git recorded; nil where that is nothing.
func (d *decision) recordedGrant() *policy.Grant {
	if d.recorded == nil {
		return nil
	}
	grant := &policy.Grant{
		Scope: policy.ScopeSession, Key: d.grantKey(), Covers: policy.Propose(d.recorded.effects), RulesDigest: d.recorded.rules,
	}
	grant.Key.Tool, grant.Key.Source = tongs.RepositoryTool().Name, tongs.RepositoryTool().Source
	return grant
}

// rememberRecorded keeps an approval of what git recorded for the session.
func (d *decision) rememberRecorded(ctx context.Context, a *approval.Answer) error {
	grant := d.recordedGrant()
	if grant == nil || a.Scope != approval.Session {
		return nil
	}
	err := given(grant, a, d.answered)
	if err == nil {
		err = d.engine.opt.Grants.Add(ctx, *grant)
	}
	if err != nil {
		return fmt.Errorf("the approval could not be remembered: %w", err)
	}
	return nil
}

// freeForUndo frees what a call did that was allowed as it is. Protected names and instructions for agents are asked about: a
// program that runs directly could not have changed them.
func (d *decision) freeForUndo(v *policy.Verdict) {
	if !d.forUndo || v.Decision != tongs.Ask || v.Step == policy.StepMustAsk || v.Step == policy.StepSteers {
		return
	}
	for i := range v.Effects {
		if v.Effects[i].Decision == tongs.Ask {
			v.Effects[i].Decision = tongs.PreApproved
		}
	}
	v.Decision, v.Rememberable, v.By = tongs.PreApproved, false, "the command was allowed as it is"
}

// partsOf are the effects on the files of git directories that changes tell of as a whole, by directory.
func partsOf(changes []tongs.Change) map[tongs.Path][]tongs.Effect {
	parts := map[tongs.Path][]tongs.Effect{}
	for _, c := range changes {
		if !c.Repository {
			continue
		}
		for _, group := range changed(c.Parts) {
			parts[c.Path] = append(parts[c.Path], group...)
		}
	}
	return parts
}

// judgeParts applies what rules say about the files of git directories that changes tell of as a whole: a rule that blocks
// one, or asks about it, is not evaded. It reports whether one asks. The rules that free such files are not about git.
func (d *decision) judgeParts(ctx context.Context, changes []tongs.Change) (asked bool, err error) {
	var parts []tongs.Change
	for _, c := range changes {
		parts = append(parts, c.Parts...)
	}
	groups := changed(parts)
	for _, c := range classes {
		if len(groups[c]) == 0 {
			continue
		}
		v, basis, err := d.judgeAs(ctx, c, groups[c])
		if err != nil {
			return asked, err
		}
		d.freeForUndo(&v)
		d.grounds = append(d.grounds, ground{basis, groups[c]})
		for _, j := range v.Effects {
			switch {
			case j.Decision == tongs.Blocked:
				d.verdict = v
				return asked, nil
			case j.Decision == tongs.Ask && (j.Step == policy.StepRule || j.Step == policy.StepMustAsk):
				asked = true
			}
		}
		if asked && d.verdict.Decision < v.Decision {
			d.verdict = v
		}
	}
	return asked, nil
}
