package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds how deep arguments nest, maxOutputDepth values.
	maxDepth       = 200
	maxOutputDepth = 2000
	// maxNumber bounds the digits of a number and its exponent: exact arithmetic on it costs memory by both.
	maxNumber = 400
)

// document is a parsed JSON text. Objects are map[string]any, arrays []any and numbers json.Number.
type document struct {
	value any
	// odd means that some number has a fraction or an exponent.
	odd bool
}

// parse reads one JSON value and nothing after it, refusing what readers disagree about: a key given twice, text that
// is not UTF-8, numbers beyond any range.
func parse(data []byte, depth int) (document, error) {
	if !utf8.Valid(data) {
		return document{}, errors.New("not valid UTF-8")
	}
	if !json.Valid(data) {
		return document{}, syntaxError(data, depth)
	}
	p := parser{data: data, depth: depth, limit: depth}
	value, err := p.parse()
	return document{value, p.odd}, err
}

func syntaxError(data []byte, depth int) error {
	err := json.Unmarshal(data, new(json.RawMessage))
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return fmt.Errorf("not JSON: %w", err)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data))
	if strings.Contains(syntax.Error(), "exceeded max depth") {
		return errTooDeep(depth)
	}
	near := string(data[max(0, at-20):min(len(data), at+20)])
	if strings.Contains(syntax.Error(), "after top-level value") {
		return fmt.Errorf("there is more after the end of the JSON value, at byte %d near %s; give one JSON object", at, quote(near))
	}
	return fmt.Errorf("not JSON: %w at byte %d near %s; give one JSON object", syntax, at, quote(near))
}

func errTooDeep(depth int) error { return fmt.Errorf("nested deeper than %d levels", depth) }

// parser reads text that is known to be valid JSON.
type parser struct {
	data  []byte
	pos   int
	depth int // how many more levels it may nest, of limit
	limit int
	odd   bool
}

// next skips white space and returns the byte that follows, without taking it.
func (p *parser) next() byte {
	for {
		switch c := p.data[p.pos]; c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) parse() (any, error) {
	switch c := p.next(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.text()
	case 't':
		p.pos += len("true")
		return true, nil
	case 'f':
		p.pos += len("false")
		return false, nil
	case 'n':
		p.pos += len("null")
		return nil, nil
	default:
		return p.number()
	}
}

func (p *parser) object() (any, error) {
	p.depth--
	if p.depth < 0 {
		return nil, errTooDeep(p.limit)
	}
	p.pos++
	object := make(map[string]any, 4)
	for p.next() != '}' {
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("the property %s is given twice", quote(key))
		}
		p.next()
		p.pos++ // colon
		if object[key], err = p.parse(); err != nil {
			return nil, err
		}
		if p.next() == ',' {
			p.pos++
		}
	}
	p.pos++
	p.depth++
	return object, nil
}

func (p *parser) array() (any, error) {
	p.depth--
	if p.depth < 0 {
		return nil, errTooDeep(p.limit)
	}
	p.pos++
	array := []any{}
	for p.next() != ']' {
		item, err := p.parse()
		if err != nil {
			return nil, err
		}
		array = append(array, item)
		if p.next() == ',' {
			p.pos++
		}
	}
	p.pos++
	p.depth++
	return array, nil
}

func (p *parser) text() (string, error) {
	start := p.pos
	p.pos++
	plain := true
	for p.data[p.pos] != '"' {
		if p.data[p.pos] == '\\' {
			plain = false
			p.pos++
		}
		p.pos++
	}
	p.pos++
	if plain {
		return string(p.data[start+1 : p.pos-1]), nil
	}
	var s string
	err := json.Unmarshal(p.data[start:p.pos], &s)
	return s, err
}

func (p *parser) number() (any, error) {
	start := p.pos
	for p.pos < len(p.data) && strings.IndexByte("+-.0123456789eE", p.data[p.pos]) >= 0 {
		p.pos++
	}
	literal := string(p.data[start:p.pos])
	p.odd = p.odd || strings.ContainsAny(literal, ".eE")
	return json.Number(literal), checkNumber(literal)
}

// checkNumber refuses numbers that no reader can hold or that take too much memory to compute with.
func checkNumber(literal string) error {
	if len(literal) <= 15 && !strings.ContainsAny(literal, "eE") {
		return nil
	}
	out := fmt.Errorf("the number %s is out of range", bound(literal, 40))
	if len(literal) > maxNumber {
		return out
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(literal[i+1:]); err != nil || exponent < -maxNumber || exponent > maxNumber {
			return out
		}
	}
	if _, err := strconv.ParseFloat(literal, 64); err != nil {
		return out
	}
	return nil
}

// appendJSON writes a parsed value, the keys of objects in order.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return appendString(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, key), ':')
			b = appendJSON(b, v[key])
		}
		return append(b, '}')
	default: // a value of a schema, such as an enum's
		text, err := json.Marshal(v)
		if err != nil {
			return append(b, "null"...)
		}
		return append(b, text...)
	}
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// bound cuts s to about limit bytes and says how long it was.
func bound(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:cut], len(s))
}

// maxShown bounds the values shown in messages.
const maxShown = 80

// quote shows a string as JSON, bounded.
func quote(s string) string {
	if len(s) <= maxShown {
		return string(appendString(nil, strings.ToValidUTF8(s, "\ufffd")))
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", appendString(nil, strings.ToValidUTF8(s[:cut], "\ufffd")), len(s))
}

// show renders a value as JSON, bounded.
func show(v any) string {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	return bound(string(appendJSON(nil, v)), maxShown)
}
