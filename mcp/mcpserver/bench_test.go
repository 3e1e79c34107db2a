package mcpserver_test

import (
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall is a call over pipes: of a tool through the whole walk, and of an echo server made with the SDK alone.
func BenchmarkCall(b *testing.B) {
	b.Run("read_file", func(b *testing.B) {
		w := newWorld(b, setup{})
		w.write("a.txt", "one\n")
		c, hangUp, ended := w.overStdio(withSessions, nil)
		for b.Loop() {
			if res := c.call("read_file", args{"path": "a.txt"}); res.IsError {
				b.Fatal(text(res))
			}
		}
		hangUp()
		<-ended
	})
	b.Run("echo", func(b *testing.B) {
		server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "one\n"}}}, nil
			})
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		go func() { _ = server.Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: out}) }()
		w := &world{TB: b}
		c := w.join(withSessions, nil, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
		for b.Loop() {
			c.call("echo", args{"path": "a.txt"})
		}
	})
}

func BenchmarkCallHTTP(b *testing.B) {
	for _, version := range []string{withSessions, withoutSessions} {
		b.Run(version, func(b *testing.B) {
			w := newWorld(b, setup{})
			w.write("a.txt", "one\n")
			c := w.connect(version, nil)
			for b.Loop() {
				if res := c.call("read_file", args{"path": "a.txt"}); res.IsError {
					b.Fatal(text(res))
				}
			}
		})
	}
}
