package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
)

// The tests of this file are named after rows of the design that take the whole walk: section 4 (decide and ask) and
// section 9 (where the founding documents disagree). Package policy has those that a judgement alone shows.

func TestDesign4_BlockedAfterAlwaysIsBlocked(t *testing.T) {
	blocked := false
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})}, func(o *engine.Options) {
		o.Rules = func() []tongs.Rule {
			if !blocked {
				return nil
			}
			return []tongs.Rule{{Tool: "echo", Layer: tongs.LayerWorkspace, Untrusted: true, Decision: tongs.Blocked}}
		}
	})
	b.person.answer = forever
	must(t, b.call("echo", `{"text":"one"}`), "")
	must(t, b.call("echo", `{"text":"two"}`), "")
	if b.person.count() != 1 {
		t.Fatalf("asked %d times", b.person.count())
	}
	blocked = true
	must(t, b.call("echo", `{"text":"three"}`), tongs.CodeBlocked)
	if b.person.count() != 1 || b.read(t, "out") != "two" {
		t.Errorf("asked %d times, out holds %q", b.person.count(), b.read(t, "out"))
	}
}

func TestDesign4_AlwaysShowsAndSavesTheNarrowestRule(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	b.person.answer = forever
	must(t, b.call("echo", `{"text":"one"}`), "")
	if got := strings.Join(b.person.last().Remember, "; "); got != "write out" {
		t.Errorf("the question proposed %q", got)
	}
	grants, err := b.opt.Grants.List(t.Context())
	if err != nil || len(grants) != 1 || len(grants[0].Covers) != 1 || grants[0].Covers[0].String() != "write out" || grants[0].By != "test:ada" {
		t.Errorf("%+v, %v", grants, err)
	}
}

func TestDesign4_DenialsAreNeverRemembered(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	b.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Scope: approval.Always, Reason: "never"}
	}
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeDenied)
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	if grants, err := b.opt.Grants.List(t.Context()); err != nil || len(grants) != 0 {
		t.Errorf("%+v, %v", grants, err)
	}
}

func TestDesign4_TheRowSaysByWhichChannelAndWhom(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{})})
	for _, answer := range []func(approval.Question) approval.Answer{yes, no} {
		b.person.answer = answer
		b.call("echo", `{"text":"x"}`)
	}
	for _, row := range b.rows(t) {
		if row.Intent.Answered != "test:ada" || !strings.HasPrefix(row.Intent.Question, "q") {
			t.Errorf("%+v", row.Intent)
		}
	}
}

func TestDesign4_MustAskIsAskedAndNeverRemembered(t *testing.T) {
	w := setupWhole(t, mode(tongs.ModeAll))
	w.person.answer = yes
	for range 2 {
		must(t, w.model("write_file", args{"path": ".envrc", "content": "export X=1\n"}), "")
		if q := w.person.last(); len(q.Scopes) != 1 || q.Scopes[0] != approval.Once || len(q.Remember) != 0 {
			t.Errorf("scopes %v, remember %v", q.Scopes, q.Remember)
		}
		must(t, w.model("delete_file", args{"path": ".envrc"}), "")
	}
	if w.person.count() != 4 {
		t.Errorf("asked %d times", w.person.count())
	}
	w.person.answer = forever // a scope that was not offered is no answer
	must(t, w.model("write_file", args{"path": ".envrc", "content": "export X=2\n"}), tongs.CodeApprovalRequired)
}

func TestDesign4_DeletesAreNeverRemembered(t *testing.T) {
	w := setupWhole(t)
	w.person.answer = yes
	for range 2 {
		w.put(t, "f", "x")
		must(t, w.model("delete_file", args{"path": "f"}), "")
		if q := w.person.last(); len(q.Scopes) != 1 {
			t.Errorf("scopes %v", q.Scopes)
		}
	}
	if w.person.count() != 2 {
		t.Errorf("asked %d times", w.person.count())
	}
}

func TestDesign4_RulesSeeTheResolvedPathNeverTheSpelling(t *testing.T) {
	w := setupWhole(t, rules(pathRule(tongs.Blocked, "private/**", tongs.EffectRead)), mode(tongs.ModeAll))
	w.put(t, "private/f", "x")
	w.put(t, "public/f", "x")
	for _, name := range []string{"private/f", "./private/f", "public/../private/f", w.dir + "/private/f", "private//f", "private/./f"} {
		must(t, w.model("read_file", args{"path": name}), tongs.CodeBlocked)
		must(t, w.model("edit", args{"path": name, "oldString": "x", "newString": "y"}), tongs.CodeBlocked)
	}
	must(t, w.Call(t.Context(), &tongs.Call{Tool: "read_file", Args: []byte(`{"path":"f"}`), Dir: "private"}), tongs.CodeBlocked)
}

func TestDesign9_CodeRunsOnlyThroughTheSandbox(t *testing.T) {
	run := tool(t, tongs.Spec{Needs: tongs.Execute, Default: tongs.PreApproved}, nil, func(ctx context.Context, env *tongs.Env, _ echoIn) (echoOut, error) {
		_, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"true"}})
		if err == nil {
			_, err = env.Commands.Start(ctx, &tongs.Command{Argv: []string{"true"}})
		}
		return echoOut{}, err
	})
	b := setup(t, []tongs.Tool{run}, mode(tongs.ModeAll))
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeSandboxUnavailable)
}
