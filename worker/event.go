package worker

import (
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/tools/todo"
)

// EventType says what happened.
type EventType string

// The events of a run, in the order in which they come. Those of delegated runs come between those of the call.
const (
	EventStart    EventType = "start"    // Snapshot
	EventText     EventType = "text"     // Text: a piece of the answer that arrives
	EventThinking EventType = "thinking" // Text: a piece of what the model thinks
	EventRetry    EventType = "retry"    // Text: why, Wait: what arrived of the answer is void
	EventAnswer   EventType = "answer"   // Text: the whole answer of a turn
	EventCall     EventType = "call"     // Call: begins
	EventUpdate   EventType = "update"   // Call, Update: a sign of life of it
	EventResult   EventType = "result"   // Call: ended
	EventTodos    EventType = "todos"    // Todos: the list as it is now
	EventNote     EventType = "note"     // Text: something that a person should know
	EventTurn     EventType = "turn"     // Snapshot: a turn ended
	EventEnd      EventType = "end"      // Snapshot
)

// Event is something that happened in a run.
type Event struct {
	Type    EventType     `json:"type"`
	At      time.Time     `json:"at"`
	Session string        `json:"session"`
	Agents  []string      `json:"agents"`
	Turn    int           `json:"turn,omitempty"`
	Text    string        `json:"text,omitempty"`
	Call    *CallEvent    `json:"call,omitempty"`
	Update  *tongs.Update `json:"update,omitempty"`
	Todos   []todo.Item   `json:"todos,omitempty"`
	// Wait is how long until the next attempt.
	Wait     time.Duration `json:"wait,omitempty"`
	Snapshot *Session      `json:"snapshot,omitempty"`
}

// CallEvent is a call of the model.
type CallEvent struct {
	CallNote
	// Args are as the model wrote them.
	Args string `json:"args,omitempty"`
	// Content is what the model is told.
	Content string `json:"content,omitempty"`
	// Display is what a person sees; empty means Content.
	Display string `json:"display,omitempty"`
	// Delegated marks a call of another worker.
	Delegated bool `json:"delegated,omitempty"`
}
