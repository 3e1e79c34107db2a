package system_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// teacher answers questions and keeps the offer of the last one.
type teacher struct {
	answer approval.Answer
	asked  int
	offer  string
}

func (a *teacher) Ask(_ context.Context, q approval.Question) (*approval.Answer, error) {
	a.asked++
	a.offer = q.Offer
	answer := a.answer
	answer.Channel = "test"
	return &answer, nil
}

// school is a workspace with files to edit, and a person.
func school(t *testing.T, config string) (system.Options, *teacher) {
	t.Helper()
	dir := place(t, config)
	opt := options(dir)
	who := &teacher{answer: approval.Answer{Approved: true}}
	opt.Channels, opt.Attended = []approval.Channel{who}, true
	for _, name := range []string{"src/a.txt", "src/b/c.txt", "src/d.txt", "src/e.txt", "src/f.txt", "lib/a.txt", "top.txt"} {
		file := filepath.Join(opt.Workspace, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("one\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return opt, who
}

func editFile(t *testing.T, s *system.System, name string) {
	t.Helper()
	call(t, s, "read_file", map[string]any{"path": name})
	call(t, s, "edit", map[string]any{"path": name, "oldString": "one", "newString": "two"})
}

// After three approvals of the same kind the next question offers the rule, in another process too.
func TestARuleIsOfferedAfterThreeApprovals(t *testing.T) {
	opt, who := school(t, "")
	s := open(t, opt)
	for i, name := range []string{"src/a.txt", "src/b/c.txt", "src/d.txt"} {
		if editFile(t, s, name); who.asked != i+1 || who.offer != "" {
			t.Fatalf("after %s: asked %d times, offered %q", name, who.asked, who.offer)
		}
	}
	if editFile(t, open(t, opt), "src/e.txt"); who.offer != "tongs allow --edits 'src/**'" {
		t.Errorf("offered %q", who.offer)
	}
	if editFile(t, s, "top.txt"); who.offer != "" {
		t.Errorf("offered %q for files that have only the workspace in common", who.offer)
	}
}

// Calls that nobody answers, or that are denied, earn nothing, however often they are made.
func TestOnlyApprovalsEarnARule(t *testing.T) {
	opt, who := school(t, "")
	opt.Channels = nil
	s := open(t, opt)
	for range 5 {
		editFile(t, s, "src/a.txt")
		editFile(t, s, "src/d.txt")
	}
	opt.Channels = []approval.Channel{who}
	s = open(t, opt)
	if editFile(t, s, "src/e.txt"); who.asked != 1 || who.offer != "" {
		t.Errorf("asked %d times, offered %q", who.asked, who.offer)
	}
}

// What was denied is never covered by what is offered, and neither is what a person changed or kept in part.
func TestNoRuleCoversWhatWasDenied(t *testing.T) {
	opt, who := school(t, "")
	s := open(t, opt)
	who.answer = approval.Answer{Reason: "no"}
	editFile(t, s, "src/f.txt")
	who.answer = approval.Answer{Approved: true}
	for _, name := range []string{"src/a.txt", "src/b/c.txt", "src/d.txt", "src/e.txt"} {
		if editFile(t, s, name); who.offer != "" {
			t.Errorf("offered %q, and src/f.txt was denied", who.offer)
		}
	}
}

func TestARuleForCommandsIsOffered(t *testing.T) {
	opt, who := school(t, "sandbox: {writes: direct}\n")
	if out, err := exec.Command("git", "-C", opt.Workspace, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s := open(t, opt)
	commit := func(s *system.System, n int) {
		t.Helper()
		res := call(t, s, "shell", map[string]any{"command": fmt.Sprintf("git commit --allow-empty -m %d", n)})
		if res.Error != nil {
			t.Fatal(res.Error)
		}
	}
	for n := range 3 {
		if commit(s, n); who.asked != n+1 || who.offer != "" {
			t.Fatalf("after %d: asked %d times, offered %q", n, who.asked, who.offer)
		}
	}
	if commit(s, 3); who.offer != "tongs allow 'git commit --allow-empty -m'" {
		t.Errorf("offered %q", who.offer)
	}
	who.answer = approval.Answer{Reason: "no"}
	call(t, s, "shell", map[string]any{"command": "git commit --allow-empty -m denied"})
	who.answer = approval.Answer{Approved: true}
	if commit(s, 4); who.asked != 6 || who.offer != "" {
		t.Errorf("asked %d times, offered %q, and one such command was denied", who.asked, who.offer)
	}
}
