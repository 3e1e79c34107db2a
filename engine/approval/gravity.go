package approval

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

// ByGravity returns the effects with the gravest first; those of the same gravity keep their order. Whoever shows some of the
// effects of a question shows the first.
func ByGravity(effects []tongs.Effect) []tongs.Effect {
	sorted := slices.Clone(effects)
	slices.SortStableFunc(sorted, func(a, b tongs.Effect) int { return b.Gravity() - a.Gravity() })
	return sorted
}

// SortChanges puts the gravest changes first: those of protected names, then what git recorded, what was deleted, replaced,
// changed and added.
// Those of the same gravity keep their order.
func SortChanges(changes []tongs.Change) {
	rank := func(c *tongs.Change) int {
		switch {
		case c.Protected != "":
			return 0
		case c.Repository && c.Loses:
			return 1
		case c.Kind == tongs.Deleted:
			return 1
		case c.Repository:
			return 2
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
