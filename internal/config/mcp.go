package config

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/tongs-ai/tongs"
)

// MCPServer is an MCP server: a command to start, or a URL.
type MCPServer struct {
	Entry
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env are further environment variables of the command, Headers further headers of requests to the URL.
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Tools are the names to expose; empty means none are listed yet.
	Tools []string `json:"tools,omitempty"`
	// Network are the hosts that the command may reach.
	Network []string `json:"network,omitempty"`
	// Timeout bounds a call; zero leaves it to whoever makes it.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Unconfined is set by sandbox: off, a person's explicit wish to run the server outside the sandbox.
	Unconfined bool `json:"unconfined,omitempty"`
	// Unpinned is set by pin: none: the server runs whatever its program is by now.
	Unpinned bool `json:"unpinned,omitempty"`
}

// readMCP reads the MCP servers, which stand under mcp or, as in a worker file, under toolsets.mcp.
func (l *layer) readMCP(v value) {
	for _, f := range l.fields(v) {
		if !serverName.MatchString(f.key) || strings.Contains(f.key, "__") || strings.HasSuffix(f.key, "_") {
			l.fail(f.keyAt, "server name %s: want a letter, then at most 31 letters, digits, _ and -, without __ and no _ at its end",
				quote(f.key))
			continue
		}
		if slices.ContainsFunc(l.toolsets.MCP, func(m MCPServer) bool { return m.Name == f.key }) {
			l.fail(f.keyAt, "the server %s is given twice in this file, under mcp and toolsets.mcp", f.key)
			continue
		}
		l.readServer(f)
	}
}

func (l *layer) readServer(f field) {
	m := MCPServer{Entry: l.entry(f.value), Name: f.key}
	m.Origin = l.origin(f.keyAt)
	before := len(l.problems)
	readers := map[string]func(value){
		"command":  func(v value) { m.Command, _ = l.text(v) },
		"url":      func(v value) { m.URL, _ = l.text(v) },
		"args":     func(v value) { m.Args = l.words(v) },
		"tools":    func(v value) { m.Tools = l.texts(v) },
		"network":  func(v value) { m.Network = l.texts(v) },
		"env":      func(v value) { m.Env = l.environment(v) },
		"headers":  func(v value) { m.Headers = l.environment(v) },
		"approval": func(v value) { l.approval(v, "mcp", f.key+"__", false) },
		"sandbox":  func(v value) { m.Unconfined = !l.onOff(v) },
		"timeout": func(v value) {
			text, ok := l.text(v)
			d, err := time.ParseDuration(text)
			if ok && (err != nil || d <= 0 || d > time.Hour) {
				l.fail(v.pos, "%s is %s; it should be a time such as 90s or 5m, at most 1h", v.name(), quote(text))
			}
			m.Timeout = d
		},
	}
	if l.kind != tongs.LayerWorker {
		readers["pin"] = func(v value) {
			w, ok := l.word(v, "content", "none")
			m.Unpinned = ok && w == "none"
		}
	}
	l.object(f.value, readers)
	if l.kind == tongs.LayerWorker && m.Command == "" && m.URL == "" {
		return // a worker may name a server that the configuration defines
	}
	if len(l.problems) == before && (m.Command == "") == (m.URL == "") {
		l.fail(f.keyAt, "%s needs either a command or a url", f.path)
	}
	if len(l.problems) == before {
		l.toolsets.MCP = append(l.toolsets.MCP, m)
	}
}

// onOff reads a switch: true, false, on or off. What cannot be read is a problem, and counts as on.
func (l *layer) onOff(v value) bool {
	if n, ok := v.node.(*ast.StringNode); ok {
		w, known := l.word(value{n, v.pos, v.path}, "on", "off")
		return !known || w == "on"
	}
	on, ok := l.boolean(v)
	return !ok || on
}

// words is texts for the words of a command: numbers are taken as they are written, and a word may be empty.
func (l *layer) words(v value) (list []string) {
	for _, item := range l.list(v) {
		if n, ok := item.node.(*ast.StringNode); ok && n.Value == "" {
			list = append(list, "")
			continue
		}
		if text, ok := l.scalar(item); ok {
			list = append(list, text)
		}
	}
	return list
}

func (l *layer) environment(v value) map[string]string {
	env := map[string]string{}
	for _, f := range l.fields(v) {
		if n, ok := f.node.(*ast.StringNode); ok && n.Value == "" {
			env[f.key] = ""
			continue
		}
		if text, ok := l.scalar(f.value); ok {
			env[f.key] = text
		}
	}
	return env
}
