//go:build linux

package main

import "github.com/tongs-ai/tongs/test/e2e/clients/internal/model"

// opencode talks to any provider that has chat completions.
func opencode() client {
	return client{
		name: "opencode", setup: "opencode", pkg: "opencode-ai", version: "1.18.33",
		configure: func(s *stand) error {
			return s.writeJSON(".config/opencode/opencode.json", object{
				"provider": object{"scripted": object{
					"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
					"options": object{"baseURL": s.url + "/v1", "apiKey": "none"},
					"models":  object{"scripted": object{"name": "Scripted", "tool_call": true, "limit": object{"context": 100000, "output": 10000}}},
				}},
				"model": "scripted/scripted", "autoupdate": false, "share": "disabled",
			})
		},
		remote: func(s *stand, r *remote) error {
			return s.addRemote(".config/opencode/opencode.json", "mcp", object{
				"type": "remote", "url": r.url, "headers": object{"Authorization": "Bearer " + r.token}, "enabled": true,
			})
		},
		argv:     func(*stand) []string { return []string{"opencode", "run", "--pure", "--print-logs", model.Prompt} },
		screen:   func(*stand) []string { return []string{"opencode", "--pure", "--prompt", model.ShownPrompt} },
		free:     func(*stand) []string { return []string{"opencode", "run", "--print-logs", model.Prompt} },
		native:   func(*stand) []model.Native { return shellCalls([]string{"bash"}, "command") },
		settings: ".config/opencode/opencode.json", rewrites: true,
		env: func(*stand) []string { return []string{"OPENCODE_DISABLE_MODELS_FETCH=1"} },
	}
}
