// Package audit keeps the log of calls, one row for each call. A row is opened before anything else happens to a call, says what was decided
// before the tool runs, and is closed with what came of it; a call whose row cannot be written does not run.
package audit

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/tongs-ai/tongs"
)

// Row is the record of one call: the three entries of the log put together.
type Row struct {
	// Seq is the position of the opening entry in the log.
	Seq     int64     `json:"seq"`
	Call    string    `json:"call"`
	Parent  string    `json:"parent,omitempty"`
	Session string    `json:"session,omitempty"`
	Message string    `json:"message,omitempty"`
	Step    int       `json:"step,omitempty"`
	Agents  []string  `json:"agents,omitempty"`
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	// Args are redacted; long strings are replaced by their hash.
	Args   json.RawMessage `json:"args,omitempty"`
	Reason string          `json:"reason,omitempty"`
	PID    int             `json:"pid"`
	// Workspace is the directory that the call's relative paths are in, empty where there is none.
	Workspace string `json:"workspace,omitempty"`

	// Interrupted is set by Rows where the process ended before it could close the row.
	Interrupted bool `json:"interrupted,omitempty"`

	Intent *Intent  `json:"intent,omitempty"`
	Close  *Closing `json:"close,omitempty"`
	// Earlier are the intents before the last, oldest first, where the filter wants them.
	Earlier []Intent `json:"earlier,omitempty"`
}

// The outcomes of a row: those of a closed one, and those of one that is not.
const (
	OutcomeOK          = "ok"
	OutcomeError       = "error"
	OutcomeRefused     = "refused"
	OutcomeCancelled   = "cancelled"
	OutcomeRunning     = "running"
	OutcomeInterrupted = "interrupted"
)

// Outcome returns how the call ended, or that it is running or was interrupted.
func (r *Row) Outcome() string {
	switch {
	case r.Close != nil:
		return r.Close.Outcome
	case r.Interrupted:
		return OutcomeInterrupted
	default:
		return OutcomeRunning
	}
}

// Intent is what was decided, written before the tool runs or a refusal is returned. A call that plans again has
// several; the row holds the last.
type Intent struct {
	// Tool is the tool that runs; Via is the redirecting one.
	Tool     string         `json:"tool"`
	Via      string         `json:"via,omitempty"`
	Source   tongs.Source   `json:"source"`
	Repaired []string       `json:"repaired,omitempty"`
	Effects  []tongs.Effect `json:"effects"`
	Decision tongs.Decision `json:"decision"`
	// By is what decided: a rule, a default, a grant.
	By string `json:"by"`
	// Step is the row of the decision table that decided; Rules are the IDs of the rules that decided the effects, that
	// which decided the whole first.
	Step  string   `json:"step,omitempty"`
	Rules []string `json:"rules,omitempty"`
	// Copy says that the program runs on a copy, and what it changes is decided then.
	Copy bool `json:"copy,omitempty"`
	// Basis is what else the decision rested on, as JSON of whoever decides. With it the call can be decided again.
	Basis json.RawMessage `json:"basis,omitempty"`
	// Redacted is set by the log where it did not keep the effects or the basis as they were.
	Redacted bool `json:"redacted,omitempty"`
	// Args are the arguments that run, where a person changed those of the row. They are redacted as those are.
	Args json.RawMessage `json:"args,omitempty"`
	// Question and Answered tell how a person was asked: the channel and who answered.
	Question string `json:"question,omitempty"`
	Answered string `json:"answered,omitempty"`
}

// Closing is how a call ended.
type Closing struct {
	// Outcome is "ok", "error", "refused" or "cancelled".
	Outcome string     `json:"outcome"`
	Code    tongs.Code `json:"code,omitempty"`
	Error   string     `json:"error,omitempty"`
	Title   string     `json:"title,omitempty"`
	// Waited is the time spent waiting for a person, Ran that of the tool, Total the whole call.
	Waited time.Duration `json:"waited"`
	Ran    time.Duration `json:"ran"`
	Total  time.Duration `json:"total"`
	// Output is how many bytes the call produced, Shown how many of them the model was given.
	Output int64 `json:"output"`
	Shown  int64 `json:"shown"`
	// Connections are those that the call made to the network, and those that were refused.
	Connections []string `json:"connections,omitempty"`
}

// Log writes rows. Implementations are safe for concurrent use, and durable ones across processes. They take secrets
// out of what they keep, and change nothing that they are given except Row.Seq.
type Log interface {
	// Open writes the opening entry, and sets the row's Seq. Its error stops the call. A call that is open already is
	// an error.
	Open(ctx context.Context, row *Row) error
	// Intent adds what was decided to a call that this log opened. Its error stops the call.
	Intent(ctx context.Context, call string, in *Intent) error
	// Close adds how it ended. It works after ctx is cancelled.
	Close(ctx context.Context, call string, c *Closing) error
	// Rows returns rows that fit the filter, newest first.
	Rows(ctx context.Context, f Filter) ([]Row, error)
	// Verify checks the hash chain and returns its head. With a head given, that hash must be in the chain.
	Verify(ctx context.Context, head string) (Chain, error)
}

// Streamer is implemented by logs that can yield rows one by one, for exports longer than memory.
type Streamer interface {
	// Stream yields what Rows returns. After an error it yields no more.
	Stream(ctx context.Context, f Filter) iter.Seq2[Row, error]
}

// Follower is implemented by logs whose entries can be read as they are added, by any process.
type Follower interface {
	// Last returns the number of the newest entry, 0 where there is none.
	Last(ctx context.Context) (int64, error)
	// After returns the entries behind the numbered one, oldest first, at most limit of them.
	After(ctx context.Context, seq int64, limit int) ([]Entry, error)
}

// Filter selects rows. Zero fields select all. Tool fits the called name and that of the tool that ran.
type Filter struct {
	Call, Session, Tool, Outcome string
	Code                         tongs.Code
	Since                        time.Time
	// Before selects rows with a smaller Seq, for paging.
	Before int64
	// Limit zero is no limit.
	Limit int
	// Intents fills in Row.Earlier.
	Intents bool
}

// Chain is what Verify found.
type Chain struct {
	// Entries is how many there are, Pruned how many were removed from the start on purpose.
	Entries int64 `json:"entries"`
	Pruned  int64 `json:"pruned,omitempty"`
	// Head is the hash of the last entry, empty where there never was one.
	Head string `json:"head"`
	// Broken is the position of the first entry that does not fit, 0 where all do.
	Broken int64  `json:"broken,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Log identifies the log, where it keeps a head outside of itself.
	Log string `json:"log,omitempty"`
	// Losses are what went missing from the end of the log, oldest first.
	Losses []Loss `json:"losses,omitempty"`
}

// OK reports whether the chain is whole, and nothing went missing from its end without an explanation.
func (c Chain) OK() bool { return c.Broken == 0 && len(c.Alarms()) == 0 }

// Last is the number of the last entry, 0 where there never was one.
func (c Chain) Last() int64 { return c.Pruned + c.Entries }
