package tongs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tongs-ai/tongs"
)

// hosting is the host of a permit that allows everything, and counts.
type hosting struct{ asked int }

func (h *hosting) Decide(_ context.Context, more tongs.More) ([]tongs.Effect, error) {
	h.asked++
	return more.Effects, nil
}

func (h *hosting) Ruled(tongs.EffectKind, *tongs.Path) (func(tongs.Path) bool, bool) {
	h.asked++
	return nil, false
}

func (h *hosting) Note(tongs.NoteKind, string) { h.asked++ }

// allows lists what a permit allows of everything that there is.
func allows(p *tongs.Permit) (list []string) {
	add := func(what string, ok bool) {
		if ok {
			list = append(list, what)
		}
	}
	at := tongs.Path{Rel: "a"}
	add("effects", len(p.Effects()) > 0)
	add("zones", len(p.Zones()) > 0)
	add("decide", p.Decide(context.Background(), tongs.More{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: at}}}) == nil)
	add("a path", !p.Ruled(tongs.EffectWrite, at))
	named, any := p.RuledBelow(tongs.Path{Rel: "."})
	add("paths below", !any || !named(at))
	p.Sent("x")
	p.Connected("x")
	add("alive", p.Err() == nil)
	return list
}

func testPermit(ctx context.Context, host tongs.PermitHost) *tongs.Permit {
	return tongs.NewPermit(ctx, &tongs.Call{ID: "c", Ticket: "t", Sink: func(tongs.Update) {}},
		[]tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"x"}}}, []tongs.Zone{{Path: tongs.Path{Rel: "."}}}, host)
}

// A permit is over with its context: nothing that it allowed is allowed any more, and nobody is asked.
func TestPermitDiesWithItsContext(t *testing.T) {
	host := &hosting{}
	ctx, end := context.WithCancel(t.Context())
	p := testPermit(ctx, host)
	if got := allows(p); len(got) != 6 || host.asked != 5 {
		t.Fatalf("alive, it allows %q, and the host was asked %d times", got, host.asked)
	}
	if n := len(p.Effects()); n != 2 {
		t.Errorf("%d effects", n)
	}
	end()
	if got := allows(p); len(got) > 0 || host.asked != 5 {
		t.Errorf("dead, it allows %q, and the host was asked %d times", got, host.asked)
	}
	if c := p.Call(); c.ID != "c" || c.Ticket != "" || c.Sink != nil {
		t.Errorf("the call: %+v", c)
	}
	var none *tongs.Permit
	for name, p := range map[string]*tongs.Permit{"nil": none, "zero": {}} {
		if got := allows(p); len(got) > 0 {
			t.Errorf("%s allows %q", name, got)
		}
	}
	if !none.OnCopy() || none.Call() == nil {
		t.Error("a nil permit has programs change files directly")
	}
}

// Without a host nothing more is decided, and every path counts as ruled.
func TestPermitWithoutAHostRefuses(t *testing.T) {
	if got := allows(testPermit(t.Context(), nil)); len(got) != 3 || got[0] != "effects" || got[1] != "zones" || got[2] != "alive" {
		t.Errorf("it allows %q", got)
	}
}

// No zones are no files, never all of them; a host that tests no path although rules name some has all of them ruled.
func TestPermitAbsenceIsNoPermission(t *testing.T) {
	p := tongs.NewPermit(t.Context(), &tongs.Call{}, nil, nil, careless{})
	if len(p.Zones()) != 0 || !p.Ruled(tongs.EffectRead, tongs.Path{Rel: "a"}) {
		t.Error("what was not said is allowed")
	}
	if err := p.Decide(t.Context(), tongs.More{Effects: []tongs.Effect{{}}}); err == nil || len(p.Effects()) > 0 {
		t.Errorf("refused, and decided: %v", err)
	}
}

// careless is a host that returns things along with its refusals.
type careless struct{}

var errNo = errors.New("no")

func (careless) Decide(_ context.Context, more tongs.More) ([]tongs.Effect, error) {
	return more.Effects, errNo
}

func (careless) Ruled(tongs.EffectKind, *tongs.Path) (func(tongs.Path) bool, bool) { return nil, true }
func (careless) Note(tongs.NoteKind, string)                                       {}

// A call that runs on a copy does so to its end, and a dry run does from the start.
func TestPermitOnCopy(t *testing.T) {
	p := testPermit(t.Context(), nil)
	before := p.OnCopy()
	p.RunOnCopy()
	dry := tongs.NewPermit(t.Context(), &tongs.Call{DryRun: true}, nil, nil, nil)
	if before || !p.OnCopy() || !dry.OnCopy() {
		t.Errorf("on a copy: %v, then %v; a dry run: %v", before, p.OnCopy(), dry.OnCopy())
	}
}
