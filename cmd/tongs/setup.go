package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/jsonc"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// client is an MCP client that Tongs can be set up in.
type client struct {
	name, title string
	// file is where its configuration is, for the project and for the user.
	project, user func(workspace, home string) string
	// path is where the server stands in a file of JSON, nil for TOML.
	path []string
	// entry is what stands there.
	entry func(command []string) any
	// writes says that 'setup --write' edits the file.
	writes bool
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

// next tells a person what to do once the file is written.
func (c client) next(w io.Writer) {
	fmt.Fprintln(w, c.then)
	if c.leave != "" {
		fmt.Fprintf(w, "%s asks about calls itself, before Tongs judges them. To leave that to Tongs: %s.\n", c.title, c.leave)
	}
}

// clients are those that are known, in the order of the help.
func clients() []client {
	return []client{
		{
			name: "claude-code", title: "Claude Code", project: below(".mcp.json"), user: belowHome("", ".claude.json"),
			path: []string{"mcpServers", "tongs"}, entry: typedEntry, writes: true, then: "Start claude in the project and approve the server; /mcp shows it.",
			leave: `"permissions": {"allow": ["mcp__tongs"]} in its settings`,
		},
		{
			name: "codex", title: "Codex", project: below(".codex", "config.toml"), user: belowHome("CODEX_HOME", ".codex", "config.toml"),
			writes: true, then: "Start codex; /mcp shows the server.",
			leave: `default_tools_approval_mode = "approve" below [mcp_servers.tongs]`,
		},
		{
			name: "gemini", title: "Gemini CLI", project: below(".gemini", "settings.json"), user: belowHome("", ".gemini", "settings.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, writes: true, then: "Start gemini; /mcp shows the server.",
			leave: `"trust": true in the server's entry`,
		},
		{
			name: "opencode", title: "opencode", project: below("opencode.json"), user: belowHome("", ".config", "opencode", "opencode.json"),
			path: []string{"mcp", "tongs"}, writes: true, then: "Start opencode; 'opencode mcp list' shows the server.",
			entry: func(command []string) any {
				return struct {
					Type    string   `json:"type"`
					Command []string `json:"command"`
					Enabled bool     `json:"enabled"`
				}{"local", command, true}
			},
		},
		{
			name: "vscode", title: "VS Code", project: below(".vscode", "mcp.json"), path: []string{"servers", "tongs"},
			entry: typedEntry, then: "Open the file in VS Code and choose Start above the server.",
		},
		{
			name: "cursor", title: "Cursor", project: below(".cursor", "mcp.json"), user: belowHome("", ".cursor", "mcp.json"),
			path: []string{"mcpServers", "tongs"}, entry: plainEntry, then: "Cursor shows the server under Settings, MCP.",
		},
	}
}

func (a *app) setupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "setup", Short: "Connect Tongs to an agent that you use",
		Example: "  tongs setup claude-code\n" +
			"  tongs setup codex --write",
		Long: "Show what to add to the configuration of an MCP client so that it gets the tools of Tongs. With --write, add it.",
		Args: cobra.NoArgs,
	}
	for _, c := range clients() {
		cmd.AddCommand(a.setupClientCommand(c))
	}
	return cmd
}

// setup are the flags of one command.
type setup struct {
	write, remove, user, yes bool
	command                  string
}

func (a *app) setupClientCommand(c client) *cobra.Command {
	var s setup
	cmd := &cobra.Command{
		Use: c.name, Short: "Set up " + c.title, Args: cobra.NoArgs,
		Long:    "Show what to add to the configuration of " + c.title + ", and to which file.",
		Example: "  tongs setup " + c.name,
	}
	cmd.Flags().StringVar(&s.command, "command", "tongs", "the `command` with which the client starts tongs")
	if c.user != nil {
		cmd.Flags().BoolVar(&s.user, "user", false, "for all your projects, not only this one")
	}
	if c.writes {
		cmd.Long += "\nWith --write the file is edited: the change is shown first, and you are asked. Everything else in it stays as it is."
		cmd.Example += "\n  tongs setup " + c.name + " --write\n  tongs setup " + c.name + " --write --user\n  tongs setup " + c.name + " --remove"
		cmd.Flags().BoolVar(&s.write, "write", false, "edit the file")
		cmd.Flags().BoolVar(&s.remove, "remove", false, "remove it from the file")
		cmd.Flags().BoolVar(&s.yes, "yes", false, "do not ask for confirmation")
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		path, err := a.setupFile(c, s.user)
		if err != nil {
			return err
		}
		if s.write && s.remove {
			return usagef("--write and --remove exclude each other")
		}
		if s.write || s.remove {
			return a.setupEdit(cmd.Context(), c, &s, path)
		}
		text, err := c.edit(nil, &s)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "Put this into %s:\n", terminal.Clean(path))
		if _, err := a.out.Write(text); err != nil {
			return err
		}
		c.next(a.err)
		return nil
	})
	return cmd
}

// setupFile is the file that the client reads.
func (a *app) setupFile(c client, user bool) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if user {
		return c.user("", home), nil
	}
	p, err := a.host().Locate()
	if err != nil {
		return "", err
	}
	return c.project(p.Workspace, home), nil
}

// edit returns the content of the file with the server in it, or without it.
func (c *client) edit(data []byte, s *setup) ([]byte, error) {
	command := []string{s.command, "mcp"}
	switch {
	case c.path == nil && s.remove:
		out, _, err := removeTOML(data)
		return out, err
	case c.path == nil:
		return setTOML(data, command)
	case s.remove:
		out, _, err := jsonc.Remove(data, c.at(data))
		return out, err
	}
	return jsonc.Set(data, c.at(data), c.entry(command))
}

// at is where the server stands. Newer files of opencode have one more level.
func (c *client) at(data []byte) []string {
	if c.name == "opencode" {
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

// setupEdit shows the change, asks, and makes it.
func (a *app) setupEdit(ctx context.Context, c client, s *setup, path string) error {
	before, err := os.ReadFile(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	after, err := c.edit(before, s)
	if err != nil {
		return tongs.Errorf(tongs.CodeConfigError, "%s: %w", path, err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintf(a.err, "%s needs no change.\n", terminal.Clean(path))
		return nil
	}
	fmt.Fprint(a.out, terminal.CleanLines(udiff.Unified(path, path, string(before), string(after))))
	if err := a.agree(ctx, s.yes, "change "+path); err != nil {
		return err
	}
	if now, err := os.ReadFile(path); err == nil && !bytes.Equal(now, before) || err == nil && fresh {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed meanwhile; nothing was written, run it again", path)
	}
	if err := owned.Rewrite(path, after, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "Changed %s.\n", terminal.Clean(path))
	if !s.remove {
		c.next(a.err)
	}
	return nil
}

// agree has a person say yes at the terminal.
func (a *app) agree(ctx context.Context, yes bool, what string) error {
	if yes {
		return nil
	}
	t, err := terminal.Open()
	if err != nil {
		return usagef("cannot ask whether to %s: there is no terminal; --yes does it without asking", what)
	}
	defer t.Close()
	key, err := t.Key(ctx, terminal.Clean(what)+"? y yes, n no: ", "yn")
	if err != nil || key != 'y' {
		return errors.Join(errors.New("nothing was changed"), err)
	}
	return nil
}

const tomlHeader = "[mcp_servers.tongs]"

// setTOML adds the table of the server at the end of a file of TOML, or puts it in the place of the one that is there.
// The library for TOML writes whole documents and drops comments, so that the lines are edited here.
func setTOML(data []byte, command []string) ([]byte, error) {
	rest, at, err := removeTOML(data)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(command[0])
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(command[1:])
	if err != nil {
		return nil, err
	}
	table := fmt.Sprintf("%s\ncommand = %s\nargs = %s\n", tomlHeader, name, args)
	if at >= 0 {
		if at == len(rest) && at > 0 {
			table = "\n" + table
		}
		return slices.Concat(rest[:at], []byte(table), rest[at:]), nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte(table), nil
	}
	text := string(data)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text + "\n" + table), nil
}

// removeTOML returns a file without the table of the server, and where it stood, -1 where there was none. A file in
// which the server is written in another way is an error.
func removeTOML(data []byte) (rest []byte, at int, err error) {
	servers, err := codexServers(data)
	if err != nil {
		return nil, -1, err
	}
	if _, ok := servers["tongs"]; !ok {
		return data, -1, nil
	}
	lines := strings.SplitAfter(string(data), "\n")
	var kept strings.Builder
	at = -1
	inside := false
	for i, line := range lines {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
			inside = strings.HasPrefix(trimmed, tomlHeader) || strings.HasPrefix(trimmed, "[mcp_servers.tongs.")
			if inside && at < 0 {
				at = kept.Len()
			}
		}
		if inside && (strings.TrimSpace(line) != "" || i == len(lines)-1) {
			continue
		}
		kept.WriteString(line)
	}
	rest = []byte(kept.String())
	if again, err := codexServers(rest); err != nil || at < 0 || again["tongs"] != nil {
		return nil, -1, errors.New("the server tongs is written in a way that cannot be edited; change it by hand")
	}
	if at == len(rest) { // it was the last: the empty line before it goes too
		rest = append(bytes.TrimRight(rest, "\n"), '\n')
		if len(bytes.TrimSpace(rest)) == 0 {
			rest = nil
		}
		at = len(rest)
	}
	return rest, at, nil
}
