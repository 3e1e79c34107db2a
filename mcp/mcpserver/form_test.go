package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// A call that already ran on a copy shows what it changed, and its arguments cannot be edited any more.
func TestFormOfChanges(t *testing.T) {
	form := formOf(approval.Question{
		ID: "q_1", Tool: "shell", Args: json.RawMessage(`{}`), Scopes: []approval.Scope{approval.Once, approval.Session, approval.Always},
		Changes: []tongs.Change{{Path: tongs.Path{Rel: "a\n- b.txt"}}}, ChangeCount: 3,
	}, "2025-11-25", true, nil)
	for _, want := range []string{"and 2 more changes, on a copy", `a\n- b.txt`} {
		if !strings.Contains(form.Message, want) {
			t.Errorf("the form does not say %q:\n%s", want, form.Message)
		}
	}
	data, err := json.Marshal(form.RequestedSchema)
	if err != nil || strings.Contains(string(data), fieldArgs) || strings.Contains(string(data), "always") {
		t.Errorf("schema %s, %v", data, err)
	}
}

// changed is a question about changes at the given paths; listed of them are in it.
func changed(listed int, paths ...string) approval.Question {
	q := approval.Question{
		ID: "q_1", Tool: "shell", Args: json.RawMessage(`{}`), ChangeCount: len(paths),
		Scopes: []approval.Scope{approval.Once, approval.Session},
	}
	for _, path := range paths[:listed] {
		q.Changes = append(q.Changes, tongs.Change{Kind: tongs.Modified, Path: tongs.Path{Rel: path}})
	}
	return q
}

func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("dir/f%d", i)
	}
	return list
}

func TestAnswersAboutChanges(t *testing.T) {
	two := changed(2, "a.txt", "sub/b.txt")
	for _, c := range []struct {
		name     string
		question approval.Question
		decision string
		keep     any
		// kept is what holds, nil for all; wrong is a part of why the answer cannot be used.
		kept   []string
		denied bool
		scope  approval.Scope
		wrong  string
	}{
		{name: "all", question: two, decision: chooseKeep, scope: approval.Once},
		{name: "all, with an empty field", question: two, decision: chooseKeep, keep: []any{}, scope: approval.Once},
		{name: "all, for the session", question: two, decision: "this file, this session", keep: "", wrong: "not one of the choices"},
		{name: "none", question: two, decision: chooseDrop, keep: []any{"a.txt"}, denied: true},
		{name: "one of a list", question: two, decision: chooseChosen, keep: []any{"sub/b.txt"}, kept: []string{"sub/b.txt"}, scope: approval.Once},
		{name: "one twice", question: two, decision: chooseChosen, keep: []any{"a.txt", "a.txt"}, kept: []string{"a.txt"}, scope: approval.Once},
		{name: "names", question: two, decision: chooseChosen, keep: " sub ,\na.txt, ", kept: []string{"a.txt", "sub"}, scope: approval.Once},
		{name: "names in JSON", question: changed(1, "a,b.txt"), decision: chooseChosen, keep: `["a,b.txt"]`, kept: []string{"a,b.txt"}, scope: approval.Once},
		{name: "a name that is shown otherwise", question: changed(1, "a\u202eb"), decision: chooseChosen, keep: []any{`a\u202eb`}, kept: []string{"a\u202eb"}, scope: approval.Once},
		{name: "one that is not listed", question: changed(1, many(3)...), decision: chooseChosen, keep: "dir/f2", kept: []string{"dir/f2"}, scope: approval.Once},
		{name: "chosen, and nothing is", question: two, decision: chooseChosen, keep: "  ", wrong: "no change was chosen"},
		{name: "all and some", question: two, decision: chooseKeep, keep: []any{"a.txt"}, wrong: "contradict"},
		{name: "another path", question: two, decision: chooseChosen, keep: []any{"c.txt"}, wrong: "not among the changes"},
		{name: "above", question: two, decision: chooseChosen, keep: "..", wrong: "not among the changes"},
		{name: "one of two that look the same", question: changed(2, "a\x01", `a\x01`), decision: chooseChosen, keep: `a\x01`, wrong: "2 changes are shown"},
		{name: "numbers", question: two, decision: chooseChosen, keep: []any{1.0}, wrong: "not a list of paths"},
		{name: "an object", question: two, decision: chooseChosen, keep: map[string]any{}, wrong: "neither"},
		{name: "too many", question: two, decision: chooseChosen, keep: strings.Repeat("a.txt,", maxKeep+1), wrong: "more than can be named"},
		{name: "too long", question: two, decision: chooseChosen, keep: strings.Repeat("x", maxKeepBytes+1), wrong: "more than"},
		{name: "a choice of other questions", question: two, decision: "yes", wrong: "not one of the choices"},
		{name: "a choice of these", question: approval.Question{}, decision: chooseKeep, wrong: "not one of the choices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := map[string]any{fieldAnswer: c.decision}
			if c.keep != nil {
				content[fieldKeep] = c.keep
			}
			a, err := read(c.question, &mcp.ElicitResult{Action: "accept", Content: content}, &session{lasting: true})
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("%+v, %v, want an error with %q", a, err, c.wrong)
				}
				return
			}
			if err != nil || a.Approved == c.denied || a.Scope != c.scope || !slices.Equal(a.Keep, c.kept) || (a.Keep == nil) != (c.kept == nil) {
				t.Fatalf("%+v, %v", a, err)
			}
		})
	}
}

// Clients of every revision take the form, and what they return is read.
func TestFormsOfChangesInClients(t *testing.T) {
	for _, c := range []struct {
		version  string
		question approval.Question
		list     bool
	}{
		{"2025-06-18", changed(2, "a.txt", "b.txt"), false},
		{"2025-11-25", changed(2, "a.txt", "b.txt"), true},
		{"2025-11-25", changed(maxChosen, many(maxChosen)...), true},
		{"2025-11-25", changed(maxChosen+1, many(maxChosen+1)...), false},
		{"2025-11-25", changed(1, "a.txt", "b.txt"), false},
		{"2025-11-25", changed(2, "a\x01", `a\x01`), false},
	} {
		form := formOf(c.question, c.version, true, nil)
		name := c.question.Changes[0].Path.String()
		names, _ := json.Marshal([]string{name})
		answer := map[string]any{fieldAnswer: chooseChosen, fieldKeep: any(string(names))}
		if c.list {
			answer[fieldKeep] = []any{name}
		}
		res, err := elicited(t, c.version, form, answer)
		if err != nil {
			t.Fatalf("%s, %d changes: %v", c.version, c.question.ChangeCount, err)
		}
		a, err := read(c.question, res, &session{lasting: true})
		if err != nil || len(a.Keep) != 1 {
			t.Errorf("%s, %d changes: %+v, %v", c.version, c.question.ChangeCount, a, err)
		}
	}
}

// elicited has a client show a form and return the given content.
func elicited(t *testing.T, version string, form *mcp.ElicitParams, content map[string]any) (*mcp.ElicitResult, error) {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	}).Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	return server.Elicit(t.Context(), form)
}

// A client that does not let a person pass an empty field gets the one that must be filled in.
func TestFormWithOneField(t *testing.T) {
	for agent, fields := range map[string]int{"codex-mcp-client": 1, "claude-code": 3, "": 3} {
		for _, q := range []approval.Question{changed(2, "a.txt", "b.txt"), {Tool: "edit", Args: json.RawMessage(`{}`)}} {
			form := formOf(q, "2025-06-18", true, nil)
			if stopsAtEmptyFields([]string{agent}) {
				onlyAnswer(form)
			}
			schema := form.RequestedSchema.(*jsonschema.Schema)
			choices := fmt.Sprint(schema.Properties[fieldAnswer].Enum)
			if len(schema.Properties) != fields || len(schema.PropertyOrder) != fields || strings.Contains(choices, chooseChosen) != (fields > 1 && q.ChangeCount > 0) {
				t.Errorf("%s: fields %v, choices %s", agent, schema.PropertyOrder, choices)
			}
		}
	}
}

// The form names the rule that would cover what the person approved several times.
func TestFormNamesTheRuleOnOffer(t *testing.T) {
	q := approval.Question{ID: "q_1", Tool: "edit", Args: json.RawMessage(`{}`), Offer: "tongs allow --edits 'src/**'"}
	if form := formOf(q, "2025-11-25", true, nil); !strings.Contains(form.Message, "\nTo stop being asked about this: tongs allow --edits 'src/**'\n") {
		t.Errorf("the form says\n%s", form.Message)
	}
}

// The field that must be filled in comes first, in the order of the schema and in that of the alphabet, and is the only one.
func TestFormAsksForOneThingFirst(t *testing.T) {
	for _, q := range []approval.Question{changed(2, "a.txt", "b.txt"), {Tool: "edit", Args: json.RawMessage(`{}`)}} {
		form := formOf(q, "2025-11-25", true, nil)
		data, err := json.Marshal(form.RequestedSchema)
		if err != nil || !strings.Contains(string(data), `"properties":{"answer":{`) || !strings.Contains(string(data), `"required":["answer"]`) {
			t.Errorf("%s, %v", data, err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			if name < fieldAnswer {
				t.Errorf("%s is sorted before it", name)
			}
		}
	}
}
