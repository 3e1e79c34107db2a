package insight

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Stats are the numbers of a window. Durations are milliseconds in JSON.
type Stats struct {
	Window Window `json:"window"`
	Counts
	// Ran is the running time of all calls together, without what they waited for people.
	Ran Millis `json:"ranMs"`
	// Codes are the codes that calls ended with, the most frequent first.
	Codes []CodeCount `json:"codes"`
	// Decisions are what was decided before anybody was asked; calls that did not get so far are in none.
	Decisions Decisions `json:"decisions"`
	Approval  Approval  `json:"approval"`
	Denials   Denials   `json:"denials"`
	Bytes     Bytes     `json:"bytes"`
	// Tools are in the order of their calls, the most called first.
	Tools   []Tool   `json:"tools"`
	Buckets []Bucket `json:"buckets"`
	// Rules counts the calls that each rule decided something about, by its ID; Grants those that a grant answered.
	Rules  map[string]Hits `json:"rules"`
	Grants map[string]Hits `json:"grants"`
	// Sessions is how many there were.
	Sessions int `json:"sessions"`
}

// Counts are calls by their outcome.
type Counts struct {
	Calls       int `json:"calls"`
	OK          int `json:"ok"`
	Errors      int `json:"errors"`
	Refused     int `json:"refused"`
	Cancelled   int `json:"cancelled"`
	Running     int `json:"running"`
	Interrupted int `json:"interrupted"`
}

// Success is the share of calls that went well among those that ran to an end, from 0 to 1; 0 where there are none.
func (c Counts) Success() float64 {
	ran := c.OK + c.Errors + c.Cancelled
	if ran == 0 {
		return 0
	}
	return float64(c.OK) / float64(ran)
}

func (c *Counts) add(outcome string) {
	c.Calls++
	switch outcome {
	case audit.OutcomeOK:
		c.OK++
	case audit.OutcomeRefused:
		c.Refused++
	case audit.OutcomeCancelled:
		c.Cancelled++
	case audit.OutcomeRunning:
		c.Running++
	case audit.OutcomeInterrupted:
		c.Interrupted++
	default:
		c.Errors++
	}
}

// CodeCount is how many calls ended with a code.
type CodeCount struct {
	Code  tongs.Code `json:"code"`
	Calls int        `json:"calls"`
}

// Decisions counts calls by what was decided.
type Decisions struct {
	PreApproved int `json:"preApproved"`
	// Copy are those that ran on a copy, so that what they changed could be decided.
	Copy    int `json:"copy"`
	Ask     int `json:"ask"`
	Blocked int `json:"blocked"`
}

// Approval is about the calls that a person was asked about. Times are those of waiting, of the calls that were answered.
type Approval struct {
	Asked int `json:"asked"`
	// Approved were answered with yes, however the call ended.
	Approved int    `json:"approved"`
	P50      Millis `json:"p50Ms"`
	P95      Millis `json:"p95Ms"`
	Max      Millis `json:"maxMs"`
	Total    Millis `json:"totalMs"`
}

// Denials counts the calls that were not allowed.
type Denials struct {
	// Person said no, Rule was blocked, Unanswered had nobody to answer in time.
	Person     int `json:"person"`
	Rule       int `json:"rule"`
	Unanswered int `json:"unanswered"`
}

// Bytes is what calls produced, what of it the model was given, and what it was spared.
type Bytes struct {
	Output int64 `json:"output"`
	Shown  int64 `json:"shown"`
	Saved  int64 `json:"saved"`
}

func (b *Bytes) add(f *audit.Fact) {
	b.Output, b.Shown, b.Saved = b.Output+f.Output, b.Shown+f.Shown, b.Saved+f.Saved()
}

// Tool is how one tool was used.
type Tool struct {
	Tool   string           `json:"tool"`
	Source tongs.SourceKind `json:"source,omitempty"`
	Counts
	// SuccessRate is Counts.Success.
	SuccessRate float64 `json:"successRate"`
	// P50 and P95 are of the running time of the calls that ran to an end.
	P50      Millis    `json:"p50Ms"`
	P95      Millis    `json:"p95Ms"`
	Waited   Millis    `json:"waitedMs"`
	Asked    int       `json:"asked"`
	Bytes    Bytes     `json:"bytes"`
	LastUsed time.Time `json:"lastUsed"`
	// Codes are the codes that calls ended with, the most frequent first.
	Codes []CodeCount `json:"codes,omitempty"`

	ran   []time.Duration
	codes map[tongs.Code]int
}

// Bucket is a part of the window.
type Bucket struct {
	Start time.Time `json:"start"`
	Counts
	P50    Millis `json:"p50Ms"`
	P95    Millis `json:"p95Ms"`
	Waited Millis `json:"waitedMs"`
	Asked  int    `json:"asked"`
	Saved  int64  `json:"saved"`

	ran []time.Duration
}

// Hits is how often something decided.
type Hits struct {
	Calls int       `json:"calls"`
	Last  time.Time `json:"last,omitzero"`
}

// Summarize sums up the calls of the window that fit the filter, whose times and limit are not used.
func Summarize(ctx context.Context, log audit.Log, w Window, f audit.Filter) (*Stats, error) {
	f = audit.Filter{Session: f.Session, Tool: f.Tool, Outcome: f.Outcome, Code: f.Code, Since: w.Since, Intents: true}
	if f == (audit.Filter{Since: w.Since, Intents: true}) {
		return Sum(audit.Facts(ctx, log, w.Since), w) // logs keep them for this, ready to be summed up
	}
	return Sum(func(yield func(audit.Fact, error) bool) {
		for row, err := range audit.Stream(ctx, log, f) {
			var fact audit.Fact
			if err == nil {
				fact = audit.FactOf(&row)
			}
			if !yield(fact, err) {
				return
			}
		}
	}, w)
}

// Sum sums up the facts that are in the window. It returns the first error that they yield.
func Sum(facts iter.Seq2[audit.Fact, error], w Window) (*Stats, error) {
	s := newSums(w)
	for f, err := range facts {
		if err != nil {
			return nil, err
		}
		if !f.Started.Before(w.Since) && !f.Started.After(w.Until) {
			s.add(&f)
		}
	}
	return s.finish(), nil
}

// sums are statistics while they are made.
type sums struct {
	Stats
	tools    map[string]*Tool
	codes    map[tongs.Code]int
	sessions map[string]bool
	waited   []time.Duration
}

func newSums(w Window) *sums {
	s := &sums{tools: map[string]*Tool{}, codes: map[tongs.Code]int{}, sessions: map[string]bool{}}
	s.Window, s.Rules, s.Grants = w, map[string]Hits{}, map[string]Hits{}
	for _, start := range w.starts() {
		s.Buckets = append(s.Buckets, Bucket{Start: start})
	}
	return s
}

func (s *sums) add(f *audit.Fact) {
	t := s.tools[f.Tool]
	if t == nil {
		t = &Tool{Tool: f.Tool, codes: map[tongs.Code]int{}}
		s.tools[f.Tool] = t
	}
	if t.Source == "" {
		t.Source = f.Source
	}
	b := &Bucket{}
	if width := time.Duration(s.Window.Bucket); len(s.Buckets) > 0 {
		b = &s.Buckets[min(int(f.Started.Sub(s.Buckets[0].Start)/width), len(s.Buckets)-1)]
	}
	for _, c := range []*Counts{&s.Counts, &t.Counts, &b.Counts} {
		c.add(f.Outcome)
	}
	if f.Started.After(t.LastUsed) {
		t.LastUsed = f.Started
	}
	s.sessions[f.Session] = true
	s.decided(f)
	s.asked(f, t, b)
	s.Ran += Millis(f.Ran)
	s.Bytes.add(f)
	t.Bytes.add(f)
	b.Saved += f.Saved()
	t.Waited, b.Waited = t.Waited+Millis(f.Waited), b.Waited+Millis(f.Waited)
	if f.Code != "" {
		s.codes[f.Code]++
		t.codes[f.Code]++
	}
	if f.Ended() && f.Outcome != audit.OutcomeRefused {
		t.ran, b.ran = append(t.ran, f.Ran), append(b.ran, f.Ran)
	}
}

func (s *sums) decided(f *audit.Fact) {
	switch {
	case !f.Decided:
	case f.Decision == tongs.Blocked:
		s.Decisions.Blocked++
	case f.Copy:
		s.Decisions.Copy++
	case f.Decision == tongs.PreApproved:
		s.Decisions.PreApproved++
	default:
		s.Decisions.Ask++
	}
	for _, id := range f.Rules {
		s.Rules[id] = s.Rules[id].hit(f.Started)
	}
	for _, id := range policy.GrantIDs(f.By) {
		s.Grants[id] = s.Grants[id].hit(f.Started)
	}
	switch f.Code {
	case tongs.CodeDenied:
		s.Denials.Person++
	case tongs.CodeBlocked:
		s.Denials.Rule++
	case tongs.CodeApprovalRequired:
		s.Denials.Unanswered++
	}
}

func (h Hits) hit(at time.Time) Hits {
	h.Calls++
	if at.After(h.Last) {
		h.Last = at
	}
	return h
}

func (s *sums) asked(f *audit.Fact, t *Tool, b *Bucket) {
	if !f.Asked {
		return
	}
	s.Approval.Asked++
	t.Asked++
	b.Asked++
	if !f.Ended() || f.Code == tongs.CodeApprovalRequired {
		return
	}
	s.waited = append(s.waited, f.Waited)
	s.Approval.Total += Millis(f.Waited)
	if f.Code != tongs.CodeDenied {
		s.Approval.Approved++
	}
}

func (s *sums) finish() *Stats {
	s.Sessions = len(s.sessions)
	s.Codes = ordered(s.codes)
	s.Approval.P50, s.Approval.P95, s.Approval.Max = percentile(s.waited, 50), percentile(s.waited, 95), percentile(s.waited, 100)
	s.Stats.Tools = []Tool{}
	for _, t := range s.tools {
		t.P50, t.P95, t.SuccessRate, t.Codes = percentile(t.ran, 50), percentile(t.ran, 95), t.Success(), ordered(t.codes)
		t.ran, t.codes = nil, nil
		s.Stats.Tools = append(s.Stats.Tools, *t)
	}
	slices.SortFunc(s.Stats.Tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	for i := range s.Buckets {
		b := &s.Buckets[i]
		b.P50, b.P95 = percentile(b.ran, 50), percentile(b.ran, 95)
		b.ran = nil
	}
	return &s.Stats
}

func ordered(codes map[tongs.Code]int) []CodeCount {
	list := []CodeCount{}
	for code, n := range codes {
		list = append(list, CodeCount{code, n})
	}
	slices.SortFunc(list, func(a, b CodeCount) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Code, b.Code))
	})
	return list
}
