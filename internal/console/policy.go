package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/insight"
)

// Insight is what the pages about rules, sessions and statistics need beyond the rest. Its zero value shows less.
type Insight struct {
	// Workspace is the directory of the workspace as the log has it, and Roots what identifies it in grants.
	Workspace, Roots string
	// Copies reports whether programs can run on a copy here; nil means that they cannot.
	Copies func(ctx context.Context) bool
	// Rules reads and saves proposed rules. Nil offers neither a replay nor saving.
	Rules RuleFile
	// Workers are the runs of workers. Nil shows what the log says of sessions.
	Workers Workers
}

// RuleFile is where a person's own rules stand. A rule is proposed in one line, such as "ask command git push". What is
// saved there cannot loosen what an administrator said.
type RuleFile interface {
	// Draft returns what the rules mean, and what the file would say with them.
	Draft(lines []string) (*RuleDraft, error)
	// Save writes the file, if it still has the content that the draft was made for, and puts the rules in force.
	Save(lines []string, base string) (*RuleDraft, error)
}

// RuleDraft is a file with further rules.
type RuleDraft struct {
	// Path is the file, Diff what changes in it. Base identifies the content that it has now.
	Path  string       `json:"path"`
	Diff  string       `json:"diff"`
	Base  string       `json:"base"`
	Rules []tongs.Rule `json:"-"`
}

func (s *Server) policyRoutes() []route {
	return []route{
		get("/api/policy", "The rules in force and the remembered approvals, each with how often it decided", s.rulesInForce),
		post("/api/policy/try", "Decide logged calls again with proposed rules, and show what changes; nothing is saved", s.tryRules),
		post("/api/policy/save", "Save proposed rules in the user's own configuration, and put them in force", s.saveRules),
		post("/api/grants/{id}/revoke", "Forget a remembered approval", s.revokeGrant),
	}
}

// ruleView is a rule on the screen.
type ruleView struct {
	ID        string         `json:"id"`
	Layer     string         `json:"layer"`
	Origin    string         `json:"origin"`
	Decision  tongs.Decision `json:"decision"`
	Tool      string         `json:"tool"`
	Toolset   string         `json:"toolset"`
	Effects   string         `json:"effects"`
	Pattern   string         `json:"pattern"`
	Fallback  bool           `json:"fallback"`
	Copy      bool           `json:"copy"`
	Untrusted bool           `json:"untrusted"`
	Void      bool           `json:"void"`
	BuiltIn   bool           `json:"builtIn"`
	// Text is the rule in a line, without where it stands.
	Text string       `json:"text"`
	Hits insight.Hits `json:"hits"`
}

func viewRule(r insight.Ruled) ruleView {
	rule := r.Rule
	text, _, _ := strings.Cut(tongs.Rule{
		Layer: rule.Layer, Tool: rule.Tool, Toolset: rule.Toolset, Effects: rule.Effects, Pattern: rule.Pattern, Decision: rule.Decision,
		Fallback: rule.Fallback, Outcome: rule.Outcome,
	}.String(), " ("+rule.Layer.String()+")")
	return ruleView{
		ID: r.ID, Layer: rule.Layer.String(), Origin: rule.Origin, Decision: rule.Decision, Tool: rule.Tool, Toolset: rule.Toolset,
		Effects: rule.Effects.String(), Pattern: rule.Pattern, Fallback: rule.Fallback, Copy: rule.Outcome, Untrusted: rule.Untrusted,
		Void: r.Void, BuiltIn: r.BuiltIn, Text: text, Hits: r.Hits,
	}
}

// grantView is a remembered approval on the screen.
type grantView struct {
	ID      string    `json:"id"`
	Scope   string    `json:"scope"`
	Tool    string    `json:"tool"`
	Source  string    `json:"source"`
	Session string    `json:"session"`
	Agents  []string  `json:"agents"`
	Covers  []string  `json:"covers"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	// Here says that it is for this workspace.
	Here bool         `json:"here"`
	Hits insight.Hits `json:"hits"`
}

// step is a row of the decision table.
type step struct {
	Step string `json:"step"`
	When string `json:"when"`
	Then string `json:"then"`
}

// ruled is everything that decides.
type ruled struct {
	Mode   tongs.Mode     `json:"mode"`
	Window insight.Window `json:"window"`
	Calls  int            `json:"calls"`
	// Rules are in the order of their authority.
	Rules  []ruleView  `json:"rules"`
	Grants []grantView `json:"grants"`
	Steps  []step      `json:"steps"`
	// Saves says that proposed rules can be replayed and saved here.
	Saves bool `json:"saves"`
}

func (s *Server) rulesInForce(ctx context.Context, _ request, in windowQuery) (ruled, error) {
	stats, err := s.sum(ctx, in)
	if err != nil {
		return ruled{}, err
	}
	grants, err := s.opt.Grants.List(ctx)
	if err != nil {
		return ruled{}, err
	}
	out := ruled{
		Mode: s.opt.Mode, Window: stats.Window, Calls: stats.Calls, Rules: []ruleView{}, Grants: []grantView{}, Steps: []step{},
		Saves: s.opt.Insight.Rules != nil,
	}
	for _, r := range stats.InForce(s.opt.Rules()) {
		out.Rules = append(out.Rules, viewRule(r))
	}
	for _, g := range grants {
		v := grantView{
			ID: g.ID, Scope: string(g.Scope), Tool: g.Key.Tool, Source: string(g.Key.Source.Kind), Session: g.Key.Session, By: g.By, At: g.At,
			Agents: append([]string{}, g.Key.Agents...), Covers: []string{}, Here: s.opt.Insight.Roots == "" || g.Key.Roots == s.opt.Insight.Roots,
			Hits: stats.Grants[g.ID],
		}
		for _, c := range g.Covers {
			v.Covers = append(v.Covers, c.String())
		}
		out.Grants = append(out.Grants, v)
	}
	for _, row := range policy.Steps() {
		out.Steps = append(out.Steps, step{string(row.Step), row.When, row.Then})
	}
	return out, nil
}

// proposal is what is proposed.
type proposal struct {
	// Rules are in one line each, such as "ask command git push"; Without are IDs of rules in force that would go.
	Rules   []string `json:"rules"`
	Without []string `json:"without,omitempty"`
	// Last is how many calls are decided again at most: 1000, or up to 20000.
	Last int `json:"last,omitempty"`
	// Base is that of the draft to save.
	Base string `json:"base,omitempty"`
}

// tried is what proposed rules come to.
type triedRules struct {
	Rules  []ruleView      `json:"rules"`
	Replay *insight.Replay `json:"replay,omitempty"`
	// Draft is what would be saved, nil where nothing can be; Unsaved says why.
	Draft   *RuleDraft `json:"draft,omitempty"`
	Unsaved string     `json:"unsaved,omitempty"`
	// Wrong says why the rules cannot be read; then there is nothing else.
	Wrong string `json:"wrong,omitempty"`
}

const (
	maxProposed = 50
	// shownChanges is how many changed calls are returned.
	shownChanges = 200
)

// lines are the proposed rules without empty lines.
func (p proposal) lines() ([]string, error) {
	var list []string
	for _, line := range p.Rules {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	if len(list) > maxProposed {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there are %d rules; at most %d can be proposed at a time", len(list), maxProposed)
	}
	return list, nil
}

func (s *Server) tryRules(ctx context.Context, _ request, in proposal) (triedRules, error) {
	out := triedRules{Rules: []ruleView{}}
	lines, err := in.lines()
	if err != nil {
		return out, err
	}
	if len(lines)+len(in.Without) == 0 {
		return out, tongs.Errorf(tongs.CodeInvalidArgs, "say what is proposed, as in: ask command git push")
	}
	p := insight.Proposal{
		Rules: s.opt.Rules(), Without: in.Without, Workspace: s.opt.Insight.Workspace, Roots: s.opt.Insight.Roots,
		Last: min(in.Last, 20000), Changes: shownChanges,
	}
	if p.Last <= 0 {
		p.Last = 1000
	}
	if p.Add, err = s.draft(lines, &out); tongs.CodeOf(err) == tongs.CodeInvalidArgs {
		out.Wrong = tongs.Failure(err).Error.Message
		return out, nil
	} else if err != nil {
		return out, err
	}
	for _, r := range p.Add {
		out.Rules = append(out.Rules, viewRule(insight.Ruled{ID: policy.RuleID(r), Rule: r}))
	}
	for _, id := range in.Without {
		if !slices.ContainsFunc(p.Rules, func(r tongs.Rule) bool { return policy.RuleID(r) == id }) {
			return out, tongs.Errorf(tongs.CodeInvalidArgs, "no rule in force has the ID %q", id)
		}
		out.Draft, out.Unsaved = nil, "Taking a rule away is done in the file that it stands in."
	}
	if p.Grants, err = s.opt.Grants.List(ctx); err != nil {
		return out, err
	}
	p.Copies = s.opt.Insight.Copies != nil && s.opt.Insight.Copies(ctx)
	out.Replay, err = insight.Try(ctx, s.opt.Audit, p)
	return out, err
}

// draft reads the proposed rules and fills in what would be saved.
func (s *Server) draft(lines []string, out *triedRules) ([]tongs.Rule, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	if s.opt.Insight.Rules == nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "rules cannot be proposed here; 'tongs replay' does it in a terminal")
	}
	d, err := s.opt.Insight.Rules.Draft(lines)
	if err != nil && d == nil {
		return nil, err
	}
	if err != nil { // the rules can be read, and the file cannot take them
		out.Unsaved = err.Error()
	} else {
		out.Draft = d
	}
	return d.Rules, nil
}

// saved tells where rules were written to.
type saved struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}

func (s *Server) saveRules(_ context.Context, _ request, in proposal) (saved, error) {
	lines, err := in.lines()
	switch {
	case err != nil:
		return saved{}, err
	case s.opt.Insight.Rules == nil:
		return saved{}, tongs.Errorf(tongs.CodeConfigError, "rules cannot be saved here; put them into the configuration file")
	case len(lines) == 0 || len(in.Without) > 0:
		return saved{}, tongs.Errorf(tongs.CodeInvalidArgs, "there is no rule to save; a rule is taken away in the file that it stands in")
	case in.Base == "":
		return saved{}, tongs.Errorf(tongs.CodeInvalidArgs, "base is missing: what is saved must have been shown before")
	}
	d, err := s.opt.Insight.Rules.Save(lines, in.Base)
	if err != nil {
		return saved{}, err
	}
	return saved{Path: d.Path, Diff: d.Diff}, nil
}

func (s *Server) revokeGrant(ctx context.Context, r request, _ struct{}) (done, error) {
	id := r.PathValue("id")
	found, err := s.opt.Grants.Revoke(ctx, id)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no remembered approval %q; it was revoked already", errNotFound, id)
	}
	return done{}, err
}
