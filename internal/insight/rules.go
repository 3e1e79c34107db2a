package insight

import (
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Ruled is a rule in force and how often it decided.
type Ruled struct {
	ID   string     `json:"id"`
	Rule tongs.Rule `json:"rule"`
	Hits Hits       `json:"hits"`
	// Void says that the rule does not count: it pre-approves, and stands in a file that can only narrow.
	Void bool `json:"void,omitempty"`
	// BuiltIn says that the rule comes with Tongs: it stands in no file.
	BuiltIn bool `json:"builtIn,omitempty"`
}

// InForce returns the rules in their order, each with its hits in the window of the statistics.
func (s *Stats) InForce(rules []tongs.Rule) []Ruled {
	list := make([]Ruled, len(rules))
	for i, r := range rules {
		id := policy.RuleID(r)
		list[i] = Ruled{
			ID: id, Rule: r, Hits: s.Rules[id], Void: r.Untrusted && r.Decision == tongs.PreApproved,
			BuiltIn: !strings.Contains(r.Origin, ":"),
		}
	}
	return list
}
