package engine_test

import (
	"context"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

func TestLastResults(t *testing.T) {
	type in struct {
		Text string `json:"text" jsonschema:"What to say."`
	}
	echo, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "echo", Description: "Says it.", Default: tongs.PreApproved},
		Run: func(_ context.Context, _ *tongs.Env, in in) (string, error) {
			if in.Text == "" {
				return "", tongs.Errorf(tongs.CodeNoMatch, "nothing to say")
			}
			return in.Text, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{echo}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", ""} {
		res := e.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"` + text + `"}`)})
		last := e.LastResults()["echo"]
		if last == nil || last.Content != res.Content || (last.Error == nil) != (text != "") {
			t.Errorf("%q: the last result is %+v", text, last)
		}
		last.Metadata["call"] = "other"
		if again := e.LastResults()["echo"]; again.Metadata["call"] == "other" {
			t.Error("the last result can be changed")
		}
	}
	e.Call(t.Context(), &tongs.Call{Tool: "none"})
	if n := len(e.LastResults()); n != 1 {
		t.Errorf("%d tools have results", n)
	}
}
