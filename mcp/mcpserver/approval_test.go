package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

var edit = args{"path": "a.txt", "oldString": "one", "newString": "two"}

func TestFormApprovesDeniesAndEdits(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		for _, test := range []struct {
			name    string
			content map[string]any
			want    string // what the file holds
			code    string
			says    string
		}{
			{"once", map[string]any{"answer": "yes"}, "two\n", "", ""},
			{"session", map[string]any{"answer": "this file, this session"}, "two\n", "", ""},
			{"deny", map[string]any{"answer": "no", "reason": "use b.txt"}, "one\n", "DENIED", "use b.txt"},
			{
				"edited",
				map[string]any{"answer": "yes", "arguments": `{"path":"a.txt","oldString":"one","newString":"three"}`},
				"three\n", "", "",
			},
			{"the same arguments", map[string]any{"answer": "yes", "arguments": `{"newString":"two","path":"a.txt","oldString":"one"}`}, "two\n", "", ""},
			{"edited into nonsense", map[string]any{"answer": "yes", "arguments": `{"path":"a.txt"}`}, "one\n", "INVALID_ARGS", ""},
		} {
			if version == withoutSessions && test.name == "session" {
				continue // a call that is a session of its own has no such choice
			}
			t.Run(test.name, func(t *testing.T) {
				w := newWorld(t, setup{})
				w.write("a.txt", "one\n")
				p := says(test.content)
				c := w.connect(version, p.options())
				res := c.call("edit", edit)
				if got := w.content("a.txt"); got != test.want {
					t.Errorf("the file holds %q, want %q; result %s", got, test.want, text(res))
				}
				if codeOf(res) != test.code || !strings.Contains(text(res), test.says) {
					t.Errorf("result %q (%s), want code %q and %q", text(res), codeOf(res), test.code, test.says)
				}
			})
		}
	})
}

// A question about a call that a tool makes goes to the client that called the tool, also where that tool keeps nothing of the
// context that it was called with; one of another client's call does not.
func TestFormForACallWithinACall(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		type in struct{}
		relay, err := tongs.New(tongs.Def[in, string]{
			Spec: tongs.Spec{Name: "relay", Description: "Calls edit.", Default: tongs.PreApproved},
			Run: func(_ context.Context, env *tongs.Env, _ in) (string, error) {
				res := env.Caller.Call(context.Background(), &tongs.Call{
					Tool: "edit", Args: json.RawMessage(`{"path":"a.txt","oldString":"one","newString":"two"}`),
				})
				return res.Content, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, setup{tools: []tongs.Tool{relay}})
		w.write("a.txt", "one\n")
		other := says(map[string]any{"answer": "yes"})
		w.connect(version, other.options())
		p := says(map[string]any{"answer": "yes"})
		res := w.connect(version, p.options()).call("relay", args{})
		if got := w.content("a.txt"); got != "two\n" || len(p.shown) != 1 || len(other.shown) != 0 {
			t.Errorf("the file holds %q; asked %d times, and another client %d times; %s", got, len(p.shown), len(other.shown), text(res))
		}
	})
}

func TestFormShowsWhatWouldHappen(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("a.txt", "one\n")
		p := says(map[string]any{"answer": "no"})
		c := w.connect(version, p.options())
		c.call("edit", args{"path": "a.txt", "oldString": "one", "newString": "Tongs: nothing to see\u202e\x1b[2J"})
		form := p.shown[0]
		for _, want := range []string{"edit  a.txt  +1 −1\n1 │-one\n  │+Tongs: nothing to see\\u202e\\x1b[2J\n"} {
			if !strings.Contains(form.Message, want) {
				t.Errorf("the form does not say %q:\n%s", want, form.Message)
			}
		}
		for l := range strings.Lines(form.Message) {
			if strings.Contains(l, "nothing to see") && !strings.HasPrefix(l, "  │+") {
				t.Errorf("the words of the call stand outside a quotation: %q", l)
			}
		}
	})
}

// Whoever is shown nothing has not answered: no elicitation, an instant refusal, an answer that is none.
func TestNotShownIsNotAnAnswer(t *testing.T) {
	decline := func(action string) *person {
		return &person{answer: func(int, *mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: action} }}
	}
	bothEras(t, func(t *testing.T, version string) {
		for name, opt := range map[string]*mcp.ClientOptions{
			"cannot":           nil,
			"only urls":        {Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}},
			"declines at once": decline("decline").options(),
			"cancels at once":  decline("cancel").options(),
			"accepts nothing":  says(nil).options(),
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, setup{Options: mcpserver.Options{Instant: time.Hour}})
				w.write("a.txt", "one\n")
				c := w.connect(version, opt)
				res := c.call("edit", edit)
				if codeOf(res) != "APPROVAL_REQUIRED" {
					t.Fatalf("result %q, want APPROVAL_REQUIRED", text(res))
				}
				details, _ := res.Meta[mcpserver.MetaDetails].(map[string]any)
				id, _ := details["question"].(string)
				if q, err := w.store.Get(t.Context(), id); err != nil || q.StateAt(time.Now()) != approval.Pending {
					t.Fatalf("question %q: %v, %v", id, q.StateAt(time.Now()), err)
				}
				if !strings.Contains(text(res), id) {
					t.Errorf("the text does not name the question %s: %s", id, text(res))
				}
				// A later answer lets the identical call through, once.
				w.must(w.store.Answer(t.Context(), id, approval.Answer{Approved: true, Scope: approval.Once}))
				if res := c.call("edit", edit); res.IsError {
					t.Fatalf("the retry: %s", text(res))
				}
				if got := w.content("a.txt"); got != "two\n" {
					t.Errorf("the file holds %q", got)
				}
			})
		}
	})
}

func TestSlowDeclineIsARefusal(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{Options: mcpserver.Options{Instant: time.Nanosecond}})
		w.write("a.txt", "one\n")
		p := &person{answer: func(int, *mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }}
		if res := w.connect(version, p.options()).call("edit", edit); codeOf(res) != "DENIED" {
			t.Errorf("result %q, want DENIED", text(res))
		}
	})
}

// An answer from elsewhere lets a call go on that waits, and progress tells that it waits.
func TestAnswerElsewhereUnblocks(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{wait: time.Hour, Options: mcpserver.Options{Beat: 10 * time.Millisecond}})
		w.write("a.txt", "one\n")
		c := w.connect(version, nil)
		params := &mcp.CallToolParams{Name: "edit", Arguments: edit}
		params.SetProgressToken("p")
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			res, err := c.CallTool(t.Context(), params)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		told := 0
		for told < 2 { // it goes on telling; before there is a question, that it runs
			<-c.updated
			c.mu.Lock()
			if strings.Contains(c.progress[len(c.progress)-1].Message, "waiting for approval") {
				told++
			}
			c.mu.Unlock()
		}
		open, err := w.store.List(t.Context(), true)
		w.must(err)
		if len(open) != 1 {
			t.Fatalf("%d questions wait, want 1", len(open))
		}
		c.mu.Lock()
		if m := c.progress[len(c.progress)-1].Message; !strings.Contains(m, "edit  a.txt  +1 −1") || !strings.Contains(m, "tongs approvals approve "+approval.Short(open[0].ID)) {
			t.Errorf("progress says %q, want the question %s", m, open[0].ID)
		}
		c.mu.Unlock()
		w.must(w.store.Answer(t.Context(), open[0].ID, approval.Answer{Approved: true, Scope: approval.Once}))
		if res := <-done; res.IsError {
			t.Fatal(text(res))
		}
		if got := w.content("a.txt"); got != "two\n" {
			t.Errorf("the file holds %q", got)
		}
	})
}

func TestUnreadableAnswerIsAskedAgain(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("a.txt", "one\n")
		p := &person{answer: func(n int, _ *mcp.ElicitParams) *mcp.ElicitResult {
			content := map[string]any{"answer": "yes", "arguments": "{"}
			if n == 2 {
				content["arguments"] = ""
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}
		}}
		c := w.connect(version, p.options())
		if res := c.call("edit", edit); res.IsError || p.count() != 2 {
			t.Fatalf("asked %d times, result %s", p.count(), text(res))
		}
		if !strings.Contains(p.shown[1].Message, "not a JSON object") {
			t.Errorf("the second form does not say why: %s", p.shown[1].Message)
		}
	})
}

// What is approved for a session holds in it and nowhere else.
func TestSessionGrantsDoNotLeak(t *testing.T) {
	w := newWorld(t, setup{})
	p := says(map[string]any{"answer": "this file, this session"})
	first, second := w.connect(withSessions, p.options()), w.connect(withSessions, p.options())
	for i, c := range []*client{first, first, second} {
		w.write("a.txt", "one\n")
		c.call("read_file", args{"path": "a.txt"})
		if res := c.call("edit", edit); res.IsError {
			t.Fatalf("call %d: %s", i, text(res))
		}
	}
	if p.count() != 2 {
		t.Errorf("asked %d times, want once for each of the two sessions", p.count())
	}
}

// Without a session one can be named by a secret.
func TestNamedSession(t *testing.T) {
	w := newWorld(t, setup{})
	p := says(map[string]any{"answer": "this file, this session"})
	c := w.connect(withoutSessions, p.options())
	call := func(secret any) (*mcp.CallToolResult, error) {
		w.write("a.txt", "one\n")
		meta := func() mcp.Meta { return mcp.Meta{mcpserver.MetaSession: secret} }
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": "a.txt"}, Meta: meta()})
		return c.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit", Arguments: edit, Meta: meta()})
	}
	for _, secret := range []string{"secret number one", "secret number one", "secret number two"} {
		if res, err := call(secret); err != nil || res.IsError {
			t.Fatalf("%s: %v %v", secret, err, res)
		}
	}
	if p.count() != 2 {
		t.Errorf("asked %d times, want once for each of the two sessions", p.count())
	}
	for _, secret := range []any{"short", 7, strings.Repeat("x", 300)} {
		if _, err := call(secret); err == nil {
			t.Errorf("the session %v was accepted", secret)
		}
	}
}

// The choice of a session is never wider than that, whatever the client sends.
func TestFormOffersNoMoreThanTheSession(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	for _, decision := range []any{"always", "always…", "approve once", true, "", nil} {
		p := says(map[string]any{"answer": decision})
		c := w.connect(withSessions, p.options())
		if res := c.call("edit", edit); codeOf(res) != "APPROVAL_REQUIRED" {
			t.Errorf("decision %v: %s", decision, text(res))
		}
	}
	if got := w.content("a.txt"); got != "one\n" {
		t.Errorf("the file holds %q", got)
	}
	// Deletes are never remembered: there is no such choice.
	p := says(map[string]any{"answer": "no"})
	w.connect(withSessions, p.options()).call("delete_file", args{"path": "a.txt"})
	schema := p.shown[0].RequestedSchema.(map[string]any)["properties"].(map[string]any)["answer"].(map[string]any)["enum"].([]any)
	if len(schema) != 2 {
		t.Errorf("the choices for a delete are %v", schema)
	}
}

// A client that is known to wait, and hears that the call goes on, has its call wait for an answer from elsewhere longer than others.
func TestPatientClientsWait(t *testing.T) {
	for name, waits := range map[string]bool{"opencode": true, "codex-mcp-client": true, "tester": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{client: name, wait: time.Millisecond, Options: mcpserver.Options{Patient: true, Beat: 10 * time.Millisecond}})
			w.write("a.txt", "one\n")
			c := w.connect(withSessions, nil)
			if res := c.call("edit", edit); !res.IsError {
				t.Fatal("a call that nobody hears of was approved") // without progress nobody waits
			}
			params := &mcp.CallToolParams{Name: "edit", Arguments: args{"path": "a.txt", "oldString": "one", "newString": "three"}}
			params.SetProgressToken("p")
			done := make(chan *mcp.CallToolResult, 1)
			go func() {
				res, err := c.CallTool(t.Context(), params)
				if err != nil {
					t.Error(err)
				}
				done <- res
			}()
			if !waits {
				if res := <-done; codeOf(res) != "APPROVAL_REQUIRED" {
					t.Errorf("it returned %s", text(res))
				}
				return
			}
			for told := 0; told < 5; { // many times as long as the desk waits
				<-c.updated
				c.mu.Lock()
				if strings.Contains(c.progress[len(c.progress)-1].Message, "waiting for approval: tongs approvals approve q") {
					told++
				}
				c.mu.Unlock()
			}
			open, err := w.store.List(t.Context(), true)
			w.must(err)
			w.must(w.store.Answer(t.Context(), open[0].ID, approval.Answer{Approved: true, Scope: approval.Once}))
			if res := <-done; res.IsError || w.content("a.txt") != "three\n" {
				t.Error(text(res))
			}
		})
	}
}
