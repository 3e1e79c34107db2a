//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
)

// The files of the workspace that questions are shown about.
const (
	cart = "package cart\n\n// Total is what everything in the cart costs.\nfunc Total(items []Item) (sum int) {\n\tfor _, it := range items {\n" +
		"\t\tsum += it.Price\n\t}\n\treturn sum\n}\n"
	release = "#!/bin/sh\necho \"$1\" > VERSION\nprintf '## %s\\n\\n- Prices are multiplied.\\n' \"$1\" >> CHANGELOG.md\nrm NEXT.md\necho released $1\n"
)

// drawn is how long a client has to draw what it was told, and goodbye how long it has to end once its terminal is gone.
const drawn, goodbye = 2 * time.Second, 3 * time.Second

// show has the client's own interface run in a terminal, and writes down what a person sees: of a question about an edit, of one about
// what a command did, and in the end. The person answers in the form, and elsewhere where there is none.
func (s *stand) show(ctx context.Context) error {
	if s.client.screen == nil {
		return fmt.Errorf("%s has no interface of its own", s.client.name)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.limit)
	defer cancel()
	if err := errors.Join(os.MkdirAll(s.opt.screens, 0o755), os.MkdirAll(filepath.Join(s.workspace, "cart"), 0o755), s.client.configure(s)); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"cart/cart.go": cart, "release.sh": release, "VERSION": "1.2.9\n", "CHANGELOG.md": "# Changes\n\n", "NEXT.md": "multiply prices\n",
	} {
		if err := os.WriteFile(filepath.Join(s.workspace, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	if err := s.setUp(ctx); err != nil {
		return err
	}
	argv := s.client.screen(s)
	argv[0] = filepath.Join(s.opt.npm, "node_modules", ".bin", argv[0])
	tmux := func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := s.command(ctx, "tmux", append([]string{"-L", "tongs-clients"}, args...)...)
		cmd.Env = append(append(cmd.Env, "TMUX_TMPDIR="+s.tmp), s.client.env(s)...)
		return cmd.CombinedOutput()
	}
	start := []string{"new-session", "-d", "-x", "100", "-y", "40", "-c", s.workspace, "env", "-u", "NO_COLOR", "TERM=tmux-256color", "COLORTERM=truecolor"}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		_, _ = tmux(ctx, "kill-server")
		endAll(goodbye)
	}()
	if out, err := tmux(ctx, append(start, argv...)...); err != nil {
		return fmt.Errorf("tmux: %w: %s", err, out)
	}
	capture := func(what string) error {
		time.Sleep(drawn)
		for flag, suffix := range map[string]string{"-p": "txt", "-ep": "ansi"} {
			out, err := tmux(ctx, "capture-pane", flag)
			if err != nil {
				return fmt.Errorf("tmux: %w: %s", err, out)
			}
			if err := os.WriteFile(filepath.Join(s.opt.screens, s.client.name+"-"+what+"."+suffix), out, 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	for _, tool := range []string{"edit", "shell"} {
		id, err := s.question(ctx, tool)
		if err := errors.Join(capture(tool), err); err != nil {
			return err
		}
		for i, key := range s.client.keys {
			_, sent := tmux(ctx, "send-keys", key)
			if err := errors.Join(sent, capture(fmt.Sprintf("%s-%d", tool, i+1))); err != nil {
				return err
			}
		}
		if s.client.keys != nil {
			continue
		}
		if err := s.person.approve(ctx, id); err != nil {
			return err
		}
	}
	return capture("end")
}

// question waits until one about a tool is open.
func (s *stand) question(ctx context.Context, tool string) (string, error) {
	for {
		out, err := s.command(ctx, s.opt.tongs, "approvals", "list", "--format", "json").Output()
		if err != nil {
			return "", fmt.Errorf("no question about %s was asked: %w", tool, err)
		}
		var list []approval.Question
		if err := json.Unmarshal(out, &list); err != nil {
			return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		for _, q := range list {
			if q.Tool == tool {
				return q.ID, nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no question about %s was asked: %w", tool, ctx.Err())
		case <-time.After(300 * time.Millisecond):
		}
	}
}
