// Package undo holds the tools undo and redo: they take changes of files back, whichever tool made them, and bring them
// back again. What they would do is planned, asked for and refused like any other change of files.
package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Options are what the tools work with.
type Options struct {
	// Journal holds the changes. Without one the tools can be looked at and not be run.
	Journal *journal.Journal
	// Roots are the directories on this machine of the roots of the workspace, by their names.
	Roots map[string]string
	// Settle, where it is not nil, has the journal know of changes that nobody announced. It is called before entries are selected.
	Settle func(context.Context)
}

// Toolset is the name that configuration knows the tools by: that of the file tools, so that its rules hold here, too.
const Toolset = "filesystem"

// Input are the arguments of undo.
type Input struct {
	Call    string   `json:"call,omitempty" jsonschema:"Call to undo."`
	Session string   `json:"session,omitempty" jsonschema:"All of a session."`
	Since   string   `json:"since,omitempty" jsonschema:"Since then: 10m, or an RFC 3339 time."`
	Paths   []string `json:"paths,omitempty" jsonschema:"Only these." alias:"path"`
	Partial bool     `json:"partial,omitempty" jsonschema:"Skip files that changed since." default:"false"`
}

// RedoInput are the arguments of redo.
type RedoInput struct {
	Call    string   `json:"call,omitempty" jsonschema:"Call of undo."`
	Paths   []string `json:"paths,omitempty" jsonschema:"Only these." alias:"path"`
	Partial bool     `json:"partial,omitempty" jsonschema:"Skip files that changed since." default:"false"`
}

// Output is the value of both.
type Output struct {
	Calls    []string  `json:"calls" jsonschema:"Calls that were taken back, newest first."`
	Restored []string  `json:"restored" jsonschema:"Paths as they were before, 200 at most."`
	Deleted  []string  `json:"deleted" jsonschema:"Paths that are gone, 200 at most."`
	Moved    []string  `json:"moved" jsonschema:"Paths that were moved back, 200 at most."`
	Git      []string  `json:"git" jsonschema:"What happened to the git repository."`
	Count    int       `json:"count" jsonschema:"How many paths changed."`
	Skipped  []Skipped `json:"skipped" jsonschema:"Paths that were left alone, and why, 200 at most."`

	verb string
}

// Skipped is a path that was left alone.
type Skipped struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// maxNamed is how many paths of each kind the value lists, maxShown how many a sentence does.
const (
	maxNamed = 200
	maxShown = 5
)

// Present says what was done in a sentence.
func (o Output) Present(r *tongs.Result) {
	parts := slices.Clone(o.Git)
	for _, part := range []struct {
		verb  string
		paths []string
	}{{"restored", o.Restored}, {"deleted", o.Deleted}, {"moved back", o.Moved}} {
		if len(part.paths) > 0 {
			parts = append(parts, part.verb+" "+few(part.paths))
		}
	}
	what := "1 call"
	if len(o.Calls) != 1 {
		what = fmt.Sprintf("%d calls", len(o.Calls))
	}
	r.Title = fmt.Sprintf("%s %s, %d paths", o.verb, what, o.Count)
	r.Content = fmt.Sprintf("%s %s: %s.", o.verb, what, strings.Join(parts, "; "))
	for _, s := range o.Skipped[:min(len(o.Skipped), maxShown)] {
		r.Content += fmt.Sprintf("\nLeft alone: %s (%s).", s.Path, s.Why)
	}
	if more := len(o.Skipped) - maxShown; more > 0 {
		r.Content += fmt.Sprintf("\nLeft alone: %d more.", more)
	}
}

func few(paths []string) string {
	if len(paths) <= maxShown {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxShown], ", "), len(paths)-maxShown)
}

// Tools returns undo and redo.
func Tools(opt Options) ([]tongs.Tool, error) {
	t := &tools{opt}
	undo, err := tongs.New(tongs.Def[Input, Output]{
		Spec: tongs.Spec{
			Name: "undo", Title: "Undo", Toolset: Toolset,
			Description: "Undo file changes: of a call, a session, or since a time. Default: this session's newest change.",
			Needs:       tongs.Write, Hints: tongs.Hints{Destructive: true},
		},
		Plan: func(ctx context.Context, v *tongs.View, in Input) (*tongs.Plan, error) {
			return t.plan(ctx, v, request{Input: in})
		},
		Run: func(ctx context.Context, env *tongs.Env, in Input) (Output, error) {
			return t.run(ctx, env, request{Input: in})
		},
	})
	if err != nil {
		return nil, err
	}
	again := func(in RedoInput) request {
		return request{Input: Input{Call: in.Call, Paths: in.Paths, Partial: in.Partial}, redo: true}
	}
	redo, err := tongs.New(tongs.Def[RedoInput, Output]{
		Spec: tongs.Spec{
			Name: "redo", Title: "Redo", Toolset: Toolset,
			Description: "Bring back file changes that undo took back. Default: this session's newest undo.",
			Needs:       tongs.Write, Hints: tongs.Hints{Destructive: true},
		},
		Plan: func(ctx context.Context, v *tongs.View, in RedoInput) (*tongs.Plan, error) {
			return t.plan(ctx, v, again(in))
		},
		Run: func(ctx context.Context, env *tongs.Env, in RedoInput) (Output, error) {
			return t.run(ctx, env, again(in))
		},
	})
	if err != nil {
		return nil, err
	}
	return []tongs.Tool{undo, redo}, nil
}

// tools is what both share; it does not change.
type tools struct{ opt Options }

// request is what a call asks for.
type request struct {
	Input
	redo bool
}

func (r request) name() string {
	if r.redo {
		return "redo"
	}
	return "undo"
}

// open selects the entries and begins the transaction that takes them back. The caller closes it.
func (t *tools) open(ctx context.Context, call tongs.CallInfo, files tongs.FileView, r request) (*journal.Undo, []journal.Entry, error) {
	if t.opt.Journal == nil {
		return nil, nil, tongs.Errorf(tongs.CodeConfigError, "changes are not journalled here, so that nothing can be undone")
	}
	sel, err := t.selector(r, call)
	if err != nil {
		return nil, nil, err
	}
	var paths []tongs.Path
	for _, name := range r.Paths {
		p, err := files.ResolveEntry(name)
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, p)
	}
	entries, err := t.opt.Journal.Select(sel)
	if errors.Is(err, journal.ErrNothing) {
		return nil, nil, nothing(r)
	}
	if err != nil {
		return nil, nil, err
	}
	head := journal.Entry{Call: call.ID, Session: call.Session, Agents: call.Agents, Tool: r.name(), Roots: t.opt.Roots}
	u, err := t.opt.Journal.Undo(ctx, head, entries, paths)
	if err != nil {
		return nil, nil, err
	}
	if len(u.Conflicts) > 0 && !r.Partial {
		u.Close()
		return nil, nil, t.refusal(r, entries, u.Conflicts)
	}
	return u, entries, nil
}

func (t *tools) selector(r request, call tongs.CallInfo) (journal.Selector, error) {
	sel := journal.Selector{Call: r.Call, Session: call.Session, Redo: r.redo, Top: t.opt.Roots[tongs.WorkspaceRoot]}
	if r.Session != "" {
		sel.Session, sel.All = r.Session, true
	}
	if r.Since != "" {
		since, err := moment(r.Since)
		if err != nil {
			return sel, err
		}
		sel.Since = since
		if r.Session == "" {
			sel.Session = ""
		}
	}
	if r.Call != "" && (r.Session != "" || r.Since != "") {
		return sel, tongs.Errorf(tongs.CodeInvalidArgs, "call cannot be combined with session or since; leave one out")
	}
	return sel, nil
}

func moment(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return time.Now().Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, tongs.Errorf(tongs.CodeInvalidArgs, "since %q is no time; write a duration like 10m, or 2026-01-31T15:04:05Z", s)
	}
	return t, nil
}

func nothing(r request) error {
	switch {
	case r.Call != "":
		return tongs.Errorf(tongs.CodeInvalidArgs, "call %q changed no file here", r.Call)
	case r.redo:
		return tongs.Errorf(tongs.CodeInvalidArgs, "there is nothing to redo: this session has no undo left")
	case r.Session != "" || r.Since != "":
		return tongs.Errorf(tongs.CodeInvalidArgs, "there is nothing to undo: the journal has no changes for that session or time")
	default:
		return tongs.Errorf(tongs.CodeInvalidArgs, "there is nothing to undo: this session has no changes left")
	}
}

// refusal says which paths stand against it.
func (t *tools) refusal(r request, entries []journal.Entry, conflicts []journal.Conflict) error {
	list := make([]string, 0, maxNamed)
	for _, c := range conflicts[:min(len(conflicts), maxNamed)] {
		list = append(list, fmt.Sprintf("%s: %s", c.Path, c.Why))
	}
	hint := "set partial to leave these alone and " + r.name() + " the rest"
	if by, err := t.opt.Journal.UndoneBy(entries[0].ID); err == nil && by != nil && len(entries) == 1 {
		hint = fmt.Sprintf("it was undone already, by call %s", by.Call)
	}
	return tongs.Errorf(tongs.CodeStaleFile, "nothing was changed, since %s not as the calls left them: %s; %s",
		count(len(conflicts), "path is", "paths are"), few(list), hint).With("conflicts", list)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
