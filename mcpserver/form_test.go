package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/approval"
)

// A call that already ran on a copy shows what it changed, and its arguments cannot be edited any more.
func TestFormOfChanges(t *testing.T) {
	form := formOf(approval.Question{
		ID: "q_1", Tool: "shell", Args: json.RawMessage(`{}`), Scopes: []approval.Scope{approval.Once, approval.Session, approval.Always},
		Changes: []tongs.Change{{Path: tongs.Path{Rel: "a\n- b.txt"}}}, ChangeCount: 3,
	}, true, nil)
	for _, want := range []string{"its 3 changes hold", `a\u000a- b.txt`, "(2 more"} {
		if !strings.Contains(form.Message, want) {
			t.Errorf("the form does not say %q:\n%s", want, form.Message)
		}
	}
	data, err := json.Marshal(form.RequestedSchema)
	if err != nil || strings.Contains(string(data), fieldArgs) || strings.Contains(string(data), "always") {
		t.Errorf("schema %s, %v", data, err)
	}
}
