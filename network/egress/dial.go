package egress

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

var _ tongs.Dialer = (*client)(nil)

// Dial implements tongs.Dialer. An address of this machine or network is dialled only where a person configured that host for the
// tool.
func (c *client) Dial(ctx context.Context, address string, sends bool) (net.Conn, error) {
	target, err := network.ParseTarget(address, 0)
	if err != nil {
		return nil, err
	}
	name := target.Name()
	decided := func(e tongs.Effect) bool {
		return e.Kind == tongs.EffectNetwork && !e.Unknown && strings.EqualFold(e.Host, name) && (e.Sends || !sends)
	}
	if !slices.ContainsFunc(c.permit.Effects(), decided) {
		effect := target.Effect()
		effect.Sends = sends
		if err := c.permit.Decide(ctx, tongs.More{Reason: "it connects to " + name, Effects: []tongs.Effect{effect}}); err != nil {
			return nil, err
		}
	}
	if sends {
		c.permit.Sent("sent data to " + name)
	}
	guard := *c.opt.Guard
	also := guard.Log
	guard.Log = func(a network.Attempt) {
		c.permit.Connected(a.String())
		if also != nil {
			also(a)
		}
	}
	conn, err := guard.Connect(ctx, target, network.Decision{Private: c.opt.Configured(c.permit.Call().Tool, name)})
	if err != nil {
		return nil, err
	}
	return &alive{Conn: conn, permit: c.permit}, nil
}

// alive is a connection that can be used while its call lasts.
type alive struct {
	net.Conn
	permit *tongs.Permit
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	if ended := a.permit.Err(); ended != nil {
		_ = a.Close()
		return 0, ended
	}
	return n, err
}

func (a *alive) Write(p []byte) (int, error) {
	if err := a.permit.Err(); err != nil {
		_ = a.Close()
		return 0, err
	}
	return a.Conn.Write(p)
}
