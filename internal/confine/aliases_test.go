package confine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// linked is a bench where protected names are links to plain ones.
func linked(t *testing.T) *bench {
	t.Helper()
	b, _ := freely(t, journal.Options{})
	for name, content := range map[string]string{"cfg/envrc": "ok", "cfg/vs/tasks.json": "ok", "docs/guide.txt": "ok", "cfg/dev": "TOKEN"} {
		b.write(t, name, content)
	}
	for link, to := range map[string]string{".envrc": "cfg/envrc", ".vscode": "cfg/vs", "AGENTS.md": "docs/guide.txt", ".env": "cfg/dev"} {
		if err := os.Symlink(to, filepath.Join(b.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// A program changes what a link with a protected name leads to only if a person approves, on a copy and directly.
func TestProgramsThatChangeWhatProtectedLinksLeadTo(t *testing.T) {
	for _, copied := range []bool{true, false} {
		for script, file := range map[string]string{
			"echo evil > cfg/envrc":                               "cfg/envrc",
			"echo evil > .envrc":                                  "cfg/envrc",
			"echo evil > t; mv -f t cfg/envrc":                    "cfg/envrc",
			"echo evil > cfg/vs/tasks.json":                       "cfg/vs/tasks.json",
			"echo evil > docs/guide.txt":                          "docs/guide.txt",
			"mv cfg c; mkdir cfg; echo evil > cfg/envrc":          "cfg/envrc",
			"rm -rf docs; mkdir docs; echo evil > docs/guide.txt": "docs/guide.txt",
		} {
			t.Run(fmt.Sprintf("%t/%s", copied, script), func(t *testing.T) {
				b := linked(t)
				b.say = false
				args := fmt.Sprintf(`{"script":%q,"copy":%t}`, script, copied)
				_, res := b.run(t, args)
				if got := b.content(t, file); got != "ok" {
					t.Fatalf("%s is %q: %s", file, got, res.Content)
				}
				if b.say = true; !strings.Contains(script, ";") {
					b.asked = nil
					_, res = b.run(t, args)
					if got := b.content(t, file); got != "evil\n" || len(b.asked) == 0 {
						t.Errorf("approved, %s is %q, asked %d times: %s", file, got, len(b.asked), res.Content)
					}
				}
			})
		}
	}
}

// A program reads what a link with the name of a secret leads to only if a person approves, and then by any name.
func TestProgramsThatReadWhatSecretLinksLeadTo(t *testing.T) {
	for _, copied := range []bool{true, false} {
		for _, script := range []string{"cat cfg/dev", "cat .env", "cat cfg/*v"} {
			b := linked(t)
			b.say = false
			args := fmt.Sprintf(`{"script":%q,"copy":%t}`, script, copied)
			if out, res := b.run(t, args); strings.Contains(out.Out+res.Content, "TOKEN") || len(b.asked) == 0 {
				t.Errorf("%s: %s, asked %d times", script, res.Content, len(b.asked))
			}
			b.say, b.asked = true, nil
			if out, res := b.run(t, args); !strings.Contains(out.Out, "TOKEN") || len(b.asked) != 1 {
				t.Errorf("%s, approved: %s, asked %d times", script, res.Content, len(b.asked))
			}
		}
	}
}

// A link that a program makes with a protected name counts for what else it changed in the same run.
func TestLinksMadeInTheSameRun(t *testing.T) {
	b, _ := freely(t, journal.Options{})
	b.write(t, "docs/guide.txt", "ok")
	b.say = false
	for _, script := range []string{
		"echo evil > docs/guide.txt; ln -s docs/guide.txt AGENTS.md",
		"ln -s docs/vs .vscode; mkdir docs/vs; echo evil > docs/vs/tasks.json",
		"ln -s x .envrc; ln -s docs/guide.txt x; echo evil > docs/guide.txt",
	} {
		b.asked = nil
		_, res := b.run(t, fmt.Sprintf(`{"script":%q,"copy":true}`, script))
		if len(b.asked) != 1 || b.content(t, "docs/guide.txt") != "ok" {
			t.Fatalf("%s: asked %d times: %s", script, len(b.asked), res.Content)
		}
		marked := 0
		for _, c := range b.asked[0].Changes {
			if strings.HasPrefix(c.Path.Rel, "docs/") && c.Protected != "" {
				marked++
			}
		}
		if marked == 0 {
			t.Errorf("%s: %+v", script, b.asked[0].Changes)
		}
	}
}

// Programs read what only looks like a secret, as file tools do.
func TestProgramsThatReadExamplesOfSecrets(t *testing.T) {
	b, _ := freely(t, journal.Options{})
	for _, name := range []string{".env.example", "certs/cacert.pem", ".env.local"} {
		b.write(t, name, "content of "+name+"\n")
	}
	b.say = false
	out, res := b.run(t, `{"script":"cat .env.example certs/cacert.pem; echo B=1 >> .env.example","copy":true}`)
	if out.Out != "content of .env.example\ncontent of certs/cacert.pem\n" || len(b.asked) > 0 || !strings.HasSuffix(b.content(t, ".env.example"), "B=1\n") {
		t.Errorf("%q, asked %d times: %s", out.Out, len(b.asked), res.Content)
	}
	if out, _ := b.run(t, `{"script":"cat .env.local","copy":true}`); strings.Contains(out.Out, "content") || len(b.asked) == 0 {
		t.Errorf("a secret is shown: %q", out.Out)
	}
}

// What was approved below a protected directory can be changed and read, and nothing else there.
func TestApprovedPathsBelowProtectedDirectories(t *testing.T) {
	for _, copied := range []bool{true, false} {
		for _, c := range []struct{ script, file, want string }{
			{"echo new > .vscode/tasks.json", ".vscode/tasks.json", "new\n"},
			{"echo new > .github/workflows/ci.yml", ".github/workflows/ci.yml", "new\n"},
			{"echo new > .vscode/made.json", ".vscode/made.json", "new\n"},
			{"cat .aws/credentials > out", "out", "key"},
		} {
			b, _ := freely(t, journal.Options{})
			for name, content := range map[string]string{
				".vscode/tasks.json": "ok", ".vscode/settings.json": "ok", ".vscode/deep/x": "ok", ".github/workflows/ci.yml": "ok", ".aws/credentials": "key", ".aws/config": "other",
			} {
				b.write(t, name, content)
			}
			_, res := b.run(t, fmt.Sprintf(`{"script":%q,"copy":%t}`, c.script, copied))
			most := 1
			if copied && c.file != "out" {
				most = 2 // that it may be written, and what was
			}
			if !b.has(c.file) || b.content(t, c.file) != c.want || len(b.asked) == 0 || len(b.asked) > most {
				t.Errorf("%s, on a copy %t: asked %d times: %s", c.script, copied, len(b.asked), res.Content)
			}
		}
	}
}

// An approval for one file in a protected directory opens nothing beside it.
func TestApprovedPathsOpenNothingElse(t *testing.T) {
	for _, script := range []string{
		"echo new > .vscode/tasks.json || exit 1; echo evil > .vscode/settings.json",
		"echo new > .vscode/tasks.json || exit 1; echo evil > .vscode/deep/x",
		"echo new > .vscode/tasks.json || exit 1; echo evil > .vscode/launch.json",
		"echo new > .vscode/tasks.json || exit 1; mv .vscode v2; mkdir .vscode; echo evil > .vscode/settings.json",
		"echo new > .vscode/tasks.json || exit 1; rm -rf .vscode/deep; ln -s /etc .vscode/deep",
	} {
		for _, copied := range []bool{true, false} {
			b, _ := freely(t, journal.Options{})
			for _, name := range []string{".vscode/tasks.json", ".vscode/settings.json", ".vscode/deep/x"} {
				b.write(t, name, "ok")
			}
			n := 0
			b.answer = func(approval.Question) approval.Answer { n++; return approval.Answer{Approved: n == 1} }
			b.run(t, fmt.Sprintf(`{"script":%q,"copy":%t}`, script, copied))
			if b.content(t, ".vscode/settings.json") != "ok" || b.content(t, ".vscode/deep/x") != "ok" || b.has(".vscode/launch.json") {
				t.Errorf("%s, on a copy %t: something else was changed", script, copied)
			}
		}
	}
}
