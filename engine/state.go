package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tongs-ai/tongs"
)

const (
	// maxSessions and maxValues are how many sessions and values a memoryState keeps. Where there is no room, the
	// session that was written to longest ago is forgotten; a session that takes all the room gets no more.
	maxSessions = 1000
	maxValues   = 200_000
	// maxValue bounds a value, in bytes.
	maxValue = 1 << 20
)

// memoryState keeps what tools know of sessions, as long as the process lives.
type memoryState struct {
	mu       sync.Mutex
	sessions map[string]*sessionState
	values   int
	// writes counts all of them; it tells which session was written to last.
	writes int64
}

func newMemoryState() *memoryState { return &memoryState{sessions: map[string]*sessionState{}} }

// session returns the state of a session, which is kept once something is saved in it.
func (m *memoryState) session(name string) tongs.State { return &sessionView{m, name} }

// sessionState is guarded by the mutex of its memoryState.
type sessionState struct {
	values map[string]json.RawMessage
	last   int64
}

type sessionView struct {
	memory *memoryState
	name   string
}

func (v *sessionView) Load(_ context.Context, key string, to any) (bool, error) {
	value, ok := v.memory.load(v.name, key)
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(value, to)
}

func (v *sessionView) Save(_ context.Context, key string, from any) error {
	value, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("state %s: %w", key, err)
	}
	if len(value) > maxValue {
		return fmt.Errorf("state %s has %d bytes, more than %d", key, len(value), maxValue)
	}
	return v.memory.save(v.name, key, value)
}

func (m *memoryState) load(session, key string) (json.RawMessage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		return nil, false
	}
	value, ok := s.values[key]
	return value, ok
}

func (m *memoryState) save(session, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		if len(m.sessions) >= maxSessions {
			m.forgetOldest(session)
		}
		s = &sessionState{values: map[string]json.RawMessage{}}
		m.sessions[session] = s
	}
	if _, known := s.values[key]; !known {
		for m.values >= maxValues {
			if !m.forgetOldest(session) {
				return fmt.Errorf("state %s: the session keeps %d values already, and there is room for no more", key, maxValues)
			}
		}
		m.values++
	}
	m.writes++
	s.values[key], s.last = value, m.writes
	return nil
}

// forgetOldest makes room and reports whether there was a session to forget besides the given one.
func (m *memoryState) forgetOldest(except string) bool {
	oldest, at := "", m.writes+1
	for name, s := range m.sessions {
		if s.last < at && name != except {
			oldest, at = name, s.last
		}
	}
	if at > m.writes {
		return false
	}
	m.values -= len(m.sessions[oldest].values)
	delete(m.sessions, oldest)
	return true
}
