//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// message is a line of a tap's log: what went over a client's connection, and which way.
type message struct {
	From    string          `json:"from"`
	At      time.Time       `json:"at"`
	Message json.RawMessage `json:"message"`
}

// tap runs a command and logs the lines that go in and out. It returns the exit code of the command. Mute keeps the
// server's progress from the client.
func tap(log string, mute bool, argv []string) int {
	code, err := tapped(log, mute, argv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tap: %v\n", err)
		return 1
	}
	return code
}

func tapped(log string, mute bool, argv []string) (int, error) {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var mu sync.Mutex
	go func() {
		copyLines(in, os.Stdin, "client", false, f, &mu)
		_ = in.Close()
	}()
	copyLines(os.Stdout, out, "server", mute, f, &mu)
	if err := cmd.Wait(); err != nil {
		if ee, ok := errors.AsType[*exec.ExitError](err); ok {
			return ee.ExitCode(), nil
		}
		return 0, err
	}
	return 0, nil
}

// copyLines copies until the source ends, and logs each line before it goes on. Mute leaves out progress.
func copyLines(to io.Writer, from io.Reader, name string, mute bool, log io.Writer, mu *sync.Mutex) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && !(mute && bytes.Contains(line, []byte(`"method":"notifications/progress"`))) {
			m := message{From: name, At: time.Now(), Message: line}
			if !json.Valid(line) {
				m.Message, _ = json.Marshal(string(line))
			}
			if data, err := json.Marshal(m); err == nil {
				mu.Lock()
				_, _ = log.Write(append(data, '\n'))
				mu.Unlock()
			}
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
