//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// check is one thing that must hold after a run.
type check struct {
	what string
	err  error
}

// report prints what was checked and what was seen, and returns what failed.
func (s *stand) report(o outcome) error {
	checks := []check{
		{"the client exits with 0", o.err},
		{"the model says its last word", s.finished()},
		{"every step comes back as the script wants it", s.model.Problems()},
		{"the person finds the questions and can answer them", o.answers},
		{"the file is edited", s.edited()},
		{"the log has every call", s.logged()},
		{"both approvals are recorded with their channel, and used", s.approved()},
		{"no process is left", left(o.left)},
		{"there is no device but loopback", loopbackOnly()},
	}
	seen, err := readTap(s.tapLog())
	checks = append(checks, check{"the connection is in order", errors.Join(err, seen.order())},
		check{"the client is told while a call waits for a person", seen.told(s.client.forms)},
		check{"output comes while the command runs", seen.streamed()})
	if s.opt.exclusive {
		checks = append(checks, check{"no tool of the client's own is offered, except those that reach nothing", s.alone()})
	}
	transport := "stdio"
	if s.opt.http {
		transport = "HTTP"
	}
	fmt.Printf("%s %s over %s (%.1f s)\n", s.client.name, s.client.version, transport, o.took.Seconds())
	failed := 0
	for _, c := range checks {
		if c.err == nil {
			fmt.Printf("  ok    %s\n", c.what)
			continue
		}
		failed++
		fmt.Printf("  FAIL  %s: %s\n", c.what, strings.ReplaceAll(c.err.Error(), "\n", "\n        "))
	}
	for _, f := range append(seen.facts(), fmt.Sprintf("packets for elsewhere, with no way to go: %d", unroutable())) {
		fmt.Printf("  fact  %s\n", f)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed; -keep DIR keeps the logs", failed, len(checks))
	}
	return nil
}

// slept prints how the client took a long call.
func (s *stand) slept(o outcome) error {
	seen, err := readTap(s.tapLog())
	fmt.Printf("%s %s: sleep %s\n  fact  %s\n", s.client.name, s.client.version, s.opt.sleep, strings.Join(seen.long(), "\n  fact  "))
	fmt.Printf("  fact  every process gone %.1f s after the client\n", o.gone.Seconds())
	return errors.Join(o.err, err, left(o.left), s.model.Problems())
}

// observed prints what the client said that each call returned.
func (s *stand) observed(o outcome) error {
	fmt.Printf("%s %s, guarded\n", s.client.name, s.client.version)
	results := s.model.Results()
	if len(results) == 0 {
		fmt.Println("  fact  the tools are not offered to the model")
	}
	for _, r := range results {
		fmt.Printf("  fact  %s: %.160q\n", r.ID, r.Text)
	}
	return errors.Join(o.err, left(o.left), s.model.Problems())
}

func (s *stand) finished() error {
	if s.model.Finished() {
		return nil
	}
	out, _ := os.ReadFile(filepath.Join(s.logs, "client.txt"))
	return fmt.Errorf("it did not come to it; the client wrote:\n%s", out[max(0, len(out)-3000):])
}

func (s *stand) edited() error {
	data, err := os.ReadFile(filepath.Join(s.workspace, model.File))
	if err == nil && string(data) != model.Edited {
		err = fmt.Errorf("%s has %q, want %q", model.File, data, model.Edited)
	}
	return err
}

// alone checks that the client has nothing but the tools of Tongs, and what reaches no file, program or network.
func (s *stand) alone() error {
	native := slices.DeleteFunc(s.model.Native(), func(name string) bool { return slices.Contains(s.client.keeps, name) })
	if len(native) > 0 {
		return fmt.Errorf("it offers %s", strings.Join(native, ", "))
	}
	return nil
}

func left(lines []string) error {
	if len(lines) > 0 {
		return errors.New(strings.Join(lines, "\n"))
	}
	return nil
}

// ask runs tongs as the person would, and reads the JSON that it writes.
func (s *stand) ask(into any, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := s.command(ctx, s.opt.tongs, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("tongs %s: %w: %s", strings.Join(args, " "), err, said.Bytes())
	}
	return json.Unmarshal(out, into)
}

// logged checks the rows of the log against the conversation.
func (s *stand) logged() error {
	var rows []audit.Row
	if err := s.ask(&rows, "log", "list", "--format", "json"); err != nil {
		return err
	}
	slices.Reverse(rows) // the oldest first
	var got []string
	for _, r := range rows {
		line := r.Tool + " " + r.Outcome()
		if r.Close != nil && r.Close.Code != "" {
			line += " " + string(r.Close.Code)
		}
		got = append(got, line)
	}
	if want := s.model.Script.Rows(s.client.forms); !slices.Equal(got, want) {
		return fmt.Errorf("got  %q\nwant %q", got, want)
	}
	return nil
}

// approved checks the questions: two, both approved, at a terminal or in the client, both redeemed.
func (s *stand) approved() error {
	var questions []approval.Question
	if err := s.ask(&questions, "approvals", "list", "--all", "--format", "json"); err != nil {
		return err
	}
	if len(questions) != 2 {
		return fmt.Errorf("there are %d questions, want 2", len(questions))
	}
	channel := "terminal"
	if s.client.forms {
		channel = "mcp"
	}
	for _, q := range questions {
		switch {
		case q.Answer == nil:
			return fmt.Errorf("question %s is %s", q.ID, q.StateAt(time.Now()))
		case !q.Answer.Approved || q.Answer.Channel != channel || q.Answer.By == "":
			return fmt.Errorf("question %s has the answer %+v", q.ID, *q.Answer)
		case q.Redeemed.IsZero():
			return fmt.Errorf("question %s: no call used its answer", q.ID)
		}
	}
	return nil
}
