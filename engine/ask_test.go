package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestApprovedOnceIsAskedAgain(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	b.person.answer = yes
	for n := 1; n <= 2; n++ {
		must(t, b.call("echo", `{"text":"hi"}`), "")
		if b.person.count() != n {
			t.Fatalf("asked %d times", b.person.count())
		}
	}
	q := b.person.last()
	if q.Tool != "echo" || len(q.Effects) != 1 || q.Effects[0].String() != "write out" || q.Message == "" || q.Why == "" || q.Kind != tongs.KindWrite {
		t.Errorf("question %+v", q)
	}
	row := b.rows(t)[1]
	if row.Intent.Answered != "test:ada" || row.Intent.Question == "" {
		t.Errorf("the row does not say who answered: %+v", row.Intent)
	}
}

func TestDeniedWithAReasonTheModelSees(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	b.person.answer = no
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, tongs.CodeDenied)
	if !strings.Contains(res.Content, "not today") || b.read(t, "out") != "" {
		t.Errorf("%s", res.Content)
	}
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"hi"}`), "") // a denial is never remembered
}

func TestSessionAndAlwaysGrants(t *testing.T) {
	for scope, elsewhere := range map[approval.Scope]int{approval.Session: 2, approval.Always: 1} {
		b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
		b.person.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true, Scope: scope} }
		must(t, b.call("echo", `{"text":"hi"}`), "")
		must(t, b.call("echo", `{"text":"other"}`), "")
		if b.person.count() != 1 {
			t.Errorf("%s: asked %d times in the session", scope, b.person.count())
		}
		must(t, b.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`), Session: "another"}), "")
		if b.person.count() != elsewhere {
			t.Errorf("%s: asked %d times with another session", scope, b.person.count())
		}
		must(t, b.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"y"}`), Session: "s", Agents: []string{"stranger"}}), "")
		if b.person.count() != elsewhere+1 {
			t.Errorf("%s: a grant to one agent served another", scope)
		}
	}
}

func TestGrantLapsesWhenTheRulesChange(t *testing.T) {
	current := []tongs.Rule{{Tool: "echo", Layer: tongs.LayerUser, Decision: tongs.Ask}}
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})}, func(o *engine.Options) { o.Rules = func() []tongs.Rule { return current } })
	b.person.answer = forever
	must(t, b.call("echo", `{"text":"hi"}`), "")
	must(t, b.call("echo", `{"text":"hi"}`), "")
	current = append(current, tongs.Rule{Toolset: "", Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "out", Layer: tongs.LayerUser, Decision: tongs.Ask})
	must(t, b.call("echo", `{"text":"hi"}`), "")
	if b.person.count() != 2 {
		t.Errorf("asked %d times", b.person.count())
	}
}

func TestRememberedPatternCanBeEdited(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{}), tool(t, tongs.Spec{Name: "other", Needs: tongs.Read | tongs.Write}, planWrite("elsewhere"), runWrite("elsewhere"))})
	b.person.answer = func(q approval.Question) approval.Answer {
		if len(q.Remember) != 1 || q.Remember[0] != "write out" {
			t.Errorf("proposed %q", q.Remember)
		}
		return approval.Answer{Approved: true, Scope: approval.Always, Remember: []string{"write *"}}
	}
	must(t, b.call("echo", `{"text":"hi"}`), "")
	must(t, b.call("echo", `{"text":"hi"}`), "")
	if b.person.count() != 1 {
		t.Errorf("asked %d times", b.person.count())
	}
}

func TestBlockedStaysBlocked(t *testing.T) {
	block := tongs.Rule{Tool: "echo", Layer: tongs.LayerUser, Decision: tongs.Blocked}
	for name, change := range map[string]func(*engine.Options){
		"in mode safe":  rules(block),
		"in mode all":   func(o *engine.Options) { rules(block)(o); o.Mode = tongs.ModeAll },
		"by any layer":  rules(tongs.Rule{Tool: "echo", Layer: tongs.LayerWorker, Untrusted: true, Decision: tongs.Blocked}, tongs.Rule{Tool: "echo", Layer: tongs.LayerManaged, Decision: tongs.PreApproved}),
		"of the effect": rules(tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "out", Decision: tongs.Blocked}, tongs.Rule{Tool: "echo", Decision: tongs.PreApproved}),
		"with a grant": func(o *engine.Options) {
			rules(block)(o)
			grant := policy.Grant{
				ID: "g", Scope: policy.ScopeAlways, Key: policy.Key{Tool: "echo", Source: tongs.Source{Kind: tongs.SourceBuiltin}, Roots: o.Workspace.Digest()},
				Covers: []policy.Cover{{Kind: tongs.EffectWrite, Pattern: "out"}}, RulesDigest: "rules:0",
			}
			if err := o.Grants.Add(context.Background(), grant); err != nil {
				t.Fatal(err)
			}
		},
	} {
		b := setup(t, []tongs.Tool{writer(t, free)}, change)
		b.person.answer = forever
		res := b.call("echo", `{"text":"hi"}`)
		if res.Error == nil || res.Error.Code != tongs.CodeBlocked || b.person.count() != 0 || b.read(t, "out") != "" {
			t.Errorf("%s: %s; asked %d times", name, res.Content, b.person.count())
		}
	}
}

func TestBlockedStaysBlockedAfterEditedArguments(t *testing.T) {
	byText := func(v *tongs.View, in echoIn) (*tongs.Plan, error) {
		p, err := v.Files.Resolve(in.Text)
		return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: p}}}, err
	}
	b := setup(t, []tongs.Tool{tool(t, tongs.Spec{Needs: tongs.Read | tongs.Write}, byText, nil)},
		rules(tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "secret/**", Decision: tongs.Blocked}))
	b.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Args: []byte(`{"text":"secret/plan"}`)}
	}
	must(t, b.call("echo", `{"text":"fine"}`), tongs.CodeBlocked)
	if b.person.count() != 1 {
		t.Errorf("asked %d times", b.person.count())
	}
}

func TestEditedArgumentsWalkAgain(t *testing.T) {
	byText := func(v *tongs.View, in echoIn) (*tongs.Plan, error) {
		p, err := v.Files.Resolve(strings.Fields(in.Text)[0])
		return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: p}}}, err
	}
	edit := func(args string) func(approval.Question) approval.Answer {
		first := true
		return func(approval.Question) approval.Answer {
			if !first {
				return approval.Answer{Approved: true}
			}
			first = false
			return approval.Answer{Approved: true, Args: []byte(args)}
		}
	}
	for _, tc := range []struct {
		name, args string
		code       tongs.Code
		asked      int
		content    string
	}{
		{"same effects are not asked again", `{"text":"out edited"}`, "", 1, "out edited"},
		{"other effects are", `{"text":"other"}`, "", 2, "other"},
		{"invalid ones are refused", `{"txet":1}`, tongs.CodeInvalidArgs, 1, ""},
		{"repaired like any others", `{"Text":"out mended"}`, "", 1, "out mended"},
	} {
		b := setup(t, []tongs.Tool{tool(t, tongs.Spec{Needs: tongs.Read | tongs.Write}, byText, nil)})
		b.person.answer = edit(tc.args)
		res := b.call("echo", `{"text":"out original"}`)
		must(t, res, tc.code)
		if b.person.count() != tc.asked || tc.code == "" && res.Content != tc.content+"\n(a person changed text from \"out original\" to \""+tc.content+"\")" {
			t.Errorf("%s: asked %d times, %s", tc.name, b.person.count(), res.Content)
		}
	}
	// An edited approval reaches no further than its call, whatever scope came with it.
	b := setup(t, []tongs.Tool{tool(t, tongs.Spec{Needs: tongs.Read | tongs.Write}, byText, nil)})
	b.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Scope: approval.Always, Args: []byte(`{"text":"out edited"}`)}
	}
	must(t, b.call("echo", `{"text":"out original"}`), "")
	b.person.answer = no
	must(t, b.call("echo", `{"text":"out original"}`), tongs.CodeDenied)
}

func TestPreviewIsMadeOnlyWhenSomebodyIsAsked(t *testing.T) {
	made := 0
	plan := func(v *tongs.View, _ echoIn) (*tongs.Plan, error) {
		p, err := v.Files.Resolve("out")
		return &tongs.Plan{
			Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: p}},
			Preview: func(context.Context) (string, error) { made++; return "-old\n+new", nil },
		}, err
	}
	b := setup(t, []tongs.Tool{tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Write}, plan, nil)})
	must(t, b.call("echo", `{"text":"hi"}`), "")
	if made != 0 {
		t.Error("a preview was made for nobody")
	}
	b = setup(t, []tongs.Tool{tool(t, tongs.Spec{Needs: tongs.Write}, plan, nil)})
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"hi"}`), "")
	if made != 1 || b.person.last().Preview != "-old\n+new" {
		t.Errorf("made %d, shown %q", made, b.person.last().Preview)
	}
}

func TestLateAnswerServesTheIdenticalRetryOnce(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, tongs.CodeApprovalRequired)
	id, _ := res.Error.Details["question"].(string)
	if id == "" || !strings.Contains(res.Error.Message, id) {
		t.Fatalf("no question in %+v", res.Error)
	}
	if err := b.opt.Approval.Store.Answer(t.Context(), id, approval.Answer{Approved: true, Scope: approval.Once, Channel: "cli", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	must(t, b.call("echo", `{"text":"other"}`), tongs.CodeApprovalRequired)
	must(t, b.call("echo", `{ "text" : "hi" }`), "")
	must(t, b.call("echo", `{"text":"hi"}`), tongs.CodeApprovalRequired)
}

func TestLateAnswerDoesNotServeAChangedFile(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	b.write(t, "out", "as seen")
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, tongs.CodeApprovalRequired)
	id := res.Error.Details["question"].(string)
	if err := b.opt.Approval.Store.Answer(t.Context(), id, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	b.write(t, "out", "otherly") // same length, other content
	must(t, b.call("echo", `{"text":"hi"}`), tongs.CodeApprovalRequired)
	if got := b.read(t, "out"); got != "otherly" {
		t.Errorf("overwrote %q", got)
	}
}

func TestTicketOnAReentrantCall(t *testing.T) {
	ticket := ""
	outer := tool(t, tongs.Spec{Name: "outer", Default: tongs.PreApproved}, nil, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		res := env.Caller.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"inner"}`), Ticket: ticket})
		if res.Error != nil {
			return echoOut{}, res.Error
		}
		return echoOut{res.Content}, nil
	})
	b := setup(t, []tongs.Tool{outer, writer(t, tongs.Spec{})})
	res := b.call("outer", `{"text":"x"}`)
	must(t, res, tongs.CodeApprovalRequired)
	id := res.Error.Details["question"].(string)
	ticket = id
	must(t, b.call("outer", `{"text":"x"}`), tongs.CodeApprovalRequired) // not answered yet
	if err := b.opt.Approval.Store.Answer(t.Context(), id, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	res = b.call("outer", `{"text":"x"}`)
	must(t, res, "")
	if res.Content != "inner" || b.read(t, "out") != "inner" {
		t.Errorf("%q", res.Content)
	}
	if res := b.call("outer", `{"text":"x"}`); res.OK() {
		t.Error("a ticket served twice")
	}
	rows := b.rows(t)
	if rows[1].Parent != rows[0].Call || rows[1].Session != "s" {
		t.Errorf("the inner row is not bound to the outer call: %+v", rows[1])
	}
}

func TestCustomToolThatShadowsABuiltInInheritsNoGrant(t *testing.T) {
	forge := &source{reviewed: anything}
	b := setup(t, []tongs.Tool{writer(t, free)}, provide(sources{tongs.SourceForge: forge}),
		rules(tongs.Rule{Tool: "echo", Layer: tongs.LayerUser, Decision: tongs.Ask}))
	b.person.answer = forever
	must(t, b.call("echo", `{"text":"one"}`), "")
	must(t, b.call("echo", `{"text":"two"}`), "")
	if b.person.count() != 1 {
		t.Fatalf("asked %d times", b.person.count())
	}
	forge.set(writer(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Execute, Source: tongs.Source{Kind: tongs.SourceForge, Name: "echo", Digest: "abc"}}))
	b.person.answer = no
	must(t, b.call("echo", `{"text":"three"}`), tongs.CodeDenied)
	if b.person.count() != 2 || b.read(t, "out") != "two" {
		t.Errorf("asked %d times, out is %q", b.person.count(), b.read(t, "out"))
	}
}

// A typing error in what should be remembered costs another question, and not the call.
func TestUnreadableRuleIsAskedAgain(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	asked := 0
	b.person.answer = func(q approval.Question) approval.Answer {
		if asked++; asked == 1 {
			return approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{"wriet out"}}
		}
		if len(q.Notes) == 0 || !strings.Contains(q.Notes[0], "wriet") {
			t.Errorf("asked again with %q", q.Notes)
		}
		return approval.Answer{Approved: true, Scope: approval.Session, Remember: q.RememberFiles}
	}
	must(t, b.call("echo", `{"text":"x"}`), "")
	must(t, b.call("echo", `{"text":"y"}`), "")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}
