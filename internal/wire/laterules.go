package wire

import (
	"fmt"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/forge"
)

// lateRules judges changes that waited by the rules of the moment in which they are made. Whoever answers may work in another
// workspace, or in none, so it reads the configuration of the workspace that the question is about.
type lateRules struct {
	host Host
	// configDir is where the user's rules are, for a system; empty for a command that only answers.
	configDir string
}

// allow refuses changes that a rule blocks by now, with a *cannotError. Any other error means that the rules cannot be read, and
// that the changes go on waiting. Nil rules refuse everything.
func (r *lateRules) allow(q *approval.Question, p *approval.Parked, roots map[string]string) error {
	if r == nil {
		return tongs.Errorf(tongs.CodeInternal, "this program does not know the rules that the changes must be allowed by")
	}
	h := r.host
	h.Workspace = q.Workspace
	own, err := h.Locate()
	if err != nil {
		return fmt.Errorf("the rules for the changes cannot be read: %w", err)
	}
	places := []Place{own}
	if p.ConfigDir != "" && p.ConfigDir != own.ConfigDir {
		of := own
		of.ConfigDir = p.ConfigDir
		places = append(places, of)
	}
	for _, place := range places {
		cfg, err := h.Configure(place, nil)
		if err != nil {
			return fmt.Errorf("the rules for the changes cannot be read: %w", err)
		}
		if err := allowed(cfg, q, p); err != nil {
			return err
		}
		if err := writable(cfg, roots); err != nil {
			return err
		}
	}
	return nil
}

// allowed judges by the rules of one configuration. What an ask rule wants was done: a person answers. What must be asked is not
// for the client to approve, though.
func allowed(cfg *config.Config, q *approval.Question, p *approval.Parked) error {
	v, err := engine.DecideAgain(p, Rules(cfg))
	switch {
	case err != nil:
		return &cannotError{err.Error()}
	case v.Decision == tongs.Blocked:
		return &cannotError{fmt.Sprintf("a rule blocks it now: %s (%s)", v.Reason, v.By)}
	case v.Step == policy.StepMustAsk && q.Answer.ByCaller && !cfg.ClientsApprove:
		return &cannotError{"a rule wants it approved by a person outside of the client now: " + v.By}
	}
	return nil
}

// changedRoots are the roots that the changes are in, by their names.
func changedRoots(w *changeset.Waiting) map[string]string {
	head, roots := w.Head(), map[string]string{}
	for _, p := range w.Changes() {
		roots[p.Root] = head.Roots[p.Root]
	}
	return roots
}

// writable refuses changes in zones that are read-only by now, lead elsewhere or are gone.
func writable(cfg *config.Config, roots map[string]string) error {
	for name, dir := range roots {
		if slices.Contains([]string{tongs.WorkspaceRoot, tongs.RepositoryRoot, forge.Root}, name) {
			continue
		}
		at := slices.IndexFunc(cfg.Zones, func(z config.Zone) bool { return z.Name == name })
		if at < 0 || !cfg.Zones[at].Writable || !config.SamePlace(cfg.Zones[at].Dir, dir) {
			return &cannotError{fmt.Sprintf("the zone %s cannot be written any more", name)}
		}
	}
	return nil
}
