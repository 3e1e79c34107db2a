package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// killing measures how long the processes of a call live on after its client was killed, and prints it. The client is a
// process of its own, which has no chance to say goodbye.
func (c config) killing(ctx context.Context, s subject) error {
	var took []time.Duration
	for i := range c.kills {
		mark := strconv.Itoa(3_000_000 + os.Getpid()*10 + i)
		d, err := kill(ctx, s, mark)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	if len(took) > 0 {
		fmt.Printf("\nprocesses of a call after its client was killed: gone after %s (median of %d), %s (slowest)\n",
			at(took, 50).Round(100*time.Microsecond), len(took), at(took, 100).Round(100*time.Microsecond))
	}
	return nil
}

// kill has a client call a program that starts another one, kills the client, and returns after which time neither the
// programs nor the server are there any more.
func kill(ctx context.Context, s subject, mark string) (time.Duration, error) {
	data, err := json.Marshal(append([]string{mark}, s.command...))
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	client := exec.CommandContext(ctx, self, "-hang", string(data))
	client.Env = append(os.Environ(), append(s.env, "BENCH_MARK="+mark)...)
	client.Stderr = os.Stderr
	if err := client.Start(); err != nil {
		return 0, err
	}
	defer client.Wait()
	defer client.Process.Kill()
	if err := until(30*time.Second, func() bool { return len(marked("sleep", mark)) >= 2 }); err != nil {
		return 0, fmt.Errorf("the programs did not start: %w", err)
	}
	began := time.Now()
	if err := client.Process.Kill(); err != nil {
		return 0, err
	}
	if err := until(30*time.Second, func() bool { return len(marked("", mark)) == 0 }); err != nil {
		return 0, fmt.Errorf("processes are left: %v: %w", marked("", mark), err)
	}
	return time.Since(began), nil
}

func until(limit time.Duration, done func() bool) error {
	for deadline := time.Now().Add(limit); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return context.DeadlineExceeded
		}
	}
	return nil
}

// marked returns the processes whose command line starts with the name and has the mark, or, without a name, also those
// that have it in their environment.
func marked(name, mark string) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if dir == fmt.Sprintf("/proc/%d", os.Getpid()) || len(line) == 0 { // ourselves, and those that are dead
			continue
		}
		found := bytes.HasPrefix(line, []byte(name)) && bytes.Contains(line, []byte(mark))
		if !found && name == "" {
			env, _ := os.ReadFile(filepath.Join(dir, "environ"))
			found = bytes.Contains(env, []byte("BENCH_MARK="+mark))
		}
		if found {
			list = append(list, fmt.Sprintf("%s %q", dir, line))
		}
	}
	return list
}

// hang is the client: it makes a call that does not end, and approves it where it is asked.
func hang(ctx context.Context, data string) error {
	var command []string
	if err := json.Unmarshal([]byte(data), &command); err != nil || len(command) < 2 {
		return fmt.Errorf("no command in %q: %w", data, err)
	}
	mark := command[0]
	c, err := start(ctx, subject{
		command: command[1:], tool: "shell", args: map[string]any{"command": "sleep " + mark + " & sleep " + mark},
	})
	if err != nil {
		return err
	}
	if _, err := c.hello("2025-11-25"); err != nil {
		return err
	}
	if err := c.send(); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return err
		}
		var req struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(line, &req); err != nil {
			return err
		}
		switch req.Method {
		case "elicitation/create":
			id, _ := json.Marshal(req.ID)
			_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"action":"accept","content":{"answer":"yes"}}}`+"\n")
		case "":
			err = fmt.Errorf("the call ended: %.500s", line)
		}
		if err != nil {
			return err
		}
	}
}
