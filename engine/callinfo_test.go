package engine_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// informed is a tool that notes the call it is told of, in its plan and in its run, and then calls what next says.
func informed(t *testing.T, name string, next func(*tongs.Env) *tongs.Call, seen *[]tongs.CallInfo) tongs.Tool {
	t.Helper()
	type in struct{}
	made, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: name, Description: "Tells which call it runs for.", Default: tongs.PreApproved},
		Plan: func(_ context.Context, v *tongs.View, _ in) (*tongs.Plan, error) {
			*seen = append(*seen, v.Call)
			return &tongs.Plan{}, nil
		},
		Run: func(ctx context.Context, env *tongs.Env, _ in) (string, error) {
			*seen = append(*seen, env.Call)
			if next == nil {
				return "", nil
			}
			call := next(env)
			env.Call.Agents[0] = "forged" // a copy
			res := env.Caller.Within(tongs.Scope{Agent: "helper"}).Call(ctx, call)
			if res.Error != nil {
				return "", res.Error
			}
			return "", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestToolKnowsItsCall(t *testing.T) {
	var outer, inner []tongs.CallInfo
	next := func(*tongs.Env) *tongs.Call {
		return &tongs.Call{Tool: "inner", Session: "another", Parent: "another", Agents: []string{"nobody"}}
	}
	b := setup(t, []tongs.Tool{informed(t, "outer", next, &outer), informed(t, "inner", nil, &inner)})
	must(t, b.Engine.Call(t.Context(), &tongs.Call{
		ID: "c1", Session: "s1", Message: "m1", Agents: []string{"main"}, Parent: "forged", Tool: "outer",
	}), "")
	want := tongs.CallInfo{ID: "c1", Session: "s1", Message: "m1", Agents: []string{"main"}}
	outer[1].Agents = outer[0].Agents // the tool wrote to the second
	for _, got := range outer {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if len(inner) != 2 {
		t.Fatalf("%+v", inner)
	}
	for _, got := range inner {
		want := tongs.CallInfo{
			ID: inner[0].ID, Session: "s1", Message: "m1", Parent: "c1", Ancestors: []string{"c1"}, Agents: []string{"main", "helper"},
		}
		if !reflect.DeepEqual(got, want) || got.ID == "" || got.Agent() != "helper" {
			t.Errorf("%+v, want %+v", got, want)
		}
		if line := slices.Collect(got.Lineage()); !slices.Equal(line, []string{got.ID, "c1"}) {
			t.Errorf("lineage %q", line)
		}
	}
}

// A tool names the calls that it makes below its own only: a row, a journal entry or a job of another call cannot be claimed.
func TestToolCannotTakeTheIDOfAnotherCall(t *testing.T) {
	for _, c := range []struct {
		id   string
		code tongs.Code
	}{{"c2", tongs.CodeInvalidArgs}, {"c1", tongs.CodeInvalidArgs}, {"c1x", tongs.CodeInvalidArgs}, {"c1-1", ""}, {"", ""}} {
		var outer, inner []tongs.CallInfo
		next := func(*tongs.Env) *tongs.Call { return &tongs.Call{ID: c.id, Tool: "inner"} }
		b := setup(t, []tongs.Tool{informed(t, "outer", next, &outer), informed(t, "inner", nil, &inner)})
		must(t, b.Engine.Call(t.Context(), &tongs.Call{ID: "c2", Agents: []string{"main"}, Tool: "inner"}), "")
		inner = nil
		must(t, b.Engine.Call(t.Context(), &tongs.Call{ID: "c1", Agents: []string{"main"}, Tool: "outer"}), c.code)
		if c.code == "" && (len(inner) != 2 || c.id != "" && inner[0].ID != c.id) || c.code != "" && len(inner) != 0 {
			t.Errorf("%q: %+v", c.id, inner)
		}
		for _, row := range b.rows(t)[:2] {
			if row.Parent == "c1" && c.code != "" && (row.Call == c.id || !strings.HasPrefix(row.Call, "c_")) {
				t.Errorf("%q: the refused call has the row %q", c.id, row.Call)
			}
		}
	}
}
