package approval

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// gravity says how much a person must see an effect before others: data that leaves the machine first, then secrets, protected
// names, instructions for agents, deletes, what cannot be told, connections, programs and writes.
func gravity(e *tongs.Effect) int {
	switch {
	case e.Sends:
		return 11
	case e.MustAsk && e.Kind == tongs.EffectRead:
		return 10
	case e.MustAsk:
		return 9
	case e.Steers:
		return 8
	case e.Kind == tongs.EffectDelete:
		return 7
	case e.Unknown:
		return 6
	case e.Kind == tongs.EffectNetwork:
		return 5
	case e.Kind == tongs.EffectExecute && (e.Why != "" || len(e.Argv) > 0 && strings.Contains(e.Argv[0], "/")):
		return 4
	case e.Kind == tongs.EffectExecute:
		return 3
	case e.Kind == tongs.EffectWrite && e.Path.Root != tongs.WorkspaceRoot:
		return 3
	case e.Kind == tongs.EffectWrite && e.Version != tongs.Absent:
		return 2
	case e.Kind == tongs.EffectWrite:
		return 1
	default:
		return 0
	}
}

// ByGravity returns the effects with the gravest first; those of the same gravity keep their order. Whoever shows some of the
// effects of a question shows the first.
func ByGravity(effects []tongs.Effect) []tongs.Effect {
	sorted := slices.Clone(effects)
	slices.SortStableFunc(sorted, func(a, b tongs.Effect) int { return gravity(&b) - gravity(&a) })
	return sorted
}

// SortChanges puts the gravest changes first: those of protected names, then what was deleted, replaced, changed and added.
// Those of the same gravity keep their order.
func SortChanges(changes []tongs.Change) {
	rank := func(c *tongs.Change) int {
		switch {
		case c.Protected != "":
			return 0
		case c.Kind == tongs.Deleted:
			return 1
		case c.Kind != tongs.Added && c.Was != "" && c.Was != c.Type:
			return 2
		case c.Kind != tongs.Added:
			return 3
		default:
			return 4
		}
	}
	slices.SortStableFunc(changes, func(a, b tongs.Change) int { return rank(&a) - rank(&b) })
}
