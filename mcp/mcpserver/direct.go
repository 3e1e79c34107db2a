package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/internal/stack"
)

// direct makes the calls of a connection with a session without the SDK, which decodes each request twice, with buffers of
// 32 KiB, and encodes each result twice: of what a short call costs, that was a third. Everything else, and every request
// that is not exactly a call, goes to the SDK.
type direct struct {
	server *Server
	conn   *lines

	mu sync.Mutex
	// running are the calls that can be cancelled.
	running map[jsonrpc.ID]context.CancelFunc
	client  *mcp.ServerSession
}

const (
	methodCall      = "tools/call"
	methodCancelled = "notifications/cancelled"
)

// take makes the call that a request is for, or cancels one, and reports whether it was such a request.
func (d *direct) take(version string, req *jsonrpc.Request) bool {
	switch {
	case req.Method == methodCancelled:
		return d.cancel(req.Params)
	case req.Method != methodCall || !req.IsCall() || version == "" || version >= rounds:
		return false
	}
	params, ok := callParams(req.Params)
	if !ok {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client == nil {
		for d.client = range d.server.mcp.Sessions() { // over a connection there is one
			break
		}
	}
	if d.client == nil || d.running[req.ID] != nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background()) // the call ends with the server as well
	if d.running == nil {
		d.running = map[jsonrpc.ID]context.CancelFunc{}
	}
	d.running[req.ID] = cancel
	go d.call(ctx, req.ID, &mcp.CallToolRequest{Session: d.client, Params: params})
	return true
}

// call makes a call and answers the request.
func (d *direct) call(ctx context.Context, id jsonrpc.ID, req *mcp.CallToolRequest) {
	stack.Grow32(0)
	response := &jsonrpc.Response{ID: id}
	handle := d.server.receive(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return d.server.callTool(ctx, req)
	})
	res, err := handle(ctx, methodCall, req)
	if err == nil {
		response.Result, err = res.(json.Marshaler).MarshalJSON()
	}
	response.Error = err
	d.mu.Lock()
	cancel := d.running[id]
	delete(d.running, id)
	d.mu.Unlock()
	cancel()
	if err := d.conn.Write(context.WithoutCancel(ctx), response); err != nil {
		d.server.opt.Logger.Error("a result could not be written", "error", err)
		_ = d.conn.Close()
	}
}

// cancel ends the call that a notification names, and reports whether it is one of these.
func (d *direct) cancel(raw json.RawMessage) bool {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return false
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	cancel := d.running[id]
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// callParams reads the parameters of a call. What it does not know, and what says that it is of another revision, is not
// for it.
func callParams(raw json.RawMessage) (*mcp.CallToolParamsRaw, bool) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, false
	}
	params := &mcp.CallToolParamsRaw{}
	for key, value := range parts {
		var err error
		switch key {
		case "name":
			err = json.Unmarshal(value, &params.Name)
		case "arguments":
			params.Arguments = value
		case "_meta":
			err = json.Unmarshal(value, &params.Meta)
		default:
			return nil, false
		}
		if err != nil {
			return nil, false
		}
	}
	for key := range params.Meta {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return nil, false
		}
	}
	return params, params.Name != ""
}
