package mcpserver

import (
	"context"
	"errors"
	"io"
)

// maxLine bounds a message that comes in over stdio.
const maxLine = 16 << 20

// ServeStdio serves one client that writes to in and reads from out, until in ends or ctx does. Then it closes the
// server: what still runs is cancelled, and gone when it returns. Nothing but the protocol is written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.Close()
	context.AfterFunc(ctx, s.end)
	transport := lineTransport{in: &watched{in, s.end}, out: out}
	if s.opt.Configure == nil && s.opt.Extend == nil {
		transport.server = s
	}
	err := s.mcp.Run(ctx, transport)
	if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) || s.life.Err() != nil {
		return nil // how a client leaves
	}
	return err
}

// watched tells when there is nothing more to read: the calls that run end then, rather than when they are done.
type watched struct {
	io.ReadCloser
	ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}
