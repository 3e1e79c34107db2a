// Package model is a scripted model: an HTTP server that speaks the wire formats of several model providers and plays
// one conversation, whichever client calls it. It looks for the tools of Tongs among those that a client offers,
// calls them under the client's name for them, and checks what comes back.
package model

import (
	"encoding/json"
	"strings"
)

// Request is what a client sent, whatever the wire format.
type Request struct {
	// Tools are those that the client offers, Results those of the conversation so far, oldest first.
	Tools   []Tool
	Results []Result
	// Stream is whether the client wants events.
	Stream bool
	Model  string
}

// Tool is a tool as a client offers it.
type Tool struct {
	Name string `json:"name"`
	// Namespace is the group that the tool is in, where the wire format has groups.
	Namespace string `json:"namespace,omitempty"`
	// Hosted is the type of a tool that is no function.
	Hosted string `json:"hosted,omitempty"`
}

// Result is what a client says that a call returned.
type Result struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID   string          `json:"id"`
	Tool Tool            `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// Reply is what the model says: a call, or text.
type Reply struct {
	Text string `json:"text,omitempty"`
	Call *Call  `json:"call,omitempty"`
}

// find returns the tool of Tongs with that name, as the client offers it.
func (r *Request) find(name string) (Tool, bool) {
	for _, t := range r.Tools {
		if !strings.HasSuffix(t.Name, name) {
			continue
		}
		// mcp__tongs__edit, tongs_edit, mcp_tongs_edit, or edit in the namespace mcp__tongs__; with a prefix mcp_tongs_tongs_edit.
		prefix := strings.Trim(strings.TrimPrefix(t.Namespace+t.Name[:len(t.Name)-len(name)], "mcp"), "_")
		if prefix == "tongs" || prefix == "tongs_tongs" {
			return t, true
		}
	}
	return Tool{}, false
}

// ours reports whether a tool is one of Tongs.
func (t Tool) ours() bool { return strings.Contains(t.Namespace+t.Name, "tongs") }

// own returns the first of the client's own tools that it offers.
func (r *Request) own(names []string) (Tool, bool) {
	for _, name := range names {
		for _, t := range r.Tools {
			if t.Name == name && !strings.Contains(t.Namespace, "mcp") {
				return t, true
			}
		}
	}
	return Tool{}, false
}

// textOf is the text of content in any of the shapes that the wire formats have: a string, parts with a text, or
// anything else as JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
