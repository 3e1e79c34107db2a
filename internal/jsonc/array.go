package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Append returns the text with a value added at the end of the array at the path, which is made where it is missing.
func Append(data []byte, path []string, value any) ([]byte, error) {
	mark, text := split(data)
	root, at, err := lookUp(text, path)
	if err != nil {
		return nil, err
	}
	if at == nil {
		return Set(data, path, []any{value})
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("%q is not an array", strings.Join(path, "."))
	}
	n := len(list.Elements)
	if n == 0 {
		return Set(data, path, []any{value})
	}
	last := list.Elements[n-1]
	e := hujson.Value{BeforeExtra: hujson.Extra(" ")}
	if bytes.ContainsRune(last.BeforeExtra, '\n') {
		indent := indentAt(text, last.StartOffset)
		var behind []byte
		behind, list.AfterExtra = firstLine(list.AfterExtra)
		e.BeforeExtra = append(bytes.Clone(behind), newlineOf(text)+indent...)
		e.Value, err = encode(text, value, indent)
	} else {
		e.Value, err = literal(value)
	}
	if err != nil {
		return nil, err
	}
	if last.AfterExtra != nil {
		e.AfterExtra = hujson.Extra{}
	}
	list.Elements = append(list.Elements, e)
	return check(pack(mark, *root))
}

// Drop returns the text without those elements of the array at the path that are not wanted. No array has none.
func Drop(data []byte, path []string, unwanted func(element json.RawMessage) bool) ([]byte, error) {
	mark, text := split(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return data, nil
	}
	root, at, err := lookUp(text, path)
	if err != nil || at == nil {
		return data, err
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return data, nil
	}
	var kept []hujson.Value
	var loose hujson.Extra // comments that stood before what is dropped
	for _, e := range list.Elements {
		plain := e.Clone()
		plain.BeforeExtra, plain.AfterExtra = nil, nil
		plain.Standardize()
		if unwanted(plain.Pack()) {
			loose = append(without(loose, e.BeforeExtra), e.AfterExtra...)
			continue
		}
		if loose != nil {
			e.BeforeExtra = without(loose, e.BeforeExtra)
		}
		kept, loose = append(kept, e), nil
	}
	if len(kept) == len(list.Elements) {
		return data, nil
	}
	if loose != nil {
		list.AfterExtra = without(loose, list.AfterExtra)
	}
	comma := list.Elements[len(list.Elements)-1].AfterExtra != nil
	switch n := len(kept); {
	case n == 0:
	case comma && kept[n-1].AfterExtra == nil:
		kept[n-1].AfterExtra = hujson.Extra{}
	case !comma && kept[n-1].AfterExtra != nil:
		list.AfterExtra = append(kept[n-1].AfterExtra, list.AfterExtra...)
		kept[n-1].AfterExtra = nil
	}
	list.Elements = kept
	return check(pack(mark, *root))
}

// lookUp parses a text and returns what is at the path, nil where nothing is.
func lookUp(text []byte, path []string) (root, at *hujson.Value, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil, nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	at = &v
	for level, key := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, nil, fmt.Errorf("%q is not an object", strings.Join(path[:level], "."))
		}
		i, err := find(o, key)
		if i < 0 || err != nil {
			return &v, nil, err
		}
		at = &o.Members[i].Value
	}
	return &v, at, nil
}
