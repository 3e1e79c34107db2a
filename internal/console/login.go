package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
)

// keyFile is the name of the file with the key that logins are signed with, in the state directory.
const keyFile = "console-key"

// stay is how long a browser stays logged in.
const stay = 30 * 24 * time.Hour

// logins says who is logged in. A session is its own proof: it is signed, and nothing is kept of it.
type logins struct {
	key  []byte
	name string // of the cookie: one of its own for each state directory, since ports share cookies

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]time.Time // those that were not used yet, until when they hold
}

func openLogins(stateDir string) (*logins, error) {
	key, err := signingKey(stateDir)
	if err != nil {
		return nil, err
	}
	l := &logins{key: key, tokens: map[[sha256.Size]byte]time.Time{}}
	l.name = "tongs_" + l.sign("name", "")[:8]
	return l, nil
}

func signingKey(stateDir string) ([]byte, error) {
	fresh := make([]byte, 32)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	if stateDir == "" {
		return fresh, nil
	}
	path := filepath.Join(stateDir, keyFile)
	// The first of several that start at the same time wins.
	err := owned.Create(path, []byte(base64.RawURLEncoding.EncodeToString(fresh)+"\n"), 0o600)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	data, err := owned.ReadFile(path, owned.User(), 4096)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) < 32 {
		return nil, fmt.Errorf("%s does not hold a key; remove it, and a new one is made", path)
	}
	return key, nil
}

func (l *logins) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// issue returns a token that logs one browser in.
func (l *logins) issue(valid time.Duration) string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	for sum, until := range l.tokens {
		if time.Now().After(until) {
			delete(l.tokens, sum)
		}
	}
	l.tokens[sha256.Sum256([]byte(token))] = time.Now().Add(valid)
	return token
}

// take uses a token up.
func (l *logins) take(token string) bool {
	sum := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.tokens[sum]
	delete(l.tokens, sum)
	return ok && time.Now().Before(until)
}

// session returns a new session, and the key that belongs to it.
func (l *logins) session(now time.Time) (value, key string) {
	raw := make([]byte, 24)
	_, _ = rand.Read(raw) // it never fails
	binary.BigEndian.PutUint64(raw, uint64(now.Add(stay).Unix()))
	text := base64.RawURLEncoding.EncodeToString(raw)
	value = text + "." + l.sign("session", text)
	return value, l.sign("key", value)
}

// valid reports whether a request has a session that holds.
func (l *logins) valid(r *http.Request) (value string, ok bool) {
	for _, cookie := range r.CookiesNamed(l.name) {
		text, signature, _ := strings.Cut(cookie.Value, ".")
		if !same(signature, l.sign("session", text)) {
			continue
		}
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil && len(raw) == 24 && time.Now().Unix() < int64(binary.BigEndian.Uint64(raw)) {
			return cookie.Value, true
		}
	}
	return "", false
}

// keyHeader carries the key of the session with every request of the API.
const keyHeader = "X-Tongs-Key"

// authorised reports whether a request has a session, and its key.
func (l *logins) authorised(r *http.Request) bool {
	value, ok := l.valid(r)
	return ok && same(r.Header.Get(keyHeader), l.sign("key", value))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// loginRequest is the body of POST /login.
type loginRequest struct {
	Token string `json:"token"`
}

// loggedIn answers it: the page keeps the key, the browser the cookie.
type loggedIn struct {
	Key string `json:"key"`
	// Next is the page to go to: what waits for an answer comes first.
	Next string `json:"next"`
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	in, err := decodeBody[loginRequest](r)
	if err != nil {
		writeError(w, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err))
		return
	}
	if !s.logins.take(in.Token) {
		writeJSON(w, http.StatusUnauthorized, problem{Error: tongs.Errorf(tongs.CodePermissionDenied,
			"this link was used already, or is too old; the terminal of 'tongs serve' and a browser that is logged in can make another")})
		return
	}
	value, key := s.logins.session(time.Now())
	http.SetCookie(w, &http.Cookie{
		Name: s.logins.name, Value: value, Path: "/", MaxAge: int(stay / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	})
	out := loggedIn{Key: key, Next: "/"}
	if pending, err := s.opt.Questions.List(r.Context(), true); err == nil && len(pending) > 0 {
		out.Next = "/approvals"
	}
	writeJSON(w, http.StatusOK, out)
}

func (s *Server) logout(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: s.logins.name, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	writeJSON(w, http.StatusOK, done{true})
}

// done says that something was done.
type done struct {
	OK bool `json:"ok"`
}
