package grep

import (
	"go/build"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/regex"
)

// TestAgainstRipgrep compares searches of real files with ripgrep's, line by line: Go's own source.
func TestAgainstRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Fatal("ripgrep is missing, which this test compares with: install the package ripgrep")
	}
	for _, dir := range []string{"net", "crypto", "unicode", "cmd/go"} {
		compareTree(t, rg, filepath.Join(build.Default.GOROOT, "src", dir))
	}
}

func compareTree(t *testing.T, rg, root string) {
	t.Helper()
	e := New(0)
	for _, c := range []struct {
		pattern string
		opt     regex.Options
		flags   string
	}{
		{"xqzvjkwpqx", regex.Options{}, ""},
		{"InsecureSkipVerify", regex.Options{}, ""},
		{"return nil", regex.Options{}, ""},
		{"insecureskipverify", regex.Options{Fold: true}, "-i"},
		{"socket", regex.Options{Fold: true}, "-i"},
		{"func (c *", regex.Options{Literal: true}, "-F"},
		{`func \(\w+ \*Server\) \w+\(`, regex.Options{}, "--no-unicode"},
		{`\w+_probe_\w+\(|[a-z]+Locked\(`, regex.Options{}, "--no-unicode"},
		{"panic|recover|goroutine|deadlock|mutex|semaphore|WaitGroup|atomic", regex.Options{}, ""},
		{`\bTODO\b`, regex.Options{}, "--no-unicode"},
		{"TODO", regex.Options{Word: true}, "-w"},
		{`^package main$`, regex.Options{}, "--crlf"},
		{`Copyright.*Google`, regex.Options{}, ""},
		{`^\s*[a-z]+\([a-z]+, [0-9]+\)$`, regex.Options{}, "--no-unicode --crlf"},
		{`\w{12}\s+\w{12}\s+\w{12}`, regex.Options{}, "--no-unicode"},
		{`[α-ω]{2,}`, regex.Options{}, ""},
		{`^$`, regex.Options{}, "--crlf -m 3"},
	} {
		args := append(strings.Fields(c.flags), "-n", "--no-heading", "--no-config", "--sort", "path", "-g", "*.go", "-g", "!.*", "--no-require-git", "-e", c.pattern)
		cmd := exec.Command(rg, args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatalf("rg %q: %v", args, err)
		}
		tr := tree(root)
		tr.Pick = func(rel string) bool { return strings.HasSuffix(rel, ".go") }
		res, err := e.Search(t.Context(), tr, Query{Matcher: compile(t, c.pattern, c.opt)})
		must(t, err)
		compareLines(t, c.pattern, res, string(out), strings.Contains(c.flags, "-m 3"))
	}
}

func compareLines(t *testing.T, pattern string, res *Result, want string, three bool) {
	t.Helper()
	theirs := map[string]bool{}
	for line := range strings.Lines(want) {
		theirs[strings.TrimRight(line, "\r\n")] = true
	}
	ours := 0
	for _, f := range res.Files {
		if three {
			f.Lines = f.Lines[:min(3, len(f.Lines))]
		}
		for line := range strings.Lines(show(&Result{Files: []File{f}})) {
			ours++
			if line = strings.TrimRight(line, "\n"); !theirs[line] {
				t.Errorf("%s: ripgrep does not find %q", pattern, line)
				return
			}
		}
	}
	if ours != len(theirs) {
		t.Errorf("%s: %d lines, ripgrep finds %d", pattern, ours, len(theirs))
	}
}
