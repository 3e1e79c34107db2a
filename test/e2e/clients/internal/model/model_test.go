package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// good are results that the script accepts, in order.
var good = [...]string{
	"notes.txt",
	"1\talpha\n2\tbeta\n3\tgamma",
	"Edited notes.txt: 1 replacement.",
	"APPROVAL_REQUIRED: question q_abc",
	"Edited notes.txt: 1 replacement.",
	"line 1\nline 2\nline 3\n",
	"INVALID_ARGS: limit: got -3; offset: got \"second\"",
	"INVALID_ARGS: firstRow, rowCount: unknown; known are limit, offset",
	"2\tBETA\n3\tGAMMA",
}

// want are the calls that the script makes, in order.
var want = [...]string{
	"list_directory", "read_file", "edit", "edit", "edit", "shell", "read_file", "read_file", "read_file",
}

// format is a wire format as a client speaks it.
type format struct {
	name, path string
	// tool is the client's name for a tool; request writes a request with tools and the results so far.
	tool    func(name string) string
	request func(tools []string, ids, results []string) any
	// call finds the identifier and the name of the call in a response.
	call func(t *testing.T, body string) (id, name string)
}

type object = map[string]any

func formats() []format {
	return []format{
		{
			name: "chat", path: "/v1/chat/completions", tool: func(n string) string { return "tongs_" + n },
			request: func(tools, ids, results []string) any {
				var offered, messages []any
				for _, n := range tools {
					offered = append(offered, object{"type": "function", "function": object{"name": n}})
				}
				for i, r := range results {
					messages = append(messages, object{"role": "tool", "tool_call_id": ids[i], "content": r})
				}
				return object{"stream": true, "tools": offered, "messages": messages}
			},
			call: func(t *testing.T, body string) (string, string) {
				var c struct {
					Choices []struct {
						Delta struct {
							Calls []struct {
								ID       string
								Function struct{ Name string }
							} `json:"tool_calls"`
						}
					}
				}
				event(t, body, 0, &c)
				if len(c.Choices[0].Delta.Calls) == 0 {
					return "", ""
				}
				return c.Choices[0].Delta.Calls[0].ID, c.Choices[0].Delta.Calls[0].Function.Name
			},
		},
		{
			name: "responses", path: "/v1/responses", tool: func(n string) string { return n },
			request: func(tools, ids, results []string) any {
				var offered []any
				for _, n := range tools {
					offered = append(offered, object{"type": "function", "name": n})
				}
				input := []any{object{"type": "message", "role": "user"}}
				for i, r := range results {
					input = append(input, object{"type": "function_call_output", "call_id": ids[i], "output": []any{object{"type": "input_text", "text": r}}})
				}
				return object{"stream": true, "input": input, "tools": []any{object{"type": "namespace", "name": "mcp__tongs", "tools": offered}}}
			},
			call: func(t *testing.T, body string) (string, string) {
				var c struct {
					Item struct {
						ID        string `json:"call_id"`
						Name      string
						Namespace string
					}
				}
				event(t, body, 1, &c)
				if c.Item.ID != "" && c.Item.Namespace != "mcp__tongs" {
					t.Errorf("the namespace is %q", c.Item.Namespace)
				}
				return c.Item.ID, c.Item.Name
			},
		},
		{
			name: "messages", path: "/v1/messages", tool: func(n string) string { return "mcp__tongs__" + n },
			request: func(tools, ids, results []string) any {
				var offered []any
				for _, n := range tools {
					offered = append(offered, object{"name": n})
				}
				messages := []any{object{"role": "user", "content": "plain text"}}
				for i, r := range results {
					block := object{"type": "tool_result", "tool_use_id": ids[i], "content": []any{object{"type": "text", "text": r}}}
					messages = append(messages, object{"role": "user", "content": []any{block}})
				}
				return object{"stream": true, "tools": offered, "messages": messages}
			},
			call: func(t *testing.T, body string) (string, string) {
				var c struct {
					Block struct{ ID, Name string } `json:"content_block"`
				}
				event(t, body, 1, &c)
				return c.Block.ID, c.Block.Name
			},
		},
		{
			name: "gemini", path: "/v1beta/models/any:streamGenerateContent", tool: func(n string) string { return "mcp_tongs_" + n },
			request: func(tools, ids, results []string) any {
				var offered, contents []any
				for _, n := range tools {
					offered = append(offered, object{"name": n})
				}
				for i, r := range results {
					part := object{"functionResponse": object{"id": ids[i], "response": object{"output": r}}}
					contents = append(contents, object{"parts": []any{part}})
				}
				return object{"contents": contents, "tools": []any{object{"functionDeclarations": offered}}}
			},
			call: func(t *testing.T, body string) (string, string) {
				var c struct {
					Candidates []struct {
						Content struct {
							Parts []struct {
								Call struct{ ID, Name string } `json:"functionCall"`
							}
						}
					}
				}
				event(t, body, 0, &c)
				call := c.Candidates[0].Content.Parts[0].Call
				return call.ID, call.Name
			},
		},
	}
}

// event decodes the data of the nth event of a stream.
func event(t *testing.T, body string, n int, into any) {
	t.Helper()
	for l := range strings.Lines(body) {
		data, ok := strings.CutPrefix(l, "data: ")
		if !ok {
			continue
		}
		if n == 0 {
			if err := json.Unmarshal([]byte(data), into); err != nil {
				t.Fatal(err)
			}
			return
		}
		n--
	}
	t.Fatalf("there is no such event in %q", body)
}

func post(t *testing.T, s http.Handler, path string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(data)))
	return rec.Code, rec.Body.String()
}

func tools(f format) []string {
	return []string{"edit", f.tool("write_file"), f.tool("list_directory"), f.tool("edit"), f.tool("read_file"), f.tool("shell")}
}

func TestConversation(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			refused := 0
			s := &model.Server{Dir: t.TempDir(), Script: &model.Script{Refused: func(_ context.Context, text string) error {
				refused++
				if !strings.Contains(text, "q_abc") {
					return errors.New("another refusal")
				}
				return nil
			}}}
			var ids, results []string
			for i, name := range want {
				code, body := post(t, s, f.path, f.request(tools(f), ids, results))
				if code != http.StatusOK {
					t.Fatalf("call %d: %d %s", i, code, body)
				}
				id, got := f.call(t, body)
				if got != f.tool(name) {
					t.Fatalf("call %d is %q, want %q", i, got, f.tool(name))
				}
				ids, results = append(ids, id), append(results, good[i])
			}
			if s.Finished() {
				t.Error("finished before the last result")
			}
			_, body := post(t, s, f.path, f.request(tools(f), ids, results))
			if !strings.Contains(body, model.Final) || !s.Finished() || s.Problems() != nil || refused != 1 {
				t.Errorf("finished %t, %d refusals, problems %v: %s", s.Finished(), refused, s.Problems(), body)
			}
			transcript, err := os.ReadFile(filepath.Join(s.Dir, "transcript.jsonl"))
			if lines := bytes.Count(transcript, []byte("\n")); err != nil || lines != len(want)+1 {
				t.Errorf("the transcript has %d lines, want %d; %v", lines, len(want)+1, err)
			}
		})
	}
}

// A result that is not what the script wants ends the conversation, and is remembered.
func TestProblems(t *testing.T) {
	f := formats()[0]
	for i := range good {
		for _, bad := range []string{"", "INVALID_ARGS: something", "EXECUTION_ERROR: it failed"} {
			t.Run(fmt.Sprintf("%d %s", i, bad), func(t *testing.T) {
				s := &model.Server{Dir: t.TempDir(), Script: &model.Script{}}
				results := append(append([]string{}, good[:i]...), bad)
				code, body := post(t, s, f.path, f.request(tools(f), make([]string, len(results)), results))
				if i == 3 && code == http.StatusOK { // no refusal is no problem, but this is no edit either
					t.Error("a failed edit is accepted")
				}
				if code != http.StatusBadRequest || s.Problems() == nil || s.Finished() {
					t.Errorf("%d %s; problems %v", code, body, s.Problems())
				}
			})
		}
	}
}

func TestEndlessRefusals(t *testing.T) {
	f := formats()[0]
	s := &model.Server{Dir: t.TempDir(), Script: &model.Script{}}
	results := []string{good[0], good[1], good[3], good[3], good[3], good[3]}
	if code, body := post(t, s, f.path, f.request(tools(f), make([]string, len(results)), results)); code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

// A request without tools of Tongs, as for a title, gets text; one in the middle of the conversation is a problem.
func TestWithoutTools(t *testing.T) {
	f := formats()[2]
	s := &model.Server{Dir: t.TempDir(), Script: &model.Script{}}
	foreign := []string{"edit", "mcp__other__list_directory", "mcp__tongs_other__list_directory", "tongs_list_directorys"}
	code, body := post(t, s, f.path, f.request(foreign, nil, nil))
	if code != http.StatusOK || !strings.Contains(body, "text_delta") || s.Finished() {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(t, s, f.path, f.request(foreign, []string{"call_list_0"}, []string{good[0]})); code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

// Tools that a client hides behind a search are searched for, once each.
func TestSearch(t *testing.T) {
	f := formats()[2]
	s := &model.Server{Dir: t.TempDir(), Script: &model.Script{}}
	_, body := post(t, s, f.path, f.request([]string{"ToolSearch"}, nil, nil))
	id, name := f.call(t, body)
	if name != "ToolSearch" || !strings.Contains(body, "select:mcp__tongs__list_directory") {
		t.Fatalf("%s", body)
	}
	_, body = post(t, s, f.path, f.request([]string{"ToolSearch", "mcp__tongs__list_directory"}, []string{id}, []string{""}))
	if _, name := f.call(t, body); name != "mcp__tongs__list_directory" {
		t.Errorf("%s", body)
	}
	if code, body := post(t, s, f.path, f.request([]string{"ToolSearch"}, []string{id}, []string{""})); code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

func TestOtherRequests(t *testing.T) {
	s := &model.Server{Dir: t.TempDir(), Script: &model.Script{}}
	if code, _ := post(t, s, "/v1/models", object{}); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader("{")))
	if rec.Code != http.StatusBadRequest || s.Problems() == nil {
		t.Errorf("no JSON: %d", rec.Code)
	}
	for _, f := range formats() {
		body := f.request(tools(f), nil, nil).(object)
		delete(body, "stream")
		path := strings.Replace(f.path, ":stream", ":", 1)
		path = strings.Replace(path, ":GenerateContent", ":generateContent", 1)
		_, text := post(t, s, path, body)
		if !json.Valid([]byte(text)) || !strings.Contains(text, "list_directory") {
			t.Errorf("%s without a stream: %s", f.name, text)
		}
	}
}

// ExampleScript shows what the log must say of a conversation with a client that checks arguments itself.
func ExampleScript() {
	s := &model.Script{Validates: true}
	for _, row := range s.Rows(false) {
		fmt.Println(row)
	}
	// Output:
	// list_directory ok
	// read_file ok
	// edit ok
	// edit refused APPROVAL_REQUIRED
	// edit ok
	// shell ok
	// read_file error INVALID_ARGS
	// read_file ok
}
