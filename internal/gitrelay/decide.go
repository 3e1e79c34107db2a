package gitrelay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// contact has the host of a remote decided before anything is asked of it.
func (s *Session) contact(ctx context.Context, r Remote, service string) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	what := "read " + r.String()
	if service == receivePack {
		what = "read the branches of " + r.String() + ", to push there"
	}
	var effects []tongs.Effect
	host := tongs.Effect{Kind: tongs.EffectNetwork, Host: r.Target.Name(), Why: what}
	if host.Private = r.Target.Private() && !s.call.Private(host.Host); host.Private {
		host.Why += "; " + network.WhySpecial
	}
	if !s.decided(host) {
		effects = append(effects, host)
	}
	own := s.configured(ctx, r)
	if r.Scheme == "ssh" && !own { // there is no other way than to log in
		what += ", which is not a remote of this repository, and log in there as you"
		if login := r.login(); !slices.ContainsFunc(s.call.Permit.Effects(), login.Same) {
			effects = append(effects, login)
		}
	}
	if len(effects) == 0 {
		return nil
	}
	return s.decide(ctx, tongs.More{
		Reason:  "nothing was sent yet",
		Message: "git would " + what,
		Effects: effects,
		Preview: func(context.Context) (string, error) { return r.String() + "\n", nil },
		// A push to a remote of the repository itself is one question: before it the server learns only that it comes.
		Unsaid: service == receivePack && own,
	})
}

// decided reports whether a connection was decided for the call.
func (s *Session) decided(e tongs.Effect) bool {
	return slices.ContainsFunc(s.call.Permit.Effects(), func(d tongs.Effect) bool {
		return d.Kind == tongs.EffectNetwork && !d.Unknown && strings.EqualFold(d.Host, e.Host) && (d.Private || !e.Private)
	})
}

// connection is how a remote may be connected to, once it was decided. A name that turns out to lead to a special address is
// another question.
func (s *Session) connection(ctx context.Context, r Remote) network.Decision {
	e := tongs.Effect{Kind: tongs.EffectNetwork, Host: r.Target.Name(), Private: true}
	return network.Decision{
		Private: s.call.Private(e.Host) || s.decided(e),
		Special: func(addr netip.Addr) error {
			if network.ByAddressOnly(addr) {
				return nil // the guard refuses it, whoever allowed the name
			}
			s.asking.Lock()
			defer s.asking.Unlock()
			e.Why = "it resolves to " + addr.String() + ", " + network.WhySpecial
			return s.decide(ctx, tongs.More{
				Reason: "nothing was sent yet", Message: "git would connect to " + r.String() + "; " + e.Why, Effects: []tongs.Effect{e},
				Preview: func(context.Context) (string, error) { return r.String() + "\n" + addr.String() + "\n", nil },
			})
		},
	}
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
	effect := r.login()
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

// login is the effect of using the user's credentials for a remote that is none of the repository's.
func (r Remote) login() tongs.Effect {
	return tongs.Effect{
		Kind: tongs.EffectNetwork, Host: r.Target.Name(), Sends: true, Version: digest("login", r.String()),
		Why: "logs in as you at " + r.String() + ", which is not a remote of this repository",
	}
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
