//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// own puts a worker into the user's own directory, where it is trusted, with its script.
func (d *desk) own(name, matter, script string) {
	d.t.Helper()
	dir := filepath.Join(d.dir, "home", "config", "workers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	for file, text := range map[string]string{
		name + ".worker": "---\nmodel: script:" + name + ".script\n" + matter + "\n---\nDo it.\n", name + ".script": script,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

// The demonstration, as a person at a terminal sees it.
func TestDemo(t *testing.T) {
	t.Parallel()
	d, _ := example(t, "demo", "script")
	d.env = append(d.env, "TERM=xterm-256color")
	d.write("README.md", "# greeter\n\nA program that greets people.\n")
	if err := os.WriteFile(filepath.Join(d.dir, "ws", "greeter.sh"), []byte("#!/bin/sh\necho \"Helo, $1.\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := d.terminal("run", "demo", "The greeting is misspelled. Please mend it.")
	c.expect(`correct its spelling`)
	c.expect(`✓.*grep: Helo`)
	c.expect(`edit.*demo · `)
	c.expect(`\+echo "Hello`)
	c.expect(chosen)
	c.typing("y")
	c.expect(`✓.*edit: greeter.sh \+1 -1`)
	c.expect(`summariser › .*read_file: README.md`)
	c.expect(`summariser: README.md says how to run greeter`)
	c.expect(`shell: ./greeter.sh world`)
	c.expect(`What I did`)
	c.expect(`done: 5 turns, [0-9,]+ tokens, \$0\.[0-9]+, 1 file and 2 lines changed`)
	if code := c.exit(); code != 0 || !strings.Contains(d.read("greeter.sh"), "Hello, $1.") {
		t.Errorf("exit %d, the file is %q", code, d.read("greeter.sh"))
	}
	// A question of the worker that was called would have shown both; the log has both names for its calls.
	if out, _, _ := d.run("log", "list", "--tool", "read_file", "--format", "json"); !strings.Contains(out, `"agents":["demo","summariser"]`) {
		t.Errorf("log: %s", out)
	}
}

// A worker of a workspace is shown before it is started, and what it pre-approves counts only once somebody vouched for it.
func TestAdmission(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write("play.yaml", "turns:\n  - calls: [{tool: edit, args: {path: a.txt, oldString: one, newString: two}}]\n  - text: done\n")
	d.write("mine.worker", "---\nmodel: script:play.yaml\ntoolsets: {filesystem: {approval: {tools: {edit: preApproved}}}}\n---\nBe mine.\n")
	run := func() *console {
		c := d.terminal("run", "mine.worker", "go")
		c.expect(`Be mine`)
		c.expect(`This worker is not trusted, or it changed since you trusted it`)
		c.expect(`Your choice: `)
		return c
	}
	c := run()
	c.typing("n")
	if code := c.exit(); code != 3 {
		t.Errorf("declined: exit %d", code)
	}
	c = run()
	c.typing("y")
	c.expect(` edit  a\.txt`)
	c.expect(chosen)
	c.typing("n")
	c.expect(`Reason`)
	c.typing("\r")
	if code := c.exit(); code != 0 || d.read("a.txt") != "one\n" {
		t.Errorf("once: exit %d, the file is %q", code, d.read("a.txt"))
	}
	c = run()
	c.typing("t")
	word := c.expect(`To trust this worker, type (\w+) and press Enter: `)[1]
	c.typing(word + "\r")
	c.expect(`is trusted as it is now`)
	if code := c.exit(); code != 0 || d.read("a.txt") != "two\n" {
		t.Errorf("trusted: exit %d, the file is %q\n%s", code, d.read("a.txt"), c.screen())
	}
}

const sleeper = "turns:\n" +
	"  - calls: [{tool: shell, args: {command: 'touch started; sleep 86399.25'}}]\n" +
	"  - {expect: 'CANCELLED', text: 'I was stopped, and told more.'}\n"

// started waits until the command of the sleeper runs.
func (d *desk) started() {
	d.t.Helper()
	d.eventually(func() bool {
		d.run("version")
		_, err := os.Stat(filepath.Join(d.dir, "ws", "started"))
		return err == nil
	})
}

// Ctrl-C once stops the turn, and a person says what to do instead; twice it quits. Nothing of it goes on.
func TestInterruptStopsTheTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.own("w", "toolsets: {shell: {rules: [{pattern: touch, approval: preApproved}, {pattern: sleep, approval: preApproved}]}}", sleeper)
	c := d.terminal("run", "w", "go", "--mode", "all")
	d.started()
	c.typing("\x03")
	c.expect(`Stopping this turn`)
	c.expect(`What should it do instead\?.*\) `)
	c.typing("say what happened\r")
	c.expect(`I was stopped, and told more`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
	d.gone("86399.25")

	if err := os.Remove(filepath.Join(d.dir, "ws", "started")); err != nil {
		t.Fatal(err)
	}
	c = d.terminal("run", "w", "go", "--mode", "all")
	d.started()
	c.typing("\x03")
	c.expect(`What should it do instead\?.*\) `)
	c.typing("\x03")
	if code := c.exit(); code != 1 {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
	c.expect(`stopped: 1 turn.*stopped by a person`)
	d.gone("86399.25")
}

// gone checks that no process of the desk has the word in its command line.
func (d *desk) gone(word string) {
	d.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(line), word) {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && strings.HasPrefix(cwd, d.dir) {
			d.t.Errorf("%s is still there: %q", dir, line)
		}
	}
}

// A run that is killed in the middle is kept up to the turn in flight, and can be continued.
func TestKilledRunIsContinued(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.own("w", "toolsets: {shell: {}, filesystem: {}}", "turns:\n"+
		"  - {text: first, calls: [{tool: read_file, args: {path: a.txt}}]}\n"+
		"  - calls: [{tool: shell, args: {command: 'touch started; sleep 86398.25'}}]\n"+
		"  - {expect: 'shell failed: CANCELLED: the session was interrupted', text: 'I go on.'}\n")
	cmd := d.command("run", "w", "go", "--mode", "all", "--session", "s_killed")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.started()
	if _, stderr, code := d.run("run", "--continue", "go on"); code != 2 || !strings.Contains(stderr, "still running") {
		t.Errorf("while it runs: exit %d: %s", code, stderr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if out, _, _ := d.run("sessions"); !strings.Contains(out, "s_killed") || !strings.Contains(out, "interrupted") {
		t.Errorf("sessions: %s", out)
	}
	stdout, stderr, code := d.run("run", "--continue", "go on")
	if code != 0 || !strings.Contains(stdout, "I go on.") {
		t.Errorf("exit %d: %s\n%s", code, stdout, stderr)
	}
	if out, _, _ := d.run("sessions", "show", "s_killed"); !strings.Contains(out, "first") || !strings.Contains(out, "I go on.") || !strings.Contains(out, "done: 3 turns") {
		t.Errorf("the session: %s", out)
	}
}
