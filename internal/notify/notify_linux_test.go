package notify_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/notify"
)

// A program in the place of notify-send is run with the headline, and with nothing else of the question.
func TestDesktopTellsTheHeadlineOnly(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + dir + "/said.tmp; mv " + dir + "/said.tmp " + dir + "/said\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	q := approval.Question{
		Tool: "edit", Source: tongs.Source{Kind: tongs.SourceBuiltin}, Args: json.RawMessage(`{"path":"a.txt"}`), Agents: []string{"<b>agent</b>"},
		Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "a\x1b.txt"}}},
		Preview: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-the old secret\n+the new secret\n",
	}
	d := &notify.Desktop{Env: []string{"DISPLAY=:0", "PATH=/bin:/usr/bin"}, Dirs: []string{dir}}
	if a, err := d.Ask(t.Context(), q); a != nil || err != nil {
		t.Errorf("it answered %v, %v", a, err)
	}
	said := ""
	for range 600 {
		if data, err := os.ReadFile(filepath.Join(dir, "said")); err == nil {
			said = string(data)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !strings.Contains(said, `Tongs: edit  a\x1b.txt  +1 −1`) || !strings.Contains(said, "&lt;b&gt;agent") || strings.Contains(said, "secret") {
		t.Errorf("it said %q", said)
	}
}

// A question that is answered at once disturbs nobody, and without a desktop nothing runs.
func TestDesktopIsQuietWhereItCanBe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte("#!/bin/sh\ntouch "+dir+"/said\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for env, ctx := range map[string]context.Context{"DISPLAY=:0": over, "TERM=xterm": t.Context()} {
		d := &notify.Desktop{Env: []string{env}, Dirs: []string{dir}}
		_, _ = d.Ask(ctx, approval.Question{Tool: "edit"})
	}
	time.Sleep(3 * time.Second)
	if _, err := os.Stat(filepath.Join(dir, "said")); err == nil {
		t.Error("somebody was disturbed")
	}
}
