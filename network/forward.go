package network

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxForwarded is how many connections of one listener are open at a time.
const maxForwarded = 256

// Forward joins each connection of the listener with one that dial makes, until ctx ends; then it closes the listener and every
// connection. A connection that cannot be made closes the other.
func Forward(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error)) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, maxForwarded)
	for {
		client, err := l.Accept()
		if err != nil {
			l.Close()
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			client.Close()
			return nil
		}
		go func() {
			defer func() { <-slots }()
			defer client.Close()
			upstream, err := dial(ctx)
			if err != nil {
				return
			}
			defer upstream.Close()
			defer context.AfterFunc(ctx, func() { client.Close(); upstream.Close() })()
			pipe(client, client, upstream)
		}()
	}
}

// Refusal is a connection to a server that answers one HTTP request with the sentence of an error, as the proxy does.
func Refusal(err error) net.Conn {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		if server.SetDeadline(time.Now().Add(helloTime)) != nil {
			return
		}
		if _, readErr := http.ReadRequest(bufio.NewReader(server)); readErr != nil {
			return
		}
		text := refusal(err)
		answer := http.Response{
			StatusCode: http.StatusForbidden, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"X-Tongs-Refused": {"true"}}, Close: true,
			ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
		}
		_ = answer.Write(server)
	}()
	return client
}
