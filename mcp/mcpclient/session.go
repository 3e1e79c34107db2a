package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

const (
	// legacy is the newest revision that begins with a handshake.
	legacy = "2025-11-25"
	// startTime is how long a server may take until it has said what it has; helloTime how long one may think about a
	// request that older servers do not know, before it is asked in the old way.
	startTime = 90 * time.Second
	helloTime = 15 * time.Second
	// pingTime is how long a server that let a call time out may take to prove that it is there.
	pingTime = 5 * time.Second
)

// session is a server that runs.
type session struct {
	host    *host
	client  *mcp.ClientSession
	proc    tongs.Process // nil for a URL
	conn    *stdio        // nil for a URL
	web     *web          // nil for a command
	stderr  *tail
	started time.Time
	// program is the digest of what was started, empty where that is not pinned.
	program string
	// hosts are those that the program may reach.
	hosts []string
	// scope is that of the calls that it is for.
	scope string
	// down is closed when the session is of no more use, exited when its program is gone.
	down, exited chan struct{}

	mu       sync.Mutex
	defs     *Definitions
	exit     *tongs.Exit
	calls    map[string]flight // by progress token
	listing  bool
	stopping bool
}

// flight is a call that is being made. Own is set where the server is run on behalf of this program.
type flight struct {
	env *tongs.Env
	own bool
}

// alive reports whether calls can be made.
func (s *session) alive() bool {
	select {
	case <-s.down:
		return false
	default:
		return true
	}
}

// start starts the server's program.
func (s *session) start(ctx context.Context, l launch) error {
	cfg := &s.host.cfg
	argv := cfg.argv()
	if l.pin != nil {
		argv = l.pin.argv
	}
	s.program = l.pin.made().Digest()
	env, err := cfg.environment(s.host.set.opt.Lookup)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	if cfg.Unconfined {
		s.proc, err = plainProcess(argv, l.dir, env, in, s.stderr)
	} else {
		s.proc, err = l.commands.Start(ctx, &tongs.Command{
			Argv: argv, Dir: tongs.Path{Rel: "."}, Env: env, Stdout: in, Stderr: s.stderr, Effects: l.effects, ReadOnly: l.readOnly,
			Server: cfg.identity(),
		})
	}
	if err != nil {
		return err
	}
	go func() {
		exit, _ := s.proc.Wait(context.Background())
		s.mu.Lock()
		s.exit = exit
		s.mu.Unlock()
		_ = in.Close()
		close(s.exited)
	}()
	s.conn = newStdio(out, s.proc, func(line []byte) { _, _ = s.stderr.Write(append(line, '\n')) }, s.progress, func() {
		go func() { _, _ = io.Copy(io.Discard, out) }() // it may have something to say before it ends
		go s.endProgram()
	})
	return nil
}

func plainProcess(argv []string, dir string, env []string, out, err io.Writer) (tongs.Process, error) {
	p, e := startPlain(argv, dir, env, out, err)
	if e != nil {
		return nil, e
	}
	return p, nil
}

// endProgram ends the program: by the end of its input, and by force if it does not mind that.
func (s *session) endProgram() {
	_ = s.proc.CloseInput()
	patience := time.NewTimer(s.host.set.opt.Grace)
	defer patience.Stop()
	select {
	case <-s.exited:
	case <-patience.C:
		s.proc.Kill()
	}
}

// connect makes the session and asks the server what it has.
func (s *session) connect(ctx context.Context, protocol string) error {
	var transport mcp.Transport = s.conn
	if s.web != nil {
		transport = s.web.transport()
	}
	client := s.newClient()
	if s.proc != nil && s.host.set.opt.Root != "" {
		//lint:ignore SA1019 servers of today know nothing else
		client.AddRoots(&mcp.Root{URI: fileURI(s.host.set.opt.Root), Name: "workspace"})
	}
	cs, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return err
	}
	s.client = cs
	go func() {
		_ = cs.Wait()
		s.end()
	}()
	defs, err := s.list(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs = defs
	return nil
}

func (s *session) newClient() *mcp.Client {
	opt := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.relist()
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			s.relist()
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			s.progress(req.Params)
		},
	}
	if s.proc != nil && s.host.set.opt.Root != "" {
		//lint:ignore SA1019 servers of today know nothing else
		opt.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	if s.host.set.opt.Elicit != nil {
		opt.ElicitationHandler = s.elicit
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "tongs", Title: "Tongs", Version: s.host.set.opt.Version}, opt)
	client.AddReceivingMiddleware(refuseSampling)
	return client
}

// refuseSampling answers requests for a model: a server that wants one brings its own.
func refuseSampling(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "sampling/createMessage" {
			return nil, &jsonrpc.Error{
				Code:    jsonrpc.CodeMethodNotFound,
				Message: "Tongs does not run a model for servers: sampling is refused; ask for what is needed by the arguments of the tool",
			}
		}
		return next(ctx, method, req)
	}
}

// list asks the server what it has, within bounds.
func (s *session) list(ctx context.Context) (*Definitions, error) {
	init := s.client.InitializeResult()
	d := &Definitions{Instructions: cleantext.Cut(init.Instructions, maxDefinition), Protocol: init.ProtocolVersion}
	if init.ServerInfo != nil {
		d.Title, d.Version = cleantext.Cut(init.ServerInfo.Name, 200), cleantext.Cut(init.ServerInfo.Version, 200)
	}
	caps := init.Capabilities
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	size := 0
	if caps.Tools != nil {
		for cursor, page := "", 0; ; page++ {
			res, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if err != nil {
				return nil, err
			}
			for _, t := range res.Tools {
				if t != nil {
					def := define(t)
					size += len(def.Input) + len(def.Output) + len(def.Description)
					d.Tools = append(d.Tools, def)
				}
			}
			if cursor = res.NextCursor; cursor == "" {
				break
			}
			if page >= maxPages || len(d.Tools) > maxTools || size > maxAll {
				return nil, fmt.Errorf("it offers more than %d tools, or %d bytes of definitions", maxTools, maxAll)
			}
		}
	}
	if caps.Prompts != nil {
		if err := s.listPrompts(ctx, d); err != nil {
			return nil, err
		}
	}
	if len(d.Tools) > maxTools || len(d.Prompts) > maxPrompts || size > maxAll {
		return nil, fmt.Errorf("it offers %d tools and %d prompts in %d bytes, more than %d, %d and %d",
			len(d.Tools), len(d.Prompts), size, maxTools, maxPrompts, maxAll)
	}
	slices.SortStableFunc(d.Tools, byName)
	slices.SortStableFunc(d.Prompts, byName)
	return d, nil
}

func byName(a, b Definition) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

func (s *session) listPrompts(ctx context.Context, d *Definitions) error {
	cursor := ""
	for range maxPages {
		res, err := s.client.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code == jsonrpc.CodeMethodNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range res.Prompts {
			if p != nil {
				d.Prompts = append(d.Prompts, definePrompt(p))
			}
		}
		if cursor = res.NextCursor; cursor == "" || len(d.Prompts) > maxPrompts {
			return nil
		}
	}
	return nil
}

// relist asks again after the server said that something changed. What comes up meanwhile is part of the answer, or
// announced again.
func (s *session) relist() {
	s.mu.Lock()
	busy := s.listing || s.defs == nil
	s.listing = true
	s.mu.Unlock()
	if busy {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), helloTime)
		defer cancel()
		defs, err := s.list(ctx)
		s.mu.Lock()
		s.listing = false
		if err == nil {
			s.defs = defs
		}
		s.mu.Unlock()
		if err == nil {
			_ = s.host.noteServerInfo(defs, nil)
		}
	}()
}

// definitions is what the server says of itself now.
func (s *session) definitions() *Definitions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.defs
}

// progress passes on how far a call is.
func (s *session) progress(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	s.mu.Lock()
	call, known := s.calls[token]
	s.mu.Unlock()
	update := tongs.Update{Title: cleantext.Text(p.Message, 200), Done: p.Progress, Total: p.Total}
	switch stream, printed := p.Meta[MetaStream].(string); {
	case !known:
		return
	case call.own && printed:
		if stream == "stdout" || stream == "stderr" {
			_, _ = io.WriteString(call.env.Output(stream), p.Message)
		}
		return
	case call.own:
		update.Metadata, _ = p.Meta[MetaUpdate].(map[string]any)
		update.Done = 0 // it counts messages
	}
	call.env.Update(update)
}

// enter and leave frame a call.
func (s *session) enter(token string, call flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[token] = call
}

func (s *session) leave(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, token)
}

func (s *session) busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// end ends the session and its program. It does not wait for that.
func (s *session) end() {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	s.stopping = true
	s.mu.Unlock()
	close(s.down)
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.client != nil {
		go s.client.Close()
	}
}

// stop ends the session and returns when its program is gone.
func (s *session) stop() {
	s.end()
	if s.proc != nil {
		<-s.exited
	}
}

// denied are the effects that would have let the program through where the sandbox stopped it.
func (s *session) denied() []tongs.Effect {
	d, ok := s.proc.(interface{ Denied() []tongs.Effect })
	if !ok {
		return nil
	}
	return d.Denied()
}

// ended says how a server ended that should not have.
func (s *session) ended(doing string) error {
	why := "the connection was lost"
	if s.proc != nil {
		select {
		case <-s.exited:
		case <-time.After(s.host.set.opt.Grace + time.Second):
		}
	}
	s.mu.Lock()
	exit := s.exit
	s.mu.Unlock()
	if exit != nil {
		why = fmt.Sprintf("its program ended with exit code %d", exit.Code)
		if exit.Signal != "" {
			why = "its program was ended: " + exit.Signal
		}
	}
	if s.conn != nil {
		if fault := s.conn.fault(); !errors.Is(fault, io.EOF) && !errors.Is(fault, io.ErrClosedPipe) {
			why = fault.Error()
		}
	}
	err := tongs.Errorf(tongs.CodeExecutionError, "%s failed while %s: %s", s.host.cfg.called(), doing, cleantext.Text(why, 500))
	if said := s.stderr.last(); said != "" {
		err.Message += "; it said:\n" + said
	}
	return err
}
