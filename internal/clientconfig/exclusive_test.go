package clientconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// client is one by its name.
func client(t *testing.T, name string) *Client {
	for _, c := range All() {
		if c.Name == name {
			return &c
		}
	}
	t.Fatalf("%s is unknown", name)
	return nil
}

// apply makes the changes of a choice.
func apply(t *testing.T, c *Client, workspace, home string, o Choice) {
	t.Helper()
	changes, err := c.Changes(workspace, home, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range changes {
		if err := ch.Make(); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files are the paths below a directory with what they have.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(strings.TrimPrefix(path, dir) + "\n" + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// What a person has in the files stays, and once it is removed they are as they were.
func TestExclusiveIsTakenBack(t *testing.T) {
	for _, c := range []struct{ name, file, has, want string }{
		{"claude-code", ".claude/settings.json", "{\n  // mine\n  \"model\": \"opus\"\n}\n", `"W*"`},
		{"claude-code", ".claude/settings.json", "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(./secret)\"\n    ]\n  }\n}\n", `"mcp__tongs"`},
		{"opencode", ".config/opencode/opencode.json", "{\n  \"model\": \"a/b\", // mine\n  \"tools\": {\n    \"bash\": true\n  }\n}\n", `"tongs_*": true`},
		{"gemini", ".gemini/settings.json", "{\n  \"general\": {}\n}\n", `"--prefix"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			write(t, filepath.Join(home, c.file), c.has)
			before := files(t, home)
			client := client(t, c.name)
			apply(t, client, "", home, Choice{Program: "/opt/tongs", User: true, Exclusive: true})
			if after := files(t, home); !strings.Contains(after, c.want) || !strings.Contains(after, "/opt/tongs") {
				t.Errorf("%s is missing:\n%s", c.want, after)
			}
			if again, err := client.Changes("", home, Choice{Program: "/opt/tongs", User: true, Exclusive: true}); err != nil || len(again) > 0 {
				t.Errorf("a second time changes %d files: %v", len(again), err)
			}
			apply(t, client, "", home, Choice{User: true, Remove: true})
			if after := files(t, home); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// A tool of a person's own configuration that is on stays behind the pattern that turns all of them off.
func TestOpencodesLaterPatternCounts(t *testing.T) {
	data := []byte(`{"tools": {"*": true, "bash": true}}`)
	data, err := opencodeOnly(data, false)
	if err != nil {
		t.Fatal(err)
	}
	if bash, all := bytes.Index(data, []byte(`"bash"`)), bytes.Index(data, []byte(`"*"`)); bash > all {
		t.Errorf("bash stays on: %s", data)
	}
}

func TestClientsThatCannotBeExclusiveSayWhy(t *testing.T) {
	for name, want := range map[string]string{"codex": "apply_patch", "gemini": "--user"} {
		_, err := client(t, name).Changes(t.TempDir(), t.TempDir(), Choice{Program: "tongs", Exclusive: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that somebody changed since it was shown is not written.
func TestChangedMeanwhile(t *testing.T) {
	ws := t.TempDir()
	changes, err := client(t, "claude-code").Changes(ws, "", Choice{Program: "tongs", Exclusive: true})
	if err != nil || len(changes) != 2 {
		t.Fatal(changes, err)
	}
	write(t, changes[0].Path, "{}")
	if err := changes[0].Make(); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Error(err)
	}
}

func TestEveryClientSaysWhatStaysOutside(t *testing.T) {
	for _, c := range All() {
		var b bytes.Buffer
		c.Next(&b, false)
		if text := b.String(); c.native == "" || !strings.Contains(text, "Tongs does not see what they do") {
			t.Errorf("%s: %s", c.Name, text)
		}
	}
}
