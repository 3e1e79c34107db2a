package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/jsonc"
	"github.com/tongs-ai/tongs/internal/owned"
)

// Client is an MCP client that Tongs can be set up in.
type Client struct {
	Name, Title string
	// project and user are where its configuration is; a nil user has none for all projects.
	project, user func(workspace, home string) string
	// path is where the server stands in a file of JSON, nil for TOML.
	path []string
	// entry is what stands there.
	entry func(command []string) any
	// Writes says that 'setup --write' edits the file.
	Writes bool
	// then is what a person does next; leave what keeps the client from asking a second time about calls that Tongs
	// judges, empty where there is nothing to do.
	then, leave string
}

func below(names ...string) func(string, string) string {
	return func(workspace, _ string) string { return filepath.Join(append([]string{workspace}, names...)...) }
}

func belowHome(variable string, names ...string) func(string, string) string {
	return func(_, home string) string {
		if dir := os.Getenv(variable); variable != "" && dir != "" {
			return filepath.Join(dir, names[len(names)-1])
		}
		return filepath.Join(append([]string{home}, names...)...)
	}
}

func plainEntry(command []string) any {
	return struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{command[0], command[1:]}
}

func typedEntry(command []string) any {
	return struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{"stdio", command[0], command[1:]}
}

// Next tells a person what to do once the file is written.
func (c Client) Next(w io.Writer) {
	fmt.Fprintln(w, c.then)
	if c.leave != "" {
		fmt.Fprintf(w, "%s asks about calls itself, before Tongs judges them. To leave that to Tongs: %s.\n", c.Title, c.leave)
	}
}

// All are those that are known, in the order of the help.
func All() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", project: below(".mcp.json"), user: belowHome("", ".claude.json"),
			path: []string{"mcpServers", "tongs"}, entry: typedEntry, Writes: true, then: "Start claude in the project and approve the server; /mcp shows it.",
			leave: `"permissions": {"allow": ["mcp__tongs"]} in its settings`,
		},
		{
			Name: "codex", Title: "Codex", project: below(".codex", "config.toml"), user: belowHome("CODEX_HOME", ".codex", "config.toml"),
			Writes: true, then: "Start codex; /mcp shows the server.",
			leave: `default_tools_approval_mode = "approve" below [mcp_servers.tongs]`,
		},
		{
			Name: "gemini", Title: "Gemini CLI", project: below(".gemini", "settings.json"), user: belowHome("", ".gemini", "settings.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, Writes: true, then: "Start gemini; /mcp shows the server.",
			leave: `"trust": true in the server's entry`,
		},
		{
			Name: "opencode", Title: "opencode", project: below("opencode.json"), user: belowHome("", ".config", "opencode", "opencode.json"),
			path: []string{"mcp", "tongs"}, Writes: true, then: "Start opencode; 'opencode mcp list' shows the server.",
			entry: func(command []string) any {
				return struct {
					Type    string   `json:"type"`
					Command []string `json:"command"`
					Enabled bool     `json:"enabled"`
				}{"local", command, true}
			},
		},
		{
			Name: "vscode", Title: "VS Code", project: below(".vscode", "mcp.json"), path: []string{"servers", "tongs"},
			entry: typedEntry, then: "Open the file in VS Code and choose Start above the server.",
		},
		{
			Name: "cursor", Title: "Cursor", project: below(".cursor", "mcp.json"), user: belowHome("", ".cursor", "mcp.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, then: "Cursor shows the server under Settings, MCP.",
		},
	}
}

// Edit returns the content of the file with the server in it, started by the program, or without it.
func (c *Client) Edit(data []byte, program string, remove bool) ([]byte, error) {
	command := []string{program, "mcp"}
	switch {
	case c.path == nil && remove:
		out, _, err := removeTOML(data)
		return out, err
	case c.path == nil:
		return setTOML(data, command)
	case remove:
		out, _, err := jsonc.Remove(data, c.at(data))
		return out, err
	}
	return jsonc.Set(data, c.at(data), c.entry(command))
}

// at is where the server stands. Newer files of opencode have one more level.
func (c *Client) at(data []byte) []string {
	if c.Name == "opencode" {
		var doc struct {
			MCP struct {
				Servers json.RawMessage `json:"servers"`
			} `json:"mcp"`
		}
		if jsonc.Unmarshal(data, &doc) == nil && len(doc.MCP.Servers) > 0 {
			return []string{"mcp", "servers", "tongs"}
		}
	}
	return c.path
}

// ForUser reports whether the client has a configuration for all projects of a user.
func (c *Client) ForUser() bool { return c.user != nil }

// File is the file that the client reads: for one workspace, or with forUser for all of them.
func (c *Client) File(workspace, home string, user bool) string {
	if user {
		return c.user(workspace, home)
	}
	return c.project(workspace, home)
}

// Replace writes what a person agreed to into the file of a client, unless it is no longer what they were shown: before, or
// no file where it is fresh.
func Replace(path string, before, after []byte, fresh bool) error {
	if now, err := os.ReadFile(path); err == nil && (fresh || !bytes.Equal(now, before)) {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed meanwhile; nothing was written, run it again", path)
	}
	return owned.Rewrite(path, after, 0o644)
}
