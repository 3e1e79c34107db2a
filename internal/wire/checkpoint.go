package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
)

// checkpointTime bounds how long the delivery of a checkpoint takes.
const checkpointTime = 10 * time.Second

// checkpoint returns what delivers heads of the log as configured, nil where nothing is. A command runs in dir.
func checkpoint(c *config.Checkpoint, dir string) *state.Checkpoint {
	if c == nil {
		return nil
	}
	send := func(ctx context.Context, data []byte) error { return runCheckpoint(ctx, c.Command, dir, data) }
	if c.URL != "" {
		send = func(ctx context.Context, data []byte) error { return postCheckpoint(ctx, c.URL, data) }
	}
	return &state.Checkpoint{Every: c.Every, Required: c.Required, Send: func(ctx context.Context, head audit.Head) error {
		data, err := json.Marshal(head)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, checkpointTime)
		defer cancel()
		return send(ctx, append(data, '\n'))
	}}
}

// runCheckpoint gives the head to the user's own command, on its standard input. It runs outside of the sandbox, so it is not
// started in the workspace: interpreters load code from there, and agents write it.
func runCheckpoint(ctx context.Context, argv []string, dir string, data []byte) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(data)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("checkpoint command %q: %w: %.200s", argv[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// postCheckpoint posts the head. A redirect is an error: the place is the configured one.
func postCheckpoint(ctx context.Context, url string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("checkpoint: %s answered %s", req.URL.Redacted(), resp.Status)
	}
	return nil
}
