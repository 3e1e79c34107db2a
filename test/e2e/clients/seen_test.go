//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tapOf writes a log of messages, each "from {...}", and reads it.
func tapOf(t *testing.T, lines ...string) seen {
	t.Helper()
	var b bytes.Buffer
	for i, l := range lines {
		from, text, _ := strings.Cut(l, " ")
		data, err := json.Marshal(message{From: from, At: time.Unix(int64(i), 0), Message: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	path := filepath.Join(t.TempDir(), "mcp.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readTap(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	tapCall   = `client {"id":2,"method":"tools/call","params":{"name":"shell","_meta":{"progressToken":7}}}`
	tapResult = `server {"id":2,"result":{"content":[{"type":"text","text":"line 1\nline 2\nline 3\n"}]}}`
)

func tapLine(n int) string {
	return fmt.Sprintf(`server {"method":"notifications/progress","params":{"progressToken":7,"message":"line %d\n"}}`, n)
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name            string
		lines           []string
		order, streamed string
	}{
		{name: "good", lines: []string{tapCall, tapLine(1), tapLine(2), tapLine(3), tapResult}},
		{name: "late progress", lines: []string{tapCall, tapLine(1), tapLine(2), tapResult, tapLine(3)}, order: "nobody waits for"},
		{name: "all at once", lines: []string{tapCall, tapResult}, streamed: "0 pieces"},
		{name: "two answers", lines: []string{tapCall, tapLine(1), tapLine(2), tapResult, tapResult}, order: "nobody waits for"},
		{name: "no result", lines: []string{tapCall, tapLine(1)}, streamed: "no result"},
		{name: "no token", lines: []string{strings.Replace(tapCall, "7", `""`, 1), tapLine(1), tapLine(2), tapResult}, order: "nobody waits for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tapOf(t, tt.lines...)
			for what, c := range map[string]struct {
				got  error
				want string
			}{"order": {s.order(), tt.order}, "streamed": {s.streamed(), tt.streamed}} {
				if (c.got == nil) != (c.want == "") || c.got != nil && !strings.Contains(c.got.Error(), c.want) {
					t.Errorf("%s: got %v, want %q", what, c.got, c.want)
				}
			}
		})
	}
}

func TestTold(t *testing.T) {
	call := func(token int) string {
		return fmt.Sprintf(`client {"id":2,"method":"tools/call","params":{"name":"edit","_meta":{"progressToken":%d}}}`, token)
	}
	progress := func(token int, text string) string {
		return fmt.Sprintf(`server {"method":"notifications/progress","params":{"progressToken":%d,"message":"%s"}}`, token, text)
	}
	first, second := progress(1, "waiting for approval: tongs approvals approve qaaaaa · edit a (0s)"), progress(2, "waiting for approval: tongs approvals approve qbbbbb · edit a (0s)")
	if err := tapOf(t, call(1), first, call(2), second).told(false); err != nil {
		t.Error(err)
	}
	if err := tapOf(t, call(1), first, call(2)).told(false); err == nil {
		t.Error("one of two questions is enough")
	}
	if err := tapOf(t, call(1), first, call(2), second, progress(2, "running (5s)")).told(false); err == nil {
		t.Error("a call that waits may run")
	}
}

func TestFacts(t *testing.T) {
	s := tapOf(t,
		`client {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"a"}}}`,
		`server {"id":0,"result":{"protocolVersion":"2025-03-26"}}`,
		`client {"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		tapCall, tapLine(1), tapResult)
	got := strings.Join(s.facts(), "\n")
	for _, want := range []string{
		`initialize with 2025-06-18, capabilities {"roots":{}}, as {"name":"a"}`, "gets 2025-03-26", "server/discover with 2026-07-28",
		"tool calls: 1, with a progress token: 1, progress notifications sent: 1", "client tools/call, server notifications/progress",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// Messages are logged whole, however a body is read, be it one object or events.
func TestHeard(t *testing.T) {
	var log bytes.Buffer
	for _, body := range []string{"{\"id\":1}", "event: message\r\ndata: {\"id\":2}\r\n\r\ndata:{\"id\":3}\n\n: comment\n"} {
		h := &heard{ReadCloser: io.NopCloser(strings.NewReader(body)), journal: &journal{log: &log}, from: "server"}
		for buf := make([]byte, 3); ; {
			if _, err := h.Read(buf); err != nil {
				break
			}
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, `{"id":1}`) || !strings.Contains(got, `{"id":3}`) {
		t.Errorf("logged %s", got)
	}
}

// The settings of each client are found by the name that 'tongs setup' knows.
func TestClients(t *testing.T) {
	for _, name := range names() {
		c, ok := find(name)
		if !ok || c.setup == "" || c.pkg == "" || c.version == "" || c.configure == nil || c.remote == nil || c.argv == nil || c.env == nil {
			t.Errorf("%s is not complete", name)
		}
	}
	if _, ok := find("none"); ok {
		t.Error("a client that does not exist is found")
	}
}
