package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// The choices and the field of a form about a call that ran on a copy.
const (
	chooseKeep   = "keep all changes"
	chooseChosen = "keep only the chosen changes"
	chooseDrop   = "drop all changes"

	fieldKeep = "keep"
)

const (
	// maxChosen is of how many changes each can be chosen. Of more, they are named.
	maxChosen = 20
	// maxKeep bounds the names that a person writes, and each of them.
	maxKeep, maxKeepBytes = 1000, 64 << 10
	// choosing is the first revision whose forms let a person choose several of a list.
	choosing = "2025-11-25"
)

// keepField is the field in which a person chooses the changes to keep: a list to choose from, where the client can show
// one and it is not long, else their names.
func keepField(q approval.Question, version string) *jsonschema.Schema {
	const title = "Changes to keep (optional)"
	if version < choosing || !choosable(q) {
		return &jsonschema.Schema{
			Type: "string", Title: title, MaxLength: jsonschema.Ptr(maxKeepBytes),
			Description: "For '" + chooseChosen + "': paths as shown, separated by commas or as a JSON array. A directory stands for all below it.",
		}
	}
	var options []*jsonschema.Schema
	for _, c := range q.Changes {
		options = append(options, &jsonschema.Schema{Const: jsonschema.Ptr[any](line(c.Path.String())), Title: shownChange(c)})
	}
	return &jsonschema.Schema{
		Type: "array", Title: title, Description: "For '" + chooseChosen + "'.", Items: &jsonschema.Schema{AnyOf: options},
	}
}

// choosable reports whether all changes are in the question, are few, and can be told apart by how they are shown.
func choosable(q approval.Question) bool {
	if len(q.Changes) != q.ChangeCount || len(q.Changes) > maxChosen {
		return false
	}
	shown := map[string]bool{}
	for _, c := range q.Changes {
		shown[line(c.Path.String())] = true
	}
	return len(shown) == len(q.Changes)
}

func shownChange(c tongs.Change) string { return fmt.Sprintf("%v %s", c.Kind, line(c.Path.String())) }

// keeping puts the changes that a person wants to keep into an answer. The choice and the field must fit together:
// nothing is kept, or thrown away, that may have been meant otherwise.
func keeping(q approval.Question, res *mcp.ElicitResult, a *approval.Answer, decision string) error {
	keep, err := kept(q, res.Content[fieldKeep])
	if err != nil {
		return err
	}
	switch {
	case decision == chooseChosen && len(keep) == 0:
		return fmt.Errorf("no change was chosen; %q keeps none", chooseDrop)
	case decision == chooseChosen:
		a.Keep = keep
	case len(keep) > 0:
		return fmt.Errorf("%q and a choice of changes contradict each other; choose %q for those alone", decision, chooseChosen)
	}
	return nil
}

// kept reads the field: a list of what was chosen, or names.
func kept(q approval.Question, field any) ([]string, error) {
	var names []string
	switch field := field.(type) {
	case nil:
		return nil, nil
	case string:
		var err error
		if names, err = splitNames(field); err != nil {
			return nil, err
		}
	case []any:
		for _, one := range field {
			name, ok := one.(string)
			if !ok {
				return nil, errors.New("the changes to keep are not a list of paths")
			}
			names = append(names, name)
		}
	default:
		return nil, errors.New("the changes to keep are neither paths nor a list of them")
	}
	if len(names) > maxKeep {
		return nil, fmt.Errorf("there are %d changes to keep, more than can be named (%d); name directories", len(names), maxKeep)
	}
	for i, name := range names {
		path, err := pathShown(q, name)
		if err != nil {
			return nil, err
		}
		names[i] = path
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// splitNames reads the paths of a text field.
func splitNames(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxKeepBytes || !utf8.ValidString(text) {
		return nil, fmt.Errorf("the changes to keep are more than %d bytes, or no text", maxKeepBytes)
	}
	if strings.HasPrefix(text, "[") {
		var names []string
		if err := json.Unmarshal([]byte(text), &names); err == nil {
			return names, nil
		}
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' })
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// pathShown returns the path that a name stands for: its own, or the one that is shown like that.
func pathShown(q approval.Question, name string) (string, error) {
	path, shown := "", 0
	for _, c := range q.Changes {
		if at := c.Path.String(); line(at) == name {
			path, shown = at, shown+1
		}
	}
	switch {
	case shown > 1:
		return "", fmt.Errorf("%d changes are shown as %.200q; keep all of them, or none", shown, name)
	case slices.ContainsFunc(q.Changes, func(c tongs.Change) bool { return approval.Keeps(name, c) }):
		return name, nil
	case shown == 1:
		return path, nil
	case len(q.Changes) < q.ChangeCount: // it may be one of those that are not listed
		return name, nil
	default:
		return "", fmt.Errorf("%.200q is not among the changes", name)
	}
}
