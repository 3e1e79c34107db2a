package install

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/jsonc"
)

// hooks are entries in the form that Claude Code has and others took over: for each event a list of groups, each with a matcher and
// the hooks that run.
type hooks struct {
	client string
	groups map[string]group
}

type group struct {
	Matcher string `json:"matcher,omitempty"`
	Hooks   []any  `json:"hooks"`
}

// line is the command of a hook, for a shell.
func line(program, client string) string { return quote(program) + " guard hook " + client }

func quote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// with adds the entries, one at the end of the list of each event.
func (h hooks) with(data []byte) (out []byte, err error) {
	out = data
	for _, event := range slices.Sorted(maps.Keys(h.groups)) {
		if out, err = jsonc.Append(out, []string{"hooks", event}, h.groups[event]); err != nil {
			return nil, err
		}
	}
	if len(data) == 0 && len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return out, nil
}

// without takes them out, whichever program they name, and what is empty then.
func (h hooks) without(data []byte) ([]byte, error) {
	var doc struct {
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return data, nil
	}
	if err := jsonc.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	out, err := data, error(nil)
	for _, event := range slices.Sorted(maps.Keys(doc.Hooks)) {
		before := out
		if out, err = jsonc.Drop(out, []string{"hooks", event}, h.ours); err != nil {
			return nil, err
		}
		if string(before) == string(out) {
			continue
		}
		if out, err = dropEmpty(out, "hooks", event); err != nil {
			return nil, err
		}
	}
	if string(out) == string(data) {
		return data, nil
	}
	return dropEmpty(out, "hooks")
}

// ours reports whether all hooks of a group are ours.
func (h hooks) ours(element json.RawMessage) bool {
	var g struct {
		Hooks []struct {
			Command string `json:"command"`
		} `json:"hooks"`
	}
	if json.Unmarshal(element, &g) != nil || len(g.Hooks) == 0 {
		return false
	}
	for _, hook := range g.Hooks {
		if !strings.HasSuffix(hook.Command, " guard hook "+h.client) {
			return false
		}
	}
	return true
}

// dropEmpty removes the member at the path where nothing is in it.
func dropEmpty(data []byte, path ...string) ([]byte, error) {
	var v any
	if err := jsonc.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	for _, key := range path {
		o, ok := v.(map[string]any)
		if !ok {
			return data, nil
		}
		v = o[key]
	}
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	if isList && len(list) == 0 || isObject && len(object) == 0 {
		out, _, err := jsonc.Remove(data, path)
		return out, err
	}
	return data, nil
}
