package english

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
	target  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	code    = regexp.MustCompile("`[^`]*`")
)

// A link of a page to a file of the repository leads to one, and what follows its # is a heading there.
func TestLinksResolve(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		for _, line := range prose(t, page) {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "`"), -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				checked++
				if problem := broken(t, page, m[1]); problem != "" {
					t.Errorf("%s: the link %q %s", page, m[1], problem)
				}
			}
		}
	}
	if checked < 100 {
		t.Fatalf("only %d links were found", checked)
	}
}

// Links that lead nowhere are found.
func TestBrokenLinks(t *testing.T) {
	for to, ok := range map[string]bool{
		"docs/policy.md": true, "docs/nothing.md": false, "docs": true, "docs/README.md#documentation": true,
		"docs/README.md#nothing": false, "#nothing": false, "../elsewhere": false, "/docs/policy.md": false,
	} {
		if problem := broken(t, "README.md", to); (problem == "") != ok {
			t.Errorf("%s: %q", to, problem)
		}
	}
	for text, want := range map[string]string{
		"The `tongs` command": "the-tongs-command", "Who may own the files": "who-may-own-the-files",
		"Read, and [write](x.md)": "read-and-write", "a/b: c_d": "ab-c_d",
	} {
		if got := anchor(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// broken says what is wrong with a link of a page, if anything.
func broken(t *testing.T, page, to string) string {
	t.Helper()
	file, fragment, _ := strings.Cut(to, "#")
	name := page
	if file != "" {
		name = path.Join(path.Dir(page), file)
	}
	if strings.HasPrefix(file, "/") || name == ".." || strings.HasPrefix(name, "../") {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
		return "leads to no file"
	}
	if fragment == "" || filepath.Ext(name) != ".md" {
		return ""
	}
	for _, line := range prose(t, name) {
		if m := heading.FindStringSubmatch(line); m != nil && anchor(m[1]) == fragment {
			return ""
		}
	}
	return "leads to no heading of " + name
}

// anchor is the name that GitHub gives a heading.
func anchor(text string) string {
	text = strings.ToLower(target.ReplaceAllString(strings.TrimSpace(text), "$1"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return r
		}
		return -1
	}, text)
}

// pages are the Markdown files with text for people, those about decisions among them.
func pages(t *testing.T) (files []string) {
	t.Helper()
	for _, name := range readable(t) {
		if filepath.Ext(name) == ".md" {
			files = append(files, name)
		}
	}
	found, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		files = append(files, path.Join("docs/decisions", filepath.Base(name)))
	}
	return files
}

// prose are the lines of a page that are not code blocks.
func prose(t *testing.T, page string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			lines = append(lines, line)
		}
	}
	return lines
}
