package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// form is what a server wants to know: plain values by name.
type form struct {
	Properties map[string]struct {
		Type, Title, Description string
		Enum                     []any
		Default                  any
	}
	Required []string
}

// Elicit shows the question of a server as its own words. Without a terminal nobody was asked.
func Elicit(ctx context.Context, e mcpclient.Elicitation) (mcpclient.Elicited, error) {
	t, err := Open()
	if err != nil {
		return mcpclient.Elicited{Action: "cancel"}, nil
	}
	defer t.Close()
	var f form
	data, err := json.Marshal(e.Schema)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return mcpclient.Elicited{Action: "decline"}, nil
	}
	fmt.Fprintf(t.w, "\nThe MCP server %s asks you something. These are its words, not those of Tongs; your answer goes to that\n"+
		"server, and approves nothing.\n", Clean(e.Server))
	quoted(t.w, e.Message, t.width(), 40, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	key, err := t.Key(ctx, "a answers, d declines: ", "ad")
	if err != nil || key != 'a' {
		return mcpclient.Elicited{Action: "decline"}, nil
	}
	answer := mcpclient.Elicited{Action: "accept", Content: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		value, given, err := askField(ctx, t, &f, name)
		if err != nil {
			return mcpclient.Elicited{Action: "cancel"}, nil
		}
		if given {
			answer.Content[name] = value
		}
	}
	return answer, nil
}

// askField asks for one value until it fits, or the person gives up.
func askField(ctx context.Context, t *Terminal, f *form, name string) (value any, given bool, err error) {
	p := f.Properties[name]
	label := Clean(name)
	if p.Description != "" {
		label += " (" + Clean(p.Description) + ")"
	}
	if len(p.Enum) > 0 {
		label += " one of " + Clean(fmt.Sprint(p.Enum...))
	}
	text := ""
	if p.Default != nil {
		text = fmt.Sprint(p.Default)
	}
	for {
		typed, err := t.line(ctx, label+": ", text)
		if err != nil {
			return nil, false, err
		}
		if typed = strings.TrimSpace(typed); typed == "" && !slices.Contains(f.Required, name) {
			return nil, false, nil
		}
		value, err := fieldValue(p.Type, typed)
		if err == nil && len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(v any) bool { return fmt.Sprint(v) == typed }) {
			err = errors.New("that is none of them")
		}
		if err == nil {
			return value, true, nil
		}
		fmt.Fprintln(t.w, Clean(err.Error()))
		text = typed
	}
}

func fieldValue(kind, typed string) (any, error) {
	switch kind {
	case "integer":
		return strconv.ParseInt(typed, 10, 64)
	case "number":
		return strconv.ParseFloat(typed, 64)
	case "boolean":
		return strconv.ParseBool(typed)
	case "string", "":
		return typed, nil
	}
	return nil, fmt.Errorf("a value of the type %q cannot be typed here", kind)
}
