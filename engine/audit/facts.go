package audit

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Fact is what statistics read of a row: small, and of bounded size.
type Fact struct {
	Seq       int64
	Call      string
	Parent    string
	Session   string
	Workspace string
	Agents    []string
	// Tool is the tool that ran, or the called name where none was decided about.
	Tool    string
	Source  tongs.SourceKind
	Started time.Time
	// Decided is false where the call did not get as far as a decision. Decision is the strictest of the row's intents,
	// and By what made it.
	Decided  bool
	Decision tongs.Decision
	Step     string
	By       string
	// Rules are the IDs of the rules that decided anything about the call, the first of each intent first.
	Rules []string
	// Asked is true where a person was asked; Copy where the program ran on a copy.
	Asked, Copy bool
	Outcome     string
	Code        tongs.Code
	Title       string
	Waited      time.Duration
	Ran         time.Duration
	Total       time.Duration
	Output      int64
	Shown       int64
}

// Ended reports whether the call is over.
func (f *Fact) Ended() bool { return f.Outcome != OutcomeRunning && f.Outcome != OutcomeInterrupted }

// Saved is how many bytes the call produced that the model was not given.
func (f *Fact) Saved() int64 { return max(0, f.Output-f.Shown) }

// FactKeeper is implemented by logs that keep facts ready, so that statistics need not read every row.
type FactKeeper interface {
	// Facts yields the facts of calls that were started since then, newest first. After an error it yields no more.
	Facts(ctx context.Context, since time.Time) iter.Seq2[Fact, error]
}

// Facts yields the facts of any log's calls that were started since then, newest first.
func Facts(ctx context.Context, log Log, since time.Time) iter.Seq2[Fact, error] {
	if k, ok := log.(FactKeeper); ok {
		return k.Facts(ctx, since)
	}
	return func(yield func(Fact, error) bool) {
		for row, err := range Stream(ctx, log, Filter{Since: since, Intents: true}) {
			if err != nil {
				yield(Fact{}, err)
				return
			}
			if !yield(FactOf(&row), nil) {
				return
			}
		}
	}
}

// FactOf returns the fact of a row.
func FactOf(r *Row) Fact {
	f := Fact{Seq: r.Seq, Started: r.Started}
	f.Open(r)
	for i := range r.Earlier {
		f.Intent(&r.Earlier[i])
	}
	if r.Intent != nil {
		f.Intent(r.Intent)
	}
	if f.Outcome = r.Outcome(); r.Close != nil {
		f.Close(r.Close)
	}
	return f
}

// Open takes up the opening entry of a row.
func (f *Fact) Open(r *Row) {
	f.Call, f.Parent, f.Session, f.Workspace, f.Agents, f.Tool, f.Started = r.Call, r.Parent, r.Session, r.Workspace, r.Agents, r.Tool, r.Started
}

// maxBy bounds what a fact says of what decided.
const maxBy = 200

// Intent takes up the next intent of a row.
func (f *Fact) Intent(in *Intent) {
	if in.Tool != "" {
		f.Tool, f.Source = in.Tool, in.Source.Kind
	}
	if !f.Decided || in.Decision >= f.Decision {
		f.Decision, f.Step = in.Decision, in.Step
		f.By = in.By[:min(len(in.By), maxBy)]
		f.By = strings.ToValidUTF8(f.By, "")
	}
	f.Decided = true
	for _, id := range in.Rules {
		if !slices.Contains(f.Rules, id) {
			f.Rules = append(f.Rules, id)
		}
	}
	f.Asked, f.Copy = f.Asked || in.Question != "", f.Copy || in.Copy
}

// Close takes up the closing entry of a row.
func (f *Fact) Close(c *Closing) {
	f.Outcome, f.Code, f.Title = c.Outcome, c.Code, c.Title
	f.Waited, f.Ran, f.Total, f.Output, f.Shown = c.Waited, c.Ran, c.Total, c.Output, c.Shown
}
