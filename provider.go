package tongs

import "time"

// Status says how far a tool, or what it comes from, can be used.
type Status string

// The states of tools and of their sources.
const (
	// StatusReady: as it was when a person approved it.
	StatusReady Status = "ready"
	// StatusChanged: not as it was when a person approved it.
	StatusChanged Status = "changed"
	// StatusQuarantined: a server describes the tool differently than when a person approved it.
	StatusQuarantined Status = "quarantined"
	// StatusUnapproved: nobody approved it yet.
	StatusUnapproved Status = "not approved"
	// StatusDisabled: a person switched it off, or the file that names it is not trusted.
	StatusDisabled Status = "disabled"
	// StatusBroken: it cannot be used, and Detail says why.
	StatusBroken Status = "broken"
	// StatusFailed: a server did not start, or ended, and Detail says why.
	StatusFailed Status = "failed"
	// StatusUnseen: listed in the configuration; the server was never asked about it.
	StatusUnseen Status = "not seen yet"
	// StatusGone: the server does not have it any more.
	StatusGone Status = "gone"
	// StatusEmpty: the configuration exposes none of its tools.
	StatusEmpty Status = "no tools"
)

// SourceState is what is known of a source of tools: a directory of the forge, a module, an MCP server, a worker.
type SourceState struct {
	Kind   SourceKind `json:"kind"`
	Name   string     `json:"name"`
	Status Status     `json:"status"`
	// Detail says why the status is what it is, and Next what a person does about it, usually a command.
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
	// Where is the directory, file, command or URL; Origin is the file that configures it.
	Where       string `json:"where,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Language    string `json:"language,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Digest is that of the source as it is now, empty where there is none.
	Digest     string    `json:"digest,omitempty"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ApprovedAt time.Time `json:"approvedAt,omitzero"`
	// Running is true for a server that runs; Login is who issued the login to it.
	Running bool   `json:"running,omitempty"`
	Login   string `json:"login,omitempty"`
	// Tools are those that it exposes.
	Tools []ToolState `json:"tools"`
}

// ToolState is what is known of one tool of a source.
type ToolState struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Remote is what the server calls it, where that differs.
	Remote string `json:"remote,omitempty"`
}

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
