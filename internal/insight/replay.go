package insight

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Decision is what becomes of a call before a person is asked, mildest first.
type Decision string

// The decisions of a replay. A call that runs on a copy is decided by what it changed there.
const (
	PreApproved Decision = "preApproved"
	Copy        Decision = "copy"
	Ask         Decision = "ask"
	Blocked     Decision = "blocked"
)

var strictness = map[Decision]int{PreApproved: 0, Copy: 1, Ask: 2, Blocked: 3}

// Stricter reports whether d is stricter than o.
func (d Decision) Stricter(o Decision) bool { return strictness[d] > strictness[o] }

// Unjudged is why a logged call cannot be decided again.
type Unjudged string

// The reasons. None of these calls is guessed at.
const (
	// NotDecided calls did not get as far as a decision: unknown tools, invalid arguments, calls that wait or were cut off.
	NotDecided Unjudged = "notDecided"
	// Redacted calls have effects that hold a secret, or more than the log keeps.
	Redacted Unjudged = "redacted"
	// Older calls were logged before it was recorded what decisions rest on.
	Older Unjudged = "older"
	// Elsewhere are calls of another workspace, which has other rules.
	Elsewhere Unjudged = "elsewhere"
)

// Proposal says what to decide by other rules.
type Proposal struct {
	// Rules are those in force; Add are proposed, and the IDs in Without are proposed to go.
	Rules   []tongs.Rule
	Add     []tongs.Rule
	Without []string
	// Grants are those that are remembered now.
	Grants []policy.Grant
	// Workspace is the directory whose calls are decided, Roots its identity in grants. An empty Workspace takes all calls.
	Workspace, Roots string
	// Copies says that programs can run on a copy here.
	Copies bool
	// Last is how many calls are decided at most, the newest ones; 0 is all. Since limits how old they are.
	Last  int
	Since time.Time
	// Changes is how many changed calls are returned at most; 0 is all. All are counted.
	Changes int
}

// Has reports whether a rule in force has the ID.
func (p *Proposal) Has(id string) bool {
	return slices.ContainsFunc(p.Rules, func(r tongs.Rule) bool { return policy.RuleID(r) == id })
}

// Replay is what a proposal would have changed.
type Replay struct {
	// Calls were looked at, Judged of them decided again.
	Calls  int `json:"calls"`
	Judged int `json:"judged"`
	// Changed counts the calls that the proposal decides differently from the current rules: Stricter and Looser of them.
	Changed  int `json:"changed"`
	Stricter int `json:"stricter"`
	Looser   int `json:"looser"`
	// Turns counts what changed by what it was and would be, the most frequent first.
	Turns []Turn `json:"turns"`
	// Unjudged counts the calls that cannot be decided again.
	Unjudged map[Unjudged]int `json:"unjudged"`
	// Drifted counts the calls that the current rules decide differently from when they were made.
	Drifted int      `json:"drifted"`
	Changes []Change `json:"changes"`
}

// Turn is how many calls would go from one decision to another.
type Turn struct {
	Now   Decision `json:"now"`
	Then  Decision `json:"then"`
	Calls int      `json:"calls"`
}

// Change is a call that would be decided differently.
type Change struct {
	Call    string    `json:"call"`
	Session string    `json:"session,omitempty"`
	Agents  []string  `json:"agents,omitempty"`
	Tool    string    `json:"tool"`
	Title   string    `json:"title,omitempty"`
	Started time.Time `json:"started"`
	// Outcome is how the call ended.
	Outcome string `json:"outcome"`
	// Effects are what it would do, in plain words: those that the decision changes first.
	Effects []string `json:"effects"`
	// Was is the recorded decision, Now that of the rules in force, Then that of the proposal.
	Was    Decision `json:"was"`
	Now    Decision `json:"now"`
	NowBy  string   `json:"nowBy"`
	Then   Decision `json:"then"`
	ThenBy string   `json:"thenBy"`
}

// Try decides logged calls again, by the rules in force and by the proposal, and returns where they differ.
func Try(ctx context.Context, log audit.Log, p Proposal) (*Replay, error) {
	t := &trial{Proposal: p, turns: map[Turn]int{}}
	t.Replay.Unjudged, t.Replay.Changes, t.Turns = map[Unjudged]int{}, []Change{}, []Turn{}
	t.then = slices.DeleteFunc(slices.Clone(p.Rules), func(r tongs.Rule) bool { return slices.Contains(p.Without, policy.RuleID(r)) })
	t.then = append(t.then, p.Add...)
	for row, err := range audit.Stream(ctx, log, audit.Filter{Intents: true, Since: p.Since}) {
		if err != nil {
			return nil, err
		}
		t.row(&row)
		if p.Last > 0 && t.Calls >= p.Last {
			break
		}
	}
	for turn, n := range maps.All(t.turns) {
		turn.Calls = n
		t.Turns = append(t.Turns, turn)
	}
	slices.SortFunc(t.Turns, func(a, b Turn) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Now, b.Now), cmp.Compare(a.Then, b.Then))
	})
	return &t.Replay, nil
}

// trial is a replay while it is made.
type trial struct {
	Proposal
	Replay
	then  []tongs.Rule
	turns map[Turn]int
}

func (t *trial) row(row *audit.Row) {
	if t.Workspace != "" && row.Workspace != "" && row.Workspace != t.Workspace {
		t.Replay.Unjudged[Elsewhere]++
		return
	}
	t.Calls++
	judged, why := judgedOf(row)
	if why != "" {
		t.Replay.Unjudged[why]++
		return
	}
	now, okNow := t.decide(row, judged, t.Rules)
	then, okThen := t.decide(row, judged, t.then)
	if !okNow || !okThen {
		t.Replay.Unjudged[Redacted]++
		return
	}
	t.Judged++
	was := recorded(judged)
	if was != now.decision {
		t.Drifted++
	}
	if now.decision == then.decision {
		return
	}
	t.Changed++
	t.turns[Turn{Now: now.decision, Then: then.decision}]++
	if then.decision.Stricter(now.decision) {
		t.Stricter++
	} else {
		t.Looser++
	}
	if t.Proposal.Changes > 0 && len(t.Replay.Changes) >= t.Proposal.Changes {
		return
	}
	c := Change{
		Call: row.Call, Session: row.Session, Agents: row.Agents, Tool: judged[0].Tool, Started: row.Started, Outcome: row.Outcome(),
		Effects: describe(now, then), Was: was, Now: now.decision, NowBy: now.by, Then: then.decision, ThenBy: then.by,
	}
	if row.Close != nil {
		c.Title = row.Close.Title
	}
	t.Replay.Changes = append(t.Replay.Changes, c)
}

// judged is an intent and what its decision rested on.
type judged struct {
	*audit.Intent
	basis []policy.Basis
}

// judgedOf returns the intents of a row, oldest first, or why they cannot be decided again.
func judgedOf(row *audit.Row) ([]judged, Unjudged) {
	if row.Intent == nil {
		return nil, NotDecided
	}
	var list []judged
	for i := range len(row.Earlier) + 1 {
		j := judged{Intent: row.Intent}
		if i < len(row.Earlier) {
			j.Intent = &row.Earlier[i]
		}
		switch {
		case j.Redacted:
			return nil, Redacted
		case len(j.Basis) == 0:
			return nil, Older
		case json.Unmarshal(j.Basis, &j.basis) != nil || len(j.basis) == 0:
			return nil, Older
		}
		list = append(list, j)
	}
	return list, ""
}

// recorded is what was decided when the call was made, over all its intents.
func recorded(list []judged) Decision {
	strictest := PreApproved
	for _, j := range list {
		d := Decision(j.Decision.String())
		if j.Copy && d != Blocked && !j.basis[0].Changed {
			d = Copy
		}
		if d.Stricter(strictest) {
			strictest = d
		}
	}
	return strictest
}

// ruling is what rules come to about a call.
type ruling struct {
	decision Decision
	by       string
	effects  []tongs.Effect
	verdict  policy.Verdict
}

// decide decides a call by base rules: the strictest over its intents. What a program changed on a copy counts where it
// would run on one. It is false where that cannot be told.
func (t *trial) decide(row *audit.Row, list []judged, base []tongs.Rule) (strictest ruling, ok bool) {
	strictest.decision = PreApproved
	copied := false
	for i, j := range list {
		if j.basis[0].Changed && !copied {
			continue
		}
		at := 0
		for _, b := range j.basis {
			n := b.Effects
			if n == 0 {
				n = len(j.Effects) - at
			}
			if b.Cut || at+n > len(j.Effects) {
				return strictest, false
			}
			r := t.rule(row, &b, j.Effects[at:at+n], base)
			at += n
			copied = copied || r.decision == Copy
			if i == 0 && strictest.by == "" || r.decision.Stricter(strictest.decision) {
				strictest = r
			}
		}
	}
	return strictest, true
}

// rule decides the effects that one basis is about.
func (t *trial) rule(row *audit.Row, b *policy.Basis, effects []tongs.Effect, base []tongs.Rule) ruling {
	if b.Outside {
		return ruling{decision: Blocked, by: "zones of the caller", effects: effects}
	}
	in := b.Input(effects, base, t.Roots, row.Session, row.Agents)
	for _, g := range t.Grants {
		if g.Fits(in.Key) {
			in.Grants = append(in.Grants, g)
		}
	}
	v := policy.Decide(in)
	r := ruling{decision: Decision(v.Decision.String()), by: v.By, effects: effects, verdict: v}
	switch {
	case v.Decision == tongs.Blocked:
	case v.Outcome && b.Contained && t.Copies:
		if r.decision == PreApproved {
			r.decision = Copy
		}
	case v.Outcome && v.Decision == tongs.PreApproved && b.Mode != tongs.ModeAll:
		r.decision, r.by = Ask, r.by+"; not without a copy"
	case v.Deferrable && b.Defers && t.Copies:
		r.decision = Copy
	}
	return r
}

// maxEffects is how many effects a change lists.
const maxEffects = 20

// describe lists the effects of the stricter ruling, those first that it judges otherwise.
func describe(now, then ruling) []string {
	r, o := then, now
	if now.decision.Stricter(then.decision) {
		r, o = now, then
	}
	judged, other := r.verdict.Effects, o.verdict.Effects
	var first, rest []string
	for i, e := range r.effects {
		text := e.String()
		if len(judged) == len(other) && i < len(judged) && judged[i].Decision != other[i].Decision {
			first = append(first, text)
		} else {
			rest = append(rest, text)
		}
	}
	list := append(first, rest...)
	return list[:min(len(list), maxEffects)]
}
