package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Builtins returns create_custom_tool, build_custom_tool and run_custom_tool.
func (s *Set) Builtins() ([]tongs.Tool, error) {
	var tools []tongs.Tool
	for _, make := range []func() (tongs.Tool, error){s.createTool, s.buildTool, s.runTool} {
		t, err := make()
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// Created is the value of create_custom_tool.
type Created struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Files []string `json:"files"`

	build bool
}

// Present says what to do next.
func (c *Created) Present(r *tongs.Result) {
	r.Title = "Create custom tool " + c.Name
	r.Content = "Made " + c.Path + ":"
	for _, f := range c.Files {
		r.Content += " " + f
	}
	r.Content += ". Edit the source and tool.yaml there, then call build_custom_tool"
	if !c.build {
		r.Content += " to test it; it can be called already"
	}
	r.Content += "."
}

func (s *Set) createTool() (tongs.Tool, error) {
	in, aliases, err := tongs.SchemaOf[Draft]()
	if err != nil {
		return nil, err
	}
	in.Properties["parameters"].Items.Properties["enum"].Items = &jsonschema.Schema{Type: "string"} // some models take no list of anything
	return tongs.New(tongs.Def[Draft, Created]{
		Spec: tongs.Spec{
			Name: "create_custom_tool", Title: "Create custom tool", Toolset: Toolset, Complex: true, Control: true, Input: in, ArgAliases: aliases,
			Description: "Makes a tool for later sessions: boilerplate in /forge/NAME that takes the parameters and compiles. " +
				"Edit it, then build_custom_tool.",
			Needs: tongs.Write,
		},
		Plan: s.planCreate, Run: s.create,
	})
}

// place is the directory of a tool, as effects name it.
func place(name string) tongs.Path { return tongs.Path{Root: Root, Rel: name} }

// open refuses where no tools can be made.
func (s *Set) open() error {
	if s.opt.Closed != "" {
		return tongs.Errorf(tongs.CodeConfigError, "%s", s.opt.Closed)
	}
	return nil
}

func (s *Set) planCreate(_ context.Context, v *tongs.View, d Draft) (*tongs.Plan, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	made, err := d.Scaffold()
	if err != nil {
		return nil, err
	}
	if why := s.opt.Taken(d.Name); why != "" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "a custom tool cannot be named %q: %s; choose another name", d.Name, why)
	}
	version, err := v.Files.Version(place(d.Name))
	if err != nil {
		return nil, err
	}
	if version != tongs.Absent {
		return nil, exists(d.Name)
	}
	return &tongs.Plan{
		Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: place(d.Name), Version: tongs.Absent, Why: "a new tool"}},
		Kind:    tongs.KindWrite, Message: fmt.Sprintf("Create the custom tool %s in %s", d.Name, v.Files.Host(place(d.Name))),
		Preview: func(context.Context) (string, error) { return made.Text(), nil },
	}, nil
}

func (s *Set) create(ctx context.Context, env *tongs.Env, d Draft) (Created, error) {
	made, err := d.Scaffold()
	if err != nil {
		return Created{}, err
	}
	release, err := hold(ctx, env, place(d.Name))
	if err != nil {
		return Created{}, err
	}
	changed := ""
	defer func() { release(changed) }()
	if _, err := made.Write(s.opt.Dir); err != nil {
		return Created{}, err
	}
	changed = "made " + place(d.Name).String()
	return Created{Name: d.Name, Path: place(d.Name).String(), Files: made.Names(), build: !made.lang.script}, s.changed()
}

// hold locks a path that was decided to be written, and checks that it is in the state that was decided.
func hold(ctx context.Context, env *tongs.Env, p tongs.Path) (func(changed string), error) {
	holder, ok := env.Files.(tongs.Holder)
	if !ok {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the files of this program cannot be held, so that no custom tool can be written")
	}
	return holder.Hold(ctx, []tongs.Effect{{Kind: tongs.EffectWrite, Path: p}})
}

// runInput are the arguments of run_custom_tool.
type runInput struct {
	Tool      string          `json:"tool_name" jsonschema:"Custom tool to run."`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Timeout   float64         `json:"timeout,omitempty" jsonschema:"Seconds."`
}

// runTool stands for the custom tool that it is called with.
type runTool struct {
	tongs.Tool
	set *Set
}

func (s *Set) runTool() (tongs.Tool, error) {
	type input struct {
		Tool      string         `json:"tool_name" jsonschema:"Custom tool to run."`
		Arguments map[string]any `json:"arguments,omitempty" jsonschema:"Passed as flags."`
		Timeout   float64        `json:"timeout,omitempty" jsonschema:"Seconds."`
	}
	in, aliases, err := tongs.SchemaOf[input]()
	if err != nil {
		return nil, err
	}
	least, most := 1.0, s.opt.MaxTimeout.Seconds()
	in.Properties["timeout"].Minimum, in.Properties["timeout"].Maximum = &least, &most
	in.Properties["timeout"].Description = fmt.Sprintf("Seconds: %g unless given.", s.opt.Timeout.Seconds())
	t, err := tongs.New(tongs.Def[input, Output]{
		Spec: tongs.Spec{
			Name: "run_custom_tool", Title: "Run custom tool", Toolset: Toolset, Input: in, ArgAliases: aliases, Control: true,
			Description: "Runs a custom tool by its name.", Needs: tongs.Execute, Hints: tongs.Hints{Destructive: true, OpenWorld: true},
		},
		Run: func(context.Context, *tongs.Env, input) (Output, error) {
			return Output{}, tongs.Errorf(tongs.CodeInternal, "run_custom_tool stands for another tool, and is never run itself")
		},
	})
	return &runTool{t, s}, err
}

// Redirect implements tongs.Redirector: the plan and the rules of the custom tool apply.
func (t *runTool) Redirect(call *tongs.Call) (*tongs.Redirect, error) {
	var in runInput
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "arguments of run_custom_tool: %w", err)
	}
	if err := t.set.changed(); err != nil {
		return nil, err
	}
	if _, err := t.set.known(in.Tool); err != nil {
		return nil, err
	}
	return &tongs.Redirect{
		Tool: in.Tool, Args: in.Arguments, Timeout: time.Duration(in.Timeout * float64(time.Second)),
		Kinds: []tongs.SourceKind{tongs.SourceForge},
	}, nil
}

// spelled is a path of a tool as calls spell it.
func spelled(name string, elements ...string) string {
	return path.Join(append([]string{"/", Root, name}, elements...)...)
}
