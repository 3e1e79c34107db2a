//go:build linux

package main

import (
	"fmt"

	"github.com/tongs-ai/tongs/e2e/clients/model"
)

// codex talks to a provider that has responses.
func codex() client {
	return client{
		name: "codex", pkg: "@openai/codex", version: "0.166.0",
		configure: func(s *stand) error {
			return s.write(".codex/config.toml", fmt.Appendf(nil, `model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "%s/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.tongs]
command = "tongs"
args = ["mcp"]
`, s.url))
		},
		argv: func(*stand) []string {
			return []string{"codex", "exec", "--skip-git-repo-check", model.Prompt}
		},
		env: func(*stand) []string { return nil },
	}
}
