package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	entry func(s server) any
	// Writes says that 'setup --write' edits the file.
	Writes bool
	// then is what a person does next; leave what keeps the client from asking a second time about calls that Tongs
	// judges, empty where there is nothing to do.
	then, leave string
	exclusive
}

// server is how the client starts Tongs, and whether it has no other tools then.
type server struct {
	command []string
	alone   bool
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

func plainEntry(s server) any {
	return struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{s.command[0], s.command[1:]}
}

func typedEntry(s server) any {
	return struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		// AlwaysLoad has Claude Code offer the tools at once, and not only once the model searches for them.
		AlwaysLoad bool `json:"alwaysLoad,omitempty"`
	}{"stdio", s.command[0], s.command[1:], s.alone}
}

// Next tells a person what to do once the files are written, and what stays outside of Tongs.
func (c *Client) Next(w io.Writer, alone bool) {
	fmt.Fprintln(w, c.then)
	switch {
	case alone && c.keeps != "":
		fmt.Fprintf(w, "%s has no tools but those of Tongs now, except %s.\n", c.Title, c.keeps)
	case alone:
		fmt.Fprintf(w, "%s has no tools but those of Tongs now.\n", c.Title)
	case c.cannot == "":
		fmt.Fprintf(w, "%s still has %s of its own, and Tongs does not see what they do. To turn them off: tongs setup %s --exclusive --write%s\n", c.Title, c.native, c.Name, c.flag())
	default:
		fmt.Fprintf(w, "%s still has %s of its own, and Tongs does not see what they do. %s\n", c.Title, c.native, c.cannot)
	}
	if c.leave != "" && !alone {
		fmt.Fprintf(w, "%s asks about calls itself, before Tongs judges them. To leave that to Tongs: %s.\n", c.Title, c.leave)
	}
}

// flag is what --exclusive needs beside it.
func (c *Client) flag() string {
	if c.forUser {
		return " --user"
	}
	return ""
}

// All are those that are known, in the order of the help.
func All() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", project: below(".mcp.json"), user: belowHome("", ".claude.json"),
			path: []string{"mcpServers", "tongs"}, entry: typedEntry, Writes: true, then: "Start claude in the project and approve the server; /mcp shows it.",
			leave: `"permissions": {"allow": ["mcp__tongs"]} in its settings`,
			exclusive: exclusive{
				native: "Bash, Read, Edit, Write and WebFetch",
				keeps:  "agents, plans and lists of tasks; it also reads files that you mention with @",
				files:  []file{{project: below(".claude", "settings.json"), user: belowHome("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), edit: claudeOnly}},
			},
		},
		{
			Name: "codex", Title: "Codex", project: below(".codex", "config.toml"), user: belowHome("CODEX_HOME", ".codex", "config.toml"),
			Writes: true, then: "Start codex; /mcp shows the server.",
			leave:     `default_tools_approval_mode = "approve" below [mcp_servers.tongs]`,
			exclusive: exclusive{native: "a shell and apply_patch", cannot: "Codex has no setting that turns apply_patch off."},
		},
		{
			Name: "gemini", Title: "Gemini CLI", project: below(".gemini", "settings.json"), user: belowHome("", ".gemini", "settings.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, Writes: true, then: "Start gemini; /mcp shows the server.",
			leave: `"trust": true in the server's entry`,
			exclusive: exclusive{
				native: "run_shell_command, write_file, replace and web_fetch", prefix: "tongs_", forUser: true,
				files: []file{{project: below(".gemini", "policies", "tongs.toml"), user: belowHome("", ".gemini", "policies", "tongs.toml"), edit: geminiOnly}},
			},
		},
		{
			Name: "opencode", Title: "opencode", project: below("opencode.json"), user: belowHome("", ".config", "opencode", "opencode.json"),
			path: []string{"mcp", "tongs"}, Writes: true, then: "Start opencode; 'opencode mcp list' shows the server.",
			entry: func(s server) any {
				return struct {
					Type    string   `json:"type"`
					Command []string `json:"command"`
					Enabled bool     `json:"enabled"`
				}{"local", s.command, true}
			},
			exclusive: exclusive{
				native: "bash, read, edit, write and webfetch",
				files:  []file{{project: below("opencode.json"), user: belowHome("", ".config", "opencode", "opencode.json"), edit: opencodeOnly}},
			},
		},
		{
			Name: "vscode", Title: "VS Code", project: below(".vscode", "mcp.json"), path: []string{"servers", "tongs"},
			entry: typedEntry, then: "Open the file in VS Code and choose Start above the server.",
			exclusive: exclusive{native: "tools", cannot: "Turn them off in the list of tools of its chat."},
		},
		{
			Name: "cursor", Title: "Cursor", project: below(".cursor", "mcp.json"), user: belowHome("", ".cursor", "mcp.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, then: "Cursor shows the server under Settings, MCP.",
			exclusive: exclusive{native: "tools", cannot: "Cursor has no setting for that which was tested here."},
		},
	}
}

// edit returns the content of the file with the server in it, or without it.
func (c *Client) edit(data []byte, s server, remove bool) ([]byte, error) {
	switch {
	case c.path == nil && remove:
		out, _, err := removeTOML(data)
		return out, err
	case c.path == nil:
		return setTOML(data, s.command)
	case remove:
		path := c.at(data)
		out, found, err := jsonc.Remove(data, path)
		if err != nil || !found {
			return data, err
		}
		return pruned(out, path[:len(path)-1])
	}
	return jsonc.Set(data, c.at(data), c.entry(s))
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

// Choice is what a person wants done.
type Choice struct {
	// Program starts Tongs.
	Program string
	// User is for all projects of the user, and not for the workspace; Exclusive turns the client's own tools off; Remove takes out
	// everything that was ever put in.
	User, Exclusive, Remove bool
}

// Change is what becomes of a file.
type Change struct {
	Path          string
	Before, After []byte
	fresh         bool
}

// Texts are what a choice comes to in files that have nothing else, to be put in by hand.
func (c *Client) Texts(workspace, home string, o Choice) ([]Change, error) {
	return c.changes(workspace, home, o, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
}

// Changes are what is written for a choice. Files that stay as they are have none.
func (c *Client) Changes(workspace, home string, o Choice) ([]Change, error) {
	return c.changes(workspace, home, o, os.ReadFile)
}

func (c *Client) changes(workspace, home string, o Choice, read func(path string) ([]byte, error)) (changes []Change, err error) {
	switch {
	case o.Exclusive && c.cannot != "":
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s cannot be left with the tools of Tongs alone. %s", c.Title, c.cannot)
	case o.Exclusive && c.forUser && !o.User:
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s takes rules about its own tools from a user only: add --user", c.Title)
	}
	for _, f := range c.edited(o) {
		path := f.project(workspace, home)
		if o.User {
			path = f.user(workspace, home)
		}
		i := slices.IndexFunc(changes, func(ch Change) bool { return ch.Path == path })
		if i < 0 {
			before, err := read(path)
			fresh := errors.Is(err, fs.ErrNotExist)
			if err != nil && !fresh {
				return nil, err
			}
			i, changes = len(changes), append(changes, Change{Path: path, Before: before, After: before, fresh: fresh})
		}
		if changes[i].After, err = f.edit(changes[i].After, o.Remove); err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", path, err)
		}
	}
	return slices.DeleteFunc(changes, func(ch Change) bool { return bytes.Equal(ch.Before, ch.After) }), nil
}

// edited are the files that a choice concerns.
func (c *Client) edited(o Choice) []file {
	s := server{command: []string{o.Program, "mcp"}, alone: o.Exclusive}
	if o.Exclusive && c.prefix != "" {
		s.command = append(s.command, "--prefix", c.prefix)
	}
	files := []file{{project: c.project, user: c.user, edit: func(data []byte, remove bool) ([]byte, error) { return c.edit(data, s, remove) }}}
	if o.Exclusive || o.Remove {
		files = append(files, c.files...)
	}
	return files
}

// Make writes what a person agreed to, unless the file is no longer what they were shown. A file that has nothing left goes away.
func (ch *Change) Make() error {
	if now, err := os.ReadFile(ch.Path); err == nil && (ch.fresh || !bytes.Equal(now, ch.Before)) {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed meanwhile; it was not written, run it again", ch.Path)
	}
	if rest := bytes.TrimSpace(ch.After); len(rest) == 0 || string(rest) == "{}" {
		return os.Remove(ch.Path)
	}
	return owned.Rewrite(ch.Path, ch.After, 0o644)
}
