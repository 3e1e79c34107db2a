package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/script"
)

// Conform checks that a provider keeps the contract of model.Model over its wire format. Open returns its model at the
// server, with the key.
func Conform(t *testing.T, f Format, open func(tb testing.TB, s *Server) model.Model) {
	c := &conformance{format: f, open: open}
	for name, test := range map[string]func(*testing.T){
		"text": c.text, "calls": c.calls, "images": c.images, "odd calls": c.oddCalls, "cut": c.cut, "event of error": c.errorEvent,
		"refusals": c.refusals, "the key is kept": c.keyIsKept, "cancelled": c.cancelled, "conversations": c.conversations,
		"schemas": c.schemas, "output": c.output, "stops": c.stops, "concurrent": c.concurrent, "nothing": c.nothing,
	} {
		t.Run(name, test)
	}
}

type conformance struct {
	format Format
	open   func(testing.TB, *Server) model.Model
}

func (c *conformance) serve(t *testing.T, yaml string) (model.Model, *Server) {
	t.Helper()
	s := ServeScript(t, c.format, yaml)
	return c.open(t, s), s
}

func say(text string) model.Message {
	return model.Message{Role: model.User, Parts: []model.Part{{Text: text}}}
}

func read() *tongs.Spec {
	return &tongs.Spec{Name: "read_file", Description: "Read a file.", Input: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"path": {Type: "string"}, "limit": {Type: "integer"}}, Required: []string{"path"},
	}}
}

// turn makes a turn that must succeed, and checks that what was streamed is what came.
func turn(t *testing.T, m model.Model, req *model.Request) *model.Response {
	t.Helper()
	var text, thinking string
	var calls []string
	resp, err := m.Turn(t.Context(), req, func(d model.Delta) {
		text += d.Text
		thinking += d.Thinking
		if d.Call != "" {
			calls = append(calls, d.Call)
		}
	})
	if err != nil {
		t.Fatalf("turn: %v", err)
	}
	var thought string
	var called []string
	for _, p := range resp.Message.Parts {
		if p.Thinking != nil {
			thought += p.Thinking.Text
		}
		if p.Call != nil {
			called = append(called, p.Call.Name)
		}
	}
	if text != resp.Message.Text() || thinking != thought || fmt.Sprint(calls) != fmt.Sprint(called) {
		t.Errorf("streamed %q, %q, %q; the response is %q, %q, %q", text, thinking, calls, resp.Message.Text(), thought, called)
	}
	if resp.Message.Role != model.Assistant {
		t.Errorf("the role is %q", resp.Message.Role)
	}
	return resp
}

func (c *conformance) text(t *testing.T) {
	m, s := c.serve(t, `
model: answers-as
turns:
  - expect: hello
    text: "Grüße, world. <b>&amp;</b>\n"
    usage: {input: 100, output: 7, cache_read: 60}
`)
	temperature := 0.5
	resp := turn(t, m, &model.Request{System: "Be kind.", Messages: []model.Message{say("hello")}, MaxTokens: 500, Temperature: &temperature})
	if resp.Message.Text() != "Grüße, world. <b>&amp;</b>\n" || resp.Stop != model.StopEnd || resp.Model != "answers-as" {
		t.Errorf("response: %+v", resp)
	}
	if want := (model.Usage{Input: 100, Output: 7, CacheRead: 60}); resp.Usage != want {
		t.Errorf("usage %+v, want %+v", resp.Usage, want)
	}
	got := s.Requests()[0].Decoded
	if got.System != "Be kind." || got.MaxTokens != 500 || *got.Temperature != 0.5 {
		t.Errorf("the server was told %+v", got)
	}
}

func (c *conformance) calls(t *testing.T) {
	m, _ := c.serve(t, `
turns:
  - thinking: I should look.
    text: I look.
    offered: read_file
    calls:
      - {tool: read_file, args: {path: "a & b.txt", limit: 3}}
      - {tool: read_file, args: {path: "ü.png"}}
      - {tool: read_file, args: {path: none}}
  - expect: ["read_file: alpha", "read_file: picture", "read_file failed: .*not found", "image/png, 4 bytes", "go on"]
    calls: [{tool: read_file, args: {path: again}}]
  - expect: "read_file: \n"
    text: Done.
`)
	req := &model.Request{Messages: []model.Message{say("look")}, Tools: []*tongs.Spec{read()}}
	resp := turn(t, m, req)
	calls := resp.Message.Calls()
	if len(calls) != 3 || resp.Stop != model.StopCalls {
		t.Fatalf("calls %+v, stop %s", calls, resp.Stop)
	}
	var args struct {
		Path  string
		Limit int
	}
	if err := json.Unmarshal([]byte(calls[0].Args), &args); err != nil || args.Path != "a & b.txt" || args.Limit != 3 {
		t.Errorf("arguments %s: %v", calls[0].Args, err)
	}
	if calls[0].ID == calls[1].ID || calls[0].ID == "" {
		t.Errorf("the IDs are %q and %q", calls[0].ID, calls[1].ID)
	}
	image := model.Image{MIME: "image/png", Data: []byte("\x89PNG")}
	results := model.Message{Role: model.User, Parts: []model.Part{
		{Result: &model.Result{ID: calls[2].ID, Name: "read_file", Text: "not found", Failed: true}},
		{Result: &model.Result{ID: calls[0].ID, Name: "read_file", Text: "alpha"}},
		{Result: &model.Result{ID: calls[1].ID, Name: "read_file", Text: "picture", Images: []model.Image{image}}},
		{Text: "go on"},
	}}
	// What is kept of a conversation goes through JSON.
	stored, err := json.Marshal(resp.Message)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Message
	if err := json.Unmarshal(stored, &back); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, back, results)
	resp = turn(t, m, req)
	again := resp.Message.Calls()
	if len(again) != 1 {
		t.Fatalf("calls %+v", again)
	}
	req.Messages = append(req.Messages, resp.Message, model.Message{Role: model.User, Parts: []model.Part{{Result: &model.Result{ID: again[0].ID, Name: "read_file"}}}})
	if resp = turn(t, m, req); resp.Message.Text() != "Done." || resp.Stop != model.StopEnd {
		t.Errorf("response %+v", resp)
	}
}

func (c *conformance) images(t *testing.T) {
	m, _ := c.serve(t, `turns: [{expect: "(?s)what is this.*image/jpeg, 5 bytes", text: A picture.}]`)
	msg := say("what is this")
	msg.Parts = append(msg.Parts, model.Part{Image: &model.Image{MIME: "image/jpeg", Data: []byte("12345")}})
	turn(t, m, &model.Request{Messages: []model.Message{msg}})
}

func (c *conformance) oddCalls(t *testing.T) {
	m, _ := c.serve(t, `
turns:
  - calls:
      - {tool: raed_file, args: {path: a}}
      - {tool: read_file, args: {path: 7}}
      - {tool: read_file, raw: "{\"path\": "}
  - expect: ["raed_file failed: no such tool", "read_file failed: path is no string"]
    text: I see.
`)
	req := &model.Request{Messages: []model.Message{say("x")}, Tools: []*tongs.Spec{read()}}
	resp := turn(t, m, req)
	calls := resp.Message.Calls()
	if len(calls) != 3 || calls[0].Name != "raed_file" {
		t.Fatalf("calls: %+v", calls)
	}
	if c.format != Gemini && json.Valid([]byte(calls[2].Args)) {
		t.Errorf("what the model wrote came as %q", calls[2].Args)
	}
	answer := model.Message{Role: model.User}
	for i, text := range []string{"no such tool", "path is no string", "no JSON"} {
		answer.Parts = append(answer.Parts, model.Part{Result: &model.Result{ID: calls[i].ID, Name: calls[i].Name, Text: text, Failed: true}})
	}
	req.Messages = append(req.Messages, resp.Message, answer)
	turn(t, m, req)
}

func (c *conformance) cut(t *testing.T) {
	m, _ := c.serve(t, `turns: [{text: "one two three four", calls: [{tool: read_file, args: {path: a}}], failures: [{cut: true}]}]`)
	req := &model.Request{Messages: []model.Message{say("count")}, Tools: []*tongs.Spec{read()}}
	streamed := ""
	resp, err := m.Turn(t.Context(), req, func(d model.Delta) { streamed += d.Text })
	e, ok := errors.AsType[*model.Error](err)
	if !ok || !e.Partial || !e.Retry {
		t.Fatalf("an answer that was cut off is %#v", err)
	}
	if resp == nil || resp.Message.Text() != "one two t" || streamed != "one two t" || len(resp.Message.Calls()) != 0 {
		t.Fatalf("what arrived is %+v, streamed %q", resp, streamed)
	}
	if resp := turn(t, m, req); resp.Message.Text() != "one two three four" || len(resp.Message.Calls()) != 1 {
		t.Errorf("the second attempt is %+v", resp)
	}
}

func (c *conformance) errorEvent(t *testing.T) {
	m, _ := c.serve(t, `turns: [{text: "one two", failures: [{cut: true, status: 503, message: too busy}]}]`)
	resp, err := m.Turn(t.Context(), &model.Request{Messages: []model.Message{say("count")}}, nil)
	e, ok := errors.AsType[*model.Error](err)
	if !ok || !e.Partial || !e.Retry || !strings.Contains(e.Message, "too busy") {
		t.Fatalf("an error within the stream is %#v", err)
	}
	if resp == nil || resp.Message.Text() != "one " {
		t.Errorf("what arrived is %+v", resp)
	}
}

func (c *conformance) refusals(t *testing.T) {
	for _, test := range []struct {
		yaml string
		want model.Error
	}{
		{`{status: 429, after: 7s, message: slow down}`, model.Error{Status: 429, Retry: true, After: 7 * time.Second}},
		{`{status: 429, after: 1500ms, message: slow down}`, model.Error{Status: 429, Retry: true, After: 1500 * time.Millisecond}},
		{`{status: 503, message: over capacity}`, model.Error{Status: 503, Retry: true}},
		{`{status: 529, message: overloaded}`, model.Error{Status: 529, Retry: true}},
		{`{status: 500, message: oops}`, model.Error{Status: 500, Retry: true}},
		{`{status: 400, message: no such field}`, model.Error{Status: 400}},
		{`{status: 403, message: not yours}`, model.Error{Status: 403}},
		{`{status: 400, too_long: true}`, model.Error{Status: 400, TooLong: true}},
	} {
		m, _ := c.serve(t, `turns: [{text: fine, failures: [`+test.yaml+`]}]`)
		req := &model.Request{Messages: []model.Message{say("hi")}}
		resp, err := m.Turn(t.Context(), req, func(model.Delta) { t.Error("something was streamed") })
		e, ok := errors.AsType[*model.Error](err)
		if !ok || resp != nil {
			t.Fatalf("%s: %v, %v", test.yaml, resp, err)
		}
		got := model.Error{Status: e.Status, Retry: e.Retry, After: e.After, TooLong: e.TooLong, Partial: e.Partial}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.yaml, got, test.want)
		}
		if (model.Retryable(err) != nil) != test.want.Retry || e.Provider == "" || e.Message == "" {
			t.Errorf("%s: %#v", test.yaml, e)
		}
		if test.want.Retry {
			turn(t, m, req)
		}
	}
}

func (c *conformance) keyIsKept(t *testing.T) {
	for _, failure := range []string{
		`{status: 401, message: "wrong key ` + Key + `, sent as Bearer ` + Key + `"}`, `{cut: true, status: 500, message: "with ` + Key + `"}`,
		`{status: 400, message: "` + strings.Repeat("x", 985) + Key + `"}`,
	} {
		m, _ := c.serve(t, `turns: [{text: fine, failures: [`+failure+`]}]`)
		_, err := m.Turn(t.Context(), &model.Request{Messages: []model.Message{say("hi")}}, nil)
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), Key[:12]) {
				t.Errorf("the error holds the key: %v", e)
			}
		}
		if err == nil {
			t.Error("no error")
		}
	}
}

func (c *conformance) nothing(t *testing.T) {
	m := c.open(t, ServeScript(t, c.format, `turns: [{text: fine}]`).Lenient())
	if _, err := m.Turn(t.Context(), &model.Request{}, nil); err == nil || model.Retryable(err) != nil {
		t.Errorf("a conversation without a message: %v", err)
	}
}

func (c *conformance) cancelled(t *testing.T) {
	m, s := c.serve(t, `turns: [{text: "one two three four", failures: [{cut: true}]}]`)
	s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := m.Turn(ctx, &model.Request{Messages: []model.Message{say("count")}}, func(d model.Delta) {
		if strings.Contains(d.Text, "two") {
			cancel()
		}
	})
	e, ok := errors.AsType[*model.Error](err)
	if !ok || !errors.Is(err, context.Canceled) || e.Retry || !e.Partial {
		t.Fatalf("a turn that was cancelled is %#v", err)
	}
	if resp == nil || !strings.HasPrefix(resp.Message.Text(), "one ") {
		t.Errorf("what arrived is %+v", resp)
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, g := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(g, "model/internal/wire") {
			t.Errorf("a goroutine is left:\n%s", g)
		}
	}
	if _, err := m.Turn(ctx, &model.Request{Messages: []model.Message{say("count")}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a turn with an ended context: %v", err)
	}
}

// conversations are brought into the form that the API wants; the server checks that.
func (c *conformance) conversations(t *testing.T) {
	call := func(id string) model.Part {
		return model.Part{Call: &model.Call{ID: id, Name: "read_file", Args: `{"path":"a"}`}}
	}
	result := func(id string) model.Part {
		return model.Part{Result: &model.Result{ID: id, Name: "read_file", Text: "alpha"}}
	}
	assistant := func(parts ...model.Part) model.Message {
		return model.Message{Role: model.Assistant, Parts: parts}
	}
	user := func(parts ...model.Part) model.Message { return model.Message{Role: model.User, Parts: parts} }
	foreign := model.Part{Thinking: &model.Thinking{Text: "hm", Opaque: json.RawMessage(`{"somebody-else":{"x":1}}`)}}
	for name, messages := range map[string][]model.Message{
		"a call without a result":      {say("x"), assistant(call("1"), call("2")), user(result("2"))},
		"a call at the end":            {say("x"), assistant(call("1"))},
		"text after a call":            {say("x"), assistant(call("1")), say("never mind")},
		"a result without a call":      {say("x"), assistant(model.Part{Text: "y"}), user(result("9"), model.Part{Text: "z"})},
		"a result twice":               {say("x"), assistant(call("1")), user(result("1"), result("1"))},
		"the same side twice":          {say("x"), say("y"), assistant(model.Part{Text: "a"}), assistant(call("1")), user(result("1")), say("z")},
		"nothing said":                 {say("x"), assistant(), user(), assistant(model.Part{Text: " "}), say("y")},
		"thinking of somebody else":    {say("x"), assistant(foreign), say("y"), assistant(foreign, call("1")), user(result("1"))},
		"arguments that are no object": {say("x"), assistant(model.Part{Call: &model.Call{ID: "1", Name: "no such/tool", Args: `{"pa`}}), user(result("1"))},
		"the beginning is gone":        {assistant(call("1")), user(result("1"))},
	} {
		t.Run(name, func(t *testing.T) {
			s := Serve(t, c.format, always("fine"))
			req := &model.Request{Messages: messages, Tools: []*tongs.Spec{read()}}
			before, _ := json.Marshal(messages)
			turn(t, c.open(t, s), req)
			if after, _ := json.Marshal(req.Messages); string(after) != string(before) {
				t.Error("the conversation of the caller was changed")
			}
		})
	}
}

// always is a model that says one thing.
type always string

func (a always) Turn(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	return &model.Response{Message: model.Message{Role: model.Assistant, Parts: []model.Part{{Text: string(a)}}}, Stop: model.StopEnd, Model: "always"}, nil
}

func (c *conformance) schemas(t *testing.T) {
	var nasty jsonschema.Schema
	if err := json.Unmarshal([]byte(NastySchema), &nasty); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("very_long_name_", 6)
	specs := []*tongs.Spec{
		{Name: long + "one", Input: &nasty, Description: "Nasty."},
		{Name: long + "two", Input: &nasty},
		{Name: "dotted.näme", Input: &jsonschema.Schema{Type: "object"}},
		{Name: "nothing"},
		read(), read(),
	}
	var seen []string
	s := Serve(t, c.format, modelFunc(func(req *model.Request) *model.Response {
		for _, spec := range req.Tools {
			seen = append(seen, spec.Name)
		}
		m := model.Message{Role: model.Assistant, Parts: []model.Part{{Call: &model.Call{ID: "c1", Name: req.Tools[1].Name, Args: `{}`}}}}
		return &model.Response{Message: m, Stop: model.StopCalls, Model: "x"}
	}))
	resp := turn(t, c.open(t, s), &model.Request{Messages: []model.Message{say("x")}, Tools: specs})
	if got := resp.Message.Calls()[0].Name; got != long+"two" {
		t.Errorf("the call is of %q", got)
	}
	if len(seen) != 5 || len(resp.Lost) == 0 {
		t.Errorf("the server saw %q; lost: %q", seen, resp.Lost)
	}
}

// modelFunc is a model that is a function.
type modelFunc func(*model.Request) *model.Response

func (f modelFunc) Turn(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	return f(req), nil
}

func (c *conformance) output(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"grade":{"type":"integer","minimum":1,"maximum":6},"notes":{"type":"array","items":{"type":"string","maxLength":9},"maxItems":3}},"required":["grade"]}`,
		NastySchema,
	} {
		var out jsonschema.Schema
		if err := json.Unmarshal([]byte(schema), &out); err != nil {
			t.Fatal(err)
		}
		s := Serve(t, c.format, always(`{"grade":1}`))
		m := c.open(t, s)
		turn(t, m, &model.Request{Messages: []model.Message{say("x")}, Output: &out})
		turn(t, m, &model.Request{Messages: []model.Message{say("x")}, Output: &out, Tools: []*tongs.Spec{read()}})
		for _, r := range s.Requests() {
			if !strings.Contains(string(r.Body), "grade") && !strings.Contains(string(r.Body), "nested") {
				t.Errorf("the schema was not told: %s", r.Body)
			}
		}
	}
}

func (c *conformance) stops(t *testing.T) {
	for stop, yaml := range map[model.Stop]string{
		model.StopLength: `{text: cut sho, stop: length}`, model.StopRefuse: `{text: No., stop: refuse}`, model.StopEnd: `{text: Yes.}`,
		model.StopCalls: `{calls: [{tool: read_file, args: {path: a}}]}`,
	} {
		m, _ := c.serve(t, `turns: [`+yaml+`]`)
		if resp := turn(t, m, &model.Request{Messages: []model.Message{say("x")}, Tools: []*tongs.Spec{read()}}); resp.Stop != stop {
			t.Errorf("%s is %s", yaml, resp.Stop)
		}
	}
	// Silence is an answer too.
	s := Serve(t, c.format, modelFunc(func(*model.Request) *model.Response {
		return &model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopEnd, Model: "x"}
	}))
	if resp := turn(t, c.open(t, s), &model.Request{Messages: []model.Message{say("x")}}); len(resp.Message.Parts) != 0 || resp.Stop != model.StopEnd {
		t.Errorf("an empty answer is %+v", resp)
	}
}

func (c *conformance) concurrent(t *testing.T) {
	var sb script.Script
	for i := range 8 {
		sb.Conversations = append(sb.Conversations, script.Conversation{When: fmt.Sprintf("number %d\\b", i), Turns: []script.Turn{{Text: fmt.Sprintf("I am %d", i)}}})
	}
	inner, err := script.New(sb)
	if err != nil {
		t.Fatal(err)
	}
	m := c.open(t, Serve(t, c.format, inner))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			resp, err := m.Turn(t.Context(), &model.Request{
				Messages: []model.Message{say(fmt.Sprintf("number %d", i))}, Tools: []*tongs.Spec{read()},
			}, nil)
			if err != nil || resp.Message.Text() != fmt.Sprintf("I am %d", i) {
				t.Errorf("%d: %v, %v", i, resp, err)
			}
		})
	}
	wg.Wait()
}

// NastySchema has what providers do not take: references in a circle, alternatives, maps, tuples, conditions, odd names.
const NastySchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "tree": {"type": "object", "properties": {"value": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["value"]},
    "size": {"type": ["integer", "null"], "exclusiveMinimum": 0, "multipleOf": 4}
  },
  "properties": {
    "nested": {"$ref": "#/$defs/tree", "description": "A tree."},
    "size": {"$ref": "#/$defs/size"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
    "list": {"type": "array"},
    "either": {"oneOf": [{"type": "string", "format": "uri"}, {"type": "array", "items": {"type": "number"}, "uniqueItems": true}, {"type": "null"}]},
    "both": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"const": "x"}}}]},
    "level": {"enum": [1, 2, 3], "default": 2},
    "word": {"enum": ["", "a", "b"]},
    "fixed": {"const": "only"},
    "$odd name/with ünicode": {"type": "string", "pattern": "^x", "minLength": 1, "maxLength": 10},
    "not": {"not": {"type": "string"}},
    "number or text": {"type": ["number", "string"]}
  },
  "required": ["nested"],
  "anyOf": [{"required": ["size"]}, {"properties": {"late": {"type": "boolean"}}}],
  "if": {"required": ["env"]}, "then": {"required": ["list"]},
  "dependentRequired": {"size": ["env"]}
}`
