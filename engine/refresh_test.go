package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/registry"
)

// Whatever looks for tools finds those that came the moment before.
func TestRefreshBeforeLookup(t *testing.T) {
	call := &tongs.Call{Tool: "echo", Args: json.RawMessage(`{"text":"x"}`)}
	for name, look := range map[string]func(*engine.Engine) error{
		"call": func(e *engine.Engine) error { return asError(e.Call(t.Context(), call)) },
		"within": func(e *engine.Engine) error {
			return asError(e.Within(tongs.Scope{Agent: "a"}).Call(t.Context(), call))
		},
		"explain": func(e *engine.Engine) error { _, err := e.Explain(t.Context(), call); return err },
		"validate": func(e *engine.Engine) error {
			_, err := e.Validate(t.Context(), "echo", call.Args)
			return err
		},
		"list": func(e *engine.Engine) error {
			if specs, _ := e.Tools(t.Context()); len(specs) != 1 {
				return tongs.Errorf(tongs.CodeUnknownTool, "%d tools", len(specs))
			}
			return nil
		},
	} {
		reg, err := registry.New()
		if err != nil {
			t.Fatal(err)
		}
		times := 0
		e, err := engine.New(engine.Options{Registry: reg, Refresh: func() {
			if times++; times == 1 {
				if err := reg.Register(tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read}, nil, nil)); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := look(e); err != nil || times != 1 {
			t.Errorf("%s: refreshed %d times, %v", name, times, err)
		}
	}
}
