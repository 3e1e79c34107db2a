package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// newOutcomeQuestion asks which of the changes to keep. It is bound to all of them, and lists some.
func (d *decision) newOutcomeQuestion(changes []tongs.Change, notes []string) approval.Question {
	groups := changed(changes)
	all := *d
	all.effects = nil
	for _, c := range classes {
		all.effects = append(all.effects, groups[c]...)
	}
	q := all.newQuestion(all.effects)
	if d.recorded != nil && d.call.Session != "" {
		q.Scopes, q.Remember = append(q.Scopes, approval.Session), lines(policy.Propose(d.recorded.effects))
	}
	q.Elsewhere = q.Elsewhere || d.verdict.Step == policy.StepMustAsk
	q.Effects = q.Effects[:min(len(q.Effects), maxShown)]
	listed := slices.Clone(changes)
	measure(listed)
	if len(listed) > maxShown { // what tells of most comes first
		approval.Fold(listed)
	}
	approval.SortChanges(listed)
	q.Changes, q.ChangeCount = listed[:min(len(listed), maxShown)], len(listed)
	q.Message = fmt.Sprintf("%s (ran on a copy: %s)", d.title(), summary(changes))
	q.Notes = append(q.Notes, notes...)
	return q
}

// measure counts what is in each added directory.
func measure(changes []tongs.Change) {
	dirs := map[tongs.Path]int{}
	for i, c := range changes {
		if c.Kind == tongs.Added && c.Type == tongs.FileDirectory {
			dirs[c.Path] = i
			changes[i].After = 0
		}
	}
	for _, c := range changes {
		size := c.After
		if c.Type == tongs.FileDirectory {
			size = 0
		}
		for up := path.Dir(c.Path.Rel); up != "." && up != "/"; up = path.Dir(up) {
			if i, ok := dirs[tongs.Path{Root: c.Path.Root, Rel: up}]; ok {
				changes[i].Below++
				changes[i].After += size
			}
		}
	}
}

// summary says what git recorded, and counts other changes: "1 deleted, 2 added".
func summary(changes []tongs.Change) string {
	count := map[tongs.ChangeKind]int{}
	var parts []string
	for _, c := range changes {
		if c.Repository {
			parts = append(parts, strings.Join(c.Does, "; "))
			continue
		}
		count[c.Kind]++
	}
	for _, kind := range []tongs.ChangeKind{tongs.Deleted, tongs.Modified, tongs.Renamed, tongs.Added} {
		if n := count[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}
