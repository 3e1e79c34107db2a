//go:build linux

package main

import "github.com/tongs-ai/tongs/e2e/clients/model"

// gemini is Gemini CLI, which talks to a provider that has generateContent.
func gemini() client {
	return client{
		name: "gemini", pkg: "@google/gemini-cli", version: "0.61.0", validates: true,
		configure: func(s *stand) error {
			return s.writeJSON(".gemini/settings.json", object{
				"mcpServers": object{"tongs": object{"command": "tongs", "args": []string{"mcp"}, "trust": !s.opt.guarded}},
				"security":   object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":    object{"usageStatisticsEnabled": false},
				"general":    object{"enableAutoUpdate": false},
			})
		},
		argv: func(*stand) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "-p", model.Prompt} },
		env: func(s *stand) []string {
			return []string{"GOOGLE_GEMINI_BASE_URL=" + s.url, "GEMINI_API_KEY=none"}
		},
	}
}
