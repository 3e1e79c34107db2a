package tongs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
)

// Def defines a tool by typed functions. In and Out are structs (In must be); their fields' json names, jsonschema
// tags and the further tags of [SchemaOf] make the schemas.
type Def[In, Out any] struct {
	// Spec needs a Name and a Description. Schemas that are nil are inferred.
	Spec Spec
	// Plan says what a call would do; nil means one unknown effect for each permission needed.
	Plan func(ctx context.Context, view *View, in In) (*Plan, error)
	Run  func(ctx context.Context, env *Env, in In) (Out, error)
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// New makes a tool of a definition. It is safe for concurrent use if the definition's functions are.
func New[In, Out any](def Def[In, Out]) (Tool, error) {
	spec := def.Spec
	if !toolName.MatchString(spec.Name) {
		return nil, fmt.Errorf("tool name %q: want 1 to 64 of letters, digits, _ and -", spec.Name)
	}
	if spec.Description == "" {
		return nil, fmt.Errorf("tool %s has no description", spec.Name)
	}
	if def.Run == nil {
		return nil, fmt.Errorf("tool %s has no Run", spec.Name)
	}
	if spec.Source.Kind == "" {
		spec.Source.Kind = SourceBuiltin
	}
	if spec.Input == nil {
		in, aliases, err := SchemaOf[In]()
		if err != nil {
			return nil, fmt.Errorf("tool %s: input schema: %w", spec.Name, err)
		}
		spec.Input = in
		if spec.ArgAliases == nil {
			spec.ArgAliases = aliases
		}
	}
	if spec.Input.Type != "object" {
		return nil, fmt.Errorf("tool %s: input schema has type %q, want object", spec.Name, spec.Input.Type)
	}
	if spec.Output == nil {
		out, _, err := SchemaOf[Out]()
		if err != nil {
			return nil, fmt.Errorf("tool %s: output schema: %w", spec.Name, err)
		}
		spec.Output = out
	}
	t := &defined[In, Out]{spec: &spec, run: def.Run}
	if def.Plan == nil {
		return t, nil
	}
	return &planned[In, Out]{defined: t, plan: def.Plan}, nil
}

type defined[In, Out any] struct {
	spec *Spec
	run  func(context.Context, *Env, In) (Out, error)
}

func (t *defined[In, Out]) Spec() *Spec { return t.spec }

func (t *defined[In, Out]) Call(ctx context.Context, env *Env, call *Call) (*Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	in, err := decode[In](call)
	if err != nil {
		return nil, err
	}
	out, err := t.run(ctx, env, in)
	if err != nil {
		// Only an error of the model's keeps what was made so far: the partial output of a command that timed out.
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return nil, err
		}
		res := &Result{}
		if !reflect.ValueOf(&out).Elem().IsZero() {
			res = present(out)
		}
		res.Error = e
		return res, nil
	}
	res := present(out)
	if res.Value == nil {
		if res.Value, err = json.Marshal(out); err != nil {
			return nil, fmt.Errorf("value of %s: %w", t.spec.Name, err)
		}
	}
	if res.Content == "" {
		res.Content = string(res.Value)
	}
	return res, nil
}

type planned[In, Out any] struct {
	*defined[In, Out]
	plan func(context.Context, *View, In) (*Plan, error)
}

func (t *planned[In, Out]) Plan(ctx context.Context, view *View, call *Call) (*Plan, error) {
	in, err := decode[In](call)
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, view, in)
}

func decode[In any](call *Call) (in In, err error) {
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return in, Errorf(CodeInvalidArgs, "arguments of %s: %w", call.Tool, err)
	}
	return in, nil
}

func present(out any) *Result {
	res := &Result{}
	switch out := out.(type) {
	case Presenter:
		out.Present(res)
	case string:
		res.Content = out
	}
	return res
}

// Lazy returns a tool whose definition is made when it is first needed. The spec it is given stands for it until
// then: it needs a name, and whatever should be seen in listings. What init returns must have the same name.
func Lazy(spec Spec, init func(ctx context.Context, in InitContext) (Tool, error)) Tool {
	return &lazy{spec: &spec, init: init}
}

type lazy struct {
	spec *Spec
	init func(context.Context, InitContext) (Tool, error)
}

func (l *lazy) Spec() *Spec { return l.spec }

func (l *lazy) Init(ctx context.Context, in InitContext) (Tool, error) {
	tool, err := l.init(ctx, in)
	if err != nil {
		return nil, err
	}
	if name := tool.Spec().Name; name != l.spec.Name {
		return nil, fmt.Errorf("lazy tool %s made a tool named %s", l.spec.Name, name)
	}
	return tool, nil
}

func (l *lazy) Call(context.Context, *Env, *Call) (*Result, error) {
	return nil, fmt.Errorf("lazy tool %s was called before it was initialised", l.spec.Name)
}
