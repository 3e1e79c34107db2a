package script_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/script"
)

func parse(tb testing.TB, text string) *script.Model {
	tb.Helper()
	m, err := script.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func say(text string) model.Message {
	return model.Message{Role: model.User, Parts: []model.Part{{Text: text}}}
}

func answer(calls []model.Call, texts ...string) model.Message {
	m := model.Message{Role: model.User}
	for i, text := range texts {
		m.Parts = append(m.Parts, model.Part{Result: &model.Result{ID: calls[i].ID, Name: calls[i].Name, Text: text}})
	}
	return m
}

const talk = `
model: demo
turns:
  - expect: review (?P<file>\S+)
    offered: [read_file]
    withheld: shell
    text: I read ${file} at ${HOME}.
    calls:
      - {tool: read_file, args: {path: "${file}", lines: [1, "${file}"], limit: 3}}
      - {tool: grep, id: own, raw: '{"pattern": ${file}'}
  - expect: ["read_file: (?P<word>\\w+)", "grep: no"]
    refute: secret
    text: It says ${word} in ${file}.
`

func TestConversation(t *testing.T) {
	m := parse(t, talk)
	req := &model.Request{Messages: []model.Message{say("Please review a.go")}, Tools: []*tongs.Spec{{Name: "read_file"}}}
	for range 2 { // a turn can be asked for again
		var streamed strings.Builder
		resp, err := m.Turn(t.Context(), req, func(d model.Delta) { streamed.WriteString(d.Text + d.Call + "|") })
		if err != nil {
			t.Fatal(err)
		}
		calls := resp.Message.Calls()
		if resp.Model != "demo" || resp.Message.Text() != "I read a.go at ${HOME}." || len(calls) != 2 || resp.Stop != model.StopCalls || resp.Usage.Output == 0 {
			t.Fatalf("%+v", resp)
		}
		if calls[0].Args != `{"limit":3,"lines":[1,"a.go"],"path":"a.go"}` || calls[0].ID != "call_1_1" || calls[1].ID != "own" || calls[1].Args != `{"pattern": a.go` {
			t.Fatalf("%+v", calls)
		}
		if streamed.String() != "I |read |a.go |at |${HOME}.|read_file|grep|" {
			t.Errorf("streamed %s", streamed.String())
		}
	}
	resp, err := m.Turn(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Calls()
	req.Messages = append(req.Messages, resp.Message, answer(calls, "hello world", "no"))
	if resp, err = m.Turn(t.Context(), req, nil); err != nil || resp.Message.Text() != "It says hello in a.go." || resp.Stop != model.StopEnd {
		t.Fatalf("%+v, %v", resp, err)
	}
	req.Messages = append(req.Messages, resp.Message, say("more"))
	if _, err = m.Turn(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), `2 turns, and this would be turn 3; the model was told: "more\n"`) {
		t.Errorf("the end of the script: %v", err)
	}
}

func TestExpectations(t *testing.T) {
	first := parse(t, talk)
	for name, test := range map[string]struct {
		text  string
		tools []string
		want  string
	}{
		"told something else": {"Hello", []string{"read_file"}, `turn 1 expects "review (?P<file>\\S+)", but the model was told: "Hello\n"`},
		"a tool is missing":   {"review x", nil, "wants the tool read_file"},
		"a tool too many":     {"review x", []string{"read_file", "shell"}, "must not be offered the tool shell"},
	} {
		req := &model.Request{Messages: []model.Message{say(test.text)}}
		for _, tool := range test.tools {
			req.Tools = append(req.Tools, &tongs.Spec{Name: tool})
		}
		_, err := first.Turn(t.Context(), req, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || model.Retryable(err) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := parse(t, `turns: [{refute: secret, text: x}]`).Turn(t.Context(), &model.Request{Messages: []model.Message{say("a secret")}}, nil)
	if err == nil || !strings.Contains(err.Error(), "must not be told") {
		t.Errorf("what must not be told: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := first.Turn(ctx, &model.Request{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFailures(t *testing.T) {
	m := parse(t, `turns: [{thinking: hm, text: "0123456789", calls: [{tool: x}], failures: [{status: 429, after: 2s}, {cut: true}, {cut: true, status: 529}, {status: 400, too_long: true}]}]`)
	req := &model.Request{Messages: []model.Message{say("x")}}
	want := []model.Error{
		{Status: 429, Retry: true, After: 2 * time.Second}, {Retry: true, Partial: true}, {Status: 529, Retry: true, Partial: true}, {Status: 400, TooLong: true},
	}
	for i, w := range want {
		resp, err := m.Turn(t.Context(), req, nil)
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Status != w.Status || e.Retry != w.Retry || e.After != w.After || e.Partial != w.Partial || e.TooLong != w.TooLong {
			t.Fatalf("attempt %d: %#v", i, err)
		}
		if w.Partial != (resp != nil) || w.Partial && (resp.Message.Text() != "01234" || len(resp.Message.Calls()) != 0) {
			t.Errorf("attempt %d: %+v", i, resp)
		}
	}
	if resp, err := m.Turn(t.Context(), req, nil); err != nil || resp.Message.Text() != "0123456789" {
		t.Errorf("at last: %+v, %v", resp, err)
	}
	// Another conversation has its own failures.
	if _, err := m.Turn(t.Context(), &model.Request{Messages: []model.Message{say("y")}}, nil); model.Retryable(err) == nil {
		t.Errorf("another conversation: %v", err)
	}
}

func TestConversationsBySystemPrompt(t *testing.T) {
	m := parse(t, `
conversations:
  - {when: You review, turns: [{text: reviewer}]}
  - {when: "count (\\d)", turns: [{text: counter}]}
turns: [{text: main}]
`)
	var wg sync.WaitGroup
	for _, test := range []struct{ system, text, want string }{{"You review code.", "x", "reviewer"}, {"", "count 3", "counter"}, {"", "x", "main"}} {
		wg.Go(func() {
			resp, err := m.Turn(t.Context(), &model.Request{System: test.system, Messages: []model.Message{say(test.text)}}, nil)
			if err != nil || resp.Message.Text() != test.want {
				t.Errorf("%+v: %v, %v", test, resp, err)
			}
		})
	}
	wg.Wait()
}

func TestScriptsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   "no turns",
		`turns: [{txet: x}]`:                 "txet",
		`turns: [{expect: "("}]`:             "no regular expression",
		`turns: [{expect: {a: 1}}]`:          "neither a string nor a list",
		`turns: [{stop: later}]`:             `"later" is not one of`,
		`turns: [{calls: [{args: {a: 1}}]}]`: "names no tool",
		`turns: [{calls: [{tool: x, args: {}, raw: y}]}]`:   "both args and raw",
		`turns: [{failures: [{after: soon, status: 429}]}]`: "no duration",
		`turns: [{failures: [{message: x}]}]`:               "a failure has a status",
		`turns: [{failures: [{status: 999}]}]`:              "a failure has a status",
		`conversations: [{when: "(", turns: []}]`:           "conversation 1: when",
		`turns: 5`: "",
		"\x00":     "",
	} {
		if _, err := script.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(`{"turns":[{"text":"hi","usage":{"input":1,"output":2,"cache_read":1}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := script.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Turn(t.Context(), &model.Request{Messages: []model.Message{say("x")}}, nil)
	if err != nil || resp.Usage != (model.Usage{Input: 1, Output: 2, CacheRead: 1}) {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err := script.Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(`turns: [{txet: x}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := script.Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a wrong file: %v", err)
	}
}

func Example() {
	m, err := script.Parse([]byte(`
turns:
  - expect: what time
    calls: [{tool: clock}]
  - expect: "clock: (?P<time>.*)"
    text: It is ${time}.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	talk := []model.Message{say("what time is it?")}
	resp, err := m.Turn(context.Background(), &model.Request{Messages: talk}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := resp.Message.Calls()[0]
	talk = append(talk, resp.Message, model.Message{Role: model.User, Parts: []model.Part{{Result: &model.Result{ID: call.ID, Name: call.Name, Text: "noon"}}}})
	if resp, err = m.Turn(context.Background(), &model.Request{Messages: talk}, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: It is noon.
}
