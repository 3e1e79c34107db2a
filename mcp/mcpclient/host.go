package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
)

// host is one configured server: what is known of it, and its session while it runs.
type host struct {
	set      *Set
	cfg      Server
	identity string
	// login has the tokens for a URL, nil for a command.
	login *oauth.Resource
	// starting holds a token while nobody starts or stops the server.
	starting chan struct{}

	mu       sync.Mutex
	live     *session
	failures int
	retryAt  time.Time
	failure  error
	closed   bool
	// listed are the tools as they were last known.
	listed []tongs.Tool
	// learned are hosts that a person approved for a call, so that further calls are decided with them at once.
	learned []string
	// asked are the hosts that calls asked for, by call.
	asked recent[[]tongs.Effect]
	// known are the parts of the program as they were last read.
	known []Part
	// hashed is what the program was when it was last read.
	hashed hashed
	// planned are the programs that calls were planned with, by call.
	planned recent[program]
}

func newHost(set *Set, cfg Server) *host {
	h := &host{set: set, cfg: cfg, identity: cfg.identity(), starting: make(chan struct{}, 1)}
	if !cfg.Local() {
		h.login = &oauth.Resource{Name: cfg.Name, URL: cfg.URL, Identity: h.identity, Store: set.opt.Logins, Guard: set.opt.Guard}
	}
	h.starting <- struct{}{}
	return h
}

// launch is what a server is started with: what was decided for the call that needs it.
type launch struct {
	commands tongs.Commands
	effects  []tongs.Effect
	dir      string
	hosts    []string
	// readOnly keeps the program from writing to any root.
	readOnly bool
	// scope is what the program can use of the files: one that was started for a call is for calls of the same scope only.
	scope string
	// pin is what was decided to run; nil runs the configured command as it is.
	pin *pin
	// verify makes sure, right before it is started, that the program is the one that was decided on. Nil need not.
	verify func() error
}

// session returns the running session, and starts the server where there is none. Only one caller starts it at a time.
func (h *host) session(ctx context.Context, l launch) (*session, error) {
	select {
	case <-h.starting:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { h.starting <- struct{}{} }()
	h.mu.Lock()
	s, closed, wait, failure := h.live, h.closed, time.Until(h.retryAt), h.failure
	h.mu.Unlock()
	if closed {
		return nil, tongs.Errorf(tongs.CodeCancelled, "the program is ending, and starts no more MCP servers")
	}
	if s != nil && s.alive() {
		missing := slices.ContainsFunc(l.hosts, func(host string) bool { return !slices.Contains(s.hosts, host) })
		other := l.pin != nil && s.program != l.pin.program.Digest()
		switch busy := s.busy() > 0; {
		case l.scope != s.scope && busy:
			return nil, tongs.Errorf(tongs.CodeExecutionError, "%s runs for other calls, which may touch other files than this one; make the call again when they ended",
				h.cfg.called())
		case other && busy: // it may be one that a person approved for those calls only
			return nil, tongs.Errorf(tongs.CodeExecutionError, "%s still runs the program that it was before, for other calls; make the call again when they ended",
				h.cfg.called())
		case !other && l.scope == s.scope && (!missing || busy):
			return s, nil
		}
		s.stop() // it was started when fewer hosts were decided, for other files, or as another program
	}
	if wait > 0 {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "%s failed and is not started again for %s: %w",
			h.cfg.called(), wait.Round(time.Second/10), failure)
	}
	s, err := h.start(ctx, l)
	return s, h.note(s, err)
}

// note keeps how starting went. Each failure in a row doubles the time until the next attempt. What was not decided,
// given up by the caller, or waits for a login, says nothing about the server.
func (h *host) note(s *session, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		if h.closed {
			s.end()
			return tongs.Errorf(tongs.CodeCancelled, "the program is ending, and starts no more MCP servers")
		}
		h.live = s
		return nil
	}
	if _, undecided := errors.AsType[*tongs.Need](err); undecided || errors.Is(err, context.Canceled) || errors.Is(err, oauth.ErrLogin) {
		return err
	}
	h.fail(err)
	return err
}

// fail counts a failure. The lock is held.
func (h *host) fail(err error) {
	base := h.set.opt.Backoff
	h.failure = err
	h.retryAt = time.Now().Add(min(base<<min(h.failures, 10), 64*base))
	h.failures++
}

// countEarlyEnd counts a session that ended by itself: soon after its start that is a failure like any other.
func (h *host) countEarlyEnd(s *session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live != s {
		return
	}
	h.live = nil
	if time.Since(s.started) > time.Minute {
		h.failures = 0
	}
	h.fail(err)
}

// start starts the server and asks it what it has. A program that does not answer the newest way of beginning is
// started once more, and asked in the old way.
func (h *host) start(ctx context.Context, l launch) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	protocol := h.protocol()
	s, err := h.attempt(ctx, l, protocol, helloTime)
	if errors.Is(err, errSilent) && protocol == "" {
		s, err = h.attempt(ctx, l, legacy, startTime)
	}
	if err != nil {
		return nil, err
	}
	return s, h.noteServerInfo(s.definitions(), l.pin.made())
}

// path is where the command is looked up.
func (h *host) path() (string, error) {
	if h.cfg.Unconfined {
		return os.Getenv("PATH"), nil
	}
	return h.set.paths()
}

// sandboxPath is the PATH that programs in the sandbox have.
func sandboxPath(root string) (string, error) {
	for _, e := range sandbox.Default(root, sandbox.PresetOptions{}).Env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			return path, nil
		}
	}
	return "", tongs.Errorf(tongs.CodeInternal, "the sandbox has no PATH")
}

// changedProgram says what changed of an approved program, empty where nothing did.
func (h *host) changedProgram(r *Record) string {
	if !h.cfg.Local() || r.Approved == nil {
		return ""
	}
	_, p, err := h.program(h.set.opt.Root)
	switch {
	case err != nil:
		return err.Error()
	case p.Digest() != r.Program.Digest():
		return "its program changed since you approved it: " + p.differs(r.Program)
	}
	return ""
}

// pin is a program that was decided on: how it runs, what it is made of, nil where it is not pinned, and in which state.
type pin struct {
	argv    []string
	program *Program
	state   string
}

func (p *pin) made() *Program {
	if p == nil {
		return nil
	}
	return p.program
}

// pin finds what would run in a directory.
func (h *host) pin(dir string) (*pin, error) {
	argv, program, err := h.program(dir)
	if err != nil {
		return nil, err
	}
	return &pin{argv, program, program.state()}, nil
}

// prepare finds what would run, for a person who looks at the server. A package that is missing is installed.
func (l *launch) prepare(ctx context.Context, h *host) (err error) {
	if err := l.confine(); err != nil {
		return err
	}
	if kindOf(h.cfg.Command) == "npx" && !h.cfg.Unpinned {
		if _, err := os.Lstat(filepath.Join(h.place(), launcher)); err != nil {
			if err := h.install(ctx, l.dir); err != nil {
				return err
			}
		}
	}
	l.pin, err = h.pin(l.dir)
	return err
}

// confine finds out the scope, where what starts programs has any.
func (l *launch) confine() (err error) {
	if scoped, ok := l.commands.(tongs.Scoped); ok {
		l.scope, err = scoped.Scope(l.readOnly)
	}
	return err
}

// same fails where the program is no longer the one that was decided on. One that was only touched is.
func (l *launch) same(h *host) error {
	if l.pin.made() == nil || l.pin.program.state() == l.pin.state {
		return nil
	}
	if now, err := h.pin(l.dir); err == nil && now.program.Digest() == l.pin.program.Digest() {
		l.pin.state = now.state
		return nil
	}
	return l.changed(h)
}

// still fails where the program was changed since it was found the same, even if it is the same again.
func (l *launch) still(h *host) error {
	if l.pin.made() == nil || l.pin.program.state() == l.pin.state {
		return nil
	}
	return l.changed(h)
}

func (l *launch) changed(h *host) error {
	why := fmt.Sprintf("the program of %s changed while it was started", h.cfg.called())
	if len(l.effects) == 0 {
		return tongs.Errorf(tongs.CodeStaleFile, "%s; look at it again", why)
	}
	e := l.effects[0]
	e.MustAsk, e.Version = true, tongs.Version("mcp:"+digest([]byte(l.pin.program.state())))
	return &tongs.Need{Effects: []tongs.Effect{e}, Reason: why}
}

// errSilent is why a server is asked in the old way.
var errSilent = errors.New("it did not answer")

func (h *host) protocol() string {
	if p := h.set.opt.Protocol; p != "" {
		return p
	}
	if r, err := h.record(); err == nil && r.Seen != nil && r.Seen.Protocol <= legacy {
		return legacy
	}
	return ""
}

func newSession(h *host, l launch) *session {
	return &session{
		host: h, stderr: &tail{}, started: time.Now(), hosts: l.hosts, scope: l.scope, calls: map[string]flight{},
		down: make(chan struct{}), exited: make(chan struct{}),
	}
}

func (h *host) attempt(ctx context.Context, l launch, protocol string, patience time.Duration) (*session, error) {
	s := newSession(h, l)
	var err error
	if h.cfg.Local() {
		if err = l.same(h); err == nil && l.verify != nil {
			err = l.verify()
		}
		if err == nil {
			err = s.start(ctx, l)
		}
		if err == nil { // what was started is what was read, or it ends before it is told anything
			if err = l.still(h); err != nil {
				s.stop()
			}
		}
	} else {
		s.web, err = newWeb(&h.cfg, h.set.opt.Guard, h.login, h.set.opt.Lookup)
	}
	if err != nil {
		return nil, err
	}
	within := ctx
	if s.conn != nil && protocol == "" {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if err = s.connect(within, protocol); err == nil {
		return s, nil
	}
	silent := s.proc != nil && within.Err() != nil && ctx.Err() == nil && s.running()
	err = h.explain(ctx, s, err)
	s.stop()
	if silent {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	return nil, err
}

// running reports whether the program is there.
func (s *session) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// explain says why a server could not be started.
func (h *host) explain(ctx context.Context, s *session, err error) error {
	if s.web != nil {
		why := s.web.refusalOf(err)
		if _, ok := errors.AsType[*tongs.Error](why); ok {
			return why
		}
		return tongs.Errorf(tongs.CodeNetworkError, "the MCP server %s could not be reached: %s", h.cfg.Name, cleantext.Text(why.Error(), 500))
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	if s.running() && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err := tongs.Errorf(tongs.CodeTimeout, "%s did not answer", h.cfg.called())
		if said := s.stderr.last(); said != "" {
			err.Message += "; it said:\n" + said
		}
		return err
	}
	s.end()
	ended := s.ended("it was started")
	if need := s.denied(); len(need) > 0 {
		return &tongs.Need{Effects: need, Reason: h.cfg.called() + " did not start and could not reach " + targets(need)}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		if e, ok := errors.AsType[*tongs.Error](ended); ok && !strings.Contains(e.Message, "exit code") && !strings.Contains(e.Message, "it said") {
			e.Message += ": " + cleantext.Text(err.Error(), 500)
		}
	}
	return ended
}

func targets(effects []tongs.Effect) string {
	list := make([]string, len(effects))
	for i, e := range effects {
		list[i] = e.Target()
	}
	return strings.Join(list, ", ")
}

// record returns what is kept of the server, never nil without an error.
func (h *host) record() (*Record, error) {
	r, err := h.set.opt.Store.Load(h.cfg.Name, h.identity)
	if err == nil && r == nil {
		r = &Record{Server: h.cfg.Name, Identity: h.identity}
	}
	return r, err
}

// noteServerInfo keeps what the server says of itself, and tells of changes.
func (h *host) noteServerInfo(defs *Definitions, program *Program) error {
	r, err := h.record()
	if err != nil {
		return err
	}
	same := r.Seen != nil && r.Seen.Digest() == defs.Digest() && r.Seen.Version == defs.Version && r.Seen.Protocol == defs.Protocol
	if same && (program == nil || slices.Equal(r.SeenProgram.parts(), program.Parts)) {
		return nil
	}
	err = h.set.opt.Store.Update(h.cfg.Name, h.identity, func(r *Record) {
		r.Seen, r.SeenAt = defs, time.Now()
		if program != nil {
			r.SeenProgram = program
		}
	})
	if err != nil {
		return fmt.Errorf("what the MCP server %s says of itself could not be kept: %w", h.cfg.Name, err)
	}
	h.set.changed()
	return nil
}

// hosts are what the program may reach: those of the configuration, and those that a person approved since.
func (h *host) hosts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []string
	for _, name := range append(slices.Clone(h.cfg.Network), h.learned...) {
		if t, err := network.ParseTarget(name, 443); err == nil && !slices.Contains(list, t.Name()) {
			list = append(list, t.Name())
		}
	}
	return list
}

// ask remembers what a call asks for; if the same call comes back, it was approved.
func (h *host) ask(call string, need []tongs.Effect) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked.put(call, need)
}

// learn takes up what the call had asked for.
func (h *host) learn(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	effects, ok := h.asked.take(call)
	if !ok {
		return
	}
	for _, e := range effects {
		if e.Kind == tongs.EffectNetwork && !slices.Contains(h.learned, e.Host) {
			h.learned = append(h.learned, e.Host)
		}
	}
}

// close ends the server and returns when it is gone.
func (h *host) close() {
	h.mu.Lock()
	h.closed = true
	s := h.live
	h.live = nil
	h.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// current returns the session that runs, nil where none does.
func (h *host) current() *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live == nil || !h.live.alive() {
		return nil
	}
	return h.live
}

func fileURI(dir string) string {
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
