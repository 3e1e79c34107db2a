package gitrelay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// contact has the host of a remote decided before anything is asked of it.
func (s *Session) contact(ctx context.Context, r Remote, service string) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	host := r.Target.Name()
	if slices.ContainsFunc(s.call.Permit.Effects(), func(e tongs.Effect) bool {
		return e.Kind == tongs.EffectNetwork && !e.Unknown && strings.EqualFold(e.Host, host)
	}) {
		return nil
	}
	what := "read " + r.String()
	if service == receivePack {
		what = "read the branches of " + r.String() + ", to push there"
	}
	return s.decide(ctx, tongs.More{
		Reason:  "git wants to " + what,
		Message: "git would " + what,
		Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: host, Why: what}},
		Preview: func(context.Context) (string, error) { return r.String() + "\n", nil },
		// A push to a remote of the repository itself is one question: before it the server learns only that it comes.
		Unsaid: service == receivePack && s.configured(ctx, r),
	})
}

// configured reports whether the repository of the workspace has the remote.
func (s *Session) configured(ctx context.Context, r Remote) bool {
	return slices.ContainsFunc(s.opt.Remotes(ctx), func(address string) bool {
		known, ok := parseRemote(address)
		return ok && known.same() == r.same()
	})
}

// mayLogin has it decided that the user's credentials are used for a remote. Those of the workspace's own repository get them
// with their host; any other repository that the user can read would be open to the program as well.
func (s *Session) mayLogin(ctx context.Context, r Remote) error {
	if s.configured(ctx, r) {
		return nil
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	effect := tongs.Effect{
		Kind: tongs.EffectNetwork, Host: r.Target.Name(), Sends: true, Version: digest("login", r.String()),
		Why: "logs in as you at " + r.String() + ", which is not a remote of this repository",
	}
	if slices.ContainsFunc(s.call.Permit.Effects(), effect.Same) {
		return nil
	}
	return s.decide(ctx, tongs.More{
		Reason:  "the server wants to know who reads " + r.String(),
		Message: "git would log in as you at " + r.String() + ", which is not a remote of this repository",
		Effects: []tongs.Effect{effect},
		Preview: func(context.Context) (string, error) {
			return r.String() + "\nYour credentials stay outside the sandbox. The program gets what they give access to.\n", nil
		},
	})
}

// decide asks while the time of the program stands still.
func (s *Session) decide(ctx context.Context, more tongs.More) error {
	defer s.call.Hold(ctx)()
	return s.call.Permit.Decide(ctx, more)
}

// digest is the version of an effect on a remote: what exactly is decided.
func digest(parts ...string) tongs.Version {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part + "\x00"))
	}
	return tongs.Version("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
