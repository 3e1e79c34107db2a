package sandbox

import (
	"context"
	"net"

	"github.com/tongs-ai/tongs"
)

var errNoPorts = tongs.Errorf(tongs.CodeSandboxUnavailable, "this program has no loopback interface of its own, or has ended")

// Ports are the ports of its own loopback interface that the command and what it started listen on. Ports that this process
// answers are not among them.
func (p *Process) Ports(ctx context.Context) ([]uint16, error) {
	list, err := p.run.ports(ctx)
	if err != nil {
		return nil, err
	}
	var ports []uint16
	for _, port := range list {
		ports = append(ports, port.number)
	}
	return ports, nil
}

// Dial connects to one of the Ports. Nothing else can be reached that way.
func (p *Process) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	list, err := p.run.ports(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if o.number == port {
			return p.run.dial(ctx, o)
		}
	}
	return nil, tongs.Errorf(tongs.CodeExecutionError, "nothing listens on the port %d any more", port)
}

// port is one that a program listens on; six says that it is one of ::1 only.
type port struct {
	number uint16
	six    bool
}
