package xmltools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// MaxCall bounds one call.
const MaxCall = 10 << 20

// maxSearch bounds how many bytes are searched in vain for the ends of elements, in one text.
const maxSearch = 4 * MaxCall

// maxBroken is how many things that look like calls and cannot be read are looked at in one text.
const maxBroken = 64

const (
	begin    = "<tool>"
	end      = "</tool>"
	maxDepth = 32
)

var errNoCall = errors.New("this is no call")

// Read returns the text and the calls in it, in order. What begins like a call and names no tool stays text. A call that
// names its tool but whose arguments cannot be read has them as they are, so that the model is told what is wrong. Where
// whole is false, a call that is not complete is left out. A call over MaxCall is an error.
func Read(text string, tools []*tongs.Spec, whole bool) ([]model.Part, error) {
	var parts []model.Part
	said := ""
	flush := func() {
		if said != "" {
			parts = append(parts, model.Part{Text: said})
			said = ""
		}
	}
	search := maxSearch
	for broken := 0; ; {
		i := strings.Index(text, begin)
		if i < 0 || broken > maxBroken {
			said += text
			flush()
			return parts, nil
		}
		said += text[:i]
		p := &parser{s: text[i+len(begin):], tools: tools, search: &search}
		call, complete, err := p.call()
		if p.pos > MaxCall {
			return nil, fmt.Errorf("a call is over %d MB; write large files in pieces", MaxCall>>20)
		}
		if !complete {
			broken++
		}
		switch {
		case err != nil: // text that looks like a call
			said += begin
			text = text[i+len(begin):]
			continue
		case complete || whole:
			flush()
			parts = append(parts, model.Part{Call: call})
		}
		text = text[i+len(begin)+p.pos:]
	}
}

// parser reads one call; s begins after its tag.
type parser struct {
	s     string
	pos   int
	tools []*tongs.Spec
	// search is how many bytes may still be searched in vain.
	search *int
}

// call reads the elements of a call. It reports whether the call was complete.
func (p *parser) call() (call *model.Call, complete bool, err error) {
	call = &model.Call{Args: "{}"}
	for {
		p.space()
		if p.take(end) {
			if call.Name == "" {
				return nil, false, errNoCall
			}
			return call, true, nil
		}
		start := p.pos
		name, empty, ok := p.open()
		if !ok {
			return p.broken(call, start)
		}
		if name == "arguments" && call.Name != "" {
			if empty {
				continue
			}
			args, err := p.arguments(call.Name)
			if err != nil {
				return p.broken(call, start)
			}
			call.Args = args
			continue
		}
		value, ok := p.short(name)
		if !ok || name != "tool_name" && name != "server_name" {
			return p.broken(call, start)
		}
		if name == "tool_name" {
			call.Name = value
		}
	}
}

// short reads the value of an element that holds a name.
func (p *parser) short(name string) (string, bool) {
	const longest = 1024
	rest := p.s[p.pos:min(len(p.s), p.pos+longest)]
	value, _, ok := strings.Cut(rest, "</"+name+">")
	if !ok {
		return "", false
	}
	p.pos += len(value) + len(name) + 3
	return strings.TrimSpace(decode(value)), true
}

// broken ends a call that cannot be read. One that lacks nothing but its end is whole; of any other, what was written
// stands for the arguments.
func (p *parser) broken(call *model.Call, start int) (*model.Call, bool, error) {
	if call.Name == "" {
		return nil, false, errNoCall
	}
	rest := p.s[start:]
	if strings.TrimSpace(rest) == "" && call.Args != "{}" {
		p.pos = len(p.s)
		return call, true, nil
	}
	n := len(rest)
	if i := strings.Index(rest, end); i >= 0 {
		n = i + len(end)
	}
	call.Args = strings.TrimSpace(strings.TrimSuffix(rest[:n], end))
	p.pos = start + n
	return call, false, nil
}

func (p *parser) space() {
	for p.pos < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) take(word string) bool {
	if strings.HasPrefix(p.s[p.pos:], word) {
		p.pos += len(word)
		return true
	}
	return false
}

// open reads the tag that opens an element; attributes are passed over.
func (p *parser) open() (name string, empty, ok bool) {
	rest := p.s[p.pos:]
	if len(rest) < 3 || rest[0] != '<' || !nameByte(rest[1], true) {
		return "", false, false
	}
	n := 1
	for n < len(rest) && nameByte(rest[n], false) {
		n++
	}
	name = rest[1:n]
	close := strings.IndexByte(rest[n:], '>')
	if close < 0 || strings.IndexByte(rest[n:n+close], '<') >= 0 || close > 0 && strings.IndexByte(" \t\r\n/", rest[n]) < 0 {
		return "", false, false
	}
	empty = close > 0 && rest[n+close-1] == '/'
	p.pos += n + close + 1
	return name, empty, true
}

func nameByte(c byte, first bool) bool {
	if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
		return true
	}
	return !first && (c >= '0' && c <= '9' || c == '-' || c == '.')
}

// raw returns what is between here and the end of the element, and passes it.
func (p *parser) raw(name string, empty bool) (string, bool) {
	if empty {
		return "", true
	}
	closing := "</" + name + ">"
	if *p.search < 0 {
		return "", false
	}
	rest := p.s[p.pos:]
	n := 0
	for {
		i := strings.Index(rest[n:], closing)
		if i < 0 {
			*p.search -= len(rest)
			return "", false
		}
		data := strings.Index(rest[n:n+i], "<![CDATA[")
		if data < 0 {
			p.pos += n + i + len(closing)
			return rest[:n+i], true
		}
		over := strings.Index(rest[n+data:], "]]>")
		if over < 0 {
			*p.search -= len(rest)
			return "", false
		}
		n += data + over + 3
	}
}

// arguments reads the arguments of the tool as JSON.
func (p *parser) arguments(tool string) (string, error) {
	var schema *jsonschema.Schema
	for _, t := range p.tools {
		if t.Name == tool || slices.Contains(t.Aliases, tool) {
			schema = t.Input
		}
	}
	start := p.pos
	p.space()
	if p.pos < len(p.s) && p.s[p.pos] == '{' || strings.HasPrefix(p.s[p.pos:], "<![CDATA[") {
		p.pos = start
		body, ok := p.raw("arguments", false)
		if text := strings.TrimSpace(decode(body)); ok && json.Valid([]byte(text)) {
			return text, nil
		}
		return "", errNoCall
	}
	p.pos = start
	r := &reader{parser: p, root: schema}
	v, err := r.object("arguments", schema, 0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// reader makes values of elements, as the schema means them.
type reader struct {
	*parser
	root *jsonschema.Schema
}

// object reads elements up to the end of the one of that name.
func (r *reader) object(name string, schema *jsonschema.Schema, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is nested more than %d deep; write a flatter value", name, maxDepth)
	}
	schema = r.follow(schema)
	seen := map[string][]any{}
	for {
		r.space()
		if r.take("</" + name + ">") {
			break
		}
		child, empty, ok := r.open()
		if !ok {
			return nil, fmt.Errorf("text stands between the elements of %s", name)
		}
		v, err := r.value(child, empty, property(schema, child), depth)
		if err != nil {
			return nil, err
		}
		if seen[child] == nil {
			seen[child] = []any{}
		}
		seen[child] = append(seen[child], v...)
	}
	out := map[string]any{}
	for child, values := range seen {
		if len(values) == 1 && !r.is(property(schema, child), "array") {
			out[child] = values[0]
		} else {
			out[child] = values
		}
	}
	return out, nil
}

func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	if p := s.Properties[name]; p != nil {
		return p
	}
	return s.AdditionalProperties
}

// value reads one element: one value, or, of a list whose items stand inside of it, all of them.
func (r *reader) value(name string, empty bool, schema *jsonschema.Schema, depth int) ([]any, error) {
	schema = r.follow(schema)
	if r.is(schema, "array") {
		return r.items(name, empty, r.follow(schema.Items), depth)
	}
	v, err := r.one(name, empty, schema, depth)
	return []any{v}, err
}

func (r *reader) one(name string, empty bool, schema *jsonschema.Schema, depth int) (any, error) {
	start := r.pos
	nested := !empty && (schema == nil || r.is(schema, "object") || len(types(schema)) == 0)
	if nested && r.looksNested(name) {
		v, err := r.object(name, schema, depth+1)
		if err == nil {
			return v, nil
		}
		r.pos = start
	}
	body, ok := r.raw(name, empty)
	if !ok {
		return nil, fmt.Errorf("%s has no end", name)
	}
	return scalar(body, schema), nil
}

// items reads the element of a list: an item, or a wrapper of items, or nothing.
func (r *reader) items(name string, empty bool, item *jsonschema.Schema, depth int) ([]any, error) {
	start := r.pos
	body, ok := r.raw(name, empty)
	if !ok {
		return nil, fmt.Errorf("%s has no end", name)
	}
	after := r.pos
	inside := strings.TrimSpace(body)
	if inside == "" && empty {
		return nil, nil
	}
	if strings.HasPrefix(inside, "[") {
		var list []any
		if json.Unmarshal([]byte(decode(inside)), &list) == nil {
			return list, nil
		}
	}
	r.pos = start
	r.space()
	if child, _, ok := (&parser{s: r.s, pos: r.pos}).open(); ok && wrapped(child, item, r) {
		r.pos = start
		if list, err := r.wrapper(name, item, depth); err == nil {
			return list, nil
		}
	}
	r.pos = start
	v, err := r.one(name, empty, item, depth)
	if err != nil {
		r.pos = after
	}
	return []any{v}, err
}

// wrapped reports whether an element inside of a list's is an item, and not a part of one.
func wrapped(child string, item *jsonschema.Schema, r *reader) bool {
	if r.is(item, "object") {
		return item.Properties[child] == nil
	}
	return child == "item" || child == "value" || child == "element" || !r.is(item, "string")
}

func (r *reader) wrapper(name string, item *jsonschema.Schema, depth int) (list []any, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is nested more than %d deep; write a flatter value", name, maxDepth)
	}
	for {
		r.space()
		if r.take("</" + name + ">") {
			return list, nil
		}
		child, empty, ok := r.open()
		if !ok {
			return nil, errNoCall
		}
		v, err := r.one(child, empty, item, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// looksNested reports whether an element begins, or the object ends at once.
func (r *reader) looksNested(name string) bool {
	p := &parser{s: r.s, pos: r.pos}
	p.space()
	_, _, ok := p.open()
	return ok || strings.HasPrefix(p.s[p.pos:], "</"+name+">") && p.pos > r.pos
}

// follow resolves references, and takes the first alternative that is no null.
func (r *reader) follow(s *jsonschema.Schema) *jsonschema.Schema {
	for range maxDepth {
		switch {
		case s == nil:
			return nil
		case s.Ref != "" && r.root != nil:
			name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
			next := r.root.Defs[name]
			if next == nil {
				next = r.root.Definitions[name]
			}
			s = next
		case len(types(s)) == 0 && len(s.AnyOf)+len(s.OneOf) > 0:
			branches := slices.Concat(s.AnyOf, s.OneOf)
			i := slices.IndexFunc(branches, func(b *jsonschema.Schema) bool { return b.Type != "null" })
			if i < 0 {
				return nil
			}
			s = branches[i]
		default:
			return s
		}
	}
	return nil
}

func types(s *jsonschema.Schema) []string {
	if s == nil {
		return nil
	}
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// is reports whether the schema is of the type and not of text.
func (r *reader) is(s *jsonschema.Schema, t string) bool {
	list := types(r.follow(s))
	return slices.Contains(list, t) && (t == "string" || !slices.Contains(list, "string"))
}

// scalar returns the text of an element as what the schema wants, where it is that.
func scalar(body string, schema *jsonschema.Schema) any {
	text := decode(body)
	trimmed := strings.TrimSpace(text)
	for _, t := range types(schema) {
		switch t {
		case "string":
			return text
		case "integer", "number":
			if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
				return json.Number(trimmed)
			}
		case "boolean":
			if b, err := strconv.ParseBool(strings.ToLower(trimmed)); err == nil {
				return b
			}
		case "null":
			if trimmed == "null" {
				return nil
			}
		case "object", "array":
			if trimmed == "" && t == "object" {
				return map[string]any{}
			}
			var v any
			if json.Unmarshal([]byte(trimmed), &v) == nil {
				return v
			}
		}
	}
	return text
}
