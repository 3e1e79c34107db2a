//go:build linux

package main

import "github.com/tongs-ai/tongs/e2e/clients/model"

// claude is Claude Code, which talks to a provider that has messages.
func claude() client {
	return client{
		name: "claude-code", pkg: "@anthropic-ai/claude-code", version: "2.1.325",
		configure: func(s *stand) error {
			if err := s.writeJSON(".claude/settings.json", object{"permissions": object{"allow": []string{"mcp__tongs"}}}); err != nil {
				return err
			}
			return s.writeJSON(".claude.json", object{
				"hasCompletedOnboarding": true,
				"mcpServers":             object{"tongs": object{"type": "stdio", "command": "tongs", "args": []string{"mcp"}}},
			})
		},
		argv: func(*stand) []string { return []string{"claude", "-p", model.Prompt} },
		env: func(s *stand) []string {
			return []string{"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
		},
	}
}
