package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What git recorded is told in a sentence, and the files of its own directory are not listed beside it.
func TestChangesTellWhatGitDid(t *testing.T) {
	d := newDesk(t)
	config := filepath.Join(d.dir, "home", "config", "config.yaml")
	if err := os.WriteFile(config, []byte("approval: {undoable: preApproved}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("a.txt", "a\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.email", "a@b.example"}, {"config", "user.name", "A"}, {"add", "."}, {"commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(d.dir, "ws")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %s", args, out)
		}
	}
	if out, stderr, code := d.run("call", "shell", "command=echo b >> a.txt && git commit -qam 'add b'"); code != 0 {
		t.Fatalf("%d %s %s", code, out, stderr)
	}
	list, _, _ := d.run("changes", "list")
	if !strings.Contains(list, "commit 1 file to main: add b, a.txt") || strings.Contains(list, ".git/") {
		t.Errorf("the list says:\n%s", list)
	}
	call := ""
	for word := range strings.FieldsSeq(list) {
		if strings.HasPrefix(word, "c_") {
			call = word
		}
	}
	for _, command := range []string{"show", "diff"} {
		out, _, _ := d.run("changes", command, call)
		if !strings.Contains(out, "commit 1 file to main: add b") || !strings.Contains(out, "a.txt") || strings.Contains(out, ".git/") {
			t.Errorf("changes %s says:\n%s", command, out)
		}
	}
}
