package mcpserver

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tongs-ai/tongs/internal/id"
)

// maxParked is how many calls may wait for their client to come back.
const maxParked = 256

// lot is where calls without a session wait while their client shows a question: they are not made again, they go on.
// A ticket is the way back to one; it is sealed with a key that dies with the process, and good for one use.
type lot struct {
	seal cipher.AEAD
	time time.Duration

	mu     sync.Mutex
	parked map[string]*parked
}

// parked is a call and the question that it waits for.
type parked struct {
	call  *flight
	asked *asking
	at    time.Time
	timer *time.Timer
}

// ticket says which question of which call it is about, and who may answer.
type ticket struct {
	ID       string    `json:"id"`
	Question string    `json:"question"`
	Digest   string    `json:"digest"`
	Owner    string    `json:"owner"`
	Tool     string    `json:"tool"`
	Args     string    `json:"args"`
	Expires  time.Time `json:"expires"`
}

func newLot(patience time.Duration) (*lot, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("no key for tickets: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &lot{seal: seal, time: patience, parked: map[string]*parked{}}, nil
}

// park keeps the call until its client comes back with the ticket that is returned. A call that nobody comes back for is
// cancelled, and so is the oldest where there is no room.
func (l *lot) park(call *flight, asked *asking) (string, error) {
	now := time.Now()
	t := ticket{
		ID: id.New("t"), Question: asked.question.ID, Digest: asked.question.Digest, Owner: call.session.owner,
		Tool: call.tool, Args: call.args, Expires: now.Add(l.time),
	}
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	sealed := base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, plain, nil))
	p := &parked{call: call, asked: asked, at: now}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.parked) >= maxParked {
		l.dropOldest()
	}
	p.timer = time.AfterFunc(l.time, func() {
		if l.remove(t.ID) != nil {
			call.cancel()
		}
	})
	l.parked[t.ID] = p
	return sealed, nil
}

// dropOldest cancels the call that waits longest. The lot must be locked.
func (l *lot) dropOldest() {
	oldest := ""
	for key, p := range l.parked {
		if oldest == "" || p.at.Before(l.parked[oldest].at) {
			oldest = key
		}
	}
	p := l.parked[oldest]
	delete(l.parked, oldest)
	p.timer.Stop()
	p.call.cancel()
}

func (l *lot) remove(key string) *parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.parked[key]
	if p != nil {
		p.timer.Stop()
		delete(l.parked, key)
	}
	return p
}

// clear cancels every parked call.
func (l *lot) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.parked) > 0 {
		l.dropOldest()
	}
}

// errTicket is why a ticket is refused. It does not say which of its reasons holds.
var errTicket = errors.New("the request state is not one that this server gave for this call, or it was used or has expired; make the call again without it")

// take returns the call that a ticket leads to, once. The call that comes back must be the same, from the same client.
func (l *lot) take(sealed, owner, tool, args string) (*parked, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errTicket
	}
	plain, err := l.seal.Open(nil, nil, raw, nil)
	if err != nil {
		return nil, errTicket
	}
	var t ticket
	if err := json.Unmarshal(plain, &t); err != nil {
		return nil, errTicket
	}
	if t.Owner != owner || t.Tool != tool || t.Args != args || !time.Now().Before(t.Expires) {
		return nil, errTicket
	}
	p := l.remove(t.ID)
	if p == nil || p.asked.question.Digest != t.Digest || p.asked.question.ID != t.Question {
		return nil, errTicket
	}
	return p, nil
}

// sumOf identifies the arguments of a call, however they are written.
func sumOf(args json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err == nil {
		if plain, err := json.Marshal(v); err == nil {
			args = plain
		}
	}
	sum := sha256.Sum256(args)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
