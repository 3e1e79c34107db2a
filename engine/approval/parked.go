package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/tongs-ai/tongs"
)

// ErrParked says that changes cannot be parked for a question: some are already, or too many are.
var ErrParked = errors.New("no more changes can wait for an answer to the question")

// ErrNotMade says that an approval was kept, and that the changes it is for were not made. The text says why, and what will happen.
var ErrNotMade = errors.New("approved, but the changes were not made")

// ParkState is where parked changes stand.
type ParkState string

// The states of parked changes. The last four are final.
const (
	Waiting  ParkState = "waiting"
	Applying ParkState = "applying"
	Made     ParkState = "made"
	Stale    ParkState = "stale"
	Denied   ParkState = "denied"
	Lapsed   ParkState = "lapsed"
)

// Final reports whether nothing more becomes of them.
func (s ParkState) Final() bool { return s != Waiting && s != Applying }

// Parked are the changes that a call made on a copy and that nobody decided before it ended. Whoever approves the question
// makes them; the identical call is told what became of them, once.
type Parked struct {
	Question string `json:"question"`
	// Key identifies the call: its tool, arguments, directory, agents and roots, and whose it was. Session is the one that made it.
	Key     string `json:"key"`
	Session string `json:"session,omitempty"`
	// Parcel names the changes where they are kept, and Digest is what they must be like.
	Parcel string `json:"parcel"`
	Digest string `json:"digest"`
	// Grounds are what the call and its changes were decided on, for the rules of the day on which they are made. ConfigDir is where
	// the rules of the user were that they were decided by.
	Grounds   json.RawMessage `json:"grounds"`
	ConfigDir string          `json:"configDir,omitempty"`
	// Grant is what an approval for the session remembers, but for who gives it and when; empty where that is nothing.
	Grant json.RawMessage `json:"grant,omitempty"`
	// Result is what the tool returned.
	Result  json.RawMessage `json:"result"`
	Expires time.Time       `json:"expires"`

	State ParkState `json:"state"`
	// Entry is the one of the journal that the changes become, or became; Call is the row under which they were made.
	Entry string `json:"entry,omitempty"`
	Call  string `json:"call,omitempty"`
	// Why says why they were not made.
	Why     string         `json:"why,omitempty"`
	By      string         `json:"by,omitempty"`
	Changed *tongs.Changed `json:"changed,omitempty"`
}

// Late is what a question says about parked changes.
type Late struct {
	State  ParkState `json:"state"`
	Digest string    `json:"digest"`
	Entry  string    `json:"entry,omitempty"`
	Call   string    `json:"call,omitempty"`
	Why    string    `json:"why,omitempty"`
}

// Late is what the question says about them.
func (p *Parked) Late() *Late {
	return &Late{State: p.State, Digest: p.Digest, Entry: p.Entry, Call: p.Call, Why: p.Why}
}

// CallKey identifies a call of an owner by everything that it says, and by nothing that it would do.
func CallKey(s Subject, owner string) string {
	s.Effects, s.Rerun = nil, nil
	sum := sha256.Sum256([]byte("tongs call 1\n" + strconv.Quote(owner) + "\n" + Digest(s)))
	return hex.EncodeToString(sum[:])
}
