// Package guard answers the hooks of agent programs: it understands what a client tells before and after each call of its own tools,
// and answers in the client's language.
//
// An [Event] is a hook call of any client; [Client.Decode] makes it, and [Client.Note] answers it. What is done in between is for
// others: [Keeper] is level 0, which keeps the project so that every call can be undone, and blocks nothing.
package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is when a hook is called.
type Kind uint8

// The kinds. Other is everything that needs nothing.
const (
	Other Kind = iota
	// Before and After are around a call of a tool.
	Before
	After
	// Prompt is when a person told the agent something, Start when a session began, Stop when the agent ended its turn.
	Prompt
	Start
	Stop
)

// Event is what a client tells a hook.
type Event struct {
	Client string
	Kind   Kind
	// Name is the client's own name of the event.
	Name    string
	Session string
	// Agent is the sub-agent that makes the call, empty for none.
	Agent string
	// Dir is where the agent is, Project the directory that it was started in, where the client tells.
	Dir, Project string
	// Tool, Input and Call are the native tool, its arguments, and what identifies the call; Call is empty where the client has
	// nothing that does.
	Tool  string
	Input json.RawMessage
	Call  string
	// PromptID identifies what the person said last, where the client tells.
	PromptID string
}

// Client is an agent program and how it speaks with hooks.
type Client struct {
	Name, Title string
	// events are the client's names.
	events map[string]Kind
	// quiet are the tools that change no files, or whose changes are those of other calls.
	quiet []string
	// edits are the tools that change the files that their arguments name.
	edits map[string]func(input json.RawMessage) []string
	// project is the variable that names the directory of the project.
	project string
}

// Clients are those that are known.
func Clients() []Client {
	file := map[string]func(json.RawMessage) []string{}
	for _, tool := range []string{"Edit", "Write", "MultiEdit", "NotebookEdit"} {
		file[tool] = named("file_path", "notebook_path")
	}
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", project: "CLAUDE_PROJECT_DIR",
			events: map[string]Kind{
				"PreToolUse": Before, "PostToolUse": After, "PostToolUseFailure": After, "UserPromptSubmit": Prompt,
				"SessionStart": Start, "Stop": Stop, "SessionEnd": Stop,
			},
			quiet: ClaudeQuiet(), edits: file,
		},
		{
			Name: "codex", Title: "Codex",
			events: map[string]Kind{
				"PreToolUse": Before, "PostToolUse": After, "UserPromptSubmit": Prompt, "SessionStart": Start, "Stop": Stop,
			},
			quiet: []string{"view_image", "update_plan", "web_search", "spawn_agent"},
			edits: map[string]func(json.RawMessage) []string{"apply_patch": patched},
		},
		{
			Name: "gemini", Title: "Gemini CLI", project: "GEMINI_PROJECT_DIR",
			events: map[string]Kind{
				"BeforeTool": Before, "AfterTool": After, "BeforeAgent": Prompt, "SessionStart": Start, "AfterAgent": Stop, "SessionEnd": Stop,
			},
			quiet: []string{
				"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content", "web_fetch", "google_web_search",
				"write_todos", "update_topic", "list_background_processes", "read_background_output", "enter_plan_mode", "exit_plan_mode",
				"invoke_agent", "activate_skill",
			},
			edits: map[string]func(json.RawMessage) []string{"write_file": named("file_path"), "replace": named("file_path")},
		},
		{
			Name: "opencode", Title: "opencode",
			events: map[string]Kind{"before": Before, "after": After, "prompt": Prompt, "start": Start, "stop": Stop},
			quiet:  []string{"read", "grep", "glob", "list", "webfetch", "websearch", "todowrite", "todoread", "skill", "task", "question"},
			edits:  map[string]func(json.RawMessage) []string{"write": named("filePath"), "edit": named("filePath")},
		},
		{
			Name: "copilot", Title: "Copilot CLI",
			events: map[string]Kind{
				"PreToolUse": Before, "PostToolUse": After, "PostToolUseFailure": After, "UserPromptSubmit": Prompt, "SessionStart": Start, "Stop": Stop,
				"SessionEnd": Stop,
			},
			quiet: append(ClaudeQuiet(), "view", "report_intent", "update_todo", "fetch_copilot_cli_documentation"), edits: file,
		},
	}
}

// ClaudeQuiet are the tools of Claude Code that change no files.
func ClaudeQuiet() []string {
	return []string{
		"Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "LS", "ListAgents", "NotebookRead", "Read",
		"ReportFindings", "Task", "TaskOutput", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch",
	}
}

// ClientNamed returns a client by its name.
func ClientNamed(name string) (Client, error) {
	var names []string
	for _, c := range Clients() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Client{}, fmt.Errorf("client %q is not known; use one of %s", name, strings.Join(names, ", "))
}

// Decode reads what the client wrote to the hook.
func (c Client) Decode(data []byte) (Event, error) {
	var in struct {
		Session  string          `json:"session_id"`
		Dir      string          `json:"cwd"`
		Event    string          `json:"hook_event_name"`
		Agent    string          `json:"agent_id"`
		PromptID string          `json:"prompt_id"`
		TurnID   string          `json:"turn_id"`
		Tool     string          `json:"tool_name"`
		Input    json.RawMessage `json:"tool_input"`
		Call     string          `json:"tool_use_id"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return Event{}, fmt.Errorf("%s called the hook with something else than expected: %w", c.Title, err)
	}
	ev := Event{
		Client: c.Name, Kind: c.events[in.Event], Name: in.Event, Session: in.Session, Agent: in.Agent, Dir: in.Dir, Tool: in.Tool,
		Input: in.Input, Call: in.Call, PromptID: in.PromptID,
	}
	if ev.PromptID == "" {
		ev.PromptID = in.TurnID
	}
	if c.project != "" {
		ev.Project = os.Getenv(c.project)
	}
	switch {
	case !filepath.IsAbs(ev.Dir) && !filepath.IsAbs(ev.Project):
		return ev, errors.New("the hook was not told the directory")
	case (ev.Kind == Before || ev.Kind == After) && ev.Tool == "":
		return ev, errors.New("the hook was not told the tool")
	}
	return ev, nil
}

// Changes reports whether a call can change files of the project. Of a tool that is not known it is so.
func (c Client) Changes(ev Event) bool {
	if slices.Contains(c.quiet, ev.Tool) {
		return false
	}
	for _, own := range []string{"mcp__tongs__", "mcp_tongs_", "tongs_"} { // those are journalled already
		if strings.HasPrefix(ev.Tool, own) {
			return false
		}
	}
	return true
}

// Edits returns the files that a call changes, as it names them, where it can change no others.
func (c Client) Edits(ev Event) (paths []string, ok bool) {
	of := c.edits[ev.Tool]
	if of == nil {
		return nil, false
	}
	paths = of(ev.Input)
	return paths, len(paths) > 0
}

// named takes paths from members of the arguments.
func named(keys ...string) func(json.RawMessage) []string {
	return func(input json.RawMessage) (paths []string) {
		var args map[string]json.RawMessage
		if json.Unmarshal(input, &args) != nil {
			return nil
		}
		for _, key := range keys {
			var path string
			if json.Unmarshal(args[key], &path) == nil && path != "" {
				paths = append(paths, path)
			}
		}
		return paths
	}
}

// patched takes paths from the text of a patch. What does not look like one names none, so that everything is looked at.
func patched(input json.RawMessage) (paths []string) {
	var args struct {
		Command string `json:"command"`
		Input   string `json:"input"`
	}
	if json.Unmarshal(input, &args) != nil {
		return nil
	}
	text := args.Command + args.Input
	if !strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") {
		return nil
	}
	for line := range strings.Lines(text) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}

// Note is what the hook prints to have the client go on. The text, where there is one, is shown to the person.
func (c Client) Note(text string) []byte {
	if text == "" {
		return nil
	}
	out, err := json.Marshal(map[string]string{"systemMessage": text})
	if err != nil {
		return nil
	}
	return append(out, '\n')
}
