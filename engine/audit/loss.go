package audit

import (
	"encoding/json"
	"fmt"
	"time"
)

// Head names the last entry of a log. Kept elsewhere, it is evidence of what the log held at that time.
type Head struct {
	// Log identifies the log, so that another one cannot take its place.
	Log  string    `json:"log"`
	Seq  int64     `json:"seq"`
	Hash Hash      `json:"hash"`
	At   time.Time `json:"at,omitzero"`
}

// Same reports whether both name the same entry.
func (h Head) Same(other Head) bool {
	return h.Log == other.Log && h.Seq == other.Seq && h.Hash == other.Hash
}

// Loss records that the log does not hold what its head says it held. It is an entry of the chain itself, so that it
// cannot be forgotten.
type Loss struct {
	// Seq is the entry that records it, 0 where none does yet.
	Seq int64 `json:"seq,omitempty"`
	// Head is what the log should have held, zero where the head itself was lost. Last is the last entry that it did hold.
	Head Head  `json:"head"`
	Last int64 `json:"last"`
	// Missing is how many entries are gone, 0 where that cannot be told.
	Missing int64     `json:"missing,omitempty"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	// Explained is set where the machine was restarted since, and no more is missing than the disk had not yet confirmed.
	Explained bool `json:"explained,omitempty"`
	// Accepted is set by Verify where a person accepted it.
	Accepted bool `json:"accepted,omitempty"`
}

// Alarm reports whether somebody should look into it.
func (l *Loss) Alarm() bool { return !l.Explained && !l.Accepted }

// Acceptance is the data of an entry by which a person accepts the losses up to an entry.
type Acceptance struct {
	Through int64     `json:"through"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
}

// note collects what an entry of the chain tells about losses.
func (c *Chain) note(e *Entry) {
	switch e.Kind {
	case EntryLoss:
		var l Loss
		if err := json.Unmarshal(e.Data, &l); err != nil {
			l = Loss{Reason: fmt.Sprintf("entry %d records a loss that cannot be read", e.Seq)}
		}
		l.Seq = e.Seq
		c.Losses = append(c.Losses, l)
	case EntryAccept:
		var a Acceptance
		if err := json.Unmarshal(e.Data, &a); err != nil {
			return
		}
		for i := range c.Losses {
			l := &c.Losses[i]
			l.Accepted = l.Accepted || l.Seq <= min(a.Through, e.Seq)
		}
	}
}

// Alarms returns the losses that somebody should look into.
func (c Chain) Alarms() []Loss {
	var list []Loss
	for _, l := range c.Losses {
		if l.Alarm() {
			list = append(list, l)
		}
	}
	return list
}
