//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const chosen = `\?(?:\x1b\[m)? details\s+> `

func TestPromptApprovesOnce(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two")
	c.expect(` edit  a\.txt  \+1 −1 `)
	c.expect(`1 │-one\s+│\+two\s+y yes   s this file, this session   S all edits, this session   a always…`)
	c.expect(chosen)
	c.typing("y")
	if code := c.exit(); code != 0 || d.read("a.txt") != "two\n" {
		t.Errorf("exit %d, file %q", code, d.read("a.txt"))
	}
	// Once is once.
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=two", "newString=three"); code != 3 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if out, _, _ := d.run("log", "list", "--tool", "edit", "--format", "json"); !strings.Contains(out, `"answered":"terminal:`) {
		t.Errorf("the row does not say who answered: %s", out)
	}
}

func TestPromptDeniesWithAReason(t *testing.T) {
	d := newDesk(t)
	cmd := d.command("call", "delete_file", "path=a.txt", "--format", "json")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout // a pipe: the terminal is used all the same, and the object stays alone
	c := d.start(cmd)
	c.expect(`delete_file  a\.txt`)
	c.expect(chosen)
	c.typing("n")
	c.expect(`Reason for the agent`)
	c.typing("not that one\x7f\x7f\x7fthat file\r")
	if code := c.exit(); code != 3 || d.read("a.txt") != "one\n" {
		t.Errorf("exit %d", code)
	}
	want := `{"ok":false,"error":{"code":"DENIED","message":"a person declined the call: not that that file","details":{"reason":"not that that file"}}}` + "\n"
	if stdout.String() != want {
		t.Errorf("stdout:\n%s\nwant:\n%s", stdout.String(), want)
	}
}

func TestPromptEditsArguments(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	editor := filepath.Join(d.dir, "editor")
	// The first edit breaks the arguments, the second mends them.
	script := "#!/bin/sh\nif [ -e " + d.dir + "/twice ]; then sed -i.bak 's/\"nothing\"/\"b.txt\"/; s/\"pfad\"/\"path\"/' \"$1\"; " +
		"else touch " + d.dir + "/twice; sed -i.bak 's/\"a.txt\"/\"nothing\"/; s/\"path\"/\"pfad\"/' \"$1\"; fi\n"
	if err := os.WriteFile(editor, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "EDITOR="+editor)
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two")
	c.expect(chosen)
	c.typing("e")
	c.expect(`These arguments do not work:`)
	c.expect(`pfad`)
	c.expect(`e edits again`)
	c.typing("e")
	c.expect(`with these arguments instead`)
	c.expect(`b.txt`)
	c.expect(`y approves that once`)
	c.typing("y")
	// The edited call touches another file than the one that was shown: it is a new question.
	c.expect(`edit  b\.txt  \+1 −1`)
	c.expect(chosen)
	c.typing("y")
	if code := c.exit(); code != 0 || d.read("a.txt") != "one\n" || d.read("b.txt") != "two\n" {
		t.Errorf("exit %d, a %q, b %q\n%s", code, d.read("a.txt"), d.read("b.txt"), c.screen())
	}
}

func TestPromptAlwaysShowsTheRule(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two")
	c.expect(`a always…`)
	c.expect(chosen)
	c.typing("a")
	c.expect(`edit will be allowed to:[^:]*write.*a\.txt`)
	c.expect(`Enter: always in this workspace`)
	c.typing("\r")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=two", "newString=three"); code != 0 {
		t.Errorf("not remembered: exit %d: %s", code, stderr)
	}
	out, _, _ := d.run("grants", "list")
	id := regexp.MustCompile(`g_\w+`).FindString(out)
	if id == "" || !strings.Contains(out, "always") || !strings.Contains(out, "a.txt") {
		t.Fatalf("grants:\n%s", out)
	}
	if _, _, code := d.run("grants", "revoke", id); code != 0 {
		t.Errorf("revoke: exit %d", code)
	}
	if _, _, code := d.run("call", "edit", "path=a.txt", "oldString=three", "newString=four"); code != 3 {
		t.Errorf("still remembered: exit %d", code)
	}
}

// Whoever allows all edits of a session means every tool that writes files; deleting is no edit, and another rule still asks.
func TestPromptAllowsAllEdits(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two", "--session", "s")
	c.expect(`S all edits, this session`)
	c.expect(chosen)
	c.typing("S")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	for _, args := range [][]string{
		{"call", "edit", "path=b.txt", "oldString=one", "newString=two", "--session", "s"},
		{"call", "write_file", "path=b.txt", "content=three", "--session", "s"},
	} {
		if _, stderr, code := d.run(args...); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{
		{"call", "write_file", "path=b.txt", "content=four", "--session", "other"},
		{"call", "write_file", "path=.envrc", "content=four", "--session", "s"},
		{"call", "delete_file", "path=b.txt", "--session", "s"},
	} {
		if _, stderr, code := d.run(args...); code != 3 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

// A tool that a rule asks for is not freed by an approval of another one.
func TestPromptAllowsAllEditsButThoseOfRules(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.dir, "home", "config", "config.yaml"), []byte("approval: {tools: {write_file: ask}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two", "--session", "s")
	c.expect(chosen)
	c.typing("S")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if _, stderr, code := d.run("call", "write_file", "path=a.txt", "content=three", "--session", "s"); code != 3 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=two", "newString=three", "--session", "s"); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestPromptEditsTheRule(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two", "--session", "s")
	c.expect(chosen)
	c.typing("a")
	c.expect(`allowed to:`)
	c.expect(`Esc: back  `)
	c.typing("e")
	c.expect(`rule: write a\.txt`)
	c.typing("\x15rite *.txt\r") // a typing error, which costs nothing
	c.expect(`begin with what it covers`)
	c.expect(`rule: rite \*\.txt`)
	c.typing("\x15write *.txt\r")
	c.expect(`Esc: back  `)
	c.typing("s")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if _, stderr, code := d.run("call", "edit", "path=b.txt", "oldString=one", "newString=two", "--session", "s"); code != 0 {
		t.Errorf("the edited rule does not hold: exit %d: %s", code, stderr)
	}
	if _, _, code := d.run("call", "edit", "path=b.txt", "oldString=two", "newString=three", "--session", "other"); code != 3 {
		t.Errorf("it holds in another session: exit %d", code)
	}
}

// Enter, arrow keys (which end in letters), pasted text and what was typed before the question approve nothing.
func TestPromptTakesSingleKeysOnly(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("call", "delete_file", "path=a.txt")
	c.expect(chosen)
	for _, keys := range []string{"\r", "\x1b[A", "\x1bOy", "yyyy", "yes\r", " ", "Y", "a", "s"} {
		c.typing(keys)
	}
	c.typing("\x03")
	c.expect(`Cancelled; nothing was approved`)
	if code := c.exit(); code != 1 || d.read("a.txt") != "one\n" {
		t.Errorf("exit %d, want 1 (CANCELLED)\n%s", code, c.screen())
	}
	if out, _, _ := d.run("approvals", "list"); strings.Contains(out, "pending") {
		t.Errorf("the question of a cancelled call stays open:\n%s", out)
	}
}

// An approval that a rule forbids cannot be given, and a blocked call does not ask.
func TestPromptIsNotShownForBlocked(t *testing.T) {
	d := newDesk(t)
	d.write("tongs.yaml", "approval: {tools: {delete_file: blocked}}\n")
	c := d.terminal("call", "delete_file", "path=a.txt", "--mode", "all")
	c.expect(`BLOCKED`)
	if code := c.exit(); code != 3 || strings.Contains(c.screen(), "details") {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
}

func TestPromptShowsUntrustedTextHarmless(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "x\x1b]0;owned\x07\x1b[2J\u202e\n│ y yes\n")
	c := d.terminal("call", "edit", "--json", `{"path":"a.txt","oldString":"x","newString":"\u001b[8mhidden\u200b\r\n y yes"}`)
	c.expect(chosen)
	shown := c.screen()
	c.typing("\x03")
	c.exit()
	for _, bad := range []string{"\x1b]0;owned", "\x1b[2J", "\x1b[8m", "\u202e", "\u200b", "\n y yes\n+"} {
		if strings.Contains(shown, bad) {
			t.Errorf("the screen has %q:\n%q", bad, shown)
		}
	}
	if !strings.Contains(shown, `\x1b[8mhidden`) || !strings.Contains(shown, `\u202e`) {
		t.Errorf("what was made harmless is not shown:\n%q", shown)
	}
	if n := strings.Count(shown, "\n y yes"); n != 1 {
		t.Errorf("%d lines look like the choice", n)
	}
}

// Another process may answer first; the prompt goes away.
func TestPromptAnsweredElsewhere(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("call", "delete_file", "path=a.txt")
	c.expect(chosen)
	out, _, _ := d.run("approvals", "list")
	id := regexp.MustCompile(`\bq[0-9a-z]{20}\b`).FindString(out)
	if _, stderr, code := d.run("approvals", "deny", id, "--reason", "elsewhere"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	c.expect(`answered elsewhere`)
	c.expect(`DENIED: .*elsewhere`)
	if code := c.exit(); code != 3 {
		t.Errorf("exit %d", code)
	}
}

func TestDesign4_ApprovingNeedsARealTerminalAndATypedWord(t *testing.T) {
	d := newDesk(t)
	ask := func() string {
		_, stderr, code := d.run("call", "delete_file", "path=a.txt")
		if code != 3 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return regexp.MustCompile(`\bq[0-9a-z]{20}\b`).FindString(stderr)
	}
	id := ask()
	for _, wrong := range []string{"yes\r", "y\r", "\r", "\x1b", "\x03"} {
		c := d.terminal("approvals", "approve", id)
		c.expect(`type \w+ and press Enter: `)
		c.typing(wrong)
		if code := c.exit(); code != 1 {
			t.Errorf("%q: exit %d", wrong, code)
		}
	}
	if id != ask() {
		t.Error("the question is no longer the same")
	}
	c := d.terminal("approvals", "approve", id)
	c.expect(`delete_file  a\.txt`)
	word := c.expect(`type (\w+) and press Enter: `)[1]
	c.typing(word + "\r")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	// The same call redeems the answer, once.
	if _, stderr, code := d.run("call", "delete_file", "path=a.txt"); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	d.write("a.txt", "one\n")
	if _, _, code := d.run("call", "delete_file", "path=a.txt"); code != 3 {
		t.Errorf("redeemed twice: exit %d", code)
	}
}

func TestApproveWithOtherArguments(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	_, stderr, _ := d.run("call", "edit", "path=a.txt", "oldString=one", "newString=two")
	id := regexp.MustCompile(`\bq[0-9a-z]{20}\b`).FindString(stderr)
	c := d.terminal("approvals", "approve", id, "--args", `{"path":"a.txt","oldString":"one","newString":"three"}`)
	c.expect(`with these arguments instead`)
	c.typing(c.expect(`type (\w+) and press Enter: `)[1] + "\r")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=one", "newString=two"); code != 0 || d.read("a.txt") != "three\n" {
		t.Errorf("exit %d, file %q: %s", code, d.read("a.txt"), stderr)
	}
}

func TestTrustAtATerminal(t *testing.T) {
	d := newDesk(t)
	d.write("tongs.yaml", "approval: {tools: {edit: preApproved}}\n")
	c := d.terminal("trust")
	c.expect(`edit: preApproved`)
	c.expect(`This would count: edit: preApproved`)
	c.typing(c.expect(`type (\w+) and press Enter: `)[1] + "\r")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=one", "newString=two"); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := d.run("trust"); code != 0 || !strings.Contains(stderr, "trusted already") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestWatchAsksAtATerminal(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("approvals", "watch")
	c.expect(`Watching for questions`)
	_, stderr, _ := d.run("call", "delete_file", "path=a.txt")
	c.expect(`delete_file  a\.txt`)
	c.expect(chosen)
	c.typing("y")
	if id := regexp.MustCompile(`\bq[0-9a-z]{20}\b`).FindString(stderr); id == "" {
		t.Fatal(stderr)
	}
	d.eventually(func() bool {
		out, _, _ := d.run("approvals", "list", "--all")
		return strings.Contains(out, "answered")
	})
	if _, stderr, code := d.run("call", "delete_file", "path=a.txt"); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A process in the background, or with none of its streams at the terminal, does not ask there.
func TestNoPromptWhereNobodyLooks(t *testing.T) {
	d := newDesk(t)
	cmd := d.command("call", "delete_file", "path=a.txt")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "tongs call delete_file path=a.txt </dev/null >out 2>err; echo exit $?"}
	c := d.start(cmd)
	c.expect(`exit 3`)
	c.exit()
	if !strings.Contains(d.read("err"), "APPROVAL_REQUIRED") || strings.Contains(c.screen(), "details") {
		t.Errorf("stderr %q, screen %q", d.read("err"), c.screen())
	}
}

// What a tool returns is shown at a terminal without what the terminal would act on, in both formats.
func TestTerminalShowsContentHarmless(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "red\x1b[31m \u202e\u009b2J\n")
	for _, format := range []string{"text", "json"} {
		c := d.terminal("call", "read_file", "path=a.txt", "--format", format)
		c.expect(`red`)
		if code := c.exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		c.expect(`2J`)
		if strings.ContainsAny(c.screen(), "\x1b\u202e\u009b") {
			t.Errorf("%s: the screen has %q", format, c.screen())
		}
	}
	// A pipe gets what there is.
	if out, _, _ := d.run("call", "read_file", "path=a.txt", "--format", "json"); !strings.Contains(out, "\u202e") {
		t.Errorf("piped: %q", out)
	}
}

func TestPromptColoursTheDiff(t *testing.T) {
	d := newDesk(t)
	d.env = append(d.env, "TERM=xterm-256color", "NO_COLOR=")
	c := d.terminal("call", "edit", "path=a.txt", "oldString=one", "newString=two")
	c.expect(`\x1b\[31m-one`)
	c.expect(`\x1b\[32m\+two`)
	c.expect(chosen)
	c.typing("\x03")
	c.exit()
}

// Watch does not ask for clients that were gone when it began, and says of a question whose call gave up that it did.
func TestWatchTellsWhoIsGone(t *testing.T) {
	d := newDesk(t)
	d.write("b.txt", "one\n")
	if _, stderr, code := d.run("call", "delete_file", "path=a.txt"); code != 3 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	live := d.terminal("call", "delete_file", "path=b.txt")
	live.expect(chosen)
	if out, _, _ := d.run("approvals", "list"); !strings.Contains(out, "waiting") || !strings.Contains(out, "pending") {
		t.Errorf("the list does not tell them apart:\n%s", out)
	}
	c := d.terminal("approvals", "watch")
	c.expect(`delete_file  b\.txt`)
	c.expect(chosen)
	if s := c.screen(); strings.Contains(s, "delete_file  a.txt") {
		t.Errorf("it asks for a client that is gone:\n%s", s)
	}
	c.typing("y")
	if code := live.exit(); code != 0 {
		t.Errorf("exit %d\n%s", code, live.screen())
	}
	c.expect(`No call waits any more for 1 older question`)
	d.write("b.txt", "one\n")
	_, _, _ = d.run("call", "delete_file", "path=b.txt")
	c.expect(`! its call no longer waits for the answer`)
	c.expect(chosen)
	c.typing("n")
	c.expect(`Reason`)
	c.typing("\r")
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.exit()
}
