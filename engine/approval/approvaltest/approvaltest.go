// Package approvaltest holds what every approval.Store must do.
package approvaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// Run tests a store. Make returns a new, empty one with these options.
func Run(t *testing.T, open func(t *testing.T, opts approval.Options) approval.Store) {
	for name, test := range map[string]func(*testing.T, approval.Store){
		"round trip":                     roundTrip,
		"joins the pending one":          joins,
		"first answer wins":              firstWins,
		"answers that are not allowed":   invalid,
		"IDs":                            ids,
		"wait":                           wait,
		"expiry":                         expiry,
		"withdraw":                       withdraw,
		"redeem":                         redeem,
		"ticket":                         ticket,
		"exactly one redeems":            oneRedeems,
		"an outdated approval":           outdated,
		"what is over holds no secrets":  scrubbed,
		"incomplete questions":           incomplete,
		"edited arguments reach the one": edited,
		"pending ones are bounded":       bounded,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, approval.Options{})) })
	}
	t.Run("late answer has its time", func(t *testing.T) { late(t, open(t, approval.Options{Late: time.Nanosecond})) })
}

// Question returns a question to open.
func Question(digest string) approval.Question {
	now := time.Now()
	return approval.Question{
		Digest: digest, Call: "c1", Session: "s1", Tool: "edit", Args: json.RawMessage(`{"path":"a.go"}`),
		Message: "edit a.go", Why: "default", Kind: tongs.KindWrite, Preview: "-old\n+new",
		Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "a.go"}, Version: "v1"}},
		Scopes:  []approval.Scope{approval.Once, approval.Session}, Remember: []string{"write a.go"},
		Created: now, Expires: now.Add(time.Hour),
	}
}

var (
	yes = approval.Answer{Approved: true, Channel: "test", By: "ada"}
	no  = approval.Answer{Channel: "test", By: "bob", Reason: "not now"}
)

func mustOpen(t *testing.T, s approval.Store, q approval.Question) approval.Question {
	t.Helper()
	opened, err := s.Open(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func mustAnswer(t *testing.T, s approval.Store, id string, a approval.Answer) {
	t.Helper()
	if err := s.Answer(context.Background(), id, a); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s approval.Store, id string) approval.Question {
	t.Helper()
	q, err := s.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func roundTrip(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d1"))
	if !strings.HasPrefix(q.ID, "q") || q.Digest != "d1" || q.Preview != "-old\n+new" {
		t.Errorf("%+v", q)
	}
	if got := get(t, s, q.ID); got.StateAt(time.Now()) != approval.Pending || string(got.Args) != `{"path":"a.go"}` || got.Effects[0].Version != "v1" {
		t.Errorf("%+v", got)
	}
	other := mustOpen(t, s, Question("d2"))
	mustAnswer(t, s, q.ID, approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{"write *.go"}, Channel: "cli", By: "ada"})
	pending, err := s.List(t.Context(), true)
	if err != nil || len(pending) != 1 || pending[0].ID != other.ID {
		t.Errorf("pending %+v, %v", pending, err)
	}
	all, err := s.List(t.Context(), false)
	if err != nil || len(all) != 2 {
		t.Fatalf("all %+v, %v", all, err)
	}
	a := get(t, s, q.ID).Answer
	if a == nil || !a.Approved || a.Scope != approval.Session || a.Remember[0] != "write *.go" || a.By != "ada" || a.At.IsZero() {
		t.Errorf("%+v", a)
	}
}

func joins(t *testing.T, s approval.Store) {
	a, b := mustOpen(t, s, Question("d")), mustOpen(t, s, Question("d"))
	if a.ID != b.ID {
		t.Errorf("%s and %s are pending for one digest", a.ID, b.ID)
	}
	if c := mustOpen(t, s, Question("e")); c.ID == a.ID {
		t.Error("another digest joined")
	}
	mustAnswer(t, s, a.ID, yes)
	if c := mustOpen(t, s, Question("d")); c.ID == a.ID {
		t.Error("joined an answered question")
	}
}

func firstWins(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	var won atomic.Int32
	var winner atomic.Value
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			a := yes
			a.Approved, a.By = i%2 == 0, fmt.Sprint(i)
			err := s.Answer(context.Background(), q.ID, a)
			var lost *approval.AnsweredError
			switch {
			case err == nil:
				won.Add(1)
				winner.Store(a.By)
			case !errors.Is(err, approval.ErrAnswered) || !errors.As(err, &lost):
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d answers won", won.Load())
	}
	var lost *approval.AnsweredError
	if err := s.Answer(t.Context(), q.ID, no); !errors.As(err, &lost) || lost.Answer.By != winner.Load() {
		t.Errorf("the winner %v is not in %v", winner.Load(), err)
	}
	if got := get(t, s, q.ID).Answer.By; got != winner.Load() {
		t.Errorf("kept %s", got)
	}
}

func invalid(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	for name, change := range map[string]func(*approval.Answer){
		"a scope that is not offered": func(a *approval.Answer) { a.Scope = approval.Always },
		"an unknown scope":            func(a *approval.Answer) { a.Scope = "forever" },
		"an array as arguments":       func(a *approval.Answer) { a.Args = json.RawMessage(`[1]`) },
		"arguments that are no JSON":  func(a *approval.Answer) { a.Args = json.RawMessage(`{"a":`) },
		"lines with scope once":       func(a *approval.Answer) { a.Remember = []string{"write *"} },
		"an empty line":               func(a *approval.Answer) { a.Scope, a.Remember = approval.Session, []string{" "} },
		"two lines in one":            func(a *approval.Answer) { a.Scope, a.Remember = approval.Session, []string{"a\nb"} },
	} {
		a := yes
		change(&a)
		if err := s.Answer(t.Context(), q.ID, a); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := get(t, s, q.ID); got.Answer != nil {
		t.Error("an invalid answer was kept")
	}
	mustAnswer(t, s, q.ID, yes)
	if got := get(t, s, q.ID).Answer.Scope; got != approval.Once {
		t.Errorf("scope %q", got)
	}
}

func ids(t *testing.T, s approval.Store) {
	if _, err := s.Get(t.Context(), "qnothing"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("empty store: %v", err)
	}
	own := Question("d0")
	own.ID = "q00000000000000000001"
	if got := mustOpen(t, s, own).ID; got != own.ID {
		t.Errorf("its own ID became %s", got)
	}
	own.Digest = "d00"
	if got := mustOpen(t, s, own).ID; got == own.ID {
		t.Error("an ID was given twice")
	}
	own.ID, own.Digest = "../x", "d000"
	if got := mustOpen(t, s, own).ID; got == own.ID {
		t.Error("an ID of another form was kept")
	}
	q := mustOpen(t, s, Question("d1"))
	for _, typed := range []string{q.ID, strings.ToUpper(q.ID), q.ID[1:], q.ID[:len(q.ID)-1], q.ID[len(q.ID)-5:], " " + q.ID + "\n"} {
		if got, err := s.Get(t.Context(), typed); err != nil || got.ID != q.ID {
			t.Errorf("%q: %s, %v", typed, got.ID, err)
		}
	}
	var missing *approval.NotFoundError
	if err := s.Answer(t.Context(), "qzzzzzzzz", yes); !errors.As(err, &missing) || len(missing.Near) == 0 {
		t.Errorf("%v", err)
	}
	for _, typed := range []string{"", "q", "%", "q%"} {
		if _, err := s.Get(t.Context(), typed); !errors.Is(err, approval.ErrNotFound) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	if _, err := s.Wait(t.Context(), "qzzzzzzzz"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("wait: %v", err)
	}
}

func wait(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	got := make(chan approval.Question)
	for range 3 {
		go func() {
			answered, err := s.Wait(context.Background(), q.ID)
			if err != nil {
				t.Error(err)
			}
			got <- answered
		}()
	}
	mustAnswer(t, s, q.ID, no)
	for range 3 {
		if a := (<-got).Answer; a == nil || a.Approved || a.Reason != "not now" {
			t.Errorf("%+v", a)
		}
	}
	if again, err := s.Wait(t.Context(), q.ID); err != nil || again.Answer == nil {
		t.Errorf("waiting after the answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, mustOpen(t, s, Question("e")).ID); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func expiry(t *testing.T, s approval.Store) {
	q := Question("d")
	q.Expires = time.Now().Add(20 * time.Millisecond)
	q = mustOpen(t, s, q)
	ended, err := s.Wait(t.Context(), q.ID)
	if err != nil || ended.Answer != nil || ended.StateAt(time.Now()) != approval.Expired {
		t.Fatalf("%+v, %v", ended, err)
	}
	if err := s.Answer(t.Context(), q.ID, yes); !errors.Is(err, approval.ErrExpired) {
		t.Errorf("%v", err)
	}
	if _, ok, err := s.Redeem(t.Context(), "d", q.ID); ok || err != nil {
		t.Errorf("redeemed an expired question: %v", err)
	}
	if next := mustOpen(t, s, Question("d")); next.ID == q.ID {
		t.Error("joined an expired question")
	}
	if pending, err := s.List(t.Context(), true); err != nil || len(pending) != 1 {
		t.Errorf("%d pending, %v", len(pending), err)
	}
}

func withdraw(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	mustOpen(t, s, Question("d"))
	if err := s.Withdraw(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, q.ID); got.StateAt(time.Now()) != approval.Pending {
		t.Fatal("withdrawn while somebody else waits")
	}
	if err := s.Withdraw(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	if ended, err := s.Wait(t.Context(), q.ID); err != nil || ended.StateAt(time.Now()) != approval.Withdrawn {
		t.Errorf("%+v, %v", ended, err)
	}
	if err := s.Answer(t.Context(), q.ID, yes); !errors.Is(err, approval.ErrWithdrawn) {
		t.Errorf("%v", err)
	}
	answered := mustOpen(t, s, Question("e"))
	mustAnswer(t, s, answered.ID, yes)
	if err := s.Withdraw(t.Context(), answered.ID); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, answered.ID); got.StateAt(time.Now()) != approval.Answered {
		t.Error("an answered question was withdrawn")
	}
}

func redeem(t *testing.T, s approval.Store) {
	for _, a := range []approval.Answer{yes, no} {
		q := mustOpen(t, s, Question("d"))
		if _, ok, err := s.Redeem(t.Context(), "d", ""); ok || err != nil {
			t.Fatalf("redeemed a pending question: %v", err)
		}
		mustAnswer(t, s, q.ID, a)
		if _, ok, _ := s.Redeem(t.Context(), "other", ""); ok {
			t.Fatal("redeemed by another digest")
		}
		got, ok, err := s.Redeem(t.Context(), "d", "")
		if !ok || err != nil || got.ID != q.ID || got.Answer.Approved != a.Approved {
			t.Fatalf("%+v, %v, %v", got, ok, err)
		}
		if _, ok, _ := s.Redeem(t.Context(), "d", ""); ok {
			t.Error("redeemed twice")
		}
		if _, ok, _ := s.Redeem(t.Context(), "d", q.ID); ok {
			t.Error("redeemed once more with a ticket")
		}
	}
}

func ticket(t *testing.T, s approval.Store) {
	q, other := mustOpen(t, s, Question("d")), mustOpen(t, s, Question("e"))
	mustAnswer(t, s, q.ID, yes)
	mustAnswer(t, s, other.ID, yes)
	if _, ok, _ := s.Redeem(t.Context(), "d", other.ID); ok {
		t.Error("a ticket of another call was taken")
	}
	if _, ok, _ := s.Redeem(t.Context(), "d", q.ID[:len(q.ID)-2]); ok {
		t.Error("a part of a ticket was taken")
	}
	if got, ok, err := s.Redeem(t.Context(), "d", q.ID); !ok || err != nil || got.ID != q.ID {
		t.Errorf("%v, %v", ok, err)
	}
}

func oneRedeems(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	mustAnswer(t, s, q.ID, yes)
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			id := ""
			if i%2 == 0 {
				id = q.ID
			}
			_, ok, err := s.Redeem(context.Background(), "d", id)
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d redeemed", won.Load())
	}
}

func scrubbed(t *testing.T, s approval.Store) {
	const secret = "hunter2hunter2"
	q := Question("d")
	q.Args = json.RawMessage(`{"password":"` + secret + `"}`)
	q.Preview = "+password = " + secret + "\n" + strings.Repeat("+x\n", 5000)
	q.Effects = []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"x", "--password", secret}}}
	q = mustOpen(t, s, q)
	if got := get(t, s, q.ID); !strings.Contains(string(got.Args), secret) {
		t.Error("a person must see what is asked")
	}
	a := yes
	a.Args = json.RawMessage(`{"password":"` + secret + `!"}`)
	mustAnswer(t, s, q.ID, a)
	taken, ok, err := s.Redeem(t.Context(), "d", "")
	if err != nil || !ok || !strings.Contains(string(taken.Args), secret) || string(taken.Answer.Args) != string(a.Args) {
		t.Fatalf("what is redeemed is not whole: %+v, %v", taken, err)
	}
	kept, err := json.Marshal(get(t, s, q.ID))
	if err != nil || strings.Contains(string(kept), secret) || len(kept) > 5000 {
		t.Errorf("%d bytes, %v: %s", len(kept), err, kept)
	}
	gone := Question("e")
	gone.Args = q.Args
	gone = mustOpen(t, s, gone)
	if err := s.Withdraw(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, s, Question("f")) // gives a store the occasion to tidy up
	if got := get(t, s, gone.ID); strings.Contains(string(got.Args), secret) {
		t.Errorf("withdrawn: %s", got.Args)
	}
}

func incomplete(t *testing.T, s approval.Store) {
	for name, change := range map[string]func(*approval.Question){
		"no digest":       func(q *approval.Question) { q.Digest = "" },
		"no expiry":       func(q *approval.Question) { q.Expires = time.Time{} },
		"answered before": func(q *approval.Question) { q.Answer = &approval.Answer{Approved: true} },
	} {
		q := Question("d")
		change(&q)
		if _, err := s.Open(t.Context(), q); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func edited(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	a := yes
	a.Args = json.RawMessage(`{"path":"b.go","n":12345678901234567890}`)
	mustAnswer(t, s, q.ID, a)
	got, ok, err := s.Redeem(t.Context(), "d", q.ID)
	if err != nil || !ok || string(got.Answer.Args) != string(a.Args) {
		t.Errorf("%+v, %v, %v", got.Answer, ok, err)
	}
}

func late(t *testing.T, s approval.Store) {
	q := mustOpen(t, s, Question("d"))
	mustAnswer(t, s, q.ID, yes)
	for began := time.Now(); time.Since(began) < time.Microsecond; {
	}
	if _, ok, _ := s.Redeem(t.Context(), "d", ""); ok {
		t.Error("served after its time")
	}
	if _, ok, _ := s.Redeem(t.Context(), "d", q.ID); !ok {
		t.Error("a ticket holds while the question does")
	}
}

// A model that calls and calls cannot fill the store with questions that nobody will answer.
func bounded(t *testing.T, s approval.Store) {
	var first approval.Question
	for i := range 1000 {
		q := mustOpen(t, s, Question(fmt.Sprintf("d%d", i)))
		if i == 0 {
			first = q
		}
	}
	if _, err := s.Open(context.Background(), Question("one more")); tongs.CodeOf(err) != tongs.CodeApprovalRequired {
		t.Fatalf("%v, want %s", err, tongs.CodeApprovalRequired)
	}
	if joined := mustOpen(t, s, Question("d0")); joined.ID != first.ID {
		t.Errorf("an equal question was not joined: %s, %s", joined.ID, first.ID)
	}
	mustAnswer(t, s, first.ID, no)
	mustOpen(t, s, Question("one more"))
}

// An approval of the same call in another state is found once, and serves nobody then.
func outdated(t *testing.T, s approval.Store) {
	ctx := context.Background()
	take := func(key, digest string) string {
		t.Helper()
		q, ok, err := s.Outdated(ctx, key, digest)
		if err != nil || ok != (q.ID != "") {
			t.Fatalf("%+v, %t, %v", q, ok, err)
		}
		return q.ID
	}
	asked := Question("d1")
	asked.Key = "k"
	q := mustOpen(t, s, asked)
	if got := take("k", "d2"); got != "" {
		t.Errorf("a pending one: %s", got)
	}
	mustAnswer(t, s, q.ID, yes)
	for _, other := range [][2]string{{"k", "d1"}, {"", "d2"}, {"other", "d2"}} {
		if got := take(other[0], other[1]); got != "" {
			t.Errorf("%q: %s", other, got)
		}
	}
	if got := take("k", "d2"); got != q.ID {
		t.Errorf("%q", got)
	}
	if got := take("k", "d2"); got != "" {
		t.Errorf("twice: %s", got)
	}
	if _, ok, err := s.Redeem(ctx, "d1", ""); ok || err != nil {
		t.Errorf("it can still be used: %v", err)
	}
	denied := Question("d3")
	denied.Key = "k3"
	q = mustOpen(t, s, denied)
	mustAnswer(t, s, q.ID, no)
	if got := take("k3", "d4"); got != "" {
		t.Errorf("a refusal: %s", got)
	}
}
