package approval

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/id"
)

const (
	// idPrefix begins every ID. There is no sign after it: Markdown makes emphasis of underscores and asterisks, and a person
	// copies IDs from where an agent wrote them.
	idPrefix = "q"
	// idDigits are those of package id, without letters that look like others.
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
	// minTail is how much of the end of an ID names it; shortTail is how much Short leaves.
	minTail, shortTail = 4, 5
)

// NewID returns an ID for a question.
func NewID() string { return strings.Replace(id.New(idPrefix), "_", "", 1) }

// Short returns an ID in the form that is easy to type. It names the same question, except by a rare chance.
func Short(id string) string {
	if len(id) <= len(idPrefix)+shortTail {
		return id
	}
	return idPrefix + id[len(id)-shortTail:]
}

// ownID reports whether an ID that the caller chose can be kept.
func ownID(id string) bool {
	digits, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(digits) >= minTail && len(digits) <= 32 && strings.Trim(digits, idDigits) == ""
}

// CleanID returns an ID as it was meant: typed in capitals, with o for 0 or l for 1.
func CleanID(typed string) string {
	return strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(strings.TrimSpace(typed)))
}

// Resolve returns the one of ids that the typed ID means: the same, or the only one that starts with it or ends in it, with or
// without the q. Otherwise it returns a *NotFoundError that names the nearest.
func Resolve(typed string, ids []string) (string, error) {
	id := CleanID(typed)
	tail := strings.TrimPrefix(id, idPrefix)
	ends := func(known, end string) bool { return len(end) >= minTail && strings.HasSuffix(known, end) }
	var fits []string
	for _, known := range ids {
		if known == id {
			return known, nil
		}
		if tail != "" && (strings.HasPrefix(known, id) || strings.HasPrefix(known, idPrefix+id) || ends(known, id) || ends(known, tail)) {
			fits = append(fits, known)
		}
	}
	switch len(fits) {
	case 0:
		return "", &NotFoundError{ID: typed, Near: nearest(idPrefix+tail, ids)}
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
