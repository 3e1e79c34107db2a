package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// hook is a call that must be asked: git runs what it writes.
var hook = args{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\nevil\n"}

// noHook fails the test where the hook was written.
func (w *world) noHook() {
	w.Helper()
	if _, err := os.Lstat(filepath.Join(w.dir, ".git/hooks/pre-commit")); !errors.Is(err, fs.ErrNotExist) {
		w.Errorf("the client approved its own call: %v", err)
	}
}

// pending returns the one question that waits.
func (w *world) pending() approval.Question {
	w.Helper()
	list, err := w.store.List(w.Context(), true)
	w.must(err)
	if len(list) != 1 {
		w.Fatalf("%d questions wait, want one", len(list))
	}
	return list[0]
}

func yes() *person { return says(map[string]any{"answer": "yes"}) }

func TestAClientCannotApproveItsOwnCallThatMustBeAsked(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		p := yes()
		c := w.connect(version, p.options())
		res := c.call("write_file", hook)
		w.noHook()
		q := w.pending()
		if codeOf(res) != "APPROVAL_REQUIRED" || !strings.Contains(text(res), q.ID) || !strings.Contains(text(res), "tongs approvals approve") ||
			!strings.Contains(text(res), "outside of the client") {
			t.Errorf("the client is told %q (%s)", text(res), codeOf(res))
		}
		if len(p.shown) != 0 {
			t.Errorf("the client was shown a form that it cannot answer: %s", p.shown[0].Message)
		}
		if !q.Elsewhere {
			t.Error("the question does not say that it is to be answered elsewhere")
		}
		// A person elsewhere can, and the same call takes the answer.
		w.must(w.store.Answer(t.Context(), q.ID, approval.Answer{Approved: true, Channel: "terminal"}))
		if res := c.call("write_file", hook); res.IsError || w.content(".git/hooks/pre-commit") == "" {
			t.Errorf("approved elsewhere: %s", text(res))
		}
	})
}

func TestAnAnswerFromElsewhereReachesAWaitingCall(t *testing.T) {
	w := newWorld(t, setup{wait: time.Minute})
	c := w.connect(withSessions, yes().options())
	done := make(chan string)
	go func() {
		res := c.call("write_file", hook)
		done <- codeOf(res)
	}()
	var id string
	for id == "" {
		list, err := w.store.List(t.Context(), true)
		w.must(err)
		if len(list) > 0 {
			id = list[0].ID
		}
	}
	w.must(w.store.Answer(t.Context(), id, approval.Answer{Approved: true, Channel: "console"}))
	if code := <-done; code != "" {
		t.Errorf("code %s", code)
	}
}

func TestTheUsersConfigurationLetsClientsApprove(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{clientsApprove: true})
		if res := w.connect(version, yes().options()).call("write_file", hook); res.IsError || w.content(".git/hooks/pre-commit") == "" {
			t.Errorf("%s", text(res))
		}
	})
}

// Approving other arguments approves the edited call, which walks again.
func TestEditedArgumentsDoNotReachWhatMustBeAsked(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("a.txt", "one\n")
		edited, err := json.Marshal(args{"path": ".git/hooks/pre-commit", "content": "evil"})
		w.must(err)
		p := says(map[string]any{"answer": "yes", "arguments": string(edited)})
		res := w.connect(version, p.options()).call("write_file", args{"path": "a.txt", "content": "two"})
		w.noHook()
		if codeOf(res) != "APPROVAL_REQUIRED" || len(p.shown) != 1 {
			t.Errorf("%s, %d forms", text(res), len(p.shown))
		}
	})
}

// Equal questions of several connections are one. Each answers, and none counts.
func TestASecondConnectionCannotApproveEither(t *testing.T) {
	w := newWorld(t, setup{wait: 300 * time.Millisecond})
	var calls sync.WaitGroup
	for _, version := range []string{withSessions, withSessions, withoutSessions} {
		c := w.connect(version, yes().options())
		calls.Go(func() {
			if res := c.call("write_file", hook); codeOf(res) != "APPROVAL_REQUIRED" {
				t.Errorf("%s: %s", version, text(res))
			}
		})
	}
	calls.Wait()
	w.noHook()
}

// An answer that comes with the first request is none, and neither is one for the ticket of another call.
func TestAnswersThatNobodyAskedFor(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.byHand()
	if res, err := c.round(hook, "", approve, "write_file"); err != nil || codeOf(res) != "APPROVAL_REQUIRED" {
		t.Errorf("%v", err)
	}
	if _, err := c.round(hook, c.ask(), approve, "write_file"); err == nil {
		t.Error("a ticket serves another call")
	}
	w.noHook()
}

// What a call of the client calls in turn is the client's call.
func TestACallWithinACallIsTheClients(t *testing.T) {
	type in struct {
		Path string `json:"path"`
	}
	inner, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "delegate", Description: "Calls write_file.", Needs: tongs.Read, Default: tongs.PreApproved},
		Plan: func(context.Context, *tongs.View, in) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "."}}}}, nil
		},
		Run: func(ctx context.Context, env *tongs.Env, _ in) (string, error) {
			raw, err := json.Marshal(hook)
			if err != nil {
				return "", err
			}
			res := env.Caller.Call(ctx, &tongs.Call{Tool: "write_file", Args: raw})
			if res.Error != nil {
				return "", res.Error
			}
			return "done", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{tools: []tongs.Tool{inner}})
		p := yes()
		res := w.connect(version, p.options()).call("delegate", args{"path": "x"})
		w.noHook()
		if codeOf(res) != "APPROVAL_REQUIRED" || len(p.shown) > 0 {
			t.Errorf("%s (%d forms)", text(res), len(p.shown))
		}
	})
}

// lenient is a store whose questions were asked and answered under other rules: a client approved them.
type lenient struct{ approval.Store }

func (s lenient) Redeem(context.Context, string, string) (approval.Question, bool, error) {
	return approval.Question{ID: "q", Answer: &approval.Answer{Approved: true, Scope: approval.Once, Channel: "mcp", ByCaller: true}}, true, nil
}

func TestAnApprovalByAClientUnderOtherRulesIsNone(t *testing.T) {
	w := newWorld(t, setup{keep: func(s approval.Store) approval.Store { return lenient{s} }})
	w.write("a.txt", "one\n")
	c := w.connect(withSessions, yes().options())
	if res := c.call("write_file", hook); codeOf(res) != "APPROVAL_REQUIRED" {
		t.Errorf("%s", text(res))
	}
	w.noHook()
	if res := c.call("edit", edit); res.IsError { // what may be approved by a client still is
		t.Errorf("%s", text(res))
	}
}

// An explicit ask of the administrator must be asked too.
func TestTheAdministratorsAskIsNotForTheClient(t *testing.T) {
	w := newWorld(t, setup{rules: []tongs.Rule{{Tool: "edit", Decision: tongs.Ask, Layer: tongs.LayerManaged, Origin: "policy.yaml:1"}}})
	w.write("a.txt", "one\n")
	res := w.connect(withSessions, yes().options()).call("edit", edit)
	if codeOf(res) != "APPROVAL_REQUIRED" || w.content("a.txt") != "one\n" {
		t.Errorf("%s", text(res))
	}
}
