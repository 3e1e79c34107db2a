package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/tongs-ai/tongs/internal/jsonc"
)

// codexEvents are the events that are hooked, with the names that the trust has for them.
var codexEvents = map[string]string{
	"PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use", "UserPromptSubmit": "user_prompt_submit", "SessionStart": "session_start",
	"Stop": "stop",
}

// codex are two files: the hooks, and the settings, in which it is written that the user trusts them. It runs no others.
func codex(p Place) ([]edit, error) {
	if p.Project != "" {
		return nil, errors.New("hooks of a project run in Codex only after a review on its screen; install for all your projects (--user)")
	}
	dir := homeOr("CODEX_HOME", p.Home, ".codex")
	path := filepath.Join(dir, "hooks.json")
	h := hooks{client: "codex", groups: map[string]group{}}
	for event := range codexEvents {
		g := group{Hooks: []any{codexHook{Command: line(p.Program, "codex"), Timeout: seconds, Type: "command"}}}
		if strings.HasSuffix(event, "ToolUse") {
			g.Matcher = "*"
		}
		h.groups[event] = g
	}
	first := edit{path: path, with: h.with, without: h.without}
	second := edit{
		path:    filepath.Join(dir, "config.toml"),
		with:    func(data []byte) ([]byte, error) { return trust(data, path, h) },
		without: func(data []byte) ([]byte, error) { return distrust(data, path) },
	}
	return []edit{first, second}, nil
}

// codexHook is a hook as Codex takes its digest: the keys are sorted.
type codexHook struct {
	Async   bool   `json:"async"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Type    string `json:"type"`
}

const (
	trustBegin = "# >>> tongs guard: hooks that you trust\n"
	trustEnd   = "# <<< tongs guard\n"
)

// trust adds the digests of our hooks. Where they stand in the file of hooks is part of what is trusted, so that file is read first.
func trust(data []byte, path string, h hooks) ([]byte, error) {
	counts, err := codexGroups(path, h)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(trustBegin)
	for _, event := range slices.Sorted(maps.Keys(codexEvents)) {
		g := h.groups[event]
		canonical := map[string]any{"event_name": codexEvents[event], "hooks": g.Hooks}
		if g.Matcher != "" {
			canonical["matcher"] = g.Matcher
		}
		text, err := plainJSON(canonical)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprintf("%s:%s:%d:0", path, codexEvents[event], counts[event])
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "[hooks.state.%s]\ntrusted_hash = \"sha256:%s\"\n", name, digest(text))
	}
	b.WriteString(trustEnd)
	out := bytes.Clone(data)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	if len(out) > 0 {
		out = append(out, '\n')
	}
	out = append(out, b.String()...)
	var doc map[string]any
	if err := toml.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("the settings cannot be edited: %w", err)
	}
	return out, nil
}

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// distrust takes the digests out: the lines between our marks.
func distrust(data []byte, _ string) ([]byte, error) {
	begin := bytes.Index(data, []byte(trustBegin))
	if begin < 0 {
		return data, nil
	}
	rest := data[begin:]
	end := bytes.Index(rest, []byte(trustEnd))
	if end < 0 {
		return nil, errors.New("the end of what Tongs wrote is missing; remove the lines by hand")
	}
	head := bytes.TrimSuffix(data[:begin], []byte("\n"))
	if len(head) > 0 && !bytes.HasSuffix(head, []byte("\n")) {
		head = append(bytes.Clone(head), '\n')
	}
	return slices.Concat(head, rest[end+len(trustEnd):]), nil
}

// codexGroups is how many groups of other hooks there are before ours, by event.
func codexGroups(path string, h hooks) (map[string]int, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if data, err = h.without(data); err != nil {
		return nil, err
	}
	var doc struct {
		Hooks map[string][]json.RawMessage `json:"hooks"`
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := jsonc.Unmarshal(data, &doc); err != nil {
			return nil, err
		}
	}
	counts := map[string]int{}
	for event, list := range doc.Hooks {
		counts[event] = len(list)
	}
	return counts, nil
}
