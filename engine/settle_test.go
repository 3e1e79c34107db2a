package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

// doing is a tool that runs a program on a copy, any number of times, and ends as it is told.
func doing(t *testing.T, do func(ctx context.Context, env *tongs.Env) error) tongs.Tool {
	spec := tongs.Spec{Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network}
	return tool(t, spec, func(*tongs.View, echoIn) (*tongs.Plan, error) {
		return &tongs.Plan{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"./migrate.sh"}}}, Contained: true, Message: "Run: ./migrate.sh",
		}, nil
	}, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		if _, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"./migrate.sh"}}); err != nil {
			return echoOut{}, err
		}
		return echoOut{in.Text}, do(ctx, env)
	})
}

// What programs did is decided once for each run, after the tool is done and its permit dead; how the tool ended says
// whether anything can be kept at all.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(cancel func()) error
		code tongs.Code
		kept bool
	}{
		{"the tool returned", func(func()) error { return nil }, "", true},
		{"the tool failed, and says so", func(func()) error { return tongs.Errorf(tongs.CodeExecutionError, "exit code 1") }, tongs.CodeExecutionError, true},
		{"the program took too long", func(func()) error { return tongs.Errorf(tongs.CodeTimeout, "killed") }, tongs.CodeTimeout, true},
		{"the tool failed unexpectedly", func(func()) error { return errors.New("oh") }, tongs.CodeInternal, false},
		{"the tool panicked", func(func()) error { panic("oh") }, tongs.CodeInternal, false},
		{"the call was cancelled", func(cancel func()) error { cancel(); return nil }, tongs.CodeCancelled, false},
		{"the tool needs what is blocked", func(func()) error {
			return &tongs.Need{Reason: "met", Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com"}}}
		}, tongs.CodeBlocked, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			run := &copying{changes: []tongs.Change{change(tongs.Added, "new.txt")}}
			var stages []string
			blocked := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Decision: tongs.Blocked}
			b := setup(t, []tongs.Tool{doing(t, func(context.Context, *tongs.Env) error { return c.do(cancel) })}, onCopies(run), rules(blocked), func(o *engine.Options) {
				o.Observe = func(e engine.Event) {
					if e.Kind == engine.Staged {
						stages = append(stages, e.Stage)
					}
				}
			})
			res := b.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)})
			must(t, res, c.code)
			if kept := slices.Equal(run.kept, []string{"added new.txt"}); kept != c.kept || !kept && len(run.kept) > 0 {
				t.Errorf("kept %q", run.kept)
			}
			if run.runs != 1 || run.ends != 1 || run.drops == 0 || run.alive {
				t.Errorf("ran %d times, ended %d times, dropped %d times; the permit was alive: %t", run.runs, run.ends, run.drops, run.alive)
			}
			if said := strings.Contains(res.Content, "(changed: added new.txt)"); said != c.kept {
				t.Errorf("the result says %q", res.Content)
			}
			if settled := slices.Contains(stages, "settle"); settled != c.kept {
				t.Errorf("stages %q", stages)
			}
		})
	}
}

// A refusal to keep changes is the error of the call, unless it took too long.
func TestSettleRefusal(t *testing.T) {
	for _, c := range []struct{ tool, call tongs.Code }{
		{"", tongs.CodeDenied}, {tongs.CodeExecutionError, tongs.CodeDenied}, {tongs.CodeTimeout, tongs.CodeTimeout},
	} {
		run := &copying{changes: []tongs.Change{change(tongs.Modified, "old.txt")}}
		b := setup(t, []tongs.Tool{doing(t, func(context.Context, *tongs.Env) error {
			if c.tool == "" {
				return nil
			}
			return tongs.Errorf(c.tool, "it failed")
		})}, onCopies(run))
		b.person.answer = no
		must(t, b.call("echo", `{"text":"x"}`), c.call)
		if b.person.count() != 1 || len(run.kept) > 0 {
			t.Errorf("%s: asked %d times, kept %q", c.tool, b.person.count(), run.kept)
		}
	}
}

// Names that a program planted are asked about once the tool is done; refused, they stay held and the call succeeds.
func TestSettlePlanted(t *testing.T) {
	for _, approve := range []bool{false, true} {
		held := &tongs.Held{Path: ".envrc", Host: "/held/.envrc"}
		planted := change(tongs.Added, ".envrc")
		planted.Held, planted.Protected = held, "protected: a command made it"
		run := &copying{changes: []tongs.Change{change(tongs.Added, "new.txt"), planted}}
		b := setup(t, []tongs.Tool{doing(t, func(context.Context, *tongs.Env) error { return nil })}, onCopies(run))
		want := []string{"added new.txt"}
		if b.person.answer = no; approve {
			b.person.answer, want = yes, append(want, "added .envrc")
		}
		must(t, b.call("echo", `{"text":"x"}`), "")
		q := b.person.last()
		if b.person.count() != 1 || len(q.Effects) != 1 || !q.Effects[0].MustAsk || q.Effects[0].String() != "write .envrc" || q.Preview != "the diff" {
			t.Errorf("asked %d times: %+v", b.person.count(), q)
		}
		if !slices.Equal(run.kept, want) || (held.Why == "") != approve {
			t.Errorf("kept %q, held because of %q", run.kept, held.Why)
		}
	}
}
