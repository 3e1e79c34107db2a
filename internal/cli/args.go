package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// maxStdin bounds the arguments read from standard input.
const maxStdin = 64 << 20

// Arguments makes the JSON object of a call from --json (or - for standard input) and key=value words. A value is
// typed by the schema: what is meant to be a string stays one.
func Arguments(ctx context.Context, spec *tongs.Spec, text string, words []string, in io.Reader) (json.RawMessage, error) {
	if slices.Contains(words, "-") {
		if text != "" {
			return nil, Usagef("the arguments are given twice: by --json and by -")
		}
		text = "-"
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "-" })
	}
	var raw json.RawMessage
	if text != "" {
		data := []byte(text)
		if text == "-" {
			var err error
			if data, err = readAll(ctx, io.LimitReader(in, maxStdin+1)); err != nil {
				return nil, err
			}
			if len(data) > maxStdin {
				return nil, Usagef("standard input has more than %d bytes of arguments", maxStdin)
			}
		}
		var err error
		if raw, err = terminal.ParseObject(data); err != nil {
			return nil, UsageError{err}
		}
		if len(words) == 0 {
			return raw, nil
		}
	}
	return merged(spec, raw, words)
}

// readAll reads until the end, or until ctx ends: a person may press Ctrl-C rather than type.
func readAll(ctx context.Context, in io.Reader) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(in)
		done <- read{data, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("standard input: %w", r.err)
		}
		return r.data, nil
	case <-ctx.Done():
		return nil, tongs.Errorf(tongs.CodeCancelled, "cancelled while the arguments were read from standard input")
	}
}

// merged adds the words to the object raw, which may be empty.
func merged(spec *tongs.Spec, raw json.RawMessage, words []string) (json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, Usagef("the arguments are not a JSON object: %v", err)
		}
	}
	given := map[string]int{}
	for _, word := range words {
		key, text, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, Usagef("%q is not key=value; write for example path=go.mod, or use --json", word)
		}
		property := propertyOf(spec, key)
		value := typed(property, text)
		if given[key]++; given[key] > 1 {
			if property == nil || typeOf(property) != "array" {
				return nil, Usagef("%q is given twice", key)
			}
			value = appendItem(args[key], value)
		}
		args[key] = value
	}
	return json.Marshal(args)
}

// propertyOf finds the schema of an argument by its name or another spelling of it, nil where there is none.
func propertyOf(spec *tongs.Spec, key string) *jsonschema.Schema {
	if spec == nil || spec.Input == nil {
		return nil
	}
	if p := spec.Input.Properties[key]; p != nil {
		return p
	}
	if name, ok := spec.ArgAliases[key]; ok {
		return spec.Input.Properties[name]
	}
	for name, p := range spec.Input.Properties {
		if nearest.Fold(name) == nearest.Fold(key) {
			return p
		}
	}
	return nil
}

// typeOf returns the type that a value of the schema has, "" where it may have several.
func typeOf(s *jsonschema.Schema) string {
	if s.Type != "" || len(s.Types) != 1 {
		return s.Type
	}
	return s.Types[0]
}

// typed makes JSON of a value as a person types it. What does not fit the type is left as text for validation to
// complain about, with the value in it.
func typed(property *jsonschema.Schema, text string) json.RawMessage {
	literal, _ := json.Marshal(text)
	if property == nil {
		return literal
	}
	switch typeOf(property) {
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case "boolean":
		if text == "true" || text == "false" {
			return json.RawMessage(text)
		}
	case "array":
		if strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
		item := literal
		if property.Items != nil {
			item = typed(property.Items, text)
		}
		return json.RawMessage("[" + string(item) + "]")
	case "object":
		if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return literal
}

// appendItem joins two JSON arrays.
func appendItem(list, more json.RawMessage) json.RawMessage {
	var a, b []json.RawMessage
	if json.Unmarshal(list, &a) != nil || json.Unmarshal(more, &b) != nil {
		return more
	}
	joined, err := json.Marshal(slices.Concat(a, b))
	if err != nil {
		return more
	}
	return joined
}
