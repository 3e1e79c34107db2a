package main

import (
	"context"

	"github.com/tongs-ai/tongs"
)

// walking are the fixtures that are tools of Tongs.
func walking() ([]tongs.Tool, error) {
	var tools []tongs.Tool
	for _, f := range []struct {
		name string
		out  fixture
		err  error
	}{
		{name: "test_simple_text", out: fixture{text: "This is a simple text response for testing."}},
		{name: "test_image_content", out: fixture{attached: &tongs.Attachment{Name: "red.png", MIME: "image/png", Data: redPixel}}},
		{name: "test_audio_content", out: fixture{attached: &tongs.Attachment{Name: "silence.wav", MIME: "audio/wav", Data: silence}}},
		{name: "test_error_handling", err: tongs.Errorf(tongs.CodeExecutionError, "this tool always fails")},
	} {
		tool, err := tongs.New(tongs.Def[struct{}, fixture]{
			Spec: tongs.Spec{
				Name: f.name, Description: "A fixture of the conformance suite.", Default: tongs.PreApproved, Needs: tongs.Read,
				Hints: tongs.Hints{ReadOnly: true},
			},
			Run: func(context.Context, *tongs.Env, struct{}) (fixture, error) { return f.out, f.err },
		})
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// fixture is what a tool of the suite returns.
type fixture struct {
	text     string
	attached *tongs.Attachment
}

// Present implements tongs.Presenter.
func (f fixture) Present(r *tongs.Result) {
	r.Content = f.text
	if f.attached != nil {
		r.Content = "attached"
		r.Attachments = []tongs.Attachment{*f.attached}
	}
}
