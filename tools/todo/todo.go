// Package todo holds the tools todo_write and todo_read: the list of what an agent is about to do, kept for its session.
package todo

import (
	"context"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Toolset is the name that configuration knows the tools by.
const Toolset = "todo"

// Status is how far an item is.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Cancelled  Status = "cancelled"
)

// Bounds of a list. They are far above what is of use.
const (
	maxItems = 200
	maxText  = 2000
)

// Item is one thing to do.
type Item struct {
	Content string `json:"content" jsonschema:"What to do."`
	Status  Status `json:"status" jsonschema:"State." enum:"pending,in_progress,completed,cancelled"`
	// ActiveForm says what is being done while it is in progress: "Running tests".
	ActiveForm string `json:"activeForm,omitempty" jsonschema:"While doing it."`
}

// Label is what to show of an item.
func (i Item) Label() string {
	if i.Status == InProgress && i.ActiveForm != "" {
		return i.ActiveForm
	}
	return i.Content
}

// Input are the arguments of todo_write.
type Input struct {
	Items []Item `json:"items" jsonschema:"All of them." alias:"todos"`
}

// Output is the value of both tools.
type Output struct {
	Items []Item `json:"items" jsonschema:"All of them."`
}

// Counts returns how many items have each status, under "total" all of them.
func Counts(items []Item) map[string]int {
	counts := map[string]int{"total": len(items), string(Pending): 0, string(InProgress): 0, string(Completed): 0, string(Cancelled): 0}
	for _, item := range items {
		counts[string(item.Status)]++
	}
	return counts
}

// marks show a status in a list.
var marks = map[Status]string{Pending: "[ ]", InProgress: "[>]", Completed: "[x]", Cancelled: "[-]"}

// Present shows the list, a line for each item.
func (o Output) Present(r *tongs.Result) {
	counts := Counts(o.Items)
	r.Title = fmt.Sprintf("%d of %d done", counts[string(Completed)], len(o.Items)-counts[string(Cancelled)])
	for status, n := range counts {
		r.SetMeta(status, n)
	}
	if len(o.Items) == 0 {
		r.Title, r.Content = "Nothing to do", "The list is empty."
		return
	}
	var b strings.Builder
	for _, item := range o.Items {
		fmt.Fprintf(&b, "%s %s\n", marks[item.Status], item.Label())
	}
	r.Content = strings.TrimSuffix(b.String(), "\n")
}

// Key is where the state of a session keeps a list. An agent that was called by another one has a list of its own: parent
// is the ID of the call that it works for, empty for the outermost.
func Key(parent string) string {
	if parent == "" {
		return "todo"
	}
	return "todo:" + parent
}

// Load returns the list that is kept under the key of parent, nil where there is none.
func Load(ctx context.Context, state tongs.StateView, parent string) ([]Item, error) {
	var out Output
	_, err := state.Load(ctx, Key(parent), &out)
	return out.Items, err
}

// Tools returns the tools.
func Tools() ([]tongs.Tool, error) {
	spec := func(name, title, alias, description string, hints tongs.Hints) tongs.Spec {
		return tongs.Spec{
			Name: name, Title: title, Aliases: []string{alias}, Toolset: Toolset, Description: description,
			Default: tongs.PreApproved, Hints: hints,
		}
	}
	write, err := tongs.New(tongs.Def[Input, Output]{
		Spec: spec("todo_write", "Update todos", "todowrite", "Replace the todo list. At most one item in_progress.",
			tongs.Hints{Idempotent: true}),
		Run: write,
	})
	if err != nil {
		return nil, err
	}
	read, err := tongs.New(tongs.Def[struct{}, Output]{
		Spec: spec("todo_read", "Read todos", "todoread", "Return the todo list.", tongs.Hints{ReadOnly: true, Idempotent: true}),
		Run: func(ctx context.Context, env *tongs.Env, _ struct{}) (Output, error) {
			items, err := Load(ctx, env.State, env.Call.Parent)
			return Output{Items: items}, err
		},
	})
	if err != nil {
		return nil, err
	}
	return []tongs.Tool{write, read}, nil
}

func write(ctx context.Context, env *tongs.Env, in Input) (Output, error) {
	if err := check(in.Items); err != nil {
		return Output{}, err
	}
	out := Output(in)
	if err := env.State.Save(ctx, Key(env.Call.Parent), out); err != nil {
		return Output{}, err
	}
	env.Update(tongs.Update{Metadata: map[string]any{"todos": in.Items}})
	return out, nil
}

// check refuses lists that could not be shown, or that say two things are being done at a time.
func check(items []Item) error {
	if len(items) > maxItems {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the list has %d items; at most %d are kept, so leave out what is completed",
			len(items), maxItems)
	}
	var active []string
	for i, item := range items {
		switch {
		case strings.TrimSpace(item.Content) == "":
			return tongs.Errorf(tongs.CodeInvalidArgs, "items[%d].content is empty; say what is to be done", i)
		case len(item.Content) > maxText || len(item.ActiveForm) > maxText:
			return tongs.Errorf(tongs.CodeInvalidArgs, "items[%d] is longer than %d bytes; say it in a sentence", i, maxText)
		case item.Status == InProgress:
			active = append(active, fmt.Sprintf("items[%d]", i))
		}
	}
	if len(active) > 1 {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s are all in_progress; leave one so and make the others pending or completed",
			strings.Join(active, ", "))
	}
	return nil
}
