package confine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/confine"
)

// A path outside of the roots is never asked for; the result says how a person can let commands reach it.
func TestPathsOutsideAreExplained(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"data.txt", ".env"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := setup(t, confine.Options{})
	for script, want := range map[string]string{
		"cat " + outside + "/data.txt": fmt.Sprintf("{path: %q, mode: ro}", outside),
		"cat " + outside + "/.env":     "is outside of the workspace and its zones",
		"cat /root/nothing/here":       "",
		"echo x > /usr/tongs-evil":     "is outside of the workspace and its zones",
	} {
		out, res := b.run(t, `{"script":"`+script+`"}`)
		got := strings.Join(out.Outside, "\n")
		if res.Error != nil || len(b.asked) != 0 || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: asked %d times, said %q, want %q", script, len(b.asked), got, want)
		}
		if !strings.Contains(want, "path:") && strings.Contains(got, "zones:") {
			t.Errorf("%s: suggests a zone: %s", script, got)
		}
	}
}
