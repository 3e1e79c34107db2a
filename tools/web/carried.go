package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

// ledger knows what requests of a session carried to each site, and which addresses its answers named: those carry nothing out
// but which of them was chosen. It is safe for concurrent use.
type ledger struct {
	// one bounds what one request may carry, total what all of a session may carry to one site.
	one, total int
	seed       maphash.Seed

	mu       sync.Mutex
	sessions map[string]map[uint64]struct{}
}

const (
	// carriedKey is where a session keeps what it carried, by site.
	carriedKey = "web_carried"
	// maxLabels bounds what stands before the name of a site in the name of a host.
	maxLabels = 64
	// choice is what one of the known addresses counts.
	choice = 4
	// maxKnown bounds the addresses that are known of a session, maxSessions the sessions, maxSites the sites that are told apart.
	maxKnown, maxSessions, maxSites = 50_000, 64, 1000
)

func newLedger(one, total int) *ledger {
	return &ledger{one: one, total: total, seed: maphash.MakeSeed(), sessions: map[string]map[uint64]struct{}{}}
}

// sessionOf names the session of a state, empty where it has no name yet.
func sessionOf(ctx context.Context, state tongs.StateView) (name string) {
	if state == nil {
		return ""
	}
	if found, err := state.Load(ctx, stateKey, &name); err != nil || !found {
		return ""
	}
	return name
}

// named gives the session of a state a name. It is empty where it cannot be kept.
func named(ctx context.Context, state tongs.State) string {
	if state == nil {
		return ""
	}
	name := sessionOf(ctx, state)
	if name == "" {
		name = rand.Text()
		if state.Save(ctx, stateKey, name) != nil {
			return ""
		}
	}
	return name
}

// sum is what an address is known by. Its fragment does not leave.
func (l *ledger) sum(u *url.URL) uint64 {
	sent := *u
	sent.Fragment, sent.RawFragment = "", ""
	return maphash.String(l.seed, sent.String())
}

// learn notes addresses that an answer named.
func (l *ledger) learn(session string, list ...*url.URL) {
	if session == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.sessions[session]
	if known == nil {
		if len(l.sessions) >= maxSessions {
			clear(l.sessions)
		}
		known = map[uint64]struct{}{}
		l.sessions[session] = known
	}
	for _, u := range list {
		if len(known) < maxKnown {
			known[l.sum(u)] = struct{}{}
		}
	}
}

func (l *ledger) knows(session string, sum uint64) bool {
	_, ok := l.sessions[session][sum]
	return ok
}

// carries is how many bytes of a request its maker chose, and why it is more than asking for a page, empty where it is not.
func (l *ledger) carries(session string, req *http.Request) (n int, why string) {
	for name, values := range req.Header {
		if given(name, values) {
			n += len(name) + len(strings.Join(values, ""))
		}
	}
	if l.knows(session, l.sum(req.URL)) {
		n += choice
	} else {
		address := strings.TrimPrefix(req.URL.EscapedPath(), "/") + req.URL.RawQuery
		labels := strings.TrimSuffix(req.URL.Hostname(), siteOf(req.URL))
		if root := (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host}); l.knows(session, l.sum(root)) {
			labels = ""
		} else {
			n += len(req.URL.Port())
		}
		n += len(address) + len(labels)
		if why = packed(req.URL, labels); len(labels) > maxLabels {
			why = fmt.Sprintf("the name of the host carries %d bytes", len(labels))
		}
	}
	if n > l.one {
		why = fmt.Sprintf("the request carries %d bytes, more than the %d that are free", n, l.one)
	}
	return n, why
}

// given reports whether a header is none of those that every request here has.
func given(name string, values []string) bool {
	switch name {
	case "User-Agent", "Accept-Encoding":
		return false
	case "Accept":
		return len(values) != 1 || values[0] != acceptTypes
	}
	return true
}

// siteOf is the name that somebody registered, such as example.co.uk.
func siteOf(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	// A company may be a suffix itself, as github.io is: the names below it carry what anybody likes, and count.
	suffix, icann := publicsuffix.PublicSuffix(host)
	for !icann && strings.Contains(suffix, ".") {
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest := strings.TrimSuffix(host, "."+suffix)
	if rest == host {
		return host
	}
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
}

// weigh says why a request that would be made now is more than asking for a page, empty where it is not. It changes nothing.
func (l *ledger) weigh(ctx context.Context, state tongs.StateView, req *http.Request) string {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, why := l.account(ctx, state, req)
	return why
}

// account returns what a session carried so far with this request, and why that is too much. Without a state each request
// counts alone.
func (l *ledger) account(ctx context.Context, state tongs.StateView, req *http.Request) (sums map[string]int, site, why string) {
	sums, site = map[string]int{}, siteOf(req.URL)
	if state != nil {
		if _, err := state.Load(ctx, carriedKey, &sums); err != nil {
			return sums, site, "it cannot be told what this session carries to " + site + " already"
		}
	}
	if _, ok := sums[site]; !ok && len(sums) >= maxSites {
		site = "" // all others together
	}
	n, why := l.carries(sessionOf(ctx, state), req)
	sums[site] += n
	if why == "" && sums[site] > l.total {
		why = fmt.Sprintf("this session carries %d bytes in addresses and headers to %s, more than the %d that are free", sums[site], siteOf(req.URL), l.total)
	}
	return sums, site, why
}

// charge counts a request that is about to be made. The context makes it one that sends, where it carries too much: then it is
// made only if a person agrees, and what was carried before counts no more.
func (l *ledger) charge(ctx context.Context, state tongs.State, req *http.Request) (context.Context, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return ctx, nil
	}
	session := named(ctx, state)
	l.mu.Lock()
	sums, site, why := l.account(ctx, state, req)
	if why == "" && state != nil {
		if err := state.Save(ctx, carriedKey, sums); err != nil {
			why = "it cannot be kept what this session carries to " + site
		}
	}
	l.mu.Unlock()
	if why != "" {
		return egress.Sending(ctx, why), nil
	}
	l.learn(session, req.URL, &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host})
	return ctx, nil
}

// agreed notes that a person let a request go: the next ones count from here.
func (l *ledger) agreed(ctx context.Context, state tongs.State, req *http.Request) {
	if state == nil {
		return
	}
	l.mu.Lock()
	sums, site, _ := l.account(ctx, state, req)
	sums[site] = 0
	_ = state.Save(ctx, carriedKey, sums) // where it fails, the next one is asked about as well
	l.mu.Unlock()
	l.learn(named(ctx, state), req.URL, &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host})
}

// packed says that a part of an address looks like data that was encoded to fit there.
func packed(u *url.URL, labels string) string {
	pieces := strings.FieldsFunc(u.EscapedPath()+"&"+u.RawQuery+"&"+labels, func(r rune) bool { return strings.ContainsRune("/?&=;,:.", r) })
	for _, piece := range pieces {
		plain, err := url.QueryUnescape(piece)
		if err != nil || !utf8.ValidString(plain) {
			if len(piece) >= 48 {
				return fmt.Sprintf("its address carries %d bytes that are no text", len(piece))
			}
			continue
		}
		for _, word := range strings.FieldsFunc(plain, func(r rune) bool { return r == ' ' || r == '/' }) {
			if coded(word) {
				return fmt.Sprintf("its address carries %d characters that look like encoded data", len(word))
			}
		}
	}
	return ""
}

// coded reports whether a word looks like base64, base32 or hexadecimal digits of something longer than a hash.
func coded(word string) bool {
	if len(word) < 44 {
		return false
	}
	var upper, lower, digits, hex, breaks int
	for _, r := range word {
		switch {
		case r >= '0' && r <= '9':
			digits++
			hex++
		case r >= 'a' && r <= 'f', r >= 'A' && r <= 'F':
			hex++
			fallthrough
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			if r >= 'a' {
				lower++
			} else {
				upper++
			}
		case r == '-' || r == '_' || r == '+' || r == '~' || r == '=':
			breaks++
		default:
			return false
		}
	}
	switch {
	case hex == len(word):
		return len(word) > 64
	case breaks*8 > len(word): // words with dashes between them
		return false
	}
	return upper > 3 && lower > 3 || digits > 3
}
