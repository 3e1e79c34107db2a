package tongs

// Review is a source of tools as it is, beside what was approved, for a person to look at.
type Review struct {
	State SourceState
	// Text shows what would be approved: all of it, or what changed.
	Text string
	// Before is true where something was approved already; Changed is false where that is what there is now.
	Before, Changed bool
	// seen is what exactly was looked at, for the provider that made the review.
	seen any
}

// NewReview returns a review of what was seen, a value of a type that only the provider has: so nothing but what was
// shown can be approved, and by nobody else.
func NewReview(state SourceState, text string, before, changed bool, seen any) *Review {
	return &Review{State: state, Text: text, Before: before, Changed: changed, seen: seen}
}

// Seen returns what a provider made the review of. A nil review has seen nothing.
func (r *Review) Seen() any {
	if r == nil {
		return nil
	}
	return r.seen
}
