package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// codexServers reads the tables [mcp_servers.NAME] of Codex' config.toml, and nothing else of it. It knows what such a
// table holds: text, lists of text, inline tables of text, numbers and switches.
func codexServers(data []byte) (map[string]json.RawMessage, error) {
	tables := map[string]map[string]any{}
	var current map[string]any
	p := &tomlReader{text: strings.ReplaceAll(string(data), "\r\n", "\n"), line: 1}
	for p.skipBlank(true); p.text != ""; p.skipBlank(true) {
		if strings.HasPrefix(p.text, "[") {
			path, err := p.header()
			if err != nil {
				return nil, err
			}
			current = nil
			if len(path) >= 2 && path[0] == "mcp_servers" {
				current = within(tables, path[1:])
			}
			continue
		}
		path, err := p.path('=')
		if err != nil {
			return nil, err
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		if current != nil && len(path) == 1 {
			current[path[0]] = value
		}
	}
	servers := map[string]json.RawMessage{}
	for name, table := range tables {
		raw, err := json.Marshal(table)
		if err != nil {
			return nil, err
		}
		servers[name] = raw
	}
	return servers, nil
}

// within returns the table at a path, made where it is missing.
func within(tables map[string]map[string]any, path []string) map[string]any {
	if tables[path[0]] == nil {
		tables[path[0]] = map[string]any{}
	}
	table := tables[path[0]]
	for _, key := range path[1:] {
		inner, ok := table[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			table[key] = inner
		}
		table = inner
	}
	return table
}

// tomlReader reads from the start of text.
type tomlReader struct {
	text string
	line int
}

func (p *tomlReader) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.line, fmt.Sprintf(format, args...))
}

func (p *tomlReader) take(n int) string {
	s := p.text[:n]
	p.line += strings.Count(s, "\n")
	p.text = p.text[n:]
	return s
}

// skipBlank passes over space and comments, over ends of lines too where lines is set.
func (p *tomlReader) skipBlank(lines bool) {
	for p.text != "" {
		switch c := p.text[0]; {
		case c == ' ' || c == '\t' || lines && c == '\n':
			p.take(1)
		case c == '#':
			n := strings.IndexByte(p.text, '\n')
			if n < 0 {
				n = len(p.text)
			}
			p.take(n)
		default:
			return
		}
	}
}

func (p *tomlReader) header() ([]string, error) {
	double := strings.HasPrefix(p.text, "[[")
	p.take(1)
	if double {
		p.take(1)
	}
	path, err := p.path(']')
	if err == nil && double && !strings.HasPrefix(p.text, "]") {
		err = p.fail("a header of a table is not closed")
	}
	if double && err == nil {
		p.take(1)
	}
	return path, err
}

// path reads a key with its dots, up to and with the byte that ends it.
func (p *tomlReader) path(end byte) (path []string, err error) {
	for {
		p.skipBlank(false)
		var key string
		switch {
		case strings.HasPrefix(p.text, `"`), strings.HasPrefix(p.text, `'`):
			if key, err = p.quoted(); err != nil {
				return nil, err
			}
		default:
			n := strings.IndexFunc(p.text, func(r rune) bool {
				return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
			})
			if n <= 0 {
				return nil, p.fail("a key is expected")
			}
			key = p.take(n)
		}
		path = append(path, key)
		p.skipBlank(false)
		switch {
		case p.text != "" && p.text[0] == end:
			p.take(1)
			return path, nil
		case strings.HasPrefix(p.text, "."):
			p.take(1)
		default:
			return nil, p.fail("%q is not followed by %q", key, end)
		}
	}
}

func (p *tomlReader) value() (any, error) {
	p.skipBlank(false)
	if p.text == "" {
		return nil, p.fail("a value is expected")
	}
	switch p.text[0] {
	case '"', '\'':
		return p.quoted()
	case '[':
		return p.list()
	case '{':
		return p.table()
	}
	n := strings.IndexAny(p.text, ",]}#\n")
	if n < 0 {
		n = len(p.text)
	}
	word := strings.TrimSpace(p.take(n))
	if b, err := strconv.ParseBool(word); err == nil && (word == "true" || word == "false") {
		return b, nil
	}
	if f, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64); err == nil {
		return f, nil
	}
	return word, nil // a date, which no server needs
}

func (p *tomlReader) list() (any, error) {
	p.take(1)
	list := []any{}
	for {
		p.skipBlank(true)
		if strings.HasPrefix(p.text, "]") {
			p.take(1)
			return list, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.skipBlank(true)
		if strings.HasPrefix(p.text, ",") {
			p.take(1)
		} else if !strings.HasPrefix(p.text, "]") {
			return nil, p.fail("a list is not closed")
		}
	}
}

func (p *tomlReader) table() (any, error) {
	p.take(1)
	table := map[string]any{}
	for {
		p.skipBlank(true)
		if strings.HasPrefix(p.text, "}") {
			p.take(1)
			return table, nil
		}
		path, err := p.path('=')
		if err != nil {
			return nil, err
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		table[strings.Join(path, ".")] = v
		p.skipBlank(true)
		if strings.HasPrefix(p.text, ",") {
			p.take(1)
		} else if !strings.HasPrefix(p.text, "}") {
			return nil, p.fail("a table is not closed")
		}
	}
}

// quoted reads text in quotes of any kind.
func (p *tomlReader) quoted() (string, error) {
	quote := p.text[:1]
	if three := strings.Repeat(quote, 3); strings.HasPrefix(p.text, three) {
		n := strings.Index(p.text[3:], three)
		if n < 0 {
			return "", p.fail("text is not closed")
		}
		return strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(p.take(n+6), three), three), "\n"), nil
	}
	for i := 1; i < len(p.text) && p.text[i] != '\n'; i++ {
		switch {
		case quote == `"` && p.text[i] == '\\':
			i++
		case p.text[i] == quote[0]:
			raw := p.take(i + 1)
			if quote == "'" {
				return raw[1:i], nil
			}
			s, err := strconv.Unquote(raw)
			if err != nil {
				return "", p.fail("%s cannot be read", raw)
			}
			return s, nil
		}
	}
	return "", p.fail("text is not closed")
}
