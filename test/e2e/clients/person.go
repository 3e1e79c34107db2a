//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// person answers questions with 'tongs approvals' at a terminal, in processes of their own.
type person struct {
	stand *stand

	mu  sync.Mutex
	err error
}

// watch approves the first edit as soon as its question appears, while the call waits. The returned function ends it.
func (p *person) watch(ctx context.Context) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := p.stand.command(ctx, p.stand.opt.tongs, "approvals", "watch", "--format", "json")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var q approval.Question
			var args struct{ NewString string }
			if json.Unmarshal(line, &q) != nil || json.Unmarshal(q.Args, &args) != nil || args.NewString != model.Early {
				continue
			}
			if err := p.approve(ctx, q.ID); err != nil {
				p.fail(err)
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		_ = cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	}, nil
}

func (p *person) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// questionID is how the refusal of a call names its question.
var questionID = regexp.MustCompile(`\bq[0-9a-hjkmnp-tv-z]{20}\b`)

// shortID is how progress names the question that a call waits for.
var shortID = regexp.MustCompile(`approvals approve q[0-9a-z]+`)

// late approves the question that a refusal names.
func (p *person) late(ctx context.Context, refusal string) error {
	id := questionID.FindString(refusal)
	if id == "" {
		return fmt.Errorf("the refusal names no question: %.500q", refusal)
	}
	return p.approve(ctx, id)
}

// word is what the person must type.
var word = regexp.MustCompile(`type (?:\x1b\[[0-9;]*m)*([a-z0-9]{4})`)

// approve runs 'tongs approvals approve' at a new terminal and types the word that it shows.
func (p *person) approve(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := p.stand.command(ctx, p.stand.opt.tongs, "approvals", "approve", id)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return err
	}
	defer tty.Close()
	var screen []byte
	typed := false
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		screen = append(screen, buf[:n]...)
		if found := word.FindSubmatch(screen); found != nil && !typed {
			typed = true
			if _, err := io.WriteString(tty, string(found[1])+"\r"); err != nil {
				return err
			}
		}
		if err != nil {
			break // the terminal ends with the command
		}
	}
	err = cmd.Wait()
	_ = os.WriteFile(filepath.Join(p.stand.logs, "approve-"+id+".txt"), screen, 0o600)
	if err != nil {
		return fmt.Errorf("tongs approvals approve %s: %w; it showed %.500q", id, err, screen)
	}
	return nil
}
