package clientconfig

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"

	"github.com/tongs-ai/tongs/internal/jsonc"
)

// exclusive is how a client is left with the tools of Tongs alone.
type exclusive struct {
	// native are tools of its own that a person knows, for the sentence that says what stays outside.
	native string
	// keeps is what it has beside Tongs all the same, empty where that is nothing.
	keeps string
	// cannot is why its own tools cannot be turned off, empty where they can.
	cannot string
	// forUser says that it works for all projects of a user only.
	forUser bool
	// files are what is edited beside the entry of the server.
	files []file
	// prefix is put before the names of our tools, where the client takes a rule about one of its own for one about ours.
	prefix string
}

// file is one file of a client, with what turns its own tools off there.
type file struct {
	project, user func(workspace, home string) string
	// edit returns the content with it, or without.
	edit func(data []byte, remove bool) ([]byte, error)
}

// Program is how a client starts this program: by its name where that finds it, since a project's file may be shared, and by its path
// where it does not.
func Program() string {
	self, err := os.Executable()
	if err != nil {
		return "tongs"
	}
	if found, err := exec.LookPath("tongs"); err == nil && sameFile(found, self) {
		return "tongs"
	}
	return self
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	two, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(one, two)
}

// claudeDenied are Claude Code's own tools. A letter stands for all that begin with it, so that those of later versions are off as
// well: tools of servers are called mcp__SERVER__TOOL. Of the letters A, E and T only those are off that reach files, programs or the
// network: agents, plans, lists of tasks and questions to the person stay.
func claudeDenied() []string {
	denied := []string{"Artifact*", "Edit*", "EnterWorktree", "ExitWorktree", "TeamCreate", "TeamDelete"}
	for letter := 'A'; letter <= 'Z'; letter++ {
		if letter != 'A' && letter != 'E' && letter != 'T' {
			denied = append(denied, string(letter)+"*")
		}
	}
	slices.Sort(denied)
	return denied
}

// claudeOnly turns Claude Code's own tools off, and has it leave the questions to Tongs.
func claudeOnly(data []byte, remove bool) ([]byte, error) {
	data, err := listed(data, []string{"permissions", "deny"}, claudeDenied(), remove)
	if err != nil {
		return nil, err
	}
	return listed(data, []string{"permissions", "allow"}, []string{"mcp__tongs"}, remove)
}

// opencodeOnly turns opencode's own tools off. Of two patterns that fit, the later one counts.
func opencodeOnly(data []byte, remove bool) (_ []byte, err error) {
	for _, m := range []struct {
		pattern string
		on      bool
	}{{"*", false}, {"tongs_*", true}} {
		path := []string{"tools", m.pattern}
		if data, _, err = jsonc.Remove(data, path); err == nil && !remove {
			data, err = jsonc.Set(data, path, m.on)
		}
		if err != nil {
			return nil, err
		}
	}
	return pruned(data, []string{"tools"})
}

// geminiPolicy turns Gemini CLI's own tools off. Rules of a user go before those of a workspace.
const geminiPolicy = `# Written by 'tongs setup gemini --exclusive': only the tools of Tongs, which asks by its own rules.
[[rule]]
toolName = "*"
decision = "deny"
priority = 900

[[rule]]
mcpName = "tongs"
toolName = "*"
decision = "allow"
priority = 999
`

// geminiOnly is the whole of a file of ours.
func geminiOnly(_ []byte, remove bool) ([]byte, error) {
	if remove {
		return nil, nil
	}
	return []byte(geminiPolicy), nil
}

// listed puts strings into an array, or takes them out. What is empty then goes away.
func listed(data []byte, path, names []string, remove bool) ([]byte, error) {
	all, err := stringsAt(data, path)
	if err != nil {
		return nil, err
	}
	before := len(all)
	all = slices.DeleteFunc(all, func(s string) bool { return remove && slices.Contains(names, s) })
	for _, name := range names {
		if !remove && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	switch {
	case len(all) == before:
		return data, nil
	case len(all) > 0:
		return jsonc.Set(data, path, all)
	}
	if data, _, err = jsonc.Remove(data, path); err != nil {
		return nil, err
	}
	return pruned(data, path[:len(path)-1])
}

// stringsAt are the strings of an array; none where there is no such array.
func stringsAt(data []byte, path []string) (all []string, err error) {
	raw, err := at(data, path)
	if err != nil || raw == nil {
		return nil, err
	}
	return all, json.Unmarshal(raw, &all)
}

// at is the value at a path, nil where there is none.
func at(data []byte, path []string) (raw json.RawMessage, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if err := jsonc.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	for _, key := range path {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		if raw = members[key]; raw == nil {
			return nil, nil
		}
	}
	return raw, nil
}

// pruned is the text without the object at the path, if that is empty.
func pruned(data []byte, path []string) ([]byte, error) {
	raw, err := at(data, path)
	if err != nil || raw == nil {
		return data, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || len(members) > 0 {
		return data, err
	}
	data, _, err = jsonc.Remove(data, path)
	return data, err
}
