package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/state/statetest"
)

func TestMemoryState(t *testing.T) {
	statetest.State(t, func(*testing.T) func(string) tongs.State { return newMemoryState().session })
}

func TestMemoryStateIsBounded(t *testing.T) {
	m := newMemoryState()
	for i := range maxSessions + 10 {
		if err := m.session(fmt.Sprint("s", i)).Save(t.Context(), "k", i); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.sessions) != maxSessions || m.values != maxSessions {
		t.Errorf("%d sessions with %d values, want %d", len(m.sessions), m.values, maxSessions)
	}
	var v int
	if known, _ := m.session("s5").Load(t.Context(), "k", &v); known {
		t.Error("the oldest session is still known")
	}
	if known, _ := m.session(fmt.Sprint("s", maxSessions)).Load(t.Context(), "k", &v); !known || v != maxSessions {
		t.Error("the newest session is not known")
	}
	greedy := m.session("greedy")
	for i := range maxValues {
		if err := greedy.Save(t.Context(), fmt.Sprint(i), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := greedy.Save(t.Context(), "one more", 0); err == nil {
		t.Error("a session took more than all the room")
	}
	if err := greedy.Save(t.Context(), "0", 1); err != nil {
		t.Errorf("a known value could not be changed: %v", err)
	}
	if err := m.session("other").Save(t.Context(), "k", 1); err != nil || len(m.sessions) != 1 || m.values != 1 {
		t.Errorf("%v: %d sessions with %d values, want only the new one", err, len(m.sessions), m.values)
	}
	if err := m.session("other").Save(t.Context(), "long", strings.Repeat("x", maxValue)); err == nil {
		t.Error("a value beyond the bound was kept")
	}
}
