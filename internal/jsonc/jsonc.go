// Package jsonc reads and edits JSON as people write it into configuration files: with comments and commas at the end.
// An edit changes the one member that is meant; every other byte stays.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// maxNested bounds how deeply values can be nested: the parser calls itself for each level.
const maxNested = 100_000

const byteOrderMark = "\xef\xbb\xbf"

// parse reads a text without its byte order mark. A line comment needs no end of its line, so that one is added; pack takes
// it away.
func parse(data []byte) (hujson.Value, error) {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxNested {
		return hujson.Value{}, errors.New("the file has too many values")
	}
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		err = fmt.Errorf("the file cannot be read: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return v, err
}

// pack is the text of what parse returned, again with the byte order mark.
func pack(mark []byte, v hujson.Value) []byte {
	return append(bytes.Clone(mark), bytes.TrimSuffix(v.Pack(), []byte("\n"))...)
}

// split cuts the byte order mark off.
func split(data []byte) (mark, text []byte) {
	if text, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		return data[:len(byteOrderMark)], text
	}
	return nil, data
}

// Unmarshal is json.Unmarshal for such text.
func Unmarshal(data []byte, v any) error {
	_, text := split(data)
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	parsed.Standardize()
	return json.Unmarshal(parsed.Pack(), v)
}

// find returns the place of a member, -1 where there is none. Readers differ on which of two counts, so that two are an
// error.
func find(o *hujson.Object, key string) (int, error) {
	found := -1
	for i, m := range o.Members {
		if name, ok := m.Name.Value.(hujson.Literal); !ok || name.String() != key {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("the file has %q twice in one object; remove one of them", key)
		}
		found = i
	}
	return found, nil
}

// Set returns the text with the member at the path having the value. Objects on the way are made where they are missing.
// An empty text becomes a new file. A text that is written too oddly to be edited is an error.
func Set(data []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("the path is empty")
	}
	mark, text := split(data)
	root, err := parse(text)
	if err != nil { // also where there are only comments
		fresh := append(bytes.Clone(text), "{}\n"...)
		empty, failed := parse(fresh)
		if failed != nil {
			return nil, err
		}
		text, root = fresh, empty
	}
	at := &root
	for level, key := range path {
		o, ok := at.Value.(*hujson.Object)
		switch {
		case !ok && level == 0:
			return nil, errors.New("the file is not an object of JSON")
		case !ok:
			return nil, fmt.Errorf("%q is not an object", strings.Join(path[:level], "."))
		}
		i, err := find(o, key)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			if err := insert(text, at, o, key, nested(path[level+1:], value)); err != nil {
				return nil, err
			}
			break
		}
		m := &o.Members[i]
		if at = &m.Value; level == len(path)-1 {
			if at.Value, err = encode(text, value, indentAt(text, m.Name.StartOffset)); err != nil {
				return nil, err
			}
		}
	}
	return check(pack(mark, root))
}

// check refuses an edit that cannot be read again.
func check(data []byte) ([]byte, error) {
	var v any
	if Unmarshal(data, &v) != nil {
		return nil, errors.New("the file is written in a way that cannot be edited; do it by hand")
	}
	return data, nil
}

func nested(path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	return map[string]any{path[0]: nested(path[1:], value)}
}

// insert adds a member at the end of an object, as its others are written.
func insert(text []byte, at *hujson.Value, o *hujson.Object, key string, value any) error {
	newline := newlineOf(text)
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" ")}}
	indent, err := "", error(nil)
	n := len(o.Members)
	switch {
	case n == 0:
		outer := indentAt(text, at.StartOffset)
		indent = outer + unitOf(text)
		m.Name.BeforeExtra = append(bytes.TrimRight(o.AfterExtra, " \t\r\n"), newline+indent...)
		o.AfterExtra = hujson.Extra(newline + outer)
	case !bytes.ContainsRune(o.Members[n-1].Name.BeforeExtra, '\n'): // all on one line
		m.Name.BeforeExtra = hujson.Extra(" ")
		if m.Value.Value, err = literal(value); err != nil {
			return err
		}
	default:
		indent = indentAt(text, o.Members[n-1].Name.StartOffset)
		var behind []byte // a comment behind the last member stays there
		behind, o.AfterExtra = firstLine(o.AfterExtra)
		m.Name.BeforeExtra = append(bytes.Clone(behind), newline+indent...)
	}
	if m.Value.Value == nil {
		if m.Value.Value, err = encode(text, value, indent); err != nil {
			return err
		}
	}
	if n > 0 && o.Members[n-1].Value.AfterExtra != nil { // there is a comma at the end, and stays one
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, m)
	return nil
}

// firstLine splits off the comments in the first line of what stands before a closing brace.
func firstLine(extra hujson.Extra) (first, rest []byte) {
	n := bytes.IndexByte(extra, '\n')
	if n < 0 {
		return nil, extra
	}
	first = bytes.TrimRight(extra[:n], " \t\r")
	if len(first) == 0 || !append(hujson.Extra(bytes.Clone(first)), '\n').IsValid() {
		return nil, extra // nothing, or a comment that goes on
	}
	return first, bytes.TrimLeft(extra[len(first):], " \t")
}

// literal is a value on one line.
func literal(value any) (hujson.ValueTrimmed, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	v, err := hujson.Parse(data)
	return v.Value, err
}

// encode is a value as it stands behind a key with that indentation.
func encode(text []byte, value any, indent string) (hujson.ValueTrimmed, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, unitOf(text))
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	v, err := hujson.Parse(bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte("\n"), []byte(newlineOf(text))))
	return v.Value, err
}

func newlineOf(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indentAt is the white space at the start of the line that a place is in.
func indentAt(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unitOf is what one level is indented by in the text.
func unitOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 && rest[0] == '"' {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// Remove returns the text without the member at the path, and whether it was there.
func Remove(data []byte, path []string) (_ []byte, found bool, err error) {
	mark, text := split(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return data, false, nil
	}
	root, err := parse(text)
	if err != nil {
		return nil, false, err
	}
	at := &root
	for level, key := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return data, false, nil
		}
		i, err := find(o, key)
		if i < 0 {
			return data, false, err
		}
		if level == len(path)-1 {
			cut(o, i)
			out, err := check(pack(mark, root))
			return out, true, err
		}
		at = &o.Members[i].Value
	}
	return data, false, nil
}

// cut takes a member out, with one comma and the line that it stood on. Comments before and behind it stay.
func cut(o *hujson.Object, i int) {
	m := o.Members[i]
	last := i == len(o.Members)-1
	comma := last && m.Value.AfterExtra != nil
	o.Members = append(o.Members[:i:i], o.Members[i+1:]...)
	next := &o.AfterExtra
	if !last {
		next = &o.Members[i].Name.BeforeExtra
	}
	*next = without(m.Name.BeforeExtra, append(bytes.Clone(m.Value.AfterExtra), *next...))
	if len(o.Members) == 0 {
		if len(bytes.TrimSpace(o.AfterExtra)) == 0 {
			o.AfterExtra = nil
		}
		return
	}
	switch before := &o.Members[len(o.Members)-1].Value; {
	case comma && before.AfterExtra == nil:
		before.AfterExtra = hujson.Extra{}
	case last && !comma && before.AfterExtra != nil:
		o.AfterExtra = append(bytes.Clone(before.AfterExtra), o.AfterExtra...)
		before.AfterExtra = nil
	}
}

// without joins what stood before and behind a member, without the start of its line.
func without(before, behind []byte) hujson.Extra {
	kept := bytes.TrimRight(before, " \t")
	kept = bytes.TrimSuffix(bytes.TrimSuffix(kept, []byte("\n")), []byte("\r"))
	if joined := hujson.Extra(append(bytes.Clone(kept), behind...)); joined.IsValid() {
		return joined
	}
	return append(bytes.Clone(before), behind...) // the line ended a comment
}
