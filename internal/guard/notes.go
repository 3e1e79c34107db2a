package guard

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// notes are what the hooks of a project tell each other: each is a process of its own.
type notes struct {
	// Calls are those that began and of which the end was not told.
	Calls []noted `json:"calls,omitempty"`
	// Sessions are what is known of each, by client and session.
	Sessions map[string]session `json:"sessions,omitempty"`
}

// noted is a call that is under way.
type noted struct {
	ID      string    `json:"id"`
	Native  string    `json:"native,omitempty"`
	Client  string    `json:"client"`
	Session string    `json:"session"`
	Agent   string    `json:"agent,omitempty"`
	Prompt  string    `json:"prompt,omitempty"`
	Tool    string    `json:"tool"`
	Began   time.Time `json:"began"`
}

type session struct {
	Prompt string    `json:"prompt,omitempty"`
	Last   time.Time `json:"last"`
	// Told are the reasons for which something is not kept that the person was told.
	Told []string `json:"told,omitempty"`
}

const (
	notesName = "notes.json"
	// callAge is how long a call of which the end was not told counts as under way; sessionAge how long a session is remembered.
	callAge    = time.Hour
	sessionAge = 30 * 24 * time.Hour
)

func readNotes(dir string) (*notes, error) {
	n := &notes{Sessions: map[string]session{}}
	data, err := os.ReadFile(filepath.Join(dir, notesName))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, n) != nil { // of an earlier version, or damaged: then nothing is under way
		n = &notes{}
	}
	if n.Sessions == nil {
		n.Sessions = map[string]session{}
	}
	return n, nil
}

func (n *notes) write(dir string, now time.Time) error {
	n.Calls = slices.DeleteFunc(n.Calls, func(c noted) bool { return now.Sub(c.Began) > callAge })
	for id, s := range n.Sessions {
		if now.Sub(s.Last) > sessionAge {
			delete(n.Sessions, id)
		}
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	// Not owned.Replace: nothing depends on them after a power failure, and a hook must be quick.
	temp := filepath.Join(dir, notesName+".new")
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, notesName))
}

// key names the session of an event.
func (ev *Event) key() string { return ev.Client + "/" + ev.Session }

// began notes a call.
func (n *notes) began(c noted) { n.Calls = append(n.Calls, c) }

// ended takes a call out, and returns it: the one that the event names, or the newest of that tool in the session.
func (n *notes) ended(ev *Event) (noted, bool) {
	for i, c := range slices.Backward(n.Calls) {
		same := c.Native == ev.Call
		if ev.Call == "" {
			same = c.Tool == ev.Tool
		}
		if same && c.Client == ev.Client && c.Session == ev.Session {
			n.Calls = slices.Delete(n.Calls, i, i+1)
			return c, true
		}
	}
	return noted{}, false
}

// underWay is the newest call that may be changing something.
func (n *notes) underWay(now time.Time) (noted, bool) {
	for _, c := range slices.Backward(n.Calls) {
		if age := now.Sub(c.Began); age >= 0 && age <= callAge {
			return c, true
		}
	}
	return noted{}, false
}

// over drops the calls of a session: its turn is over.
func (n *notes) over(ev *Event) {
	n.Calls = slices.DeleteFunc(n.Calls, func(c noted) bool { return c.Client == ev.Client && c.Session == ev.Session })
}
