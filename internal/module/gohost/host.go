// Package gohost is the host of a Go module: it speaks MCP for the functions that the module has. It is copied into the
// program that is built of a module, so that it depends on the standard library only.
package gohost

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
)

// Func is an exported function that is a tool.
type Func struct {
	Name, Description string
	// Func takes a struct, or a context and a struct, or less; it returns a value, an error, or both.
	Func any
	// NeedsApproval is nil, a bool, or a function of the same arguments that returns one.
	NeedsApproval any
}

type settings struct {
	Module string   `json:"module"`
	Tools  []string `json:"tools"`
	Asks   string   `json:"asks"`
}

type report struct {
	Tools    map[string]string `json:"tools"`
	Problems map[string]string `json:"problems"`
}

// Served is a tool that somebody else made.
type Served struct {
	Name, Description string
	// Input is its schema; Says is "ask", "free" or "plan".
	Input any
	Says  string
	// Call returns the value and its text; Plan says what a call would do.
	Call func(ctx context.Context, id string, args json.RawMessage) (value any, text string, err error)
	Plan func(ctx context.Context, id string, args json.RawMessage) (any, error)
}

type tool struct {
	Func
	name  string
	input any
	// made is set for a tool that somebody else made.
	made *Served
}

type host struct {
	settings  settings
	workspace string
	tools     map[string]*tool
	report    report

	mu      sync.Mutex
	out     io.Writer
	running map[string]context.CancelFunc
	// tokens are those of the calls that run: what is printed belongs to a call while it is the only one.
	tokens map[string]any
	// prints are what the module prints, one for each stream; flushing guards waiting for them.
	prints   []*printed
	flushing sync.Mutex
}

// Main serves the functions until its input ends.
func Main(funcs []Func) {
	h := newHost()
	for _, name := range h.settings.Tools {
		h.add(name, funcs)
	}
	h.run(os.NewFile(4, "requests"))
}

// Serve serves tools that somebody else made until its input ends.
func Serve(tools []Served) {
	h := newHost()
	var names []string
	for i := range tools {
		names = append(names, tools[i].Name)
		h.tools[tools[i].Name] = &tool{name: tools[i].Name, input: tools[i].Input, made: &tools[i], Func: Func{Description: tools[i].Description}}
	}
	for _, name := range h.settings.Tools {
		if t := h.tools[name]; t != nil {
			h.report.Tools[name] = t.made.Says
		} else {
			h.report.Problems[name] = fmt.Sprintf("Tools of %s returns no tool %s; it returns %s", h.settings.Module, name, strings.Join(names, ", "))
		}
	}
	h.run(os.NewFile(4, "requests"))
}

func newHost() *host {
	h := &host{
		workspace: os.Getenv("AGENT_WORKSPACE_ROOT"), tools: map[string]*tool{}, running: map[string]context.CancelFunc{}, tokens: map[string]any{},
		report: report{Tools: map[string]string{}, Problems: map[string]string{}}, out: os.NewFile(3, "messages"),
	}
	h.configure()
	return h
}

func (h *host) run(requests io.Reader) {
	h.capture("stdout", &os.Stdout)
	h.capture("stderr", &os.Stderr)
	in := bufio.NewReaderSize(requests, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			h.serve(line)
		}
		if err != nil {
			return
		}
	}
}

// printed is what a module prints to one of its streams.
type printed struct {
	host *host
	name string
	to   *os.File
	in   *os.File
	// mark is written by the host itself, to know that everything before it was passed on; seen is told so.
	mark []byte
	seen chan struct{}
}

// capture has what the module prints go to the call that it is for, and on to where it went before.
func (h *host) capture(name string, file **os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		return // it goes on to where it went before
	}
	p := &printed{host: h, name: name, to: *file, in: w, mark: []byte("\x00" + rand.Text() + "\x00"), seen: make(chan struct{})}
	*file = w
	h.prints = append(h.prints, p)
	go p.pass(r)
}

func (p *printed) pass(r io.Reader) {
	var data []byte
	buf := make([]byte, 1<<15)
	for {
		n, err := r.Read(buf)
		data = append(data, buf[:n]...)
		for {
			text, rest, found := bytes.Cut(data, p.mark)
			if !found {
				break
			}
			p.tell(text)
			p.seen <- struct{}{}
			data = rest
		}
		held := 0 // what may be the beginning of a mark
		for i := min(len(data), len(p.mark)-1); i > 0 && held == 0; i-- {
			if bytes.HasSuffix(data, p.mark[:i]) {
				held = i
			}
		}
		p.tell(data[:len(data)-held])
		data = append([]byte(nil), data[len(data)-held:]...)
		if err != nil {
			return
		}
	}
}

func (p *printed) tell(text []byte) {
	if len(text) == 0 {
		return
	}
	p.host.mu.Lock()
	var token any
	if len(p.host.tokens) == 1 {
		for _, token = range p.host.tokens {
		}
	}
	p.host.mu.Unlock()
	if token != nil {
		p.host.tell(token, string(text), "ai.tongs/stream", p.name)
	}
	_, _ = p.to.Write(text)
}

// flush waits until what was printed so far was passed on.
func (h *host) flush() {
	h.flushing.Lock()
	defer h.flushing.Unlock()
	for _, p := range h.prints {
		if _, err := p.in.Write(p.mark); err == nil {
			<-p.seen
		}
	}
}

// tell says how a call goes.
func (h *host) tell(token any, message, key string, value any) {
	h.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{
		"progressToken": token, "progress": 0, "message": message, "_meta": map[string]any{key: value},
	}})
}

// configure reads what the host is told: beside its program, and which tools are exposed.
func (h *host) configure() {
	data, err := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), "settings.json"))
	if err == nil {
		err = json.Unmarshal(data, &h.settings)
	}
	if err == nil {
		err = json.Unmarshal([]byte(os.Getenv("TONGS_TOOLS")), &h.settings.Tools)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the settings of the module cannot be read:", err)
		os.Exit(1)
	}
	os.Unsetenv("TONGS_TOOLS")
	os.Unsetenv("TONGS_LANGUAGE")
}

// add takes up the function that is exposed under a name.
func (h *host) add(name string, funcs []Func) {
	for _, f := range funcs {
		if f.Name != name && f.Name != strings.ToUpper(name[:1])+name[1:] {
			continue
		}
		t := &tool{Func: f, name: name}
		var err error
		if t.input, err = inputOf(reflect.TypeOf(f.Func)); err != nil {
			h.report.Problems[name] = fmt.Sprintf("the input of %s is of the wrong kind: %v", f.Name, err)
			return
		}
		h.tools[name] = t
		switch says := f.NeedsApproval.(type) {
		case nil:
			h.report.Tools[name] = ""
		case bool:
			h.report.Tools[name] = map[bool]string{true: "ask", false: "free"}[says]
		default:
			h.report.Tools[name] = "function"
		}
		return
	}
	h.report.Problems[name] = fmt.Sprintf("%s has no function %s that can be a tool", h.settings.Module, name)
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Protocol  string          `json:"protocolVersion"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Request   json.RawMessage `json:"requestId"`
		Meta      struct {
			Token any               `json:"progressToken"`
			Call  map[string]string `json:"ai.tongs/call"`
		} `json:"_meta"`
	} `json:"params"`
}

func (h *host) serve(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch m.Method {
	case "initialize":
		about, _ := json.Marshal(h.report)
		h.answer(m.ID, map[string]any{
			"protocolVersion": m.Params.Protocol, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": h.settings.Module, "version": "1"}, "instructions": string(about),
		})
	case "tools/list":
		list := []any{}
		for _, name := range h.settings.Tools {
			if t := h.tools[name]; t != nil {
				list = append(list, map[string]any{"name": name, "description": t.Description, "inputSchema": t.input})
			}
		}
		h.answer(m.ID, map[string]any{"tools": list})
	case "tools/call":
		ctx, cancel := context.WithCancel(context.Background())
		h.mu.Lock()
		h.running[string(m.ID)] = cancel
		if m.Params.Meta.Token != nil {
			h.tokens[string(m.ID)] = m.Params.Meta.Token
		}
		h.mu.Unlock()
		go h.call(ctx, m)
	case "notifications/cancelled":
		h.mu.Lock()
		if cancel := h.running[string(m.Params.Request)]; cancel != nil {
			cancel()
		}
		h.mu.Unlock()
	case "ping":
		h.answer(m.ID, map[string]any{})
	default:
		if len(m.ID) > 0 {
			h.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown method " + m.Method}})
		}
	}
}

func (h *host) send(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.out.Write(append(data, '\n')); err != nil {
		os.Exit(1)
	}
}

func (h *host) answer(id json.RawMessage, result any) {
	h.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

// errArguments marks what is wrong with the arguments.
var errArguments = errors.New("arguments")

// call makes one call. A panic of the function is its failure.
func (h *host) call(ctx context.Context, m message) {
	defer func() {
		h.mu.Lock()
		h.running[string(m.ID)]()
		delete(h.running, string(m.ID))
		delete(h.tokens, string(m.ID))
		h.mu.Unlock()
	}()
	value, text, err := h.invoke(ctx, m)
	h.flush()
	if errors.Is(err, errArguments) {
		h.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32602, "message": err.Error()}})
		return
	}
	var data []byte
	if err == nil {
		if data, err = json.Marshal(value); err != nil {
			err = fmt.Errorf("the result cannot be written as JSON: %w", err)
		}
	}
	if err != nil {
		h.answer(m.ID, map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": err.Error()}}})
		return
	}
	if s, ok := value.(string); ok {
		text = s
	} else if text == "" {
		text = string(data)
	}
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if value != nil {
		result["structuredContent"] = map[string]any{"value": json.RawMessage(data)}
	}
	h.answer(m.ID, result)
}

func (h *host) invoke(ctx context.Context, m message) (value any, text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	name, args, asked := m.Params.Name, m.Params.Arguments, m.Params.Name == h.settings.Asks
	if asked {
		var about struct {
			Tool  string          `json:"tool"`
			Input json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(args, &about); err != nil {
			return nil, "", fmt.Errorf("%w: %v", errArguments, err)
		}
		name, args = about.Tool, about.Input
	}
	t := h.tools[name]
	if t == nil {
		return nil, "", fmt.Errorf("%w: there is no tool %s", errArguments, name)
	}
	id := fmt.Sprint(m.Params.Meta.Token)
	for key, value := range map[string]any{
		"metadata": func(title string, metadata map[string]any) {
			if m.Params.Meta.Token != nil {
				h.tell(m.Params.Meta.Token, title, "ai.tongs/metadata", metadata)
			}
		},
		"callId": id, "workspace": h.workspace, "sessionId": m.Params.Meta.Call["session"],
		"messageId": m.Params.Meta.Call["message"], "agent": m.Params.Meta.Call["agent"],
	} {
		//lint:ignore SA1029 a module knows no types of ours
		ctx = context.WithValue(ctx, key, value)
	}
	if t.made != nil {
		if asked {
			value, err = t.made.Plan(ctx, id, args)
			return value, "", err
		}
		return t.made.Call(ctx, id, args)
	}
	f := t.Func.Func
	if asked {
		f = t.NeedsApproval
	}
	value, err = call(ctx, reflect.ValueOf(f), args)
	return value, "", err
}

// call calls a function with what it takes.
func call(ctx context.Context, f reflect.Value, args json.RawMessage) (any, error) {
	var in []reflect.Value
	for i := 0; i < f.Type().NumIn(); i++ {
		p := f.Type().In(i)
		if p == reflect.TypeFor[context.Context]() {
			in = append(in, reflect.ValueOf(ctx))
			continue
		}
		v := reflect.New(p)
		dec := json.NewDecoder(bytes.NewReader(args))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v.Interface()); err != nil {
			return nil, fmt.Errorf("%w: %v", errArguments, err)
		}
		in = append(in, v.Elem())
	}
	var value any
	for _, v := range f.Call(in) {
		if v.Type() != reflect.TypeFor[error]() {
			value = v.Interface()
		} else if !v.IsNil() {
			return nil, v.Interface().(error)
		}
	}
	return value, nil
}
