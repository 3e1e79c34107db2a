package confine

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// maxFailed is how many connections that did not come about are told of one by one.
const maxFailed = 8

// maxAsked is how many hosts one question may be about: nobody reads hundreds of them.
const maxAsked = 32

// maxBeyond is how many further hosts are counted.
const maxBeyond = 10_000

// contacts are the connections of a program that did not come about.
type contacts struct {
	mu sync.Mutex
	// asks are the effects that nobody decided, by host. Whys are sentences about the others.
	asks map[string]tongs.Effect
	whys []string
	// beyond are the hosts that one question has no room for.
	beyond map[string]bool
}

// undecided are the effects that would let the program through.
func (c *contacts) undecided() (effects []tongs.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, host := range slices.Sorted(maps.Keys(c.asks)) {
		effects = append(effects, c.asks[host])
	}
	return effects
}

// denied are the hosts that nobody decided, refused why other connections did not come about.
func (c *contacts) denied() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.asks))
}

func (c *contacts) refused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	whys := slices.Clone(c.whys)
	if left := c.left(); left != "" {
		whys = append(whys, left)
	}
	return whys
}

// reason tells what one question about the hosts is for.
func (c *contacts) reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch left := c.left(); {
	case len(c.asks) == 0:
		return ""
	case left != "":
		return "; " + left + sendsToo
	default:
		return sendsToo
	}
}

const sendsToo = "; if you allow a host, commands can also send data there"

func (c *contacts) ask(e tongs.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks == nil {
		c.asks = map[string]tongs.Effect{}
	}
	if _, known := c.asks[e.Host]; !known && len(c.asks) >= maxAsked {
		if c.beyond == nil {
			c.beyond = map[string]bool{}
		}
		if len(c.beyond) < maxBeyond {
			c.beyond[e.Host] = true
		}
		return
	}
	c.asks[e.Host] = e
}

// left tells of the hosts that one question has no room for; empty where there are none. The caller has the lock.
func (c *contacts) left() string {
	if len(c.beyond) == 0 {
		return ""
	}
	return fmt.Sprintf("%d more hosts were out of reach; a question names %d at most, so run the command again for the others", len(c.beyond), maxAsked)
}

func (c *contacts) refuse(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.whys, why) && len(c.whys) < maxFailed {
		c.whys = append(c.whys, why)
	}
}

// proxy answers the program's connections: those to decided hosts, and no others.
func (p *process) proxy() func(context.Context, net.Listener) error {
	proxy := &network.Proxy{Guard: p.guard(), Decide: p.decideHost}
	if p.git = p.transfers(proxy.Guard); p.git != nil {
		proxy.First = p.git.Answer
	}
	return proxy.Serve
}

// guard makes the program's connections, and tells of each.
func (p *process) guard() *network.Guard {
	guard := *p.opt.Guard
	guard.Log = p.logged(guard.Log)
	return &guard
}

// decideHost decides a connection of the program. A name is resolved only once it may be reached: looking it up tells somebody
// about it.
func (p *process) decideHost(ctx context.Context, t network.Target) network.Decision {
	e := t.Effect()
	e.Why = p.opt.Known(e.Host)
	private := p.opt.Private(e.Host)
	if e.Private = t.Private() && !private; e.Private {
		e.Why = strings.TrimPrefix(e.Why+"; "+network.WhySpecial, "; ")
	}
	if err := p.mayReach(ctx, e); err != nil {
		return network.Decision{Err: err}
	}
	return network.Decision{
		Private: private || e.Private, Methods: p.opt.Methods(e.Host),
		Special: func(addr netip.Addr) error {
			if network.ByAddressOnly(addr) {
				return nil // the guard refuses it, whoever allowed the name
			}
			special := e // several connections may be made at a time
			special.Private, special.Why = true, fmt.Sprintf("it resolves to %s, %s", addr, network.WhySpecial)
			return p.mayReach(ctx, special)
		},
	}
}

// mayReach is nil where the effect of a connection was decided, or is free by a rule or a remembered approval. Otherwise it
// is noted as one to ask about.
func (p *process) mayReach(ctx context.Context, e tongs.Effect) error {
	if slices.ContainsFunc(p.effects, func(d tongs.Effect) bool {
		return d.Kind == tongs.EffectNetwork && !d.Unknown && strings.EqualFold(d.Host, e.Host) && (d.Private || !e.Private)
	}) {
		return nil
	}
	err := p.permit.Decide(ctx, tongs.More{Reason: "the command connects to " + e.Host, Effects: []tongs.Effect{e}, Unasked: true})
	switch {
	case err == nil:
		return nil
	case tongs.CodeOf(err) == tongs.CodeBlocked:
		return err
	}
	p.contacts.ask(e)
	if e.Private {
		return tongs.Errorf(tongs.CodeApprovalRequired, "%s: %s, and nobody allowed that; a person can with 'tongs allow --network %s'", e.Host, e.Why, e.Host)
	}
	return tongs.Errorf(tongs.CodeApprovalRequired, "%s was not decided for this command", e.Host)
}

// logged puts each connection into the row of the call, besides telling whoever else wants to know, and keeps why one did not
// come about.
func (p *process) logged(also func(network.Attempt)) func(network.Attempt) {
	return func(a network.Attempt) {
		p.permit.Connected(a.String())
		if e, ok := a.Err.(*tongs.Error); ok && e.Code != tongs.CodeApprovalRequired {
			p.contacts.refuse(e.Message)
		}
		if also != nil {
			also(a)
		}
	}
}

// hosts are the targets that were decided.
func hosts(effects []tongs.Effect) (names []string) {
	for _, e := range effects {
		if e.Kind != tongs.EffectNetwork || e.Unknown {
			continue
		}
		name := strings.ToLower(e.Host)
		if e.Private {
			name += " " + network.WhySpecial
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
