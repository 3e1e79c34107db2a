package insight_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/workspace"
)

// runIn is a command in words; Touch are files that it writes.
type runIn struct {
	Words string   `json:"words"`
	Touch []string `json:"touch,omitempty"`
	Free  bool     `json:"free,omitempty"`
}

// runTool plans commands as the shell does, and does nothing.
func runTool(t testing.TB, name string, spec tongs.Spec) tongs.Tool {
	t.Helper()
	spec.Name, spec.Description, spec.Needs = name, "Runs.", tongs.Execute|tongs.Write
	tool, err := tongs.New(tongs.Def[runIn, string]{
		Spec: spec,
		Plan: func(_ context.Context, _ *tongs.View, in runIn) (*tongs.Plan, error) {
			p := &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: strings.Fields(in.Words)}}}
			for _, name := range in.Touch {
				p.Effects = append(p.Effects, tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: name}, Incidental: true})
			}
			if in.Free {
				d := tongs.PreApproved
				p.Default = &d
			}
			return p, nil
		},
		Run: func(context.Context, *tongs.Env, runIn) (string, error) { return "done", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// shop is an engine, its log and its grants.
type shop struct {
	*engine.Engine
	t      testing.TB
	log    audit.Log
	grants policy.Book
	ws     *workspace.Workspace
}

// person answers every question, once or for always.
type person struct{ scope approval.Scope }

func (p person) Ask(context.Context, approval.Question) (*approval.Answer, error) {
	return &approval.Answer{Approved: true, Scope: p.scope, Channel: "test"}, nil
}

// unapproved provides custom tools that nobody approved.
type unapproved []tongs.Tool

func (u unapproved) Tools() []tongs.Tool        { return u }
func (unapproved) Refresh(context.Context) bool { return false }
func (unapproved) Reviewed(tongs.Source) bool   { return false }
func (unapproved) Close() error                 { return nil }

func open(t testing.TB, ws *workspace.Workspace, mode tongs.Mode, ask approval.Channel, rules ...tongs.Rule) *shop {
	t.Helper()
	custom := tongs.Spec{Source: tongs.Source{Kind: tongs.SourceForge, Name: "c", Digest: "d1"}, Toolset: "custom"}
	s := &shop{t: t, log: audit.NewMemoryWith(audit.MemoryOptions{Entries: 20000}), grants: policy.NewMemoryBook(), ws: ws}
	desk := &approval.Desk{Store: approval.NewMemory(approval.Options{})}
	if ask != nil {
		desk.Channels = []approval.Channel{ask}
	}
	var err error
	s.Engine, err = engine.New(engine.Options{
		Tools:     []tongs.Tool{runTool(t, "sh", tongs.Spec{Aliases: []string{"bash"}, Toolset: "shell"})},
		Providers: map[tongs.SourceKind]engine.Provider{tongs.SourceForge: unapproved{runTool(t, "other", custom)}}, Workspace: ws, Audit: s.log, Grants: s.grants, Approval: desk, Mode: mode, Rules: func() []tongs.Rule { return rules },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func place(t testing.TB) *workspace.Workspace {
	t.Helper()
	ws, err := workspace.Open(workspace.Options{Dir: t.TempDir(), LockDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

func (s *shop) run(caller tongs.Caller, tool string, in any) *tongs.Result {
	s.t.Helper()
	args, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	return caller.Call(s.t.Context(), &tongs.Call{Tool: tool, Args: args, Session: "s"})
}

func (s *shop) try(p insight.Proposal) *insight.Replay {
	s.t.Helper()
	p.Workspace, p.Roots = s.ws.Dir(), s.ws.Digest()
	var err error
	if p.Grants, err = s.grants.List(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	r, err := insight.Try(s.t.Context(), s.log, p)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func command(pattern string, d tongs.Decision) tongs.Rule {
	return tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: d}
}

func TestReplayShowsWhatARuleWouldChange(t *testing.T) {
	allow := command("git", tongs.PreApproved)
	s := open(t, place(t), tongs.ModeSafe, nil, allow)
	for _, words := range []string{"git status", "git push origin", "rm -rf x", "git push"} {
		s.run(s, "bash", runIn{Words: words})
	}
	r := s.try(insight.Proposal{Rules: []tongs.Rule{allow}, Add: []tongs.Rule{command("git push", tongs.Blocked), command("rm", tongs.PreApproved)}})
	if r.Calls != 4 || r.Judged != 4 || r.Changed != 3 || r.Stricter != 2 || r.Looser != 1 || r.Drifted != 0 {
		t.Fatalf("%+v", r)
	}
	if c := r.Changes[0]; c.Now != insight.PreApproved || c.Then != insight.Blocked || c.Was != insight.PreApproved || c.Effects[0] != "execute git push" ||
		!strings.Contains(c.ThenBy, "git push") || c.Tool != "sh" || c.Outcome != audit.OutcomeOK {
		t.Errorf("%+v", c)
	}
	if c := r.Changes[1]; c.Now != insight.Ask || c.Then != insight.PreApproved || c.Outcome != audit.OutcomeRefused {
		t.Errorf("%+v", c)
	}
	if r.Turns[0] != (insight.Turn{Now: insight.PreApproved, Then: insight.Blocked, Calls: 2}) {
		t.Errorf("%+v", r.Turns)
	}
	// A rule that goes, and the newest calls only.
	r = s.try(insight.Proposal{Rules: []tongs.Rule{allow}, Without: []string{policy.RuleID(allow)}, Last: 2})
	if r.Calls != 2 || r.Changed != 1 || r.Changes[0].Then != insight.Ask {
		t.Errorf("%+v", r)
	}
	if r = s.try(insight.Proposal{Rules: []tongs.Rule{allow}, Add: []tongs.Rule{command("git", tongs.Blocked)}, Changes: 1}); r.Changed != 3 || len(r.Changes) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestReplayGuessesNothing(t *testing.T) {
	ws := place(t)
	s := open(t, ws, tongs.ModeSafe, nil)
	s.run(s, "sh", runIn{Words: "curl -u ada:hunter2secret https://x token=ghp_0123456789abcdefghijklmnopqrstuvwxyz"})
	s.run(s, "nothing", runIn{})
	s.run(s, "sh", map[string]any{"words": 5, "unknown": true})
	s.run(s, "sh", runIn{Words: "ls"})
	older := &audit.Row{Call: "old", Tool: "sh", Started: time.Now(), Workspace: ws.Dir()}
	elsewhere := &audit.Row{Call: "far", Tool: "sh", Started: time.Now(), Workspace: "/elsewhere"}
	for _, row := range []*audit.Row{older, elsewhere} {
		if err := s.log.Open(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		if err := s.log.Intent(t.Context(), row.Call, &audit.Intent{Tool: "sh", Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"ls"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	r := s.try(insight.Proposal{Add: []tongs.Rule{{Decision: tongs.Blocked}}})
	if r.Calls != 5 || r.Judged != 1 || r.Changed != 1 || r.Unjudged[insight.Redacted] != 1 || r.Unjudged[insight.NotDecided] != 2 ||
		r.Unjudged[insight.Older] != 1 || r.Unjudged[insight.Elsewhere] != 1 {
		t.Fatalf("%+v", r)
	}
}

// A rule that bears on what was granted makes the grant lapse: that is a change like any other.
func TestReplayKnowsGrants(t *testing.T) {
	s := open(t, place(t), tongs.ModeSafe, person{approval.Always})
	s.run(s, "sh", runIn{Words: "make all"})
	s.run(s, "sh", runIn{Words: "make all"})
	if r := s.try(insight.Proposal{}); r.Judged != 2 || r.Changed != 0 || r.Drifted != 1 {
		t.Fatalf("the grant answers now: %+v", r)
	}
	r := s.try(insight.Proposal{Add: []tongs.Rule{command("make", tongs.Ask)}})
	if r.Changed != 2 || r.Changes[0].Now != insight.PreApproved || !strings.HasPrefix(r.Changes[0].NowBy, "grant ") || r.Changes[0].Then != insight.Ask {
		t.Errorf("%+v", r)
	}
}

// What a replay says is what an engine with the proposed rules does: on many random rules, calls, scopes and modes.
func TestReplayIsWhatTheEngineWouldDo(t *testing.T) {
	ws := place(t)
	m := rand.New(rand.NewPCG(3, 7))
	pick := func(words ...string) string { return words[m.IntN(len(words))] }
	decision := func() tongs.Decision { return tongs.Decision(m.IntN(3) - 1) }
	rule := func() tongs.Rule {
		r := tongs.Rule{
			Layer: tongs.Layer(m.IntN(4)), Untrusted: m.IntN(4) == 0, Decision: decision(), Fallback: m.IntN(3) == 0,
			Tool: pick("", "", "sh", "bash", "o*"), Toolset: pick("", "", "shell", "custom"),
		}
		switch m.IntN(3) {
		case 0:
			r.Effects, r.Pattern = tongs.Kinds(tongs.EffectExecute), pick("", "git", "git push", "rm *")
		case 1:
			r.Effects, r.Pattern = tongs.Kinds(tongs.EffectWrite), pick("", "src/**", "a")
		}
		return r
	}
	rules := func(n int) (list []tongs.Rule) {
		for range m.IntN(n + 1) {
			list = append(list, rule())
		}
		return list
	}
	for round := range 150 {
		mode := []tongs.Mode{tongs.ModeSafe, tongs.ModeSafe, tongs.ModeNone, tongs.ModeAll}[m.IntN(4)]
		base, added := rules(3), rules(2)
		before := open(t, ws, mode, person{approval.Once}, base...)
		after := open(t, ws, mode, person{approval.Once}, append(base[:len(base):len(base)], added...)...)
		for range 12 {
			in := runIn{Words: pick("git push x", "git log", "rm a", "ls"), Free: m.IntN(4) == 0}
			if m.IntN(2) == 0 {
				in.Touch = []string{pick("a", "src/b", ".git/hooks/x")}
			}
			tool := pick("sh", "bash", "other")
			scope := tongs.Scope{Agent: pick("", "helper"), Rules: rules(1)}
			if m.IntN(8) == 0 {
				scope.Zones = []tongs.Zone{{Path: tongs.Path{Rel: "src"}, Writable: true}}
			}
			before.run(before.Within(scope), tool, in)
			after.run(after.Within(scope), tool, in)
		}
		r := before.try(insight.Proposal{Rules: base, Add: added})
		if r.Judged != 12 || r.Drifted != 0 {
			t.Fatalf("round %d: %+v", round, r)
		}
		then := map[string]insight.Decision{}
		for _, c := range r.Changes {
			then[c.Call] = c.Then
		}
		was, is := recorded(t, before.log), recorded(t, after.log)
		for i := range was {
			want := is[i].decision
			got, changed := then[was[i].call]
			if !changed {
				got = was[i].decision
			}
			if got != want {
				t.Fatalf("round %d, call %d: the replay says %s, the engine %s\nbase %v\nadded %v", round, i, got, want, base, added)
			}
		}
	}
}

type decided struct {
	call     string
	decision insight.Decision
}

func recorded(t *testing.T, log audit.Log) (list []decided) {
	t.Helper()
	rows, err := log.Rows(t.Context(), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		list = append(list, decided{r.Call, insight.Decision(r.Intent.Decision.String())})
	}
	return list
}

func BenchmarkTry(b *testing.B) {
	ws := place(b)
	s := open(b, ws, tongs.ModeSafe, person{approval.Once})
	for i := range 1000 {
		s.run(s, "sh", runIn{Words: fmt.Sprintf("git push %d", i)})
	}
	for b.Loop() {
		r, err := insight.Try(b.Context(), s.log, insight.Proposal{Add: []tongs.Rule{command("git push", tongs.Blocked)}, Last: 1000})
		if err != nil || r.Changed != 1000 {
			b.Fatal(r, err)
		}
	}
}
