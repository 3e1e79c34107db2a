package network

import (
	"net"
	"sync"
	"sync/atomic"
)

// counted counts what passes through a connection and reports it when that is closed.
type counted struct {
	net.Conn
	attempt        Attempt
	done           func(Attempt)
	once           sync.Once
	sent, received atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// CloseWrite passes on that nothing more is sent, where the connection can.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.attempt.Sent, c.attempt.Received = c.sent.Load(), c.received.Load()
		c.done(c.attempt)
	})
	return err
}
