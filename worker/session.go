package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// State says how a session stands.
type State string

// The states. A session that is running and whose process is gone was interrupted: it can be continued.
const (
	Running State = "running"
	Done    State = "done"
	// Limited sessions met a limit, Stopped ones were stopped by a person, Failed ones could not go on.
	Limited State = "limited"
	Stopped State = "stopped"
	Failed  State = "failed"
)

// Session is one run of a worker, and what it came to so far.
type Session struct {
	ID string `json:"id"`
	// Log is the session that its calls have in the log, and under which tools keep their state: that of the outermost
	// worker. The calls of a delegated one have Call as their parent there, by which tools/todo keeps lists apart.
	Log string `json:"log"`
	// Root is the outermost session, its own ID for that one. Parent is the session that called this one and Call the call
	// by which it did; both are empty for the outermost.
	Root   string `json:"root"`
	Parent string `json:"parent,omitempty"`
	Call   string `json:"call,omitempty"`
	// Agents are the names of the workers from the outermost to this one.
	Agents []string `json:"agents"`

	Worker    string `json:"worker"`
	File      string `json:"file,omitempty"`
	Hash      string `json:"hash,omitempty"`
	Model     string `json:"model"`
	Workspace string `json:"workspace,omitempty"`
	// Prompt is the first thing it was asked.
	Prompt string `json:"prompt"`

	State State `json:"state"`
	// Why says why a session that is neither running nor done ended; Answer is its last text.
	Why     string    `json:"why,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	PID     int       `json:"pid,omitempty"`

	Turns int         `json:"turns"`
	Calls int         `json:"calls"`
	Usage model.Usage `json:"usage"`
	// Total and Cost include what delegated runs used. Cost is in US dollars; Priced says that the price of every model was
	// known.
	Total  model.Usage `json:"total"`
	Cost   float64     `json:"cost,omitempty"`
	Priced bool        `json:"priced,omitempty"`
	// Files and Lines are how much it changed, with what delegated runs did.
	Files int `json:"files,omitempty"`
	Lines int `json:"lines,omitempty"`
}

// Entry is a step of a session: a message of a person (or of the worker that called), an answer of the model, or the
// results of its calls.
type Entry struct {
	Seq     int           `json:"seq"`
	At      time.Time     `json:"at"`
	Turn    int           `json:"turn"`
	Message model.Message `json:"message"`
	// Usage, Model and Took are of an answer.
	Usage model.Usage   `json:"usage,omitzero"`
	Model string        `json:"model,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Calls are notes on the calls that a message of results answers, in its order.
	Calls []CallNote `json:"calls,omitempty"`
}

// CallNote is what is known of a call beyond what the model was told.
type CallNote struct {
	// ID is that of the model, Call that of the log, empty where the call did not get so far.
	ID    string        `json:"id"`
	Call  string        `json:"call,omitempty"`
	Tool  string        `json:"tool"`
	Title string        `json:"title,omitempty"`
	Code  tongs.Code    `json:"code,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Session is that of the worker that was called.
	Session string   `json:"session,omitempty"`
	Changed []Change `json:"changed,omitempty"`
}

// Change is a path that a call changed, and by how many lines.
type Change struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	// Diff is a unified diff, empty where there is none to show. It is not kept.
	Diff string `json:"-"`
}

// Filter says which sessions are meant. Zero fields mean any.
type Filter struct {
	// Root returns the sessions of one tree, Outermost only those that no worker called.
	Root      string
	Outermost bool
	Worker    string
	Workspace string
	State     State
	// Limit is how many at most; zero is all.
	Limit int
}

// ErrNoSession is returned where there is no session of that ID.
var ErrNoSession = errors.New("there is no such session")

// Sessions reads sessions. It is safe for concurrent use, also while they run, in whichever process.
type Sessions interface {
	// List returns sessions, the one that changed last first.
	List(ctx context.Context, f Filter) ([]Session, error)
	// Load returns a session and its entries in order, or ErrNoSession. Entries before from are left out.
	Load(ctx context.Context, id string, from int) (*Session, []Entry, error)
}

// Store keeps sessions.
type Store interface {
	Sessions
	// Save keeps the session as it is now together with further entries, all or nothing.
	Save(ctx context.Context, s Session, add ...Entry) error
	// Prune removes trees of sessions that did not change since, and returns how many sessions that were.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// matches reports whether a session is one that the filter means.
func (f Filter) matches(s *Session) bool {
	return (f.Root == "" || f.Root == s.Root) && (!f.Outermost || s.Parent == "") && (f.Worker == "" || f.Worker == s.Worker) &&
		(f.Workspace == "" || f.Workspace == s.Workspace) && (f.State == "" || f.State == s.State)
}

// Memory is a Store that forgets when the process ends. Its zero value is empty.
type Memory struct {
	mu      sync.Mutex
	kept    map[string]*Session
	entries map[string][]Entry
}

var _ Store = (*Memory)(nil)

// Save implements Store.
func (m *Memory) Save(_ context.Context, s Session, add ...Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept, m.entries = map[string]*Session{}, map[string][]Entry{}
	}
	m.kept[s.ID] = &s
	m.entries[s.ID] = append(m.entries[s.ID], add...)
	return nil
}

// List implements Sessions.
func (m *Memory) List(_ context.Context, f Filter) ([]Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Session{}
	for _, s := range m.kept {
		if f.matches(s) {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b Session) int {
		if c := b.Updated.Compare(a.Updated); c != 0 {
			return c
		}
		if a.ID > b.ID {
			return -1
		}
		return 1
	})
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, nil
}

// Load implements Sessions.
func (m *Memory) Load(_ context.Context, id string, from int) (*Session, []Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.kept[id]
	if s == nil {
		return nil, nil, ErrNoSession
	}
	own := *s
	entries := slices.DeleteFunc(slices.Clone(m.entries[id]), func(e Entry) bool { return e.Seq < from })
	return &own, entries, nil
}

// Prune implements Store.
func (m *Memory) Prune(_ context.Context, before time.Time) (n int, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	young := map[string]bool{}
	for _, s := range m.kept {
		if !s.Updated.Before(before) {
			young[s.Root] = true
		}
	}
	for id, s := range m.kept {
		if !young[s.Root] {
			delete(m.kept, id)
			delete(m.entries, id)
			n++
		}
	}
	return n, nil
}
