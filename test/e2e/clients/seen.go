//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// rpc is what there may be in a message of a connection.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	from string
	at   time.Time
}

// seen is what went over a client's connections, in order.
type seen []rpc

func readTap(path string) (seen, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all seen
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return all, err
		}
		one := rpc{from: m.From, at: m.At}
		if err := json.Unmarshal(m.Message, &one); err != nil {
			return all, fmt.Errorf("the %s sent what is no message: %.200s", m.From, m.Message)
		}
		all = append(all, one)
	}
}

// token is the progress token of a request or notification; empty for none.
func (m *rpc) token() string {
	var p struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(m.Params, &p)
	return string(p.Meta.Token) + string(p.Token)
}

// order checks that progress belongs to a request that asked for it and did not end, and that each request has one answer.
func (s seen) order() error {
	open := map[string]string{} // the identifiers of the requests that the client waits for, with their tokens
	for i := range s {
		m := &s[i]
		switch {
		case m.from == "client" && m.Method == "initialize":
			clear(open)
			open[string(m.ID)] = ""
		case m.from == "client" && m.Method != "" && m.ID != nil:
			open[string(m.ID)] = m.token()
		case m.from == "server" && m.Method == "" && m.ID != nil:
			if _, ok := open[string(m.ID)]; !ok {
				return fmt.Errorf("an answer to request %s, which nobody waits for", m.ID)
			}
			delete(open, string(m.ID))
		case m.from == "server" && m.Method == "notifications/progress":
			if !slices.Contains(slices.Collect(values(open)), m.token()) {
				return fmt.Errorf("progress for %s, which nobody waits for", m.token())
			}
		}
	}
	return nil
}

// streamed checks that the lines of the command came one by one, before its result.
func (s seen) streamed() error {
	var when []time.Time
	for i := range s {
		m := &s[i]
		if m.Method == "notifications/progress" && bytes.Contains(m.Params, []byte(fmt.Sprintf("line %d", len(when)+1))) {
			when = append(when, m.at)
		}
		if m.from == "server" && m.Method == "" && bytes.Contains(m.Result, []byte(`line 1\nline 2\nline 3`)) {
			if len(when) < 2 || !when[len(when)-1].Before(m.at) {
				return fmt.Errorf("%d pieces of output came before the result", len(when))
			}
			return nil
		}
	}
	return errors.New("the command has no result")
}

// told checks that the client heard of both questions while their calls waited, and never that such a call runs. A
// client that shows forms knows.
func (s seen) told(forms bool) error {
	questions, edits := map[string]bool{}, map[string]bool{}
	for i := range s {
		m := &s[i]
		switch {
		case m.Method == "tools/call":
			edits[m.token()] = bytes.Contains(m.Params, []byte(`"name":"edit"`))
		case m.Method == "notifications/progress" && bytes.Contains(m.Params, []byte("waiting for approval")):
			if id := shortID.FindString(string(m.Params)); id != "" { // a form that the client may show names none
				questions[id] = true
			}
		case m.Method == "notifications/progress" && edits[m.token()] && !forms:
			return fmt.Errorf("it heard %s of a call that waits", m.Params)
		}
	}
	if len(questions) != 2 && !forms {
		return fmt.Errorf("it heard of %d questions, want 2", len(questions))
	}
	return nil
}

func values(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if v != "" && !yield(v) {
				return
			}
		}
	}
}

// facts are what the client negotiated and did, in words.
func (s seen) facts() []string {
	var facts, methods []string
	progress, tokens, calls := 0, 0, 0
	for i := range s {
		m := &s[i]
		switch m.Method {
		case "initialize":
			facts = append(facts, m.greeting(), "gets "+s.negotiated(i))
		case "server/discover":
			facts = append(facts, m.greeting())
		case "notifications/progress":
			progress++
		case "tools/call":
			calls++
			if m.token() != "" {
				tokens++
			}
		}
		if said := m.from + " " + m.Method; m.Method != "" && !slices.Contains(methods, said) {
			methods = append(methods, said)
		}
	}
	return append(slices.Compact(facts),
		fmt.Sprintf("tool calls: %d, with a progress token: %d, progress notifications sent: %d", calls, tokens, progress),
		"messages: "+strings.Join(methods, ", "))
}

// greeting is what a client says about itself, in either era.
func (m *rpc) greeting() string {
	type about struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Client       json.RawMessage `json:"clientInfo"`
	}
	var p struct {
		about
		Meta struct {
			Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
			Client       json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	a := p.about
	if m.Method == "server/discover" {
		a = about(p.Meta)
	}
	return fmt.Sprintf("%s with %s, capabilities %s, as %s", m.Method, a.Version, a.Capabilities, a.Client)
}

// long tells what became of each call of a tool: its answer, or that it was cancelled, and when.
func (s seen) long() []string {
	var lines []string
	for i := range s {
		if s[i].Method != "tools/call" {
			continue
		}
		for _, m := range s[i:] {
			after := m.at.Sub(s[i].at).Seconds()
			switch {
			case m.from == "server" && m.Method == "" && string(m.ID) == string(s[i].ID):
				lines = append(lines, fmt.Sprintf("call %s: answered after %.1f s", s[i].ID, after))
			case m.from == "client" && m.Method == "notifications/cancelled":
				lines = append(lines, fmt.Sprintf("call %s: cancelled after %.1f s: %s", s[i].ID, after, m.Params))
			}
		}
	}
	return lines
}

// negotiated is the version in the server's answer to the request at i.
func (s seen) negotiated(i int) string {
	for _, m := range s[i:] {
		if m.from == "server" && m.Method == "" && string(m.ID) == string(s[i].ID) {
			var r struct {
				Version string `json:"protocolVersion"`
			}
			_ = json.Unmarshal(m.Result, &r)
			return r.Version
		}
	}
	return "no answer"
}
