package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Launch is what a server is started with by a package that makes tools of its own of it: what was decided for the call.
type Launch struct {
	Commands tongs.Commands
	// Effects are what starting it does, as they were decided; Hosts are those that its program may reach.
	Effects []tongs.Effect
	Hosts   []string
	// Dir is the host path of the workspace.
	Dir string
	// ReadOnly keeps the program from writing to any root.
	ReadOnly bool
}

func (l Launch) launch() launch {
	return launch{commands: l.Commands, effects: l.Effects, hosts: l.Hosts, dir: l.Dir, readOnly: l.ReadOnly}
}

// Open starts the server, unless it runs, and returns what it says of itself. It is for packages that make tools of their
// own of a server: whether it may be started, and whether its words may be shown, is theirs to have decided.
func (s *Set) Open(ctx context.Context, server string, l Launch) (*Definitions, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	session, err := h.session(ctx, l.launch())
	if err != nil {
		return nil, err
	}
	return session.definitions(), nil
}

// Use makes a call of a tool that is described by def, and by spec here. A server that describes the tool otherwise, by
// now, is not called. It is told which call it is for. What it could not reach is a *tongs.Need.
func (s *Set) Use(ctx context.Context, server string, l Launch, def *Definition, spec *tongs.Spec, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	t := &tool{host: h, entry: entry{name: def.Name, status: tongs.StatusReady, def: def, pinned: def}, spec: spec, own: true}
	return t.serve(ctx, env, call, l.launch())
}

// Ask calls a tool that the server does not list, for what its owner has to know of it. Nothing about it is checked.
func (s *Set) Ask(ctx context.Context, server string, l Launch, name string, args json.RawMessage, id string) (*tongs.Result, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	session, err := h.session(ctx, l.launch())
	if err != nil {
		return nil, err
	}
	t := &tool{host: h, entry: entry{name: name}, spec: &tongs.Spec{Name: name}}
	answer, err := t.ask(ctx, session, &tongs.Env{Update: func(tongs.Update) {}}, &tongs.Call{ID: id}, args)
	if err != nil {
		return nil, err
	}
	return result(t.spec, &s.validator, answer)
}

// Schemas reads the schemas of the arguments and of the result, which is nil where it is not given.
func (d *Definition) Schemas() (in, out *jsonschema.Schema, err error) { return d.schemas() }

// Find returns the definition of a tool, nil where there is none.
func (d *Definitions) Find(tool string) *Definition { return d.tool(tool) }

// Readable is text of a server as a model may see it: at most n bytes, and without characters that do not show.
func Readable(s string, n int) string { return cleantext.Text(s, n) }

// Render writes out what the server says of its tools, for a person.
func (d *Definitions) Render() string { return d.render(func(string) bool { return true }) }
