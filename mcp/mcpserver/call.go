package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/id"
)

// rounds is the first revision in which a server cannot ask its client: the call returns that it needs input, and is
// made again with it.
const rounds = "2026-07-28"

// flight is a call on its way through the engine. One request attends to it at a time: the one that made it, or the one
// that came back to it with an answer.
type flight struct {
	server  *Server
	session *session
	// tool and args identify the call.
	tool, args string
	// byRounds and elicits are how, and whether, its client can be asked; version is the revision that it speaks.
	byRounds, elicits bool
	version           string

	cancel context.CancelFunc
	asked  chan *asking
	done   chan struct{}
	// result is set when done is closed.
	result *tongs.Result
	// client is the session to send requests to, where there are no rounds.
	client *mcp.ServerSession

	mu       sync.Mutex
	progress *progress
	// waits says what the call waits for.
	waits string
}

// callTool is the handler of every tool of the engine.
func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if !s.enter() {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is shutting down"}
	}
	defer s.running.Done()
	req.Params.Name = strings.TrimPrefix(req.Params.Name, s.opt.Prefix)
	sess, err := s.sessionOf(req.Session, req, req.Params.Meta)
	if err != nil {
		return nil, err
	}
	defer sess.release()
	ctx, unbind := s.bind(ctx, req)
	defer unbind()
	args := ""
	if req.ProtocolVersion() >= rounds {
		args = sumOf(req.Params.Arguments)
	}
	if state := req.Params.RequestState; state != "" {
		p, err := s.lot.take(state, sess.owner, req.Params.Name, args)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		p.asked.deliver(req.Params.InputResponses)
		return p.call.awaitCall(ctx, req)
	}
	f, caller, call, err := s.prepare(ctx, sess, req, args)
	if err != nil {
		return s.result(sess, req.Params.Name, tongs.Failure(err)), nil
	}
	if !f.byRounds || !f.elicits { // nothing can make the request end before the call
		return f.makeCall(ctx, caller, call, req), nil
	}
	if err := f.takeOff(ctx, caller, call); err != nil {
		return nil, err
	}
	return f.awaitCall(ctx, req)
}

// prepare makes the call of a request.
func (s *Server) prepare(ctx context.Context, sess *session, req *mcp.CallToolRequest, args string) (
	*flight, tongs.Caller, *tongs.Call, error,
) {
	caller, dir, err := s.callerFor(ctx, sess, req)
	if err != nil {
		return nil, nil, nil, err
	}
	f := &flight{
		server: s, session: sess, tool: req.Params.Name, args: args, client: req.Session,
		version: req.ProtocolVersion(), byRounds: req.ProtocolVersion() >= rounds, elicits: elicits(req.ClientCapabilities()),
	}
	call := &tongs.Call{
		ID: id.New("c"), Tool: req.Params.Name, Args: req.Params.Arguments, Session: sess.name, Client: sess.client, Agents: sess.agents, Dir: dir,
		Reason: reasonOf(req.Params.Meta), Sink: f.update,
	}
	if len(call.Args) == 0 || string(call.Args) == "null" {
		call.Args = json.RawMessage("{}")
	}
	return f, caller, call, nil
}

// makeCall makes the call for the request that waits, and ends with it.
func (f *flight) makeCall(ctx context.Context, caller tongs.Caller, call *tongs.Call, req *mcp.CallToolRequest) *mcp.CallToolResult {
	p := newProgress(ctx, f.server.opt.Beat, req)
	f.follow(p)
	f.result = f.make(ctx, caller, call)
	f.follow(nil)
	p.close()
	f.tell(ctx, req)
	return f.server.result(f.session, f.tool, f.result)
}

// takeOff starts the call. It ends when it is cancelled; that the request is over is for attend to tell.
func (f *flight) takeOff(ctx context.Context, caller tongs.Caller, call *tongs.Call) error {
	s := f.server
	f.asked, f.done = make(chan *asking), make(chan struct{})
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	if !s.enter() {
		cancel()
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is shutting down"}
	}
	f.session.hold()
	go func() {
		defer s.running.Done()
		defer cancel()
		defer close(f.done)
		defer f.session.release()
		f.result = f.make(inner, caller, call)
	}()
	return nil
}

// make makes the call, when there is room for one more. Its client is asked about it meanwhile.
func (f *flight) make(ctx context.Context, caller tongs.Caller, call *tongs.Call) *tongs.Result {
	return f.server.inSlot(ctx, func() *tongs.Result {
		defer f.server.opt.Channel.enter(call.ID, f)()
		return caller.Call(ctx, call)
	})
}

// inSlot runs a call when there is room for one more.
func (s *Server) inSlot(ctx context.Context, call func() *tongs.Result) *tongs.Result {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return call()
	case <-ctx.Done():
		return tongs.Failure(tongs.Errorf(tongs.CodeCancelled, "cancelled while it waited for its turn"))
	}
}

// MetaReason is the key of a request's metadata with the agent's own word why it calls, for the person who may be asked.
const MetaReason = "ai.tongs/reason"

// maxReason bounds it.
const maxReason = 2000

func reasonOf(meta mcp.Meta) string {
	reason, _ := meta[MetaReason].(string)
	return reason[:min(len(reason), maxReason)]
}

// awaitCall waits for the call on behalf of a request: for its result, or for a question that the client must be asked.
// Where the request ends first, so does the call.
func (f *flight) awaitCall(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := newProgress(ctx, f.server.opt.Beat, req)
	f.follow(p)
	defer p.close()
	defer f.follow(nil)
	select {
	case <-f.done:
	case a := <-f.asked:
		return f.park(a)
	case <-ctx.Done():
		f.cancel()
		<-f.done
	}
	f.tell(ctx, req)
	return f.server.result(f.session, f.tool, f.result), nil
}

// park lets the call wait for its client to come back, and tells the client what to ask.
func (f *flight) park(a *asking) (*mcp.CallToolResult, error) {
	state, err := f.server.lot.park(f, a)
	if err != nil {
		f.cancel()
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{inputKey: a.form}, RequestState: state}, nil
}

// follow makes p receive the updates of the call; nil makes nobody. A request that came back without an answer is told
// what the call still waits for.
func (f *flight) follow(p *progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = p
	if f.waits != "" {
		p.wait(f.waits)
	}
}

// update is the sink of the call.
func (f *flight) update(u tongs.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.progress != nil {
		f.progress.add(u)
	}
}

// wait tells the request that attends what the call waits for; empty that it goes on. It reports whether the client listens.
func (f *flight) wait(what string) (told bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits = what
	f.progress.wait(what)
	return f.progress != nil
}

// elicits reports whether a client can show a form.
func elicits(caps *mcp.ClientCapabilities) bool {
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	// A client that names neither mode shows forms: there were no others once.
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
}
