package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
	"github.com/tongs-ai/tongs/internal/state"
)

// Changes are parked once for a pending question. Their answer serves no other call, they are told once, and what they hold is
// not in the file in clear.
func TestParked(t *testing.T) {
	dir := t.TempDir()
	db, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, ctx := db.Questions(approval.Options{}), t.Context()
	q, err := s.Open(ctx, approvaltest.Question("d"))
	if err != nil {
		t.Fatal(err)
	}
	p := approval.Parked{
		Question: q.ID, Key: "k", Parcel: "e_1", Digest: "of the list", Result: json.RawMessage(`{"content":"hunter2hunter2"}`),
		Expires: time.Now().Add(time.Hour),
	}
	if err := s.Park(ctx, p); err != nil {
		t.Fatal(err)
	}
	if err := s.Park(ctx, p); !errors.Is(err, approval.ErrParked) {
		t.Errorf("twice: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		if data, err := os.ReadFile(name); err != nil || bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("%s holds the result in clear, or %v", name, err)
		}
	}
	if err := s.Answer(ctx, q.ID, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Redeem(ctx, "d", ""); ok || err != nil {
		t.Errorf("another call took the answer: %v", err)
	}
	if err := s.Park(ctx, approval.Parked{Question: q.ID, Key: "k"}); !errors.Is(err, approval.ErrAnswered) {
		t.Errorf("parked after the answer: %v", err)
	}
	final := func(p *approval.Parked) { p.State, p.Entry = approval.Made, "e_2" }
	if made, advanced, err := s.Advance(ctx, q.ID, final); err != nil || !advanced || made.State != approval.Made {
		t.Fatalf("%+v, %t, %v", made, advanced, err)
	}
	if made, advanced, err := s.Advance(ctx, q.ID, func(p *approval.Parked) { p.State = approval.Waiting }); err != nil || advanced || made.State != approval.Made {
		t.Errorf("a final state was left: %+v, %t, %v", made, advanced, err)
	}
	if q, err := s.Get(ctx, q.ID); err != nil || q.Late == nil || q.Late.Entry != "e_2" || q.Redeemed.IsZero() {
		t.Errorf("the question says %+v, %v", q.Late, err)
	}
	list, err := s.FindParked(ctx, "k")
	if err != nil || len(list) != 1 || string(list[0].Result) != string(p.Result) {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []bool{true, false} {
		if taken, err := s.Take(ctx, q.ID); err != nil || taken != want {
			t.Errorf("take %d: %t, %v", i, taken, err)
		}
	}
}

// What expired is found by nobody.
func TestParkedExpires(t *testing.T) {
	db, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, ctx := db.Questions(approval.Options{}), t.Context()
	q, err := s.Open(ctx, approvaltest.Question("d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Park(ctx, approval.Parked{Question: q.ID, Key: "k", Result: json.RawMessage("{}"), Expires: time.Now().Add(-time.Second)}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.FindParked(ctx, "k"); len(list) > 0 || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := db.GC(ctx, state.Retention{}); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Parked(ctx, q.ID); p != nil || err != nil {
		t.Errorf("after a collection: %+v, %v", p, err)
	}
}
