package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

type talkIn struct {
	Text string `json:"text"`
}

// talker writes its argument to its output.
func talker(t *testing.T) tongs.Tool {
	t.Helper()
	tool, err := tongs.New(tongs.Def[talkIn, string]{
		Spec: tongs.Spec{Name: "talk", Description: "Says something.", Default: tongs.PreApproved},
		Run: func(_ context.Context, env *tongs.Env, in talkIn) (string, error) {
			_, err := env.Output("stdout").Write([]byte(in.Text))
			env.Update(tongs.Update{Done: 1, Total: 2})
			return "said", err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func observed(t *testing.T, observe func(engine.Event)) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{talker(t)}, Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// An observer is told of every step of a call, in order, while it walks; and of none of a call that is only judged.
func TestObserve(t *testing.T) {
	var mu sync.Mutex
	var told []string
	e := observed(t, func(ev engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch ev.Kind {
		case engine.Opened:
			told = append(told, "opened "+ev.Call.Tool)
		case engine.Staged:
			word := ev.Stage
			if ev.Err != nil {
				word += " " + string(tongs.CodeOf(ev.Err))
			}
			told = append(told, word)
		case engine.Updated:
			told = append(told, "update "+ev.Update.Text)
		case engine.Closed:
			told = append(told, "closed "+ev.Result.Content)
		}
		if ev.ID != "c_1" {
			t.Errorf("an event of call %q", ev.ID)
		}
	})
	res := e.Call(t.Context(), &tongs.Call{ID: "c_1", Tool: "talk", Args: []byte(`{"text":"hello"}`)})
	if !res.OK() {
		t.Fatal(res.Content)
	}
	want := "opened talk, lookup, validate, plan, decide, ask, update hello, update , run, closed said"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
	told = nil
	e.Call(t.Context(), &tongs.Call{ID: "c_1", Tool: "talk", Args: []byte(`{}`)})
	if got := strings.Join(told, ", "); !strings.HasPrefix(got, "opened talk, lookup, validate INVALID_ARGS, closed INVALID_ARGS") {
		t.Errorf("a call that is stopped: told %q", got)
	}
	told = nil
	if _, err := e.Explain(t.Context(), &tongs.Call{ID: "c_1", Tool: "talk", Args: []byte(`{"text":"a"}`)}); err != nil || told != nil {
		t.Errorf("an explanation: told %q, %v", told, err)
	}
}

// A caller's own sink gets what the observer gets, and an observer that panics ends neither the call nor the process.
func TestObserverIsBesideTheCaller(t *testing.T) {
	e := observed(t, func(engine.Event) { panic("no") })
	var got []string
	res := e.Call(t.Context(), &tongs.Call{Tool: "talk", Args: []byte(`{"text":"hello"}`), Sink: func(u tongs.Update) { got = append(got, u.Text) }})
	if !res.OK() || len(got) != 2 || got[0] != "hello" {
		t.Errorf("%v, updates %q", res.Error, got)
	}
	if res.Metadata["observeError"] != "no" {
		t.Errorf("metadata %v", res.Metadata)
	}
}
