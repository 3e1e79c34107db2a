//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// claude is Claude Code, which talks to a provider that has messages.
func claude() client {
	return client{
		name: "claude-code", setup: "claude-code", pkg: "@anthropic-ai/claude-code", version: "2.1.325",
		keeps:     []string{"Agent", "DeferredToolPlaceholder", "ToolSearch"},
		configure: func(s *stand) error { return configureClaude(s, object{}) },
		remote: func(s *stand, r *remote) error {
			return s.addRemote(".claude.json", "mcpServers", object{
				"type": "http", "url": r.url, "headers": object{"Authorization": "Bearer " + r.token},
			})
		},
		argv:   func(*stand) []string { return []string{"claude", "-p", model.Prompt} },
		screen: func(*stand) []string { return []string{"claude", model.ShownPrompt} },
		free: func(*stand) []string {
			return []string{"claude", "-p", model.Prompt, "--allowedTools", "Bash,Edit,Write"}
		},
		native: func(s *stand) []model.Native {
			file, _ := json.Marshal(filepath.Join(s.workspace, "made.txt"))
			return append([]model.Native{{Tools: []string{"Write"}, Args: fmt.Sprintf(`{"file_path":%s,"content":"agent"}`, file)}},
				shellCalls([]string{"Bash"}, "command")...)
		},
		settings: ".claude/settings.json",
		keys:     []string{"Right", "Enter", "Down", "Down", "Enter"},
		env: func(s *stand) []string {
			return []string{"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
		},
	}
}

// claudeForms is Claude Code with a hook that fills in forms, as a person does where there is a screen.
func claudeForms() client {
	c := claude()
	c.name, c.forms = "claude-code-forms", true
	c.configure = func(s *stand) error {
		output, err := json.Marshal(object{"hookSpecificOutput": object{
			"hookEventName": "Elicitation", "action": "accept", "content": object{"answer": "yes", "reason": "as agreed"},
		}})
		if err != nil {
			return err
		}
		hook := fmt.Sprintf("cat >> '%s'; echo '%s'", filepath.Join(s.logs, "forms.jsonl"), output)
		return configureClaude(s, object{
			"Elicitation": []any{object{"matcher": "tongs", "hooks": []any{object{"type": "command", "command": hook}}}},
		})
	}
	return c
}

func configureClaude(s *stand, hooks object) error {
	settings := object{"hooks": hooks}
	if !s.opt.guarded && !s.opt.exclusive {
		settings["permissions"] = object{"allow": []string{"mcp__tongs"}}
	}
	if err := s.writeJSON(".claude/settings.json", settings); err != nil {
		return err
	}
	return s.writeJSON(".claude.json", object{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": object{"approved": []string{"none"}},
		"projects": object{s.workspace: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
}
