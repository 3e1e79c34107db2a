package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// waiting makes a call that waits, in a system of its own, and returns its question once its changes are kept.
func (s *site) waiting(ctx context.Context, command string) (question string, done <-chan *tongs.Result) {
	s.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	s.ok(err)
	sys, err := Host{Workspace: s.at("ws"), Attended: true}.Open(s.Context(), Options{Wait: time.Minute})
	s.ok(err)
	s.Cleanup(func() { _ = sys.Close() })
	over := make(chan *tongs.Result, 1)
	go func() {
		over <- sys.Engine.Call(ctx, &tongs.Call{Tool: "shell", Args: args, Session: "s1", Agents: []string{"ada"}})
	}()
	for range 400 {
		s.state(func(st *State) {
			list, err := st.Questions.List(s.Context(), true)
			if s.ok(err); len(list) > 0 && list[0].Late != nil && st.Waiting.Attended(list[0].ID) {
				question = list[0].ID
			}
		})
		if question != "" {
			return question, over
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.Fatal("no call waits")
	return "", nil
}

// A call that waits carries out the answer itself, from the copy, and leaves nothing behind; so does one that is refused, or cancelled.
func TestAnAnswerWhileTheCallWaits(t *testing.T) {
	for name, c := range map[string]struct {
		answer *approval.Answer
		code   tongs.Code
		made   string
	}{
		"yes":       {&approval.Answer{Approved: true}, "", "new\n new\n"},
		"some":      {&approval.Answer{Approved: true, Keep: []string{"g"}}, "", "old\n new\n"},
		"no":        {&approval.Answer{Reason: "no"}, tongs.CodeDenied, "old\n old\n"},
		"cancelled": {nil, tongs.CodeCancelled, "old\n old\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("f", "old\n")
			s.write("g", "old\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q, over := s.waiting(ctx, "echo new > f; echo new > g")
			s.parked(1)
			if c.answer == nil {
				cancel()
			} else {
				s.ok(s.answer(q, *c.answer))
			}
			res := <-over
			var code tongs.Code
			if res.Error != nil {
				code = res.Error.Code
			}
			if code != c.code || s.read("f")+" "+s.read("g") != c.made {
				t.Errorf("%q, %q %q\n%s", code, s.read("f"), s.read("g"), res.Content)
			}
			if c.code == "" && !strings.Contains(res.Content, "(changed: ") {
				t.Errorf("the result does not tell what changed: %s", res.Content)
			}
			s.parked(0)
			s.state(func(st *State) {
				if p, err := st.Questions.Parked(t.Context(), q); p != nil || err != nil {
					t.Errorf("parked %+v, %v", p, err)
				}
			})
			if err := s.answer(q, yesLate); err == nil || errors.Is(err, approval.ErrNotMade) {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}
