//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// gemini is Gemini CLI, which talks to a provider that has generateContent.
func gemini() client {
	return client{
		name: "gemini", setup: "gemini", pkg: "@google/gemini-cli", version: "0.61.0", validates: true,
		configure: func(s *stand) error {
			return s.writeJSON(".gemini/settings.json", object{
				"security": object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":  object{"usageStatisticsEnabled": false},
				"general":  object{"enableAutoUpdate": false},
			})
		},
		unattended: func(s *stand) error {
			data, err := os.ReadFile(filepath.Join(s.home, ".gemini/settings.json"))
			if err != nil {
				return err
			}
			trusted := bytes.Replace(data, []byte(`"command": "tongs"`), []byte(`"command": "tongs", "trust": true`), 1)
			if bytes.Equal(trusted, data) {
				return errors.New("'tongs setup gemini' wrote no such command")
			}
			return s.write(".gemini/settings.json", trusted)
		},
		remote: func(s *stand, r *remote) error {
			return s.addRemote(".gemini/settings.json", "mcpServers", object{
				"httpUrl": r.url, "headers": object{"Authorization": "Bearer " + r.token}, "trust": !s.opt.guarded,
			})
		},
		argv:     func(*stand) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "-p", model.Prompt} },
		screen:   func(*stand) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "-i", model.ShownPrompt} },
		free:     func(*stand) []string { return []string{"gemini", "-m", "gemini-2.5-pro", "--yolo", "-p", model.Prompt} },
		native:   func(*stand) []model.Native { return shellCalls([]string{"run_shell_command"}, "command") },
		settings: ".gemini/settings.json",
		env: func(s *stand) []string {
			return []string{"GOOGLE_GEMINI_BASE_URL=" + s.url, "GEMINI_API_KEY=none"}
		},
	}
}
