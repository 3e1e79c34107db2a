// Package adapters is for programs that use another library to talk to models (Anthropic's, OpenAI's, Google's or
// langchaingo): it offers Tongs' tools in that library's types. Each library has a module of its own in a folder below this
// one, so a program depends only on the library that it uses.
package adapters

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Set is tools, and who runs them.
type Set struct {
	Specs []*tongs.Spec
	// Caller takes each call on the whole walk: it is judged, asked about, run and logged like any other.
	Caller tongs.Caller
	// Session groups the calls; Agents is the chain of agents on whose behalf they are made.
	Session string
	Agents  []string
}

// Engine is what a set can be made of; *engine.Engine is one.
type Engine interface {
	tongs.Caller
	Tools(ctx context.Context) (specs []*tongs.Spec, broken map[string]error)
}

// Of returns all tools of the engine.
func Of(ctx context.Context, e Engine) Set {
	specs, _ := e.Tools(ctx)
	return Set{Specs: specs, Caller: e}
}

// Tools are a set in the words of one provider. They are safe for concurrent use.
type Tools struct {
	*dialect.Set
	of Set
}

// Lower returns the set in the dialect.
func Lower(s Set, d dialect.Dialect) *Tools { return &Tools{dialect.Tools(s.Specs, d), s} }

// Run makes a call that a model wrote: by the name and with the arguments that the provider knows. Whatever goes wrong is
// a failed result, which the model should be told. The name in it is as the provider knows it.
func (t *Tools) Run(ctx context.Context, id, name, args string) *model.Result {
	own := t.Original(name)
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	out := &model.Result{ID: id, Name: name}
	if t.of.Caller == nil {
		out.Text, out.Failed = "CONFIG_ERROR: nobody runs the tools; the set has no Caller", true
		return out
	}
	res := t.of.Caller.Call(ctx, &tongs.Call{
		Tool: own, Args: json.RawMessage(t.Args(own, args)), Session: t.of.Session, Agents: t.of.Agents,
	})
	out.Text, out.Failed = res.Content, !res.OK()
	if out.Text == "" && res.Error != nil {
		out.Text = res.Error.Error()
	}
	for _, a := range res.Attachments {
		if strings.HasPrefix(a.MIME, "image/") && len(a.Data) > 0 {
			out.Images = append(out.Images, model.Image{MIME: a.MIME, Data: a.Data})
		} else {
			out.Text += fmt.Sprintf("\n[%s, %s, %d bytes%s]", a.Name, a.MIME, a.Size, at(a.Path))
		}
	}
	return out
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return ", at " + path
}

// Object returns a lowered schema as the maps that the libraries want.
func Object(t *dialect.Tool) (map[string]any, error) {
	if t.Schema == nil {
		return nil, nil
	}
	b, err := json.Marshal(t.Schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t.Name, err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t.Name, err)
	}
	return out, nil
}
