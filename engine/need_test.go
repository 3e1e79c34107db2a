package engine_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
)

// A file that changed between plan and run: the walk goes back, and what was pre-approved stays so.
func TestNeedChangedVersionPlansAgain(t *testing.T) {
	changes := 1
	var b *bench
	racing := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read | tongs.Write}, planWrite("out"),
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			if changes > 0 {
				changes--
				b.write(t, "out", strings.Repeat("changed by somebody else", changes+1))
			}
			return echoOut{in.Text}, put(ctx, env, "out", in.Text)
		})
	b = setup(t, []tongs.Tool{racing})
	must(t, b.call("echo", `{"text":"mine"}`), "")
	if got := b.read(t, "out"); got != "mine" {
		t.Errorf("out is %q", got)
	}
	changes = 100
	res := b.call("echo", `{"text":"mine"}`)
	must(t, res, tongs.CodeStaleFile)
	if got := b.read(t, "out"); got == "mine" {
		t.Error("a file that kept changing was overwritten")
	}
}

// A version that a person approved and that changed is asked again, with the reason.
func TestNeedApprovedVersionThatChangedIsAskedAgain(t *testing.T) {
	changed := false
	var b *bench
	b = setup(t, []tongs.Tool{tool(t, tongs.Spec{Needs: tongs.Read | tongs.Write}, planWrite("out"),
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			if !changed {
				changed = true
				b.write(t, "out", "changed by somebody else")
			}
			return echoOut{in.Text}, put(ctx, env, "out", in.Text)
		})})
	b.person.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: len(q.Notes) == 0}
	}
	must(t, b.call("echo", `{"text":"mine"}`), tongs.CodeDenied)
	if b.person.count() != 2 || !strings.Contains(strings.Join(b.person.last().Notes, " "), "changed") {
		t.Errorf("asked %d times, notes %q", b.person.count(), b.person.last().Notes)
	}
	if got := b.read(t, "out"); got != "changed by somebody else" {
		t.Errorf("out is %q", got)
	}
}

// A path the sandbox denied: the tool names it, the person sees it, and the re-run has that and no more.
func TestNeedDeniedPath(t *testing.T) {
	runs := 0
	denied := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read | tongs.Write}, planWrite("out"),
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			runs++
			return echoOut{in.Text}, put(ctx, env, ".envrc", in.Text) // never planned, and protected
		})
	b := setup(t, []tongs.Tool{denied})
	b.person.answer = no
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeDenied)
	if runs != 1 || b.read(t, ".envrc") != "" {
		t.Errorf("ran %d times, wrote %q", runs, b.read(t, ".envrc"))
	}
	q := b.person.last()
	found := false
	for _, e := range q.Effects {
		found = found || e.Path.Rel == ".envrc" && e.MustAsk && e.Why != ""
	}
	if !found {
		t.Errorf("the question does not show the protected path: %+v", q.Effects)
	}
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	if b.read(t, ".envrc") != "x" {
		t.Error("approved, but not written")
	}
	b = setup(t, []tongs.Tool{denied}, mode(tongs.ModeAll)) // and in mode all too
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeApprovalRequired)
}

// A run that already changed something and needs more is a new question that says so, in every mode.
func TestNeedAfterADirectWriteIsANewQuestion(t *testing.T) {
	twice := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read | tongs.Write}, planWrite("out"),
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			if err := put(ctx, env, "out", in.Text); err != nil {
				return echoOut{}, err
			}
			return echoOut{in.Text}, put(ctx, env, "second", in.Text)
		})
	b := setup(t, []tongs.Tool{twice}, mode(tongs.ModeAll))
	b.person.answer = no
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeDenied)
	if notes := strings.Join(b.person.last().Notes, "; "); !strings.Contains(notes, "already wrote out") {
		t.Errorf("notes %q", notes)
	}
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"y"}`), "")
	if b.read(t, "second") != "y" {
		t.Error("approved, but not written")
	}
}

// follower is what makes requests: it decides each host on the way, as the network guard will.
type follower struct {
	permit *tongs.Permit
	hops   []string
}

func (f follower) Do(req *http.Request) (*http.Response, error) {
	for _, host := range append([]string{req.URL.Host}, f.hops...) {
		effect := tongs.Effect{Kind: tongs.EffectNetwork, Host: host}
		decided := false
		for _, e := range f.permit.Effects() {
			decided = decided || e.SameTarget(effect)
		}
		if decided {
			continue
		}
		if err := f.permit.Decide(req.Context(), tongs.More{Reason: "redirected to " + host, Effects: []tongs.Effect{effect}}); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// A redirect to another host is decided on the way: the tool is not run again, and it does not count.
func TestNeedRedirectToAnotherHostResumes(t *testing.T) {
	runs := 0
	fetch := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Network},
		func(_ *tongs.View, in echoIn) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: in.Text}}}, nil
		},
		func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
			runs++
			res, err := env.HTTP.Do((&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: in.Text}}).WithContext(ctx))
			if err != nil {
				return echoOut{}, err
			}
			return echoOut{res.Status}, res.Body.Close()
		})
	hops := []string{"b.test", "c.test", "d.test", "e.test", "f.test", "g.test"}
	with := func(o *engine.Options) {
		o.HTTP = func(p *tongs.Permit) tongs.HTTP { return follower{p, hops} }
		rules(
			tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.test", Decision: tongs.Ask},
			tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "evil.test", Decision: tongs.Blocked},
		)(o)
	}
	b := setup(t, []tongs.Tool{fetch}, with)
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"a.test"}`), "")
	if runs != 1 || b.person.count() != 7 {
		t.Errorf("ran %d times, asked %d times", runs, b.person.count())
	}
	if q := b.person.last(); len(q.Effects) != 1 || q.Effects[0].Host != "g.test" {
		t.Errorf("the last question is about %v", q.Effects)
	}
	hops = []string{"evil.test"}
	must(t, b.call("echo", `{"text":"a.test"}`), tongs.CodeBlocked)
	hops = []string{"b.test"}
	b.person.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: q.Effects[0].Host == "a.test"}
	}
	must(t, b.call("echo", `{"text":"a.test"}`), tongs.CodeDenied)
}

func TestNeedIsBounded(t *testing.T) {
	runs := 0
	endless := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Network}, nil,
		func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			runs++
			return echoOut{}, &tongs.Need{Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: strings.Repeat("x", runs) + ".test"}}, Reason: "one more host"}
		})
	b := setup(t, []tongs.Tool{endless}, mode(tongs.ModeAll))
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodePermissionDenied)
	if runs != 5 {
		t.Errorf("ran %d times", runs)
	}
}
