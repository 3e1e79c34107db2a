// Package web holds the tools web_fetch, web_search and http_request: pages as clean text, where to find them, and requests of
// any kind.
//
// What a page hides from its readers is hidden from the model too: comments, scripts, hidden and invisible elements, and
// characters that nobody sees. Sizes, times and redirects are bounded; what is sent out is asked for each time, and
// what looks like a secret is shown to whoever is asked. The tools reach the network through their Env only.
package web

import (
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/secrets"
)

// Toolset is the name that configuration knows the tools by.
const Toolset = "web"

// The names of the tools.
const (
	FetchTool   = "web_fetch"
	SearchTool  = "web_search"
	RequestTool = "http_request"
)

// UserAgent is how requests introduce themselves.
const UserAgent = "Tongs (+https://github.com/tongs-ai/tongs)"

// agentToken is the name that robots.txt knows us by.
const agentToken = "Tongs"

// Options are those of the tools. A zero field means the default that its comment names.
type Options struct {
	// Timeout is how long an exchange may take that names no timeout: 30 s. MaxTimeout is the most that it can name: 120 s.
	Timeout, MaxTimeout time.Duration
	// Bytes bounds a body, as it comes and unpacked: 5 MiB.
	Bytes int64
	// Page is how many characters of a text one call returns: 40,000.
	Page int
	// ImageBytes is the size up to which an image is attached: 5 MiB.
	ImageBytes int64
	// FreeBytes is how much the address and the headers of a GET may carry that is free by a rule about its host: 512 bytes.
	// Nearly all addresses that people follow are shorter than half of it. FreeTotal is how much all those of a session may carry
	// to one site: 8 KiB. Addresses that an answer named count nothing but the choice.
	FreeBytes, FreeTotal int
	// CacheBytes bounds what is kept of answers, over all sessions: 64 MiB; negative keeps nothing.
	CacheBytes int64
	// IgnoreRobots fetches what a robots.txt asks readers not to.
	IgnoreRobots bool
	// Environ is the environment (KEY=value) whose secret values must not leave unseen. Nil is none: only shapes are known.
	Environ []string
	// Private reports whether a rule means this very host, so that it may be an address of this machine or network without
	// a question of its own. Nil means that no rule does.
	Private func(host string) bool
	// Save keeps a file that cannot be shown, and returns the path that read_file knows it by. Nil keeps none.
	Save func(name string, data []byte) (string, error)
	// Providers are asked by web_search, the first one first.
	Providers []Provider
	// Unavailable is why there are no providers, where somebody configured some; nil tells how to configure one.
	Unavailable error
	// Now is the clock of the cache: time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.MaxTimeout, 120*time.Second)
	orElse(&o.Bytes, 5<<20)
	orElse(&o.Page, 40_000)
	orElse(&o.ImageBytes, 5<<20)
	orElse(&o.FreeBytes, 512)
	orElse(&o.FreeTotal, 8<<10)
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Private == nil {
		o.Private = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orElse[N int | int64 | time.Duration](v *N, usual N) {
	if *v <= 0 {
		*v = usual
	}
}

// set is what the tools share.
type set struct {
	opt    Options
	cache  *cache
	robots *robots
	ledger *ledger
	bodies *bodies
	// secrets knows the user's values. Making it costs time that a call of another tool need not spend.
	secrets func() *scanner
}

// Tools returns web_fetch, web_search and http_request.
func Tools(opt Options) ([]tongs.Tool, error) {
	s := &set{opt: opt.withDefaults()}
	s.cache = &cache{max: s.opt.CacheBytes, now: s.opt.Now}
	s.robots = &robots{now: s.opt.Now}
	s.bodies = &bodies{}
	s.ledger = newLedger(s.opt.FreeBytes, s.opt.FreeTotal)
	s.secrets = sync.OnceValue(func() *scanner { return newScanner(secrets.New(s.opt.Environ), s.opt.Environ) })
	fetch, err := s.fetchTool()
	if err != nil {
		return nil, err
	}
	search, err := s.searchTool()
	if err != nil {
		return nil, err
	}
	send, err := s.requestTool()
	if err != nil {
		return nil, err
	}
	return []tongs.Tool{fetch, search, send}, nil
}
