package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
)

// value is a YAML node and where it stands: the position of the node, or of its key where the node is empty, and its
// path for messages.
type value struct {
	node ast.Node
	pos  *token.Position
	path string
}

// field is one entry of a mapping.
type field struct {
	key   string
	keyAt *token.Position
	value
}

func (v value) null() bool {
	_, null := v.node.(*ast.NullNode)
	return v.node == nil || null
}

// name is what a message calls the value.
func (v value) name() string {
	if v.path == "" {
		return "the file"
	}
	return v.path
}

// describe says what a node is, in the words of a message.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("the text %s", quote(n.Value))
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.BoolNode:
		return fmt.Sprintf("%t", n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	default:
		return "something else"
	}
}

// quote quotes untrusted text for a message, shortened.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func printable(r rune) bool { return r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r) }

// fields returns the entries of a mapping; nothing at all counts as an empty one.
func (s *source) fields(v value) []field {
	var entries []*ast.MappingValueNode
	switch n := v.node.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		s.fail(v.pos, "%s should be a mapping (key: value), not %s", v.name(), describe(v.node))
		return nil
	}
	var list []field
	seen := map[string]int{}
	for _, e := range entries {
		tok := e.Key.GetToken()
		if tok == nil {
			s.fail(v.pos, "%s has a key that is not plain text", v.name())
			continue
		}
		key := tok.Value
		if first, dup := seen[key]; dup {
			s.fail(tok.Position, "the key %s is given twice; the first is in line %d", quote(key), first)
			continue
		}
		seen[key] = tok.Position.Line
		f := field{key: key, keyAt: tok.Position, value: value{node: e.Value, pos: position(e.Value), path: key}}
		if v.path != "" {
			f.path = v.path + "." + key
		}
		if f.null() || f.pos == nil {
			f.pos = tok.Position
		}
		list = append(list, f)
	}
	return list
}

// object hands each entry of a mapping to the reader of its key. Any other key is a problem.
func (s *source) object(v value, readers map[string]func(value)) {
	for _, f := range s.fields(v) {
		if read := readers[f.key]; read != nil {
			read(f.value)
			continue
		}
		s.unknown(f, slices.Sorted(maps.Keys(readers)))
	}
}

func (s *source) unknown(f field, known []string) {
	what, where := "key", ""
	if i := strings.LastIndexByte(f.path, '.'); i > 0 {
		where = " in " + f.path[:i]
	}
	if near := nearest.Word(f.key, known); near != "" {
		s.fail(f.keyAt, "unknown %s %s%s; did you mean %q?", what, quote(f.key), where, near)
		return
	}
	s.fail(f.keyAt, "unknown %s %s%s; the keys here are %s", what, quote(f.key), where, strings.Join(known, ", "))
}

// list returns the entries of a sequence; nothing at all counts as an empty one.
func (s *source) list(v value) []value {
	if v.null() {
		return nil
	}
	seq, ok := v.node.(*ast.SequenceNode)
	if !ok {
		s.fail(v.pos, "%s should be a list, not %s", v.name(), describe(v.node))
		return nil
	}
	list := make([]value, 0, len(seq.Values))
	for i, n := range seq.Values {
		item := value{node: n, pos: position(n), path: fmt.Sprintf("%s[%d]", v.path, i)}
		if item.pos == nil {
			item.pos = v.pos
		}
		list = append(list, item)
	}
	return list
}

// text returns a non-empty string.
func (s *source) text(v value) (string, bool) {
	text := ""
	switch n := v.node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		s.fail(v.pos, "%s should be text, not %s; put it in quotes", v.name(), describe(v.node))
		return "", false
	default:
		s.fail(v.pos, "%s should be text, not %s", v.name(), describe(v.node))
		return "", false
	}
	if strings.TrimSpace(text) == "" {
		s.fail(v.pos, "%s is empty", v.name())
		return "", false
	}
	return text, true
}

// scalar returns text or a number as it is written.
func (s *source) scalar(v value) (string, bool) {
	switch v.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return v.node.GetToken().Value, true
	}
	return s.text(v)
}

func (s *source) texts(v value) (list []string) {
	for _, item := range s.list(v) {
		if text, ok := s.text(item); ok {
			list = append(list, text)
		}
	}
	return list
}

func (s *source) boolean(v value) (set, ok bool) {
	n, ok := v.node.(*ast.BoolNode)
	if !ok {
		s.fail(v.pos, "%s should be true or false, not %s", v.name(), describe(v.node))
		return false, false
	}
	return n.Value, true
}

// word returns one of the given words.
func (s *source) word(v value, words ...string) (string, bool) {
	wanted := strings.Join(words, ", ")
	n, ok := v.node.(*ast.StringNode)
	if !ok {
		s.fail(v.pos, "%s should be one of %s, not %s", v.name(), wanted, describe(v.node))
		return "", false
	}
	if slices.Contains(words, n.Value) {
		return n.Value, true
	}
	hint := ""
	if near := nearest.Word(n.Value, words); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	s.fail(v.pos, "%s is %s; it should be one of %s%s", v.name(), quote(n.Value), wanted, hint)
	return "", false
}

func (s *source) decision(v value) (tongs.Decision, bool) {
	w, ok := s.word(v, "preApproved", "ask", "blocked")
	if !ok {
		return tongs.Ask, false
	}
	d, err := tongs.ParseDecision(w)
	return d, err == nil
}
