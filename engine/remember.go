package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/id"
)

// remember keeps an approval that reaches further than this call.
func (d *decision) remember(ctx context.Context, open []tongs.Effect, a *approval.Answer) error {
	if a.Scope != approval.Session && a.Scope != approval.Always {
		return nil
	}
	grant := policy.Grant{Scope: policy.Scope(a.Scope), Key: d.grantKey(), Covers: policy.Propose(open), RulesDigest: d.verdict.RulesDigest}
	if grant.Scope == policy.ScopeAlways {
		grant.Key.Session = ""
	}
	if err := given(&grant, a, d.answered); err != nil {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the call was not run: %w", err)
	}
	for _, g := range append([]policy.Grant{grant}, d.alike(grant, open)...) {
		if err := d.engine.opt.Grants.Add(ctx, g); err != nil {
			return fmt.Errorf("the approval could not be remembered: %w", err)
		}
	}
	return nil
}

// given completes a grant with what an answer says: who gave it, and the lines that are to be remembered instead of those proposed.
func given(grant *policy.Grant, a *approval.Answer, by string) error {
	grant.ID, grant.By, grant.At = id.New("g"), by, time.Now()
	if len(a.Remember) == 0 {
		return nil
	}
	grant.Covers = nil
	for _, line := range a.Remember {
		cover, err := policy.ParseCover(line)
		if err != nil {
			return fmt.Errorf("the rule to remember cannot be read: %w", err)
		}
		grant.Covers = append(grant.Covers, cover)
	}
	return nil
}

func (w *walk) grantKey() policy.Key {
	return policy.Key{Tool: w.spec.Name, Source: w.spec.Source, Roots: w.engine.roots, Session: w.call.Session, Agents: w.call.Agents}
}

// alike are grants for the other tools that write files, where the approval is for every file in the session: whoever said "all
// edits" means them, too. A tool that a rule asks for keeps its questions, and one that is not built in has its own.
func (d *decision) alike(grant policy.Grant, open []tongs.Effect) (list []policy.Grant) {
	if grant.Scope != policy.ScopeSession || !slices.Equal(grant.Covers, policy.ProposeFiles(open)) {
		return nil
	}
	var specs []*tongs.Spec
	for _, kind := range []tongs.ChangeKind{tongs.Modified, tongs.Added} {
		entry, ok := d.engine.supplies.Set().Lookup(kind.FileTool().Name)
		if ok && entry.Kind == tongs.SourceBuiltin {
			specs = append(specs, entry.Tool.Spec())
		}
	}
	if !slices.ContainsFunc(specs, func(s *tongs.Spec) bool { return s.Name == d.spec.Name && d.spec.Source.BuiltIn() }) {
		return nil
	}
	for _, spec := range specs {
		if spec.Name == d.spec.Name {
			continue
		}
		in := d.input()
		ask := tongs.Ask
		in.Spec, in.Names, in.Via, in.Shadowed, in.Effects, in.Default = spec, spec.Aliases, nil, nil, open, &ask
		v := policy.Decide(in)
		if v.Decision != tongs.Ask || !v.Rememberable || slices.ContainsFunc(v.Effects, explicit) {
			continue
		}
		g := grant
		g.ID, g.RulesDigest = id.New("g"), v.RulesDigest
		g.Key.Tool, g.Key.Source = spec.Name, spec.Source
		list = append(list, g)
	}
	return list
}
