package dialect

import (
	"encoding/json"
	"strings"
)

// undo is the way back from a value that fits the lowered schema to one that fits the original. Nil changes nothing.
type undo struct {
	// names maps properties as they were told to what they are.
	names map[string]string
	// props are by the name as it was told.
	props map[string]*undo
	items *undo
	// absent says that null stands for a property that is left out.
	absent bool
	// parse says that the value may be JSON in a string.
	parse bool
}

func (u *undo) apply(v any) any {
	if u == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		if u.parse {
			return parsed(v)
		}
	case []any:
		for i := range v {
			v[i] = u.items.apply(v[i])
		}
	case map[string]any:
		return u.object(v)
	}
	return v
}

func (u *undo) object(v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for name, value := range v {
		p := u.props[name]
		if p != nil && p.absent && value == nil {
			continue
		}
		if original, ok := u.names[name]; ok {
			name = original
		}
		out[name] = p.apply(value)
	}
	return out
}

// renames reports whether any property was told by another name.
func (u *undo) renames() bool {
	if u == nil {
		return false
	}
	if len(u.names) > 0 || u.items.renames() {
		return true
	}
	for _, p := range u.props {
		if p.renames() {
			return true
		}
	}
	return false
}

// renameForward renames properties the other way.
func (u *undo) renameForward(v any) any {
	if u == nil {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = u.items.renameForward(v[i])
		}
	case map[string]any:
		told := make(map[string]string, len(u.names))
		for wire, name := range u.names {
			told[name] = wire
		}
		out := make(map[string]any, len(v))
		for name, value := range v {
			if wire, ok := told[name]; ok {
				name = wire
			}
			out[name] = u.props[name].renameForward(value)
		}
		return out
	}
	return v
}

// parsed returns the JSON that the text is, or the text where it is none.
func parsed(text string) any {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil || dec.More() {
		return text
	}
	return v
}

// union merges the ways back of alternatives, as far as they do not contradict each other.
func union(a, b *undo) *undo {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := &undo{
		names: map[string]string{}, props: map[string]*undo{},
		items: union(a.items, b.items), absent: a.absent || b.absent, parse: a.parse || b.parse,
	}
	for _, u := range []*undo{b, a} {
		for k, v := range u.names {
			out.names[k] = v
		}
		for k, v := range u.props {
			out.props[k] = union(v, out.props[k])
		}
	}
	return out
}
