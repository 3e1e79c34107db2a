package web

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

// cache keeps answers of a session, so that a page need not be fetched again to read on in it. What was fetched for one
// session is not there for another. It is safe for concurrent use.
type cache struct {
	max int64
	now func() time.Time

	mu      sync.Mutex
	size    int64
	entries map[string]*list.Element
	order   list.List // the last used first
}

// cached is an answer that is kept. Its fields are those of the cache's lock.
type cached struct {
	key    string
	answer answer
	// until is how long it is good without asking.
	until time.Time
	// moved says that the address led to another host: what that says is asked for each time.
	moved bool
}

// stateKey is where the name of a session in this cache is kept.
const stateKey = "web_cache"

// key is where the answer to a request is kept, empty where it may not be.
func (c *cache) key(ctx context.Context, state tongs.State, req *http.Request) string {
	if c.max < 0 || req.Method != http.MethodGet || egress.Sends(req) || state == nil {
		return ""
	}
	session := named(ctx, state)
	if session == "" {
		return ""
	}
	h := sha256.New()
	h.Write([]byte(session + "\n" + req.URL.String() + "\n"))
	for _, name := range slices.Sorted(keys(req.Header)) {
		h.Write([]byte(name + ": " + strings.Join(req.Header[name], "\n") + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *cache) get(key string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[key]
	if key == "" || at == nil {
		return nil
	}
	c.order.MoveToFront(at)
	known := *at.Value.(*cached)
	return &known
}

// fresh reports whether an answer is good without asking.
func (c *cache) fresh(known *cached) bool { return !known.moved && c.now().Before(known.until) }

func (k *cached) hit() *answer {
	a := k.answer
	a.cached = true
	return &a
}

// condition makes a request one for what is not known yet.
func (k *cached) condition(req *http.Request) {
	if tag := k.answer.header.Get("Etag"); tag != "" && req.Header.Get("If-None-Match") == "" {
		req.Header.Set("If-None-Match", tag)
	}
	if at := k.answer.header.Get("Last-Modified"); at != "" && req.Header.Get("If-Modified-Since") == "" {
		req.Header.Set("If-Modified-Since", at)
	}
}

// renew notes that an answer is still good.
func (c *cache) renew(known *cached, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.entries[known.key]; at != nil {
		if life, ok := lifetime(header); ok {
			at.Value.(*cached).until = c.now().Add(life)
		}
	}
}

// put keeps an answer, where it may be kept.
func (c *cache) put(key string, req *http.Request, a *answer) {
	life, ok := lifetime(a.header)
	size := int64(len(a.body)) + 4096
	if key == "" || !ok || a.status != http.StatusOK || size > c.max {
		return
	}
	if life == 0 && a.header.Get("Etag") == "" && a.header.Get("Last-Modified") == "" {
		life = readOn // nothing is said: enough to read on in it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.drop(old)
	}
	if c.entries == nil {
		c.entries = map[string]*list.Element{}
	}
	entry := &cached{key: key, answer: *a, until: c.now().Add(life), moved: a.url.Host != req.URL.Host}
	c.entries[key] = c.order.PushFront(entry)
	c.size += size
	for c.size > c.max {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	entry := c.order.Remove(at).(*cached)
	delete(c.entries, entry.key)
	c.size -= int64(len(entry.answer.body)) + 4096
}

const (
	// readOn is how long an answer is good that says nothing about it.
	readOn = time.Minute
	// maxLife is how long one is good at most.
	maxLife = time.Hour
)

// lifetime is how long an answer is good without asking, and whether it may be kept at all.
func lifetime(h http.Header) (time.Duration, bool) {
	if vary := h.Get("Vary"); strings.Contains(vary, "*") {
		return 0, false
	}
	var life time.Duration
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store":
			return 0, false
		case "no-cache":
			return 0, true
		case "max-age":
			if n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				life = time.Duration(n) * time.Second
			}
		}
	}
	return min(life, maxLife), true
}
