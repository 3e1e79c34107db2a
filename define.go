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
	failure, told := errors.AsType[*Error](err)
	if err != nil && !told {
		return nil, err
	}
	if told && reflect.ValueOf(&out).Elem().IsZero() {
		return &Result{Error: failure}, nil
	}
	// A failure that the model should see keeps what was made until then: the output of a command that timed out.
	res, err := present(&out)
	if err != nil {
		return nil, fmt.Errorf("value of %s: %w", t.spec.Name, err)
	}
	res.Error = failure
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

// present makes the result of what a tool returned.
func present[Out any](out *Out) (*Result, error) {
	fillSlices(reflect.ValueOf(out).Elem())
	value, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	res := &Result{Value: value}
	if text, ok := any(*out).(string); ok {
		res.Content = text
		return res, nil
	}
	if p, ok := any(out).(Presenter); ok {
		p.Present(res)
	} else if p, ok := any(*out).(Presenter); ok {
		p.Present(res)
	}
	if res.Content == "" {
		res.Content = string(value)
	}
	return res, nil
}

// fillSlices makes nil slices in structs empty ones: in JSON they would be null, which is not an array.
func fillSlices(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillSlices(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				fillSlices(v.Index(i))
			}
		}
	}
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
