package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
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
		p := &source{}
		e, err := engine.New(engine.Options{Providers: sources{tongs.SourceBuiltin: p}})
		if err != nil {
			t.Fatal(err)
		}
		p.set(tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read}, nil, nil))
		if err := look(e); err != nil || p.asked.Load() != 1 {
			t.Errorf("%s: refreshed %d times, %v", name, p.asked.Load(), err)
		}
	}
}
