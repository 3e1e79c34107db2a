// Package serve serves the tools of a Go module over MCP. The module has this function:
//
//	func Tools() []tongs.Tool
//
// The package is linked into the program that is built from the module. The tools run in an engine of their own,
// in the sandbox of the module: what that lets them do was decided before they are called.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/module/gohost"
	"github.com/tongs-ai/tongs/workspace"
)

// Main serves the tools until its input ends.
func Main(tools []tongs.Tool) {
	eng, err := newEngine(tools)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	served := make([]gohost.Served, 0, len(tools))
	for _, t := range tools {
		served = append(served, serve(eng, t))
	}
	gohost.Serve(served)
}

// newEngine returns an engine that asks nobody: it can do no more than the sandbox that it is in.
func newEngine(tools []tongs.Tool) (*engine.Engine, error) {
	opt := engine.Options{Tools: tools, Mode: tongs.ModeAll}
	if dir := os.Getenv("AGENT_WORKSPACE_ROOT"); dir != "" {
		locks, err := os.MkdirTemp("", "locks-") // in the sandbox, and gone with it
		if err != nil {
			return nil, err
		}
		if opt.Workspace, err = workspace.Open(workspace.Options{Dir: dir, LockDir: locks}); err != nil {
			return nil, err
		}
	}
	return engine.New(opt)
}

// serve makes of a tool what the host knows.
func serve(eng *engine.Engine, t tongs.Tool) gohost.Served {
	spec := t.Spec()
	s := gohost.Served{Name: spec.Name, Description: spec.Description, Input: spec.Input, Says: "plan"}
	s.Call = func(ctx context.Context, id string, args json.RawMessage) (any, string, error) {
		call := &tongs.Call{ID: id, Tool: spec.Name, Args: args}
		call.Session, _ = ctx.Value("sessionId").(string)
		call.Message, _ = ctx.Value("messageId").(string)
		if agent, _ := ctx.Value("agent").(string); agent != "" {
			call.Agents = []string{agent}
		}
		res := eng.Call(ctx, call)
		if res.Error != nil {
			return nil, "", fmt.Errorf("%s", res.Error.Message)
		}
		return res.Value, res.Content, nil
	}
	s.Plan = func(ctx context.Context, id string, args json.RawMessage) (any, error) {
		return plan(ctx, eng, spec, id, args)
	}
	return s
}

// planned is what a call would do, as the walk outside reads it.
type planned struct {
	Say     *tongs.Decision `json:"say,omitempty"`
	Effects []tongs.Effect  `json:"effects,omitempty"`
}

// plan tells what a call would do: it adds to what running the module does, and takes nothing away. A tool that is free by its
// own default says so.
func plan(ctx context.Context, eng *engine.Engine, spec *tongs.Spec, id string, args json.RawMessage) (planned, error) {
	e, err := eng.Explain(ctx, &tongs.Call{ID: id, Tool: spec.Name, Args: args})
	if err != nil {
		return planned{}, err
	}
	p := planned{}
	for _, effect := range e.Effects {
		if !effect.Unknown {
			p.Effects = append(p.Effects, effect)
		}
	}
	if spec.Default == tongs.PreApproved && len(p.Effects) == 0 {
		free := tongs.PreApproved
		p.Say = &free
	}
	return p, nil
}
