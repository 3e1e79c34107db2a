// Package jsonc reads and edits JSON as people write it into configuration files: with comments and commas at the end.
// An edit changes the one member that is meant; every other byte stays.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Plain returns the text as plain JSON of the same length: comments and superfluous commas become spaces.
func Plain(data []byte) []byte {
	out := bytes.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		blank(0, 3)
	}
	comma, before := -1, byte('{') // before is the last thing that is neither space nor comment
	for i := 0; i < len(data); {
		prior := before
		switch c := data[i]; {
		case c == '"':
			i, comma, before = stringEnd(data, i), -1, c
			continue
		case c == '/' && i+1 < len(data) && (data[i+1] == '/' || data[i+1] == '*'):
			end := commentEnd(data, i)
			blank(i, end)
			i = end
			continue
		case c == ',':
			if comma, before = -1, c; strings.IndexByte("{[,:", prior) < 0 {
				comma = i
			}
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1)
			comma, before = -1, c
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma, before = -1, c
		}
		i++
	}
	return out
}

func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func commentEnd(data []byte, i int) int {
	stop, skip := "\n", 0
	if data[i+1] == '*' {
		stop, skip = "*/", 2
	}
	if n := bytes.Index(data[i+2:], []byte(stop)); n >= 0 {
		return i + 2 + n + skip
	}
	return len(data)
}

// Unmarshal is json.Unmarshal for such text.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(Plain(data), v) }

// member is a member of an object, by its places in the text.
type member struct {
	key                string
	keyAt, from, until int
}

// object is an object in the text: open and end are the places of its braces.
type object struct {
	open, end int
	members   []member
}

var errShape = errors.New("the file is not an object of JSON")

// scan reads the object that begins at or after a place. The text is plain and valid.
func scan(text []byte, at int) (object, error) {
	at = skip(text, at)
	if at >= len(text) || text[at] != '{' {
		return object{}, errShape
	}
	o := object{open: at}
	for at++; ; {
		at = skip(text, at)
		if at >= len(text) {
			return o, errShape
		}
		if text[at] == '}' {
			o.end = at
			return o, nil
		}
		if text[at] == ',' {
			at++
			continue
		}
		m := member{keyAt: at}
		end := stringEnd(text, at)
		if json.Unmarshal(text[at:end], &m.key) != nil {
			return o, errShape
		}
		at = skip(text, end)
		if at >= len(text) || text[at] != ':' {
			return o, errShape
		}
		m.from = skip(text, at+1)
		m.until = valueEnd(text, m.from)
		o.members = append(o.members, m)
		at = m.until
	}
}

func skip(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// valueEnd returns the place after the value that begins there.
func valueEnd(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			at = stringEnd(text, at)
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return at
}

// find returns the member of a key, nil where there is none. Readers differ on which of two counts, so that two are an error.
func (o *object) find(key string) (found *member, err error) {
	for i := range o.members {
		if o.members[i].key != key {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the file has %q twice in one object; remove one of them", key)
		}
		found = &o.members[i]
	}
	return found, nil
}

// Set returns the text with the member at the path having the value. Objects on the way are made where they are missing.
// An empty text becomes a new file. A text that is written too oddly to be edited is an error.
func Set(data []byte, path []string, value any) ([]byte, error) {
	out, err := set(data, path, value)
	if err == nil && !json.Valid(Plain(out)) {
		return nil, errOdd
	}
	return out, err
}

var errOdd = errors.New("the file is written in a way that cannot be edited; do it by hand")

func set(data []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("the path is empty")
	}
	if len(bytes.TrimSpace(Plain(data))) == 0 {
		data = append(bytes.Clone(data), "{}\n"...)
	}
	text := Plain(data)
	if !json.Valid(text) {
		var v any
		return nil, fmt.Errorf("the file cannot be read: %w", json.Unmarshal(text, &v))
	}
	at, level := 0, 0
	for {
		o, err := scan(text, at)
		if err != nil {
			if level > 0 {
				err = fmt.Errorf("%q is not an object", strings.Join(path[:level], "."))
			}
			return nil, err
		}
		m, err := o.find(path[level])
		switch {
		case err != nil:
			return nil, err
		case m == nil:
			return insert(data, text, o, path[level], nested(path[level+1:], value))
		case level == len(path)-1:
			return replace(data, m, value)
		}
		at, level = m.from, level+1
	}
}

func nested(path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	return map[string]any{path[0]: nested(path[1:], value)}
}

func replace(data []byte, m *member, value any) ([]byte, error) {
	unit, own := unitOf(data), indentAt(data, m.keyAt)
	text, err := encode(value, own, unit)
	if err != nil {
		return nil, err
	}
	return join(data[:m.from], text, data[m.until:]), nil
}

// insert adds a member at the end of an object, as its others are written.
func insert(data, text []byte, o object, key string, value any) ([]byte, error) {
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	unit, outer := unitOf(data), indentAt(data, o.open)
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	if len(o.members) == 0 {
		body, err := encode(value, outer+unit, unit)
		if err != nil {
			return nil, err
		}
		inside := strings.TrimRight(string(data[o.open+1:o.end]), " \t\r\n")
		return join(data[:o.open+1], []byte(inside+newline+outer+unit+string(name)+": "), crlf(body, newline), []byte(newline+outer), data[o.end:]), nil
	}
	last := o.members[len(o.members)-1]
	sep, own := " ", ""
	lines := bytes.ContainsRune(data[o.open:last.keyAt], '\n')
	if lines {
		sep, own = newline, indentAt(data, last.keyAt)
	}
	body, err := encode(value, own, unit)
	if err != nil {
		return nil, err
	}
	if !lines {
		if body, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	at, comma := last.until, ","
	if tail := bytes.IndexByte(data[last.until:o.end], ','); tail >= 0 && superfluous(data, text, last.until+tail) {
		at, comma = last.until+tail+1, ""
		if rest := data[at:o.end]; lines && bytes.IndexByte(rest, '\n') >= 0 {
			at += bytes.IndexByte(bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n\n")), '\n') // behind a comment
		}
		return join(data[:at], []byte(sep+own+string(name)+": "), crlf(body, newline), []byte(","), data[at:]), nil
	}
	rest := data[at:o.end]
	eol := 0
	if n := bytes.IndexByte(rest, '\n'); lines && n > 0 && len(bytes.TrimSpace(rest[:n])) > 0 { // a comment behind the last one
		eol = len(bytes.TrimRight(rest[:n], "\r"))
	}
	return join(data[:at], []byte(comma), rest[:eol], []byte(sep+own+string(name)+": "), crlf(body, newline), data[at+eol:]), nil
}

// superfluous reports whether the comma at a place was blanked, and is none in a comment.
func superfluous(data, text []byte, at int) bool {
	if text[at] != ' ' {
		return false
	}
	probe := bytes.Clone(data[:at])
	return len(bytes.TrimRight(Plain(append(probe, ",0"...)), " \t\r\n")) == at+2 // in a comment all of it would be blank
}

func crlf(b []byte, newline string) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte(newline)) }

// encode writes a value as it stands behind a key with that indentation.
func encode(value any, indent, unit string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, unit)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// indentAt is the white space at the start of the line that a place is in.
func indentAt(data []byte, at int) string {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	line := data[start:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unitOf is what one level is indented by in the text.
func unitOf(data []byte) string {
	for line := range bytes.Lines(data) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 && rest[0] == '"' {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// Remove returns the text without the member at the path, and whether it was there.
func Remove(data []byte, path []string) (_ []byte, found bool, err error) {
	text := Plain(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return data, false, nil
	}
	if !json.Valid(text) {
		var v any
		return nil, false, fmt.Errorf("the file cannot be read: %w", json.Unmarshal(text, &v))
	}
	at := 0
	for level, key := range path {
		o, err := scan(text, at)
		if err != nil {
			return data, false, nil
		}
		m, err := o.find(key)
		if m == nil {
			return data, false, err
		}
		if level == len(path)-1 {
			out := cut(data, text, o, m)
			if !json.Valid(Plain(out)) {
				return nil, true, errOdd
			}
			return out, true, nil
		}
		at = m.from
	}
	return data, false, nil
}

// cut takes a member out, with one comma and the line that it stood on.
func cut(data, text []byte, o object, m *member) []byte {
	from, until := m.keyAt, m.until
	next := skip(text, until)
	last := text[next] != ','
	if !last {
		until = next + 1
	} else if comma := bytes.IndexByte(data[until:next], ','); comma >= 0 && superfluous(data, text, until+comma) {
		until += comma + 1 // one at the end
		last = false
	}
	for from > 0 && (data[from-1] == ' ' || data[from-1] == '\t') {
		from--
	}
	if from > 0 && data[from-1] == '\n' {
		from--
		if from > 0 && data[from-1] == '\r' {
			from--
		}
	}
	head := data[:from]
	if last {
		if comma := bytes.LastIndexByte(text[:m.keyAt], ','); comma > o.open && len(bytes.TrimSpace(text[comma+1:m.keyAt])) == 0 {
			head = join(data[:comma], data[min(comma+1, len(head)):from])
		}
	}
	rest := data[until:]
	if len(o.members) == 1 && len(bytes.TrimSpace(data[o.open+1:from])) == 0 && len(bytes.TrimSpace(data[until:o.end])) == 0 {
		head, rest = data[:o.open+1], data[o.end:]
	}
	return join(head, rest)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
