//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// codex talks to a provider that has responses.
func codex() client {
	return client{
		name: "codex", setup: "codex", pkg: "@openai/codex", version: "0.166.0",
		configure: func(s *stand) error {
			return s.write(".codex/config.toml", fmt.Appendf(nil, `model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "%s/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, s.url))
		},
		remote: func(s *stand, r *remote) error {
			path := filepath.Join(s.home, ".codex/config.toml")
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return s.write(".codex/config.toml", fmt.Appendf(data, `
[mcp_servers.tongs]
url = "%s"
http_headers = { Authorization = "Bearer %s" }
`, r.url, r.token))
		},
		argv: func(s *stand) []string { return s.codex("exec", "--skip-git-repo-check", model.Prompt) },
		screen: func(s *stand) []string {
			return []string{"codex", "-c", `mcp_servers.tongs.default_tools_approval_mode="approve"`, "-c", fmt.Sprintf(`projects.%q.trust_level="trusted"`, s.workspace), model.ShownPrompt}
		},
		free: func(*stand) []string {
			return []string{"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", model.Prompt}
		},
		native:   func(*stand) []model.Native { return shellCalls([]string{"exec_command"}, "cmd") },
		settings: ".codex/config.toml",
		keys:     []string{"Enter"},
		env:      func(*stand) []string { return nil },
	}
}

// codex is a command line of Codex that leaves approval to tongs.
func (s *stand) codex(args ...string) []string {
	argv := append([]string{"codex"}, args[0])
	if !s.opt.guarded {
		argv = append(argv, "-c", `mcp_servers.tongs.default_tools_approval_mode="approve"`)
	}
	return append(argv, args[1:]...)
}

// codexForms is Codex as the server behind editors and its own terminal interface, with a client that fills in forms.
func codexForms() client {
	c := codex()
	c.name, c.forms = "codex-forms", true
	c.argv = func(s *stand) []string { return s.codex("app-server") }
	c.talk = talkToCodex
	return c
}

// codexMessage is a message of Codex's app server: a request, a response or a notification.
type codexMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// talkToCodex has the app server do one turn.
func talkToCodex(s *stand, to io.Writer, from *bufio.Reader) error {
	log, err := os.Create(filepath.Join(s.logs, "app-server.jsonl"))
	if err != nil {
		return err
	}
	defer log.Close()
	send := func(m object) error { return json.NewEncoder(io.MultiWriter(to, log)).Encode(m) }
	if err := send(object{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "e2e", "title": "e2e", "version": "1"}}}); err != nil {
		return err
	}
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the app server ended: %w", err)
		}
		_, _ = log.Write(line)
		var m codexMessage
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		done, err := s.answerCodex(m, send)
		if done || err != nil {
			return err
		}
	}
}

// answerCodex goes on after a message of the app server, and reports whether the turn is over.
func (s *stand) answerCodex(m codexMessage, send func(object) error) (done bool, err error) {
	switch {
	case m.Error != nil:
		return false, fmt.Errorf("the app server says %s", m.Error)
	case string(m.ID) == "1" && m.Method == "":
		err := send(object{"method": "initialized"})
		return false, errors.Join(err, send(object{"id": 2, "method": "thread/start", "params": object{"cwd": s.workspace, "approvalPolicy": "on-request"}}))
	case string(m.ID) == "2" && m.Method == "":
		var started struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		}
		if err := json.Unmarshal(m.Result, &started); err != nil {
			return false, err
		}
		return false, send(object{"id": 3, "method": "turn/start", "params": object{
			"threadId": started.Thread.ID, "input": []any{object{"type": "text", "text": model.Prompt}},
		}})
	case m.Method == "mcpServer/elicitation/request":
		content := object{"answer": "yes", "reason": "as agreed"}
		return false, send(object{"id": m.ID, "result": object{"action": "accept", "content": content, "_meta": nil}})
	case m.Method != "" && m.ID != nil:
		return false, fmt.Errorf("the app server asks for %s", m.Method)
	}
	return m.Method == "turn/completed", nil
}
