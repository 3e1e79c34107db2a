package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Hash is a link of the chain. The zero value is what the first entry builds on.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	*h = parsed
	return err
}

// ParseHash reads a hash in hexadecimal.
func ParseHash(s string) (h Hash, err error) {
	data, err := hex.DecodeString(strings.ToLower(strings.TrimSpace(s)))
	if err != nil || len(data) != len(h) {
		return h, fmt.Errorf("hash %q is not %d hexadecimal digits: take it as \"tongs log verify\" prints it", s, 2*len(h))
	}
	return Hash(data), nil
}

// EntryKind says which part of a row an entry holds.
type EntryKind uint8

// The kinds of entry. A cut stands for the entries that were removed from the start of the log; a loss records that
// entries are missing from its end, and an acceptance that a person knows.
const (
	EntryOpen EntryKind = iota + 1
	EntryIntent
	EntryClose
	EntryCut
	EntryLoss
	EntryAccept
)

var entryKinds = [...]string{"", "open", "intent", "close", "cut", "loss", "accept"}

// String returns the kind's name.
func (k EntryKind) String() string {
	if int(k) < len(entryKinds) && k > 0 {
		return entryKinds[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k EntryKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Entry is one link of the log. Entries are numbered from 1 without gaps.
type Entry struct {
	Seq int64 `json:"seq"`
	// Row is the Seq of the opening entry of the row that this one belongs to.
	Row  int64     `json:"row"`
	Kind EntryKind `json:"kind"`
	// Data is the JSON of a Row, an Intent, a Closing, a Cut, a Loss or an Acceptance, without secrets.
	Data json.RawMessage `json:"data"`
	// Hash is that of the previous entry and this one's canonical form.
	Hash Hash `json:"hash"`
}

// Cut records that the log lost its start on purpose. Entries up to Through, whose hash is Hash, are gone.
type Cut struct {
	Through int64 `json:"through"`
	Hash    Hash  `json:"hash"`
}

// Link returns the hash of the entry in a chain whose last hash is prev: sha256(prev || canonical form).
func (e *Entry) Link(prev Hash) Hash {
	buf := make([]byte, 0, 2<<10) // on the stack, for most entries
	buf = append(buf, prev[:]...)
	buf = append(buf, `{"seq":`...)
	buf = strconv.AppendInt(buf, e.Seq, 10)
	buf = append(buf, `,"row":`...)
	buf = strconv.AppendInt(buf, e.Row, 10)
	buf = append(buf, `,"kind":"`...)
	buf = append(buf, e.Kind.String()...)
	buf = append(buf, `","data":`...)
	buf = append(buf, e.Data...)
	buf = append(buf, '}')
	return sha256.Sum256(buf)
}

// Checker verifies a chain, entry by entry.
type Checker struct {
	chain Chain
	head  Hash
	// want is the hash that must turn up.
	want  *Hash
	found bool
	// start is the cut that the first entry must build on, cut whether the chain itself tells of it.
	start Cut
	cut   bool
}

// NewChecker returns a Checker for a chain that starts after the given cut (zero where it starts with entry 1). The
// head, unless empty, is a hash that must be in the chain.
func NewChecker(start Cut, head string) (*Checker, error) {
	c := &Checker{start: start, head: start.Hash, cut: start.Through == 0}
	c.chain.Pruned = start.Through
	if head != "" {
		want, err := ParseHash(head)
		if err != nil {
			return nil, err
		}
		c.want = &want
		c.found = want == start.Hash && start.Through > 0
	}
	return c, nil
}

// Add checks the next entry and reports whether the chain holds so far.
func (c *Checker) Add(e *Entry) bool {
	if c.chain.Broken != 0 {
		return false
	}
	next := c.chain.Pruned + c.chain.Entries + 1
	switch {
	case e.Seq != next:
		return c.broken(next, fmt.Sprintf("entry %d is missing: the next one is %d", next, e.Seq))
	case e.Link(c.head) != e.Hash:
		return c.broken(next, fmt.Sprintf("entry %d was changed, or one before it: its hash does not fit", next))
	}
	if e.Kind == EntryCut && !c.cut {
		var cut Cut
		if err := json.Unmarshal(e.Data, &cut); err == nil && cut == c.start {
			c.cut = true
		}
	}
	c.chain.note(e)
	c.chain.Entries++
	c.head = e.Hash
	c.found = c.found || c.want != nil && *c.want == e.Hash
	return true
}

// Chain returns what was found, after the last entry.
func (c *Checker) Chain() Chain {
	next := c.chain.Pruned + c.chain.Entries + 1
	if c.chain.Broken == 0 && !c.cut {
		c.broken(c.chain.Pruned+1, fmt.Sprintf("the %d entries before it are gone, and no entry tells of their removal", c.chain.Pruned))
	}
	if c.chain.Broken == 0 && c.want != nil && !c.found {
		c.broken(next, fmt.Sprintf("hash %s is not in the chain: entries were cut from its end, or it is of another log", *c.want))
	}
	c.chain.Head = ""
	if c.chain.Entries+c.chain.Pruned > 0 {
		c.chain.Head = c.head.String()
	}
	return c.chain
}

func (c *Checker) broken(at int64, reason string) bool {
	c.chain.Broken, c.chain.Reason = at, reason
	return false
}
