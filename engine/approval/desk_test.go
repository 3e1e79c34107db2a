package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
)

func TestMemory(t *testing.T) {
	approvaltest.Run(t, func(_ *testing.T, opts approval.Options) approval.Store { return approval.NewMemory(opts) })
}

// shows is a channel that shows a question until ctx ends.
type shows struct{ shown, ended chan struct{} }

func newShows() shows { return shows{make(chan struct{}, 9), make(chan struct{}, 9)} }

func (s shows) Ask(ctx context.Context, _ approval.Question) (*approval.Answer, error) {
	s.shown <- struct{}{}
	<-ctx.Done()
	s.ended <- struct{}{}
	return nil, ctx.Err()
}

func answers(a approval.Answer) approval.Channel {
	return approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) { return a, nil })
}

var yes = approval.Answer{Approved: true}

func newDesk(channels ...approval.Channel) *approval.Desk {
	return &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: channels}
}

func TestAskReturnsTheFirstAnswer(t *testing.T) {
	slow := newShows()
	d := newDesk(slow, answers(approval.Answer{Approved: true, By: "ada"}))
	q, err := d.Ask(t.Context(), approvaltest.Question("d"))
	if err != nil || !q.Answer.Approved || q.Answer.By != "ada" || q.Answer.Channel != "callback" || q.Answer.Scope != approval.Once {
		t.Fatalf("%+v, %v", q.Answer, err)
	}
	<-slow.ended // it was told to take its question away
	if again, err := d.Redeem(t.Context(), "d", ""); again != nil || err != nil {
		t.Error("an answer that was used serves a second call")
	}
}

func TestAskIsUnblockedFromElsewhere(t *testing.T) {
	screen := newShows()
	d := newDesk(screen)
	done := make(chan approval.Question)
	go func() {
		q, err := d.Ask(context.Background(), approvaltest.Question("d"))
		if err != nil {
			t.Error(err)
		}
		done <- q
	}()
	<-screen.shown
	list, err := d.Store.List(t.Context(), true)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := d.Store.Answer(t.Context(), list[0].ID, approval.Answer{Channel: "cli", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if q := <-done; q.Answer.Approved || q.Answer.Reason != "no" {
		t.Errorf("%+v", q.Answer)
	}
}

// Questions that are put off reach nobody now, are listed, and a late answer serves the identical call.
func TestQuestionsArePutOff(t *testing.T) {
	d := newDesk(approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
		t.Error("somebody was asked")
		return yes, nil
	}))
	d.Later, d.Wait = true, time.Hour
	asked := approvaltest.Question("d")
	asked.Why = "\"read .env\" must be asked for each time: secret."
	q, err := d.Ask(t.Context(), asked)
	if tongs.CodeOf(err) != tongs.CodeApprovalRequired || !strings.Contains(err.Error(), asked.Why) || !strings.Contains(err.Error(), q.ID) {
		t.Fatalf("%v", err)
	}
	if list, err := d.Store.List(t.Context(), true); err != nil || len(list) != 1 || list[0].ID != q.ID {
		t.Fatalf("%v, %v", list, err)
	}
	if err := d.Store.Answer(t.Context(), q.ID, approval.Answer{Approved: true, Channel: "cli"}); err != nil {
		t.Fatal(err)
	}
	if late, err := d.Redeem(t.Context(), "d", ""); err != nil || late == nil || !late.Answer.Approved {
		t.Errorf("%+v, %v", late, err)
	}
}

func TestNobodyToAsk(t *testing.T) {
	boom := errors.New("no terminal")
	for name, d := range map[string]*approval.Desk{
		"no store":       {},
		"no channel":     newDesk(),
		"cannot show":    newDesk(approval.Callback(nil)),
		"channel fails":  newDesk(approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) { return yes, boom })),
		"channel panics": newDesk(approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) { panic("x") })),
		"invalid answer": newDesk(answers(approval.Answer{Approved: true, Scope: approval.Always})),
		"bad arguments":  newDesk(answers(approval.Answer{Approved: true, Args: json.RawMessage("[]")})),
	} {
		t.Run(name, func(t *testing.T) {
			q, err := d.Ask(t.Context(), approvaltest.Question("d"))
			if tongs.CodeOf(err) != tongs.CodeApprovalRequired || q.Answer != nil {
				t.Fatalf("%+v, %v", q.Answer, err)
			}
			if d.Store == nil {
				return
			}
			var e *tongs.Error
			errors.As(err, &e)
			if e.Details["question"] != q.ID || !strings.Contains(e.Message, "tongs approvals approve "+q.ID) {
				t.Errorf("%+v", e)
			}
			// A late answer serves the identical retry, once.
			if err := d.Store.Answer(t.Context(), q.ID, approval.Answer{Approved: true, Channel: "cli"}); err != nil {
				t.Fatal(err)
			}
			if late, err := d.Redeem(t.Context(), "d", ""); err != nil || late == nil || !late.Answer.Approved {
				t.Errorf("%+v, %v", late, err)
			}
			if late, _ := d.Redeem(t.Context(), "d", ""); late != nil {
				t.Error("served twice")
			}
		})
	}
}

func TestWaitWithoutAChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.Wait = time.Minute
		began := time.Now()
		_, err := d.Ask(t.Context(), approvaltest.Question("d"))
		if tongs.CodeOf(err) != tongs.CodeApprovalRequired || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go func() {
			time.Sleep(30 * time.Second) // synthetic time
			list, _ := d.Store.List(context.Background(), true)
			_ = d.Store.Answer(context.Background(), list[0].ID, yes)
		}()
		if q, err := d.Ask(t.Context(), approvaltest.Question("d")); err != nil || !q.Answer.Approved {
			t.Errorf("%v", err)
		}
	})
}

func TestExpiredCountsAsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(newShows())
		d.Expire = time.Hour
		q, err := d.Ask(t.Context(), approvaltest.Question("d"))
		if err != nil || q.Answer == nil || q.Answer.Approved || q.Answer.Channel != "expired" {
			t.Errorf("%+v, %v", q.Answer, err)
		}
	})
}

func TestAChannelThatIgnoresItsContextDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		d := newDesk(answers(yes), approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
			<-stuck
			return approval.Answer{}, nil
		}))
		if q, err := d.Ask(t.Context(), approvaltest.Question("d")); err != nil || !q.Answer.Approved {
			t.Errorf("%v", err)
		}
		close(stuck)
	})
}

func TestCancelledAskWithdraws(t *testing.T) {
	screen := newShows()
	d := newDesk(screen)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan approval.Question)
	go func() {
		_, err := d.Ask(ctx, approvaltest.Question("d"))
		first <- err
	}()
	<-screen.shown
	go func() {
		q, _ := d.Ask(context.Background(), approvaltest.Question("d"))
		second <- q
	}()
	<-screen.shown
	cancel()
	if err := <-first; tongs.CodeOf(err) != tongs.CodeCancelled {
		t.Errorf("%v", err)
	}
	list, _ := d.Store.List(t.Context(), true)
	if len(list) != 1 {
		t.Fatal("withdrawn while another call waits")
	}
	if err := d.Store.Answer(t.Context(), list[0].ID, yes); err != nil {
		t.Fatal(err)
	}
	if q := <-second; !q.Answer.Approved {
		t.Error("the other call was not served")
	}

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := d.Ask(ctx, approvaltest.Question("e"))
		first <- err
	}()
	<-screen.shown
	cancel()
	<-first
	if list, _ := d.Store.List(t.Context(), true); len(list) != 0 {
		t.Error("still pending though nobody waits")
	}
}

// A person who ends the call at the question leaves none open, whichever of the two the desk notices first: here it is busy with
// another channel's answer while both happen.
func TestACallEndedAtTheQuestionWithdraws(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		busy, tries := make(chan struct{}), 0
		d := newDesk(
			answers(approval.Answer{Approved: true, Remember: []string{"no rule"}}),
			approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
				<-busy
				cancel()
				return approval.Answer{}, errors.New("the person pressed Ctrl-C")
			}))
		d.Check = func(string) error {
			if tries++; tries == 3 { // the last answer that a channel may give
				close(busy)
				<-ctx.Done()
				time.Sleep(time.Millisecond) // until the other channel's reply is there
			}
			return errors.New("is none")
		}
		if q, err := d.Ask(ctx, approvaltest.Question("d")); tongs.CodeOf(err) != tongs.CodeCancelled {
			t.Fatalf("%s is left open: %v", q.ID, err)
		}
	}
}

func TestAnAlreadyCancelledContextAsksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newDesk(answers(yes))
	if _, err := d.Ask(ctx, approvaltest.Question("d")); tongs.CodeOf(err) != tongs.CodeCancelled {
		t.Errorf("%v", err)
	}
}

// One approval of scope once serves one call, however many identical ones wait; the others ask again.
func TestOneApprovalServesOneCall(t *testing.T) {
	var asked atomic.Int32
	d := newDesk(approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
		asked.Add(1)
		return yes, nil
	}))
	const calls = 20
	var ids sync.Map
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			q, err := d.Ask(context.Background(), approvaltest.Question("d"))
			if err != nil || !q.Answer.Approved {
				t.Error(err)
				return
			}
			if _, taken := ids.LoadOrStore(q.ID, true); taken {
				t.Error("one approval served two calls")
			}
		})
	}
	wg.Wait()
	if n := asked.Load(); n < calls {
		t.Errorf("asked %d times for %d calls", n, calls)
	}
}

func TestARefusalAnswersAllThatWait(t *testing.T) {
	screen := newShows()
	d := newDesk(screen)
	done := make(chan approval.Question)
	for range 5 {
		go func() {
			q, err := d.Ask(context.Background(), approvaltest.Question("d"))
			if err != nil {
				t.Error(err)
			}
			done <- q
		}()
	}
	for range 5 {
		<-screen.shown
	}
	list, _ := d.Store.List(t.Context(), true)
	if len(list) != 1 {
		t.Fatalf("%d questions for one digest", len(list))
	}
	if err := d.Store.Answer(t.Context(), list[0].ID, approval.Answer{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if q := <-done; q.Answer.Approved || q.Answer.Reason != "no" {
			t.Errorf("%+v", q.Answer)
		}
	}
}

// failing is a store whose disk is full.
type failing struct {
	approval.Store
	answer, redeem, wait error
}

func (f failing) Answer(ctx context.Context, id string, a approval.Answer) error {
	if f.answer != nil {
		return f.answer
	}
	return f.Store.Answer(ctx, id, a)
}

func (f failing) Redeem(ctx context.Context, digest, id string) (approval.Question, bool, error) {
	if f.redeem != nil {
		return approval.Question{}, false, f.redeem
	}
	return f.Store.Redeem(ctx, digest, id)
}

func (f failing) Wait(ctx context.Context, id string) (approval.Question, error) {
	if f.wait != nil {
		return approval.Question{}, f.wait
	}
	return f.Store.Wait(ctx, id)
}

func TestAFailingStoreIsNoApproval(t *testing.T) {
	full := errors.New("disk full")
	memory := func() approval.Store { return approval.NewMemory(approval.Options{}) }
	for name, s := range map[string]failing{
		"answer": {Store: memory(), answer: full}, "redeem": {Store: memory(), redeem: full}, "wait": {Store: memory(), wait: full},
	} {
		d := &approval.Desk{Store: s, Channels: []approval.Channel{answers(yes)}}
		if q, err := d.Ask(t.Context(), approvaltest.Question("d")); !errors.Is(err, full) {
			t.Errorf("%s: %+v, %v", name, q.Answer, err)
		}
	}
}

func ExampleDesk() {
	desk := &approval.Desk{
		Store: approval.NewMemory(approval.Options{}),
		Channels: []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
			return approval.Answer{Approved: q.Kind == tongs.KindRead, Reason: "only reading is fine"}, nil
		})},
	}
	q, err := desk.Ask(context.Background(), approval.Question{Digest: "d", Tool: "edit", Kind: tongs.KindWrite})
	fmt.Println(q.Answer.Approved, q.Answer.Reason, err)
	// Output: false only reading is fine <nil>
}

// A line that cannot be remembered makes the answer invalid, not the call: the channel shows the question again and says why.
func TestAnswerThatCannotBeRememberedIsAskedForAgain(t *testing.T) {
	var notes []string
	person := approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		notes = append(notes, strings.Join(q.Notes, "; "))
		line := "wrte a"
		if len(notes) > 1 {
			line = "write a"
		}
		return approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{line}}, nil
	})
	d := newDesk(person)
	d.Check = func(line string) error {
		if !strings.HasPrefix(line, "write ") {
			return fmt.Errorf("%q has no kind", line)
		}
		return nil
	}
	q := approvaltest.Question("d")
	q.Scopes = []approval.Scope{approval.Once, approval.Session}
	got, err := d.Ask(t.Context(), q)
	if err != nil || got.Answer.Remember[0] != "write a" {
		t.Fatalf("%+v, %v", got.Answer, err)
	}
	if len(notes) != 2 || !strings.Contains(notes[1], `the last answer could not be used`) || !strings.Contains(notes[1], `"wrte a" has no kind`) {
		t.Errorf("shown with %q", notes)
	}
}

// An answer of another process that cannot be remembered is asked about again too, and a late one counts for nothing.
func TestStoredAnswerThatCannotBeRememberedIsNone(t *testing.T) {
	d := newDesk()
	d.Check = func(string) error { return errors.New("is wrong") }
	d.Wait = time.Hour
	q := approvaltest.Question("d")
	q.Scopes = []approval.Scope{approval.Once, approval.Session}
	done := make(chan approval.Question)
	go func() {
		got, _ := d.Ask(t.Context(), q)
		done <- got
	}()
	answer := func(a approval.Answer) approval.Question {
		for {
			if list, _ := d.Store.List(t.Context(), true); len(list) == 1 {
				mustNot(t, d.Store.Answer(t.Context(), list[0].ID, a))
				return list[0]
			}
			time.Sleep(time.Millisecond)
		}
	}
	answer(approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{"x"}})
	if again := answer(yes); len(again.Notes) == 0 || !strings.Contains(again.Notes[0], "is wrong") {
		t.Errorf("asked again with %q", again.Notes)
	}
	if got := <-done; !got.Answer.Approved || got.Answer.Scope != approval.Once {
		t.Errorf("%+v", got.Answer)
	}
	late, err := d.Store.Open(t.Context(), q)
	mustNot(t, err)
	mustNot(t, d.Store.Answer(t.Context(), late.ID, approval.Answer{Approved: true, Scope: approval.Session, Remember: []string{"x"}}))
	if got, err := d.Redeem(t.Context(), "d", ""); got != nil || err != nil {
		t.Errorf("redeemed %+v, %v", got, err)
	}
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGravestEffectsComeFirst(t *testing.T) {
	path := func(kind tongs.EffectKind, name string) tongs.Effect {
		return tongs.Effect{Kind: kind, Path: tongs.Path{Rel: name}}
	}
	secret, protected, steers := path(tongs.EffectRead, ".env"), path(tongs.EffectWrite, ".envrc"), path(tongs.EffectWrite, "AGENTS.md")
	secret.MustAsk, protected.MustAsk, steers.Steers = true, true, true
	fresh, elsewhere := path(tongs.EffectWrite, "new"), path(tongs.EffectWrite, "a")
	fresh.Version, elsewhere.Path.Root = tongs.Absent, "cache"
	want := []tongs.Effect{
		{Kind: tongs.EffectNetwork, Host: "a.test", Sends: true},
		secret, protected, steers, path(tongs.EffectDelete, "old"),
		{Kind: tongs.EffectExecute, Unknown: true},
		{Kind: tongs.EffectNetwork, Host: "a.test"},
		{Kind: tongs.EffectExecute, Argv: []string{"./run.sh"}},
		{Kind: tongs.EffectExecute, Argv: []string{"ls"}},
		elsewhere,
		path(tongs.EffectWrite, "a"), fresh, path(tongs.EffectRead, "a"),
	}
	for shift := range want {
		got := approval.ByGravity(append(append([]tongs.Effect{}, want[shift:]...), want[:shift]...))
		for i := range want {
			equal := got[i].String() == want[i].String() && got[i].Path == want[i].Path
			if ties := i == 8 || i == 9; !equal && !ties { // they are as grave as each other
				t.Errorf("shifted by %d: at %d %v, want %v", shift, i, got[i], want[i])
			}
		}
	}
}
