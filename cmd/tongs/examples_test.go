//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tongs-ai/tongs/model/modeltest"
	"github.com/tongs-ai/tongs/model/script"
)

// example prepares a desk with the shipped workers as the user's own, and returns how each model is named to the command:
// the script itself, and the script behind each provider's wire format.
func example(t *testing.T, worker, format string) (d *desk, name string) {
	t.Helper()
	d = newDesk(t)
	own := filepath.Join(d.dir, "home", "config", "workers")
	if err := os.CopyFS(own, os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(own, "scripts", worker+".yaml")
	if format == "script" {
		return d, "script:" + path
	}
	m, err := script.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.Serve(t, modeltest.Format(format), m)
	d.env = append(d.env, server.Env()...)
	return d, server.Spec()
}

// everyFormat runs a test on the script, and over the wire format of each provider.
func everyFormat(t *testing.T, f func(t *testing.T, format string)) {
	formats := []string{"script"}
	for _, format := range modeltest.Formats {
		formats = append(formats, string(format))
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			f(t, format)
		})
	}
}

// The reviewer looks at a commit in parallel calls, meets a full provider, a tool that does not exist, wrong arguments and
// its own rules, and an answer that is cut off in the middle.
func TestExampleReviewer(t *testing.T) {
	t.Parallel()
	everyFormat(t, func(t *testing.T, format string) {
		d, model := example(t, "reviewer", format)
		d.write("main.go", "package main\n\nimport \"os\"\n\nfunc main() {\n\tf, _ := os.Open(\"x\")\n\tf.Close()\n}\n")
		git := exec.Command("sh", "-c", "git init -q . && git add main.go && git -c user.name=a -c user.email=a@example.com commit -qm 'open the file'")
		git.Dir, git.Env = filepath.Join(d.dir, "ws"), append(d.env, "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		stdout, stderr, code := d.run("run", "reviewer", "review the last commit", "--model", model)
		if code != 0 || !strings.Contains(stdout, "the error of `os.Open` is dropped") {
			t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
		}
		if n := strings.Count(stderr, "trying again"); n != 2 {
			t.Errorf("tried again %d times:\n%s", n, stderr)
		}
		if strings.Count(stdout, "the error of") != 1 {
			t.Errorf("the answer that was cut off is shown, too:\n%s", stdout)
		}
	})
}

// The organiser moves files, and takes a person's no for an answer.
func TestExampleOrganiser(t *testing.T) {
	t.Parallel()
	everyFormat(t, func(t *testing.T, format string) {
		d, model := example(t, "organiser", format)
		for _, name := range []string{"letter.txt", "copy of letter.txt", "photo.jpg"} {
			d.write(name, "x\n")
		}
		c := d.terminal("run", "organiser", "sort them", "--model", model)
		c.expect(` delete_file  copy of letter\.txt\s+organiser · `)
		c.expect(chosen)
		c.typing("n")
		c.expect(`Reason for the agent`)
		c.typing("keep it\r")
		if code := c.exit(); code != 0 {
			t.Errorf("exit %d\n%s", code, c.screen())
		}
		c.expect(`left .*copy of letter.txt.* alone`)
		for _, name := range []string{"letters/letter.txt", "copy of letter.txt", "pictures/photo.jpg"} {
			if d.read(name) != "x\n" {
				t.Errorf("%s is %q", name, d.read(name))
			}
		}
	})
}

// The researcher reads two pages at the same time, writes its notes and nothing else, and sends nothing without a person.
func TestExampleResearcher(t *testing.T) {
	t.Parallel()
	everyFormat(t, func(t *testing.T, format string) {
		var sent atomic.Bool
		pages := map[string]string{"/tongs": "Tongs hold hot iron.", "/smith": "Most smiths use them."}
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				sent.Store(true)
			}
			if pages[r.URL.Path] == "" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<html><body><main><h1>Page</h1><p>%s</p></main></body></html>", pages[r.URL.Path])
		}))
		defer site.Close()
		d, model := example(t, "researcher", format)
		host := strings.TrimPrefix(site.URL, "http://")
		file := filepath.Join(d.dir, "home", "config", "config.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "toolsets: {web: {hosts: [%q]}}\n", host), 0o600); err != nil {
			t.Fatal(err)
		}
		c := d.terminal("run", "researcher", "what are tongs for? See "+site.URL, "--model", model)
		c.expect(` web_fetch  `)
		c.expect(chosen)
		c.typing("n")
		c.expect(`Reason for the agent`)
		c.typing("\r")
		if code := c.exit(); code != 0 {
			t.Errorf("exit %d\n%s", code, c.screen())
		}
		c.expect(`smiths use them`)
		if got := d.read("notes/tongs.md"); got != "Tongs hold hot iron ("+site.URL+"/tongs).\n" || sent.Load() {
			t.Errorf("the notes are %q, sent %t", got, sent.Load())
		}
		if _, err := os.Stat(filepath.Join(d.dir, "ws", "elsewhere.md")); err == nil {
			t.Error("it wrote outside of its zone")
		}
	})
}
