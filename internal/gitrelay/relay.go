// Package gitrelay carries what git in the sandbox fetches and pushes. Git believes that it talks to the remote; it talks to
// this process, which has each transfer decided and makes it outside, with the user's own credentials. No repository is
// opened there and no setting of one is read: a fetch is passed through, and a push is read, shown to whoever decides, and
// sent as it was read.
//
// Git reaches the relay through the proxy of its sandbox. A tunnel of git is answered here, under a certificate that only git
// in the sandbox trusts. Remotes of ssh come from a program that git runs instead of ssh.
package gitrelay

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitssh"
	"github.com/tongs-ai/tongs/network"
)

// Options are those of all transfers. The zero value works, but for Dir.
type Options struct {
	// Dir is a private directory, for what is pushed while it is decided.
	Dir string
	// Environ is the user's environment, for git credential and ssh; nil is that of this process.
	Environ []string
	// Proxy names the proxy of a request, as http.Transport wants it; nil means what the user's git is set to use.
	Proxy func(*http.Request) (*url.URL, error)
	// Remotes are the addresses that the repository of the workspace is configured with: its own remotes get the user's
	// credentials as soon as their host was decided, others are asked about. Nil means that there are none.
	Remotes func(ctx context.Context) []string
	// SSH returns the command that git in the sandbox runs instead of ssh, and the program of that command, which its sandbox
	// must show; nil or empty leaves remotes of ssh unreachable.
	SSH func() (command, program string, err error)
	// MaxPack bounds what is pushed at a time, in bytes: 1 GiB. MaxPacks bounds all pushes together that wait in Dir, whichever
	// process makes them: 2 GiB.
	MaxPack, MaxPacks int64
}

// Relay makes the transfers of calls. It is safe for concurrent use.
type Relay struct {
	opt       Options
	authority func() (*authority, error)
	standIn   func() (standIn, error)
	sweep     func()
}

// standIn is what git in the sandbox runs instead of ssh.
type standIn struct{ command, program string }

// New returns a Relay.
func New(opt Options) *Relay {
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	if opt.Remotes == nil {
		opt.Remotes = func(context.Context) []string { return nil }
	}
	if opt.MaxPack <= 0 {
		opt.MaxPack = 1 << 30
	}
	if opt.MaxPacks <= 0 {
		opt.MaxPacks = 2 << 30
	}
	return &Relay{
		opt: opt, authority: sync.OnceValues(newAuthority), sweep: sync.OnceFunc(func() { sweep(opt.Dir) }),
		standIn: sync.OnceValues(func() (in standIn, err error) {
			if opt.SSH != nil {
				in.command, in.program, err = opt.SSH()
			}
			return in, err
		}),
	}
}

// Call is the call that a program runs for.
type Call struct {
	Permit *tongs.Permit
	Guard  *network.Guard
	// Private reports whether special addresses may be reached under this name.
	Private func(host string) bool
	// Limited reports whether only some requests may be made of a host.
	Limited func(host string) bool
	// Hold stops the time limit of the program while somebody is asked, and returns what lets it go on.
	Hold func(context.Context) (release func())
	// Undecided reports whether one of the commits is only in the copy that the program runs on: whether the workspace gets it is
	// decided when the program ended. Nil means that none is.
	Undecided func(commits []string) bool
}

// Session is the relay of one program. It is safe for concurrent use.
type Session struct {
	*Relay
	call Call

	// asking makes what is asked at the same time one question.
	asking sync.Mutex

	mu      sync.Mutex
	logins  map[string]*login
	adverts map[string]*advert
}

// Session returns the relay for a program of the call.
func (r *Relay) Session(call Call) *Session {
	return &Session{Relay: r, call: call, logins: map[string]*login{}, adverts: map[string]*advert{}}
}

// Answer answers a request to the proxy of a sandbox if it is one of git. It reports whether it was.
func (s *Session) Answer(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.URL.Host == "" && r.Method == http.MethodGet && r.URL.Path == gitssh.Path:
		s.serveSSH(w, r)
	case !ofGit(r):
		return false
	case r.Method == http.MethodConnect:
		s.tunnel(w, r)
	case r.URL.Scheme == "http":
		target, err := network.ParseTarget(r.URL.Host, 80)
		if err != nil || r.URL.User != nil {
			return false // the proxy says what is wrong with it
		}
		s.serve(w, r, "http", target)
	default:
		return false
	}
	return true
}

// ofGit reports whether the request comes from git itself. Programs with git inside use certificates of their own.
func ofGit(r *http.Request) bool {
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "git/") && !strings.Contains(agent, "libgit2")
}
