// Package network makes all connections to other machines, and refuses those that are not allowed. A name is resolved once, every address it has is
// checked, and exactly a checked address is dialled, so that an answer which changes in between wins nothing. Private,
// loopback and other special addresses are refused unless the caller allowed that very host.
package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/tongs-ai/tongs"
)

// Guard dials. Its zero value works; it is safe for concurrent use.
type Guard struct {
	// Resolve looks up the addresses of a name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address; nil means a plain TCP dialer.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Log is told of every attempt once it is over; it may be nil and must not block.
	Log func(Attempt)
}

// Decision says whether a target may be reached.
type Decision struct {
	// Err refuses; nil allows.
	Err error
	// Private allows special addresses too: the person or rule meant this very host. Where that is a name, it does not allow
	// what no name is for: see ByAddressOnly.
	Private bool
	// Special, where it is set and Private is not, decides about a special address that the name turned out to have.
	Special func(addr netip.Addr) error
	// Methods, where it is not nil, are the methods of plain HTTP that are allowed, without a body. Tunnels are then refused,
	// since nobody sees what passes through them.
	Methods []string
}

// Attempt is one connection that was tried.
type Attempt struct {
	Target Target
	// Addr is the address that was dialled, invalid where none was.
	Addr netip.AddrPort
	// Err is why it failed or was refused, nil where it connected.
	Err error
	At  time.Time
	// Sent and Received are the bytes that passed, where the guard carried them.
	Sent, Received int64
}

// String says in one line what became of the attempt.
func (a Attempt) String() string {
	switch {
	case a.Err == nil:
		return fmt.Sprintf("%s at %s: %d bytes sent, %d received", a.Target, a.Addr, a.Sent, a.Received)
	case tongs.CodeOf(a.Err).Refused():
		return fmt.Sprintf("%s refused", a.Target)
	default:
		return fmt.Sprintf("%s failed: %v", a.Target, a.Err)
	}
}

// Connect dials a target that was decided on.
func (g *Guard) Connect(ctx context.Context, t Target, d Decision) (conn net.Conn, err error) {
	attempt := Attempt{Target: t, At: time.Now()}
	defer func() {
		if attempt.Err = err; err != nil || g.Log == nil {
			g.log(attempt)
			return
		}
		conn = &counted{Conn: conn, attempt: attempt, done: g.Log}
	}()
	if d.Err != nil {
		return nil, d.Err
	}
	addrs, err := g.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	if !d.Private {
		if i := slices.IndexFunc(addrs, Special); i >= 0 {
			// One special address condemns the name: an answer that mixes them is how rebinding is tried.
			if d.Special == nil {
				return nil, tongs.Errorf(tongs.CodeNetworkError,
					"%s is %s, an address of this machine or network; allow that host by name if it is meant", t.Host, addrs[i])
			}
			if err := d.Special(addrs[i]); err != nil {
				return nil, err
			}
		}
	}
	if i := slices.IndexFunc(addrs, ByAddressOnly); i >= 0 && !t.address() {
		return nil, tongs.Errorf(tongs.CodeNetworkError,
			"%s is %s, where machines are told their credentials; no name is allowed to lead there, only that address itself", t.Host, addrs[i])
	}
	conn, attempt.Addr, err = g.race(ctx, addrs, t.Port)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s cannot be reached: %w", t, err)
	}
	return conn, nil
}

// headStart is how long one address is tried alone before the next is tried as well.
const headStart = 250 * time.Millisecond

// race dials the addresses in their order, each with a head start before the next, and returns the first connection: an
// address that does not answer keeps nobody from the others. Those that come too late are closed.
func (g *Guard) race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type dialed struct {
		conn net.Conn
		addr netip.AddrPort
		err  error
	}
	results := make(chan dialed)
	over := make(chan struct{})
	defer close(over)
	next := func() {
		addr := netip.AddrPortFrom(addrs[0], port)
		addrs = addrs[1:]
		go func() {
			conn, err := g.dial(ctx, addr)
			select {
			case results <- dialed{conn, addr, err}:
			case <-over:
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
	}
	addrs = addrs[:min(len(addrs), maxAddresses)]
	started := time.NewTicker(headStart)
	defer started.Stop()
	var failures []error
	var last netip.AddrPort
	for running := 0; ; {
		if running == 0 {
			if len(addrs) == 0 {
				return nil, last, errors.Join(failures...)
			}
			next()
			running++
			started.Reset(headStart)
		}
		select {
		case r := <-results:
			if r.err == nil {
				return r.conn, r.addr, nil
			}
			running--
			failures, last = append(failures, r.err), r.addr
		case <-started.C:
			if len(addrs) > 0 {
				next()
				running++
			}
		}
	}
}

// maxAddresses is how many addresses of a name are tried.
const maxAddresses = 16

func (g *Guard) addresses(ctx context.Context, t Target) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(t.Host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	resolve := g.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, t.Host)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s cannot be resolved: %w", t.Host, err)
	}
	if len(addrs) == 0 {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s has no address", t.Host)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

func (g *Guard) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	if g.Dial != nil {
		return g.Dial(ctx, addr)
	}
	dialer := net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if address != addr.String() {
			return tongs.Errorf(tongs.CodeInternal, "about to dial %s rather than %s", address, addr)
		}
		return nil
	}}
	return dialer.DialContext(ctx, "tcp", addr.String())
}

func (g *Guard) log(a Attempt) {
	if g.Log != nil {
		g.Log(a)
	}
}

var guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// Special reports whether an address is anything but an ordinary public one: loopback, private, link-local, shared,
// multicast, reserved, or an IPv6 address that stands for an IPv4 one.
func Special(addr netip.Addr) bool {
	return guardian.Safe("tcp", netip.AddrPortFrom(addr, 443).String(), nil) != nil
}

// credentials are networks in which the providers of machines answer whoever runs on them.
var credentials = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::/32"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("168.63.129.16/32"),
}

// The networks whose addresses stand for IPv4 ones: of NAT64, and of 6to4.
var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	sixTo = netip.MustParsePrefix("2002::/16")
)

// ByAddressOnly reports whether an address is reached only by those who name it as it is. Who allows a host by its name
// trusts whoever answers for that name, and they could lead there.
func ByAddressOnly(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch bytes := addr.As16(); {
	case nat64.Contains(addr):
		addr, _ = netip.AddrFromSlice(bytes[12:])
	case sixTo.Contains(addr):
		addr, _ = netip.AddrFromSlice(bytes[2:6])
	}
	return slices.ContainsFunc(credentials, func(p netip.Prefix) bool { return p.Contains(addr) })
}
