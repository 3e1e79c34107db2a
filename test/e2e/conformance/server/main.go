// Command server is what the public conformance suite of MCP is run against: the tools, resources and prompts that the
// suite asks for, served on the same path as the tools of Tongs. Those that a tool of Tongs can be walk through an
// engine; the rest, which ask a client for things that Tongs never asks for, are made with the SDK.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7444", "the address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "conformance server:", err)
		os.Exit(1)
	}
}

// token is what every request must bring. The suite cannot send one, so that it is put into its requests here.
const token = "the-suite-cannot-send-a-token-of-its-own"

func run(ctx context.Context, addr string) error {
	tools, err := walking()
	if err != nil {
		return err
	}
	eng, err := engine.New(engine.Options{Tools: tools})
	if err != nil {
		return err
	}
	server, err := mcpserver.New(ctx, mcpserver.Options{
		Engine: eng, Version: "1.0.0", Extend: extend,
		Configure: func(o *mcp.ServerOptions) {
			o.Capabilities.Resources = &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true}
			o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
			}
			o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
			o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
		},
	})
	if err != nil {
		return err
	}
	defer server.Close()
	handler := server.Handler(mcpserver.HTTPOptions{Token: token})
	web := &http.Server{Addr: addr, ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(w, r)
	})}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	fmt.Println("http://" + addr + mcpserver.Path)
	if err := web.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}
