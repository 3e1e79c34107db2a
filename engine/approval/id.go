package approval

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/id"
)

const (
	idKind   = "q"
	idPrefix = idKind + "_"
	// idDigits are those of package id, without letters that look like others.
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
)

// NewID returns an ID for a question.
func NewID() string { return id.New(idKind) }

// ownID reports whether an ID that the caller chose can be kept.
func ownID(id string) bool {
	digits, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(digits) >= minTail && len(digits) <= 32 && strings.Trim(digits, idDigits) == ""
}

// CleanID returns an ID as it was meant: typed in capitals, without the q_, with o for 0 or l for 1.
func CleanID(typed string) string {
	id := strings.ToLower(strings.TrimSpace(typed))
	id = strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.TrimPrefix(id, idPrefix))
	return idPrefix + id
}

// minTail is how much of the end of an ID names it.
const minTail = 4

// Resolve returns the one of ids that the typed ID means: the same, or the only one that starts with it or ends in it.
// Otherwise it returns a *NotFoundError that names the nearest.
func Resolve(typed string, ids []string) (string, error) {
	id := CleanID(typed)
	var fits []string
	for _, known := range ids {
		if known == id {
			return known, nil
		}
		tail := id[len(idPrefix):]
		if tail != "" && strings.HasPrefix(known, id) || len(tail) >= minTail && strings.HasSuffix(known, tail) {
			fits = append(fits, known)
		}
	}
	switch len(fits) {
	case 0:
		return "", &NotFoundError{ID: typed, Near: nearest(id, ids)}
	case 1:
		return fits[0], nil
	default:
		slices.Sort(fits)
		slices.Reverse(fits)
		return "", &NotFoundError{ID: typed, Ambiguous: true, Near: fits[:min(len(fits), maxNear)]}
	}
}

const maxNear = 5

// nearest returns the IDs with the fewest places that differ, the newest first among equals.
func nearest(id string, ids []string) []string {
	near := slices.Clone(ids)
	slices.SortFunc(near, func(a, b string) int {
		if d := distance(id, a) - distance(id, b); d != 0 {
			return d
		}
		return strings.Compare(b, a)
	})
	return near[:min(len(near), maxNear)]
}

func distance(a, b string) int {
	d := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			d++
		}
	}
	return d
}
