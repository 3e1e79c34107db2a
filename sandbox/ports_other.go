//go:build !linux

package sandbox

import (
	"context"
	"net"
)

func (run *running) ports(context.Context) ([]port, error) { return nil, errNoPorts }

func (run *running) dial(context.Context, port) (net.Conn, error) { return nil, errNoPorts }
