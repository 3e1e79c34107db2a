package tongs

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

// Call is one request to run a tool.
type Call struct {
	// ID is unique; the engine makes one where it is empty. A running tool may choose the IDs of the calls it makes, if they
	// begin with the ID of its own call and "-"; a call with any other is refused.
	ID string
	// Session groups calls that share state and remembered approvals; Message is the turn, Step the position in it.
	Session, Message string
	Step             int
	// Agents is the chain of agents on whose behalf the call is made, outermost first. The engine adds the names of
	// the scopes that the call passed through; a caller cannot shorten it.
	Agents []string
	// Client is whose session it is. When a session is gone, the next one of the same client is told the answers to its open
	// questions. Empty means that no other session is.
	Client string
	// Parent is the ID of the call that made this one, if any. The engine sets it.
	Parent string
	// Tool is the name or an alias; Args is a JSON object, empty meaning {}.
	Tool string
	Args json.RawMessage
	// Dir is the working directory that relative paths are meant from, itself a path in a root; empty means the
	// workspace.
	Dir string
	// Reason is why the agent makes the call, in its own words, for the person who may be asked.
	Reason string
	// Timeout bounds the run, not the waiting for approval. Zero means no bound of the caller's.
	Timeout time.Duration
	// DryRun runs the program of a contained call on a copy, shows what it changed, and drops that. It is decided and
	// logged like any other call; a tool that cannot be run so is refused.
	DryRun bool
	// Ticket is a single-use proof that exactly this call was approved, from an earlier APPROVAL_REQUIRED.
	Ticket string
	// Sink receives updates while the call runs, never after it returned and never two at a time. It must not block.
	Sink func(Update)
}

// CallInfo tells a tool which call it runs for. The engine sets it. Of the calls that a tool makes it can choose the
// Message, and the ID below its own; the rest follows from the tool's own call.
type CallInfo struct {
	ID string
	// Session groups calls that share state and remembered approvals; Message is the turn, by default that of the parent.
	Session, Message string
	// Parent is the ID of the call that made this one, empty for the outermost. Ancestors are the IDs of all the calls that
	// it was made within, outermost first: the last is Parent.
	Parent    string
	Ancestors []string
	// Agents is the chain of agents on whose behalf the call is made, outermost first.
	Agents []string
}

// Agent is the agent that made the call: the last of the chain, empty where there is none.
func (c CallInfo) Agent() string {
	if len(c.Agents) == 0 {
		return ""
	}
	return c.Agents[len(c.Agents)-1]
}

// Lineage yields the ID of the call and of those that it was made within, innermost first.
func (c CallInfo) Lineage() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(c.ID) {
			return
		}
		for _, id := range slices.Backward(c.Ancestors) {
			if !yield(id) {
				return
			}
		}
	}
}

// Update is a sign of life from a running call.
type Update struct {
	Call string `json:"call"`
	// Title replaces the title shown while it runs.
	Title string `json:"title,omitempty"`
	// Stream and Text are a chunk of output, in order: "stdout", "stderr".
	Stream string `json:"stream,omitempty"`
	Text   string `json:"text,omitempty"`
	// Waiting is the ID of the question that the call waits for.
	Waiting string `json:"waiting,omitempty"`
	// Done of Total, in whatever unit; a zero Total is unknown.
	Done     float64        `json:"done,omitempty"`
	Total    float64        `json:"total,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Caller makes calls. The engine is one; what a running tool is given is one too, narrowed and bound to its call.
type Caller interface {
	// Call takes the call on the whole walk. It never returns nil; a failure is in the result.
	Call(ctx context.Context, call *Call) *Result
	// Explain judges the call without executing it.
	Explain(ctx context.Context, call *Call) (*Explanation, error)
	// Within returns a caller that can do no more than this one, and no more than the scope allows.
	Within(scope Scope) Caller
}

// Scope narrows a caller. Zero fields narrow nothing.
type Scope struct {
	// Agent is added to the chain of every call.
	Agent string
	// Tools are the names that can be called; nil means all that the caller can.
	Tools []string
	// Granted limits permissions; zero means all that the caller has.
	Granted Permissions
	// Zones are the paths that effects may touch; nil means all that the caller can.
	Zones []Zone
	// Rules judge each call a second time, on top of the rules of the caller; the stricter judgement holds.
	Rules []Rule
}

// Zone is a part of the roots that a scope may read, and write where Writable.
type Zone struct {
	Path     Path
	Writable bool
}
