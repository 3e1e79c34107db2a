package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tongs-ai/tongs"
)

// MCPText is a server as it is written in a configuration file, indented by the given number of spaces.
func MCPText(m MCPServer, indent int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	fmt.Fprintf(&b, "%s%s:\n", pad, m.Name)
	line := func(key, text string) { fmt.Fprintf(&b, "%s  %s: %s\n", pad, key, text) }
	if m.Command != "" {
		line("command", quoted(m.Command))
	}
	if m.URL != "" {
		line("url", quoted(m.URL))
	}
	for _, f := range []struct {
		key  string
		list []string
	}{{"args", m.Args}, {"network", m.Network}, {"tools", m.Tools}} {
		if len(f.list) > 0 {
			line(f.key, quotedList(f.list))
		}
	}
	for _, f := range []struct {
		key string
		set map[string]string
	}{{"env", m.Env}, {"headers", m.Headers}} {
		if len(f.set) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s  %s:\n", pad, f.key)
		for _, key := range slices.Sorted(maps.Keys(f.set)) {
			fmt.Fprintf(&b, "%s    %s: %s\n", pad, quoted(key), quoted(f.set[key]))
		}
	}
	if m.Timeout > 0 {
		line("timeout", quoted(m.Timeout.String()))
	}
	if m.Unconfined {
		line("sandbox", "off")
	}
	return b.String()
}

// quoted is text as a double-quoted scalar of YAML, which that of JSON is.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quotedList(list []string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = quoted(s)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// AddMCP returns the content of a configuration file with one more MCP server. Everything else stays as it is, to the
// byte. A file that does not say afterwards what it should is an error, and so is a name that is taken.
func AddMCP(data []byte, m MCPServer) ([]byte, error) {
	l, before, err := readServers(data)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(before, func(o MCPServer) bool { return o.Name == m.Name }) {
		return nil, tongs.Errorf(tongs.CodeAlreadyExists, "there is an MCP server %q already; remove it first, or choose another name", m.Name)
	}
	after, err := l.insert(data, m)
	if err != nil {
		return nil, err
	}
	_, now, err := readServers(after)
	if err != nil {
		return nil, failed(fmt.Errorf("the server cannot be written as it is: %w", err))
	}
	i := slices.IndexFunc(now, func(o MCPServer) bool { return o.Name == m.Name })
	if len(now) != len(before)+1 || i < 0 || MCPText(now[i], 0) != MCPText(m, 0) {
		return nil, failed(fmt.Errorf("the file is written in a way that cannot be added to; put this under mcp yourself:\n%s", MCPText(m, 2)))
	}
	return after, nil
}

// readServers reads the servers of a file.
func readServers(data []byte) (*layer, []MCPServer, error) {
	l := &layer{source: &source{path: "the file"}, base: "file", dir: "/"}
	l.decode(data)
	return l, l.toolsets.MCP, l.err()
}

// insert puts a server below the key mcp, as the first, or at the end of the file with a key of its own.
func (l *layer) insert(data []byte, m MCPServer) ([]byte, error) {
	key, node := l.key("mcp")
	if key == 0 {
		text := "mcp:\n" + MCPText(m, 2)
		if len(data) > 0 {
			text = strings.TrimRight(string(data), "\n") + "\n\n" + text
		}
		return []byte(text), nil
	}
	indent := 2
	switch n := node.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return nil, failed(fmt.Errorf("mcp is written in braces; put this there yourself:\n%s", MCPText(m, 2)))
		}
		if len(n.Values) > 0 {
			indent = n.Values[0].Key.GetToken().Position.Column - 1
		}
	case *ast.MappingValueNode:
		indent = n.Key.GetToken().Position.Column - 1
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	head := bytes.Join(lines[:key], nil)
	if !bytes.HasSuffix(head, []byte("\n")) {
		head = append(head, '\n')
	}
	return slices.Concat(head, []byte(MCPText(m, indent)), bytes.Join(lines[key:], nil)), nil
}

// key returns the line of a key of the file, 0 where there is none, and its value.
func (l *layer) key(name string) (int, ast.Node) {
	s := &source{}
	root := value{node: s.parse([]byte(strings.Join(l.lines, "\n")))}
	for _, f := range s.fields(root) {
		if f.key == name {
			return f.keyAt.Line, f.node
		}
	}
	return 0, nil
}

// RemoveMCP returns the content of a configuration file without an MCP server, and whether it was there. Everything else
// stays as it is.
func RemoveMCP(data []byte, name string) (_ []byte, found bool, err error) {
	l, before, err := readServers(data)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(before, func(o MCPServer) bool { return o.Name == name })
	if i < 0 {
		return data, false, nil
	}
	var first int
	if _, err := fmt.Sscanf(before[i].Origin, "file:%d", &first); err != nil {
		return nil, true, failed(fmt.Errorf("the server %s was not found in the file", name))
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	end := entryEnd(lines, first-1)
	after := slices.Concat(bytes.Join(lines[:first-1], nil), bytes.Join(lines[end:], nil))
	if key, _ := l.key("mcp"); len(before) == 1 && key == first-1 && key > 0 { // the key alone would stand there for nothing
		after = bytes.Join(lines[:key-1], nil)
		if rest := bytes.Join(lines[end:], nil); len(bytes.TrimSpace(rest)) > 0 {
			after = append(after, rest...)
		} else if n := len(bytes.TrimRight(after, "\r\n")); n < len(after) { // the end of the last line stays
			after = after[:n+bytes.IndexByte(after[n:], '\n')+1]
		}
	}
	_, now, err := readServers(after)
	if err != nil || len(now) != len(before)-1 || slices.ContainsFunc(now, func(o MCPServer) bool { return o.Name == name }) {
		return nil, true, failed(fmt.Errorf("the file is written in a way that cannot be taken apart; remove %s from it yourself", name))
	}
	return after, true, nil
}

// entryEnd returns the line after the entry of a block mapping that begins at the given one, both counted from 0.
func entryEnd(lines [][]byte, at int) int {
	indent := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
	own, end := indent(lines[at]), at+1
	for i := at + 1; i < len(lines); i++ {
		switch {
		case len(bytes.TrimSpace(lines[i])) == 0:
		case indent(lines[i]) > own:
			end = i + 1
		default:
			return end
		}
	}
	return end
}
