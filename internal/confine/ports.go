package confine

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
)

// sharing are the background programs whose ports other programs of their session reach. Each port is forwarded by itself:
// nobody gets into the network of another program, nor to its proxy.
type sharing struct {
	mu   sync.Mutex
	jobs map[string][]*process
}

// add shares the ports of a program until it ends.
func (s *sharing) add(session string, p *process) {
	if session == "" {
		return // nobody is in the same one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs == nil {
		s.jobs = map[string][]*process{}
	}
	s.jobs[session] = append(s.jobs[session], p)
	go func() {
		<-p.inner.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		left := slices.DeleteFunc(s.jobs[session], func(o *process) bool { return o == p })
		if s.jobs[session] = left; len(left) == 0 {
			delete(s.jobs, session)
		}
	}()
}

// of are the programs of a session, the latest first.
func (s *sharing) of(session string) []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.jobs[session])
	slices.Reverse(list)
	return list
}

// portsTime is how long a program is asked for its ports.
const portsTime = 2 * time.Second

// Ports are those that a program that goes on listens on, where others of the session reach them.
func (p *process) Ports() []int {
	if !p.cmd.Ports {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), portsTime)
	defer cancel()
	ports, err := p.inner.Ports(ctx)
	if err != nil {
		return nil // it has ended, or has no network of its own
	}
	var list []int
	for _, port := range ports {
		list = append(list, int(port))
	}
	slices.Sort(list)
	return list
}

// forwards are the ports that the program finds on its loopback interface: those of background programs of its session, and of
// registries that are configured to be on this machine, which are decided like any other host.
func (p *process) forwards() (list []sandbox.Forward) {
	if p.cmd.Ports {
		for _, job := range p.jobs.of(p.permit.Call().Session) {
			for _, port := range job.Ports() {
				list = append(list, sandbox.Forward{Port: uint16(port), Serve: job.serve(uint16(port))})
			}
		}
	}
	for _, t := range p.opt.Mirrors() {
		list = append(list, sandbox.Forward{Port: t.Port, Serve: p.serveMirror(t)})
	}
	return list
}

// serve answers for a port of a background program, until that ends.
func (p *process) serve(port uint16) func(context.Context, net.Listener) error {
	return func(ctx context.Context, l net.Listener) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-p.inner.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		return network.Forward(ctx, l, func(ctx context.Context) (net.Conn, error) { return p.inner.Dial(ctx, port) })
	}
}

// serveMirror answers for a registry on this machine, by way of the guard.
func (p *process) serveMirror(t network.Target) func(context.Context, net.Listener) error {
	guard := p.guard()
	return func(ctx context.Context, l net.Listener) error {
		return network.Forward(ctx, l, func(ctx context.Context) (net.Conn, error) {
			d := p.decideHost(ctx, t)
			if d.Err == nil && d.Methods != nil {
				d.Err = tongs.Errorf(tongs.CodeBlocked, "a rule limits the methods for %s, which cannot be seen on a port that is forwarded", t.Name())
			}
			conn, err := guard.Connect(ctx, t, d)
			if err != nil {
				return network.Refusal(err), nil // a client that is cut off tries again for a minute
			}
			return conn, nil
		})
	}
}
