package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs/internal/guard"
)

// seconds is after how long a client gives a hook up: longer than the hook takes in any case.
const seconds = 60

// homeOr is the directory that a variable names, or one below the home.
func homeOr(variable, home, name string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, name)
}

// claude are the settings of Claude Code: the user's, or the local ones of a project, since they name a path of this machine.
func claude(p Place) []edit {
	path := filepath.Join(homeOr("CLAUDE_CONFIG_DIR", p.Home, ".claude"), "settings.json")
	if p.Project != "" {
		path = filepath.Join(p.Project, ".claude", "settings.local.json")
	}
	hook := []any{map[string]any{"type": "command", "command": line(p.Program, "claude-code"), "timeout": seconds}}
	every := group{Hooks: hook}
	some := group{Matcher: "^(?!(" + strings.Join(guard.ClaudeQuiet(), "|") + "|mcp__tongs__.*)$)", Hooks: hook}
	h := hooks{client: "claude-code", groups: map[string]group{
		"PreToolUse": some, "PostToolUse": some, "PostToolUseFailure": some, "UserPromptSubmit": every, "SessionStart": every, "Stop": every,
	}}
	return []edit{{path: path, with: h.with, without: h.without}}
}

// gemini are the settings of Gemini CLI, which counts in milliseconds.
func gemini(p Place) []edit {
	path := filepath.Join(p.Home, ".gemini", "settings.json")
	if p.Project != "" {
		path = filepath.Join(p.Project, ".gemini", "settings.json")
	}
	hook := []any{map[string]any{"name": "tongs-undo", "type": "command", "command": line(p.Program, "gemini"), "timeout": seconds * 1000}}
	every := group{Matcher: "*", Hooks: hook}
	h := hooks{client: "gemini", groups: map[string]group{
		"BeforeTool": every, "AfterTool": every, "BeforeAgent": every, "SessionStart": every, "AfterAgent": every,
	}}
	return []edit{{path: path, with: h.with, without: h.without}}
}

// own is a file that is ours as a whole.
func own(path string, content []byte) []edit {
	return []edit{{
		path:    path,
		with:    func([]byte) ([]byte, error) { return content, nil },
		without: func([]byte) ([]byte, error) { return nil, nil },
	}}
}

// copilot is a file of hooks for Copilot CLI. Events that are written like those of Claude Code are told in its form.
func copilot(p Place) []edit {
	dir := filepath.Join(homeOr("COPILOT_HOME", p.Home, ".copilot"), "hooks")
	if p.Project != "" {
		dir = filepath.Join(p.Project, ".github", "hooks")
	}
	entry := []any{map[string]any{"type": "command", "bash": line(p.Program, "copilot"), "timeoutSec": seconds}}
	events := map[string]any{}
	for _, name := range []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"} {
		events[name] = entry
	}
	data, _ := json.MarshalIndent(map[string]any{"version": 1, "hooks": events}, "", "  ") // of text and numbers only
	return own(filepath.Join(dir, "tongs-undo.json"), append(data, '\n'))
}

// opencode is a plugin: that client has no hooks in its settings.
func opencode(p Place) []edit {
	dir := filepath.Join(homeOr("XDG_CONFIG_HOME", filepath.Join(p.Home, ".config"), ""), "opencode", "plugin")
	if p.Project != "" {
		dir = filepath.Join(p.Project, ".opencode", "plugin")
	}
	program, _ := json.Marshal(p.Program)
	return own(filepath.Join(dir, "tongs-undo.js"), []byte(strings.ReplaceAll(plugin, "PROGRAM", string(program))))
}

// plugin tells the hook of Tongs what opencode does. A fault of it never stops a call.
const plugin = `// Written by 'tongs guard install opencode'; 'tongs guard remove opencode' removes it.
import { spawn } from "node:child_process"

const tell = (event) =>
  new Promise((done) => {
    try {
      const child = spawn(PROGRAM, ["guard", "hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
      let out = ""
      const stop = setTimeout(() => child.kill(), 60000)
      child.stdout.on("data", (data) => (out += data))
      child.on("error", () => { clearTimeout(stop); done("") })
      child.on("close", () => { clearTimeout(stop); done(out) })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(event))
    } catch {
      done("")
    }
  })

export const TongsUndo = async ({ directory, client }) => {
  const send = async (hook_event_name, session_id, more) => {
    const out = await tell({ hook_event_name, session_id, cwd: directory, ...more })
    try {
      const { systemMessage } = JSON.parse(out)
      if (systemMessage) await client.tui.showToast({ body: { message: systemMessage, variant: "warning" } })
    } catch {}
  }
  await send("start", "")
  return {
    "chat.message": async (input) => { await send("prompt", input.sessionID, { prompt_id: input.messageID }) },
    "tool.execute.before": async (input, output) => {
      await send("before", input.sessionID, { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args })
    },
    "tool.execute.after": async (input) => {
      await send("after", input.sessionID, { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await send("stop", event.properties.sessionID)
    },
  }
}
`
