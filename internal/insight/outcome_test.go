package insight_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/insight"
)

// onCopy stands for what runs programs on a copy: it hands in changes to be decided.
type onCopy struct {
	tongs.Commands
	permit  *tongs.Permit
	ran     bool
	changes []tongs.Change
}

func (c *onCopy) Run(context.Context, *tongs.Command) (*tongs.Exit, error) {
	c.ran = c.permit.OnCopy()
	return &tongs.Exit{}, nil
}

func (c *onCopy) End(context.Context) (engine.Outcome, error) {
	if !c.ran {
		return nil, nil
	}
	return c, nil
}

func (c *onCopy) Changes(context.Context) ([]tongs.Change, []string, error) {
	return c.changes, nil, nil
}
func (c *onCopy) Identify(context.Context, []tongs.Change) error { return nil }
func (c *onCopy) Show(context.Context) error                     { return nil }
func (c *onCopy) Keep(context.Context, []tongs.Change) error     { return nil }
func (c *onCopy) Drop(string)                                    {}
func (c *onCopy) Settled() *tongs.Settled                        { return nil }

func (c *onCopy) Preview(context.Context, []tongs.Change) (string, func(context.Context, io.Writer) error, error) {
	return "", nil, nil
}

func (c *onCopy) Park(context.Context, time.Time) (engine.Parcel, error) {
	return engine.Parcel{}, errors.ErrUnsupported
}

// migrate runs one program, which adds the given files on a copy.
func migrate(t *testing.T, files ...string) *shop {
	t.Helper()
	type in struct{}
	tool, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "migrate", Description: "Runs.", Toolset: "shell", Needs: tongs.Execute, Optional: tongs.Read | tongs.Write},
		Plan: func(context.Context, *tongs.View, in) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"./migrate.sh"}}}, Contained: true}, nil
		},
		Run: func(ctx context.Context, env *tongs.Env, _ in) (string, error) {
			_, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"./migrate.sh"}})
			return "done", err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var changes []tongs.Change
	for _, name := range files {
		changes = append(changes, tongs.Change{Kind: tongs.Added, Type: tongs.FileRegular, Path: tongs.Path{Rel: name}, Version: "v"})
	}
	s := &shop{t: t, log: audit.NewMemory(), grants: policy.NewMemoryBook(), ws: place(t)}
	s.Engine, err = engine.New(engine.Options{
		Tools: []tongs.Tool{tool}, Workspace: s.ws, Audit: s.log, Grants: s.grants, Outcomes: func(context.Context) bool { return true },
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{})},
		Commands: func(p *tongs.Permit) engine.Programs { return &onCopy{permit: p, changes: changes} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res := s.run(s, "migrate", struct{}{}); !res.OK() {
		t.Fatal(res.Content)
	}
	return s
}

// A program that ran on a copy is decided by its command, and by what it changed there.
func TestReplayOfWhatRanOnACopy(t *testing.T) {
	s := migrate(t, "out.txt", "src/a.go")
	written := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "src/**", Decision: tongs.Ask}
	for _, c := range []struct {
		name string
		rule tongs.Rule
		then insight.Decision
	}{
		{"the command is free", command("./migrate.sh", tongs.PreApproved), insight.PreApproved},
		{"the command is asked for", command("./migrate.sh", tongs.Ask), insight.Ask},
		{"the command is blocked", command("./migrate.sh", tongs.Blocked), insight.Blocked},
		{"a change is asked for", written, insight.Ask},
		{"nothing of it is meant", command("make", tongs.Blocked), insight.Copy},
	} {
		r := s.try(insight.Proposal{Add: []tongs.Rule{c.rule}, Copies: true})
		if r.Judged != 1 || r.Drifted != 0 {
			t.Fatalf("%s: %+v", c.name, r)
		}
		switch {
		case c.then == insight.Copy && r.Changed != 0:
			t.Errorf("%s: %+v", c.name, r.Changes)
		case c.then != insight.Copy && (r.Changed != 1 || r.Changes[0].Was != insight.Copy || r.Changes[0].Now != insight.Copy || r.Changes[0].Then != c.then):
			t.Errorf("%s: %+v", c.name, r.Changes)
		}
	}
}

// More changes than the log lists cannot be decided again.
func TestReplayOfMoreChangesThanAreListed(t *testing.T) {
	var files []string
	for i := range 600 {
		files = append(files, fmt.Sprintf("out/%d", i))
	}
	s := migrate(t, files...)
	if r := s.try(insight.Proposal{Add: []tongs.Rule{command("make", tongs.Blocked)}, Copies: true}); r.Unjudged[insight.Redacted] != 1 || r.Judged != 0 {
		t.Errorf("%+v", r)
	}
}
