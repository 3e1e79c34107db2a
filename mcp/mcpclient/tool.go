package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Toolset is what configuration knows the tools of all MCP servers by.
const Toolset = "mcp"

// tool is a tool of a server, as it was defined when the tool was made. A server that describes it otherwise by the
// time of a call is not called.
type tool struct {
	// own is set where the server is run on behalf of this program, as the host of a module is.
	own  bool
	host *host
	entry
	spec *tongs.Spec
}

var _ tongs.Planner = (*tool)(nil)

// newTool makes the tool of an entry. A model is shown the server's words only if a person approved them.
func newTool(h *host, e entry) tongs.Tool {
	t := &tool{host: h, entry: e}
	t.spec = &tongs.Spec{
		Name: qualified(h.cfg.Name, e.name), Toolset: Toolset, Complex: true, Input: anything(),
		Source: tongs.Source{Kind: tongs.SourceMCP, Name: h.cfg.Name, Digest: e.source(h)},
		Needs:  tongs.Network,
		// What a server says of its tools is a hint that can make us stricter only, and this is the strictest.
		Hints: tongs.Hints{Destructive: true, OpenWorld: true},
	}
	if h.cfg.Local() {
		t.spec.Needs, t.spec.Optional = tongs.Execute, tongs.Network|tongs.Read|tongs.Write
	}
	switch e.status {
	case tongs.StatusReady:
		in, out, err := e.def.schemas()
		if err != nil {
			return brokenTool(t.spec, err.Error())
		}
		t.spec.Input, t.spec.Output = in, out
		t.spec.Title = cleantext.Text(e.def.Title, 100)
		t.spec.Description = cleantext.Text(e.def.Description, maxDescription)
		if t.spec.Description == "" {
			t.spec.Description = fmt.Sprintf("The tool %s of the MCP server %s.", cleantext.Text(e.name, 100), h.cfg.Name)
		}
	case tongs.StatusGone, tongs.StatusBroken:
		return brokenTool(t.spec, e.detail)
	default:
		t.spec.Description = fmt.Sprintf("A tool of the MCP server %s that is %s. A person has to review it: tongs mcp review %s",
			h.cfg.Name, e.status, h.cfg.Name)
	}
	return t
}

// brokenTool stands for one that cannot be called, and says why.
func brokenTool(spec *tongs.Spec, why string) tongs.Tool {
	spec.Description = "A tool of the MCP server " + spec.Source.Name + " that cannot be used."
	return tongs.Lazy(*spec, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s", cleantext.Text(why, 500))
	})
}

// Spec implements tongs.Tool.
func (t *tool) Spec() *tongs.Spec { return t.spec }

// Plan implements tongs.Planner: the program that would run and the hosts that it may reach, or the host that is called.
// While nobody approved the definition, that must be asked, whatever the rules say.
func (t *tool) Plan(_ context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
	known, approvedProgram, err := t.approved()
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Kind:    tongs.KindExecute,
		Message: fmt.Sprintf("%s would call the tool %q of the MCP server %s", t.spec.Name, cleantext.Text(t.name, 100), t.host.cfg.String()),
	}
	if t.def != nil && t.def.destructive() {
		plan.Kind = tongs.KindDestructive
	}
	main, p, err := t.effect(view)
	if err != nil {
		return nil, err
	}
	runs := p.pin.made()
	changed := runs.Digest() != approvedProgram.Digest()
	if !known || changed {
		main.MustAsk, main.Version = true, tongs.Version("mcp:"+t.spec.Source.Digest+" "+string(main.Version))
		main.Why = fmt.Sprintf("the tool is %s", t.status)
		if known {
			main.Why = "the program of the server changed since you approved it: " + cleantext.Text(runs.differs(approvedProgram), 500)
		}
		plan.Preview = func(context.Context) (string, error) {
			return t.preview() + udiff.Unified("approved", "now", approvedProgram.render(), runs.render()), nil
		}
	}
	plan.Effects = []tongs.Effect{main}
	if t.host.cfg.Local() {
		for _, name := range t.host.hosts() {
			plan.Effects = append(plan.Effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: name})
		}
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	p.effects = plan.Effects
	t.host.planned.put(call.ID, p)
	return plan, nil
}

// approved reports whether a person approved the definition, as it is kept now, and which program.
func (t *tool) approved() (bool, *Program, error) {
	r, err := t.host.record()
	if err != nil {
		return false, nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	pinned := r.Approved.tool(t.name)
	return t.def != nil && pinned != nil && pinned.Digest() == t.def.Digest(), r.Program, nil
}

// effect is what a call does at least. What a tool is called with goes to its server by its nature: that is what rules
// about the tool, and the review of the server, decided on.
func (t *tool) effect(view *tongs.View) (e tongs.Effect, p program, err error) {
	cfg := &t.host.cfg
	if !cfg.Local() {
		target, err := cfg.target()
		return target.Effect(), p, err
	}
	if p.pin, err = t.host.pin(view.Files.Host(tongs.Path{Rel: "."})); err != nil {
		return e, p, err
	}
	var states string
	p.files, states = workspaceFiles(view.Files, cfg.argv())
	version, err := t.host.programVersion(&p, states)
	if err != nil {
		return e, p, err
	}
	p.named = version
	if p.pin.program != nil {
		version = tongs.Version(digest([]byte(string(version) + p.pin.program.Digest())))
	}
	e = tongs.Effect{Kind: tongs.EffectExecute, Argv: cfg.argv(), Version: version}
	if cfg.Unconfined {
		e.Why = "outside the sandbox, which is switched off for this server (" + cfg.Origin + ")"
	}
	return e, p, nil
}

// program is what a call was planned with: the effects, and the files of the workspace that the command names.
type program struct {
	effects []tongs.Effect
	files   []string
	// named is the version of those files; pin is the program.
	named tongs.Version
	pin   *pin
}

// maxProgram is how large a file of the workspace may be that a server is started from.
const maxProgram = 64 << 20

// programVersion is the version of a program. While its files are in the states that they were last read in, they are
// not read again; empty states are not known.
func (h *host) programVersion(p *program, states string) (tongs.Version, error) {
	h.mu.Lock()
	known := h.hashed
	h.mu.Unlock()
	if states != "" && known.states == states {
		return known.version, nil
	}
	version, err := p.version()
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hashed = hashed{states, version}
	return version, nil
}

// hashed is a version of the program, and the states of the files that it was made of.
type hashed struct {
	states  string
	version tongs.Version
}

// workspaceFiles are the files in the roots that a command names, on this machine, and the states they are in, empty
// where one of those cannot be told.
func workspaceFiles(files tongs.FileView, argv []string) (list []string, states string) {
	sure := true
	for _, word := range argv {
		if word == "" || strings.HasPrefix(word, "-") || strings.Contains(word, "://") {
			continue
		}
		p, err := files.Resolve(word)
		if err != nil {
			continue
		}
		if info, err := files.Stat(p); err == nil && info.Type == tongs.FileRegular {
			state, err := files.Version(p)
			sure = sure && err == nil && state != ""
			states += fmt.Sprintf("%q %q\n", files.Host(p), state)
			list = append(list, files.Host(p))
		}
	}
	if !sure {
		states = ""
	}
	return list, states
}

// version binds what runs to the content of those files.
func (p *program) version() (tongs.Version, error) {
	if len(p.files) == 0 {
		return "", nil
	}
	h := sha256.New()
	for _, name := range p.files {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(h, "%s absent\n", name)
			continue
		}
		if err != nil {
			return "", err
		}
		n, err := io.Copy(h, io.LimitReader(f, maxProgram+1))
		f.Close()
		if err != nil {
			return "", err
		}
		if n > maxProgram {
			return "", tongs.Errorf(tongs.CodeTooLarge, "%s has more than %d bytes, and cannot be bound by its content", name, maxProgram)
		}
		fmt.Fprintf(h, "\n%d %s\n", n, name)
	}
	return tongs.Version("sha256:" + hex.EncodeToString(h.Sum(nil))), nil
}

// preview shows a person what the server says, behind words of ours.
func (t *tool) preview() string {
	switch {
	case t.def == nil:
		return "Nobody has looked at this server yet, so that what the tool does is not known."
	case t.pinned == nil:
		return "This is what the server says of the tool:\n" + t.def.render("tool")
	}
	return udiff.Unified("approved", "now", t.pinned.render("tool"), t.def.render("tool"))
}

// Call implements tongs.Tool.
func (t *tool) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	h := t.host
	h.learn(call.ID)
	l, err := t.launch(env, call)
	if err != nil {
		return nil, err
	}
	return t.serve(ctx, env, call, l)
}

// serve starts the server, unless it runs, and makes the call.
func (t *tool) serve(ctx context.Context, env *tongs.Env, call *tongs.Call, l launch) (*tongs.Result, error) {
	h := t.host
	s, err := h.session(ctx, l)
	if err != nil {
		if need, ok := errors.AsType[*tongs.Need](err); ok {
			h.ask(call.ID, need.Effects)
		}
		return nil, err
	}
	spec, args, err := t.check(s, call)
	if err != nil {
		return nil, err
	}
	answer, err := t.ask(ctx, s, env, call, args)
	if err != nil {
		return nil, err
	}
	res, err := result(spec, &h.set.validator, answer)
	if err != nil {
		return nil, err
	}
	if res.Error != nil {
		if need := t.need(s); len(need) > 0 {
			h.ask(call.ID, need)
			return nil, &tongs.Need{Effects: need, Reason: fmt.Sprintf("%s failed, and its server could not reach %s", t.spec.Name, targets(need))}
		}
	}
	res.Title = t.spec.DisplayName()
	res.SetMeta("mcpServer", h.cfg.Name)
	if h.cfg.Unconfined {
		res.SetMeta("sandbox", "off")
	}
	return res, nil
}

// launch is what the server would be started with. A program that changed while a person was asked is asked about again.
func (t *tool) launch(env *tongs.Env, call *tongs.Call) (launch, error) {
	h := t.host
	l := launch{commands: env.Commands, readOnly: !env.Granted.Has(tongs.Write)}
	if !h.cfg.Local() {
		return l, nil
	}
	if err := l.confine(); err != nil {
		return l, err
	}
	l.dir = env.Files.Host(tongs.Path{Rel: "."})
	h.mu.Lock()
	p, ok := h.planned.take(call.ID)
	h.mu.Unlock()
	if !ok || len(p.effects) == 0 {
		return l, tongs.Errorf(tongs.CodeInternal, "%s was called without having been planned", t.spec.Name)
	}
	l.effects = p.effects
	l.hosts = h.hosts()
	l.pin = p.pin
	l.verify = func() error {
		version, err := p.version()
		if err == nil && version != p.named {
			e := p.effects[0]
			e.Version = version
			err = &tongs.Need{Effects: []tongs.Effect{e}, Reason: "the program of the MCP server " + h.cfg.Name + " changed since it was planned"}
		}
		return err
	}
	return l, nil
}

// check makes sure that the server still describes the tool as it was when this one was made, and that the arguments
// fit that.
func (t *tool) check(s *session, call *tongs.Call) (*tongs.Spec, json.RawMessage, error) {
	server := t.host.cfg.Name
	now := s.definitions().tool(t.name)
	switch {
	case now == nil:
		return nil, nil, tongs.Errorf(tongs.CodeUnknownTool, "%s has no tool %q", t.host.cfg.called(), cleantext.Text(t.name, 100))
	case t.def == nil:
		return nil, nil, tongs.Errorf(tongs.CodeApprovalRequired,
			"the MCP server %s runs, but nobody has looked at what its tool %q says of itself. A person can do that with "+
				"'tongs mcp review %s'; another call asks them to", server, cleantext.Text(t.name, 100), server)
	case now.Digest() != t.def.Digest():
		return nil, nil, tongs.Errorf(tongs.CodeApprovalRequired,
			"%s changed how it describes %q, so the tool is quarantined. A person can review the "+
				"change with '%s'", t.host.cfg.called(), cleantext.Text(t.name, 100), t.host.cfg.review())
	case t.status == tongs.StatusReady:
		return t.spec, call.Args, nil
	}
	spec := *t.spec
	var err error
	var in, out *jsonschema.Schema
	if in, out, err = now.schemas(); err != nil {
		return nil, nil, tongs.Errorf(tongs.CodeConfigError, "%s cannot be used: %w", t.spec.Name, err)
	}
	spec.Input, spec.Output = in, out
	checked, err := t.host.set.validator.Check(&spec, call.Args)
	return &spec, checked.Args, err
}

// MetaCall is the key of a request's metadata with the session, the message and the agent of a call. Only servers that are
// run on behalf of this program are told.
const MetaCall = "ai.tongs/call"

// MetaStream and MetaUpdate are keys of the metadata of progress: of what a program printed during a call, with the name of the stream, and
// what it says of the call beyond a title. They count from servers that are run on behalf of this program.
const (
	MetaStream = "ai.tongs/stream"
	MetaUpdate = "ai.tongs/metadata"
)

// ask makes the call.
func (t *tool) ask(ctx context.Context, s *session, env *tongs.Env, call *tongs.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
	limit := t.host.cfg.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.enter(call.ID, flight{env, t.own})
	defer s.leave(call.ID)
	params := &mcp.CallToolParams{Name: t.name, Arguments: args}
	params.SetProgressToken(call.ID)
	if t.own {
		params.Meta[MetaCall] = map[string]string{"session": env.Call.Session, "message": env.Call.Message, "agent": env.Call.Agent()}
	}
	answer, err := s.client.CallTool(inner, params)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		s.probe()
		return nil, context.Cause(ctx)
	case inner.Err() != nil:
		s.probe()
		return nil, tongs.Errorf(tongs.CodeTimeout, "%s did not answer within %s", t.host.cfg.called(), limit)
	}
	return nil, t.failure(s, err)
}

// failure says what became of a call that was not answered.
func (t *tool) failure(s *session, err error) error {
	server := t.host.cfg.called()
	_, unsent := errors.AsType[*url.Error](err) // which the SDK calls an error of the protocol
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && !unsent && s.alive() {
		switch rpc.Code {
		case codeTooLarge:
			return tongs.Errorf(tongs.CodeTooLarge, "%s: %s", server, rpc.Message)
		case jsonrpc.CodeInvalidParams:
			return tongs.Errorf(tongs.CodeInvalidArgs, "%s refuses the arguments: %s", server, cleantext.Text(rpc.Message, 2000))
		}
		return tongs.Errorf(tongs.CodeExecutionError, "%s answers with an error: %s", server, cleantext.Text(rpc.Message, 2000))
	}
	if s.web != nil {
		why := s.web.refusalOf(err)
		if _, ok := errors.AsType[*tongs.Error](why); !ok {
			why = tongs.Errorf(tongs.CodeNetworkError, "%s could not be asked: %s", server, cleantext.Text(why.Error(), 500))
		}
		s.end() // what is left of it may be broken, and another costs little
		t.host.forget(s)
		return why
	}
	select {
	case <-s.down:
	case <-time.After(t.host.set.opt.Grace):
		if s.alive() && !errors.Is(err, mcp.ErrConnectionClosed) {
			return tongs.Errorf(tongs.CodeExecutionError, "%s could not be asked: %s", server, cleantext.Text(err.Error(), 500))
		}
	}
	s.end()
	ended := s.ended("it ran " + t.spec.Name)
	t.host.countEarlyEnd(s, ended)
	return ended
}

// forget takes a session off that is of no more use through no fault of the server.
func (h *host) forget(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live == s {
		h.live = nil
	}
}

// probe ends the session of a program that let a call wait for too long, unless it shows that it is there.
func (s *session) probe() {
	if s.proc == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingTime)
		defer cancel()
		err := s.client.Ping(ctx, nil)
		if _, answered := errors.AsType[*jsonrpc.Error](err); err == nil || answered {
			return
		}
		s.end()
		s.host.forget(s)
	}()
}

// need are hosts and names that the server could not reach and that were not decided for it.
func (t *tool) need(s *session) []tongs.Effect {
	if s.proc == nil {
		return nil
	}
	have := s.hosts
	return slices.DeleteFunc(s.denied(), func(e tongs.Effect) bool {
		return e.Kind == tongs.EffectNetwork && slices.Contains(have, e.Host)
	})
}
