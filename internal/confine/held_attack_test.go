package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/confine"
)

// Names that are hidden for the secrets in them are obeyed by programs as well: made where there were none, they wait
// for a person like protected ones.
func TestPlantedSecretNamesAreHeld(t *testing.T) {
	for _, name := range []string{".npmrc", ".netrc", ".ssh/config", ".env", "sub/.PYPIRC", "deep/er/.ssh/authorized_keys"} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, confine.Options{})
			b.write(t, "old/.npmrc", "as it was")
			plant := script(`mkdir -p "$(dirname ` + name + `)"; echo evil > ` + name)
			b.say = false
			out, res := b.run(t, plant)
			if len(b.asked) != 1 || len(out.Held) != 1 || b.has(name) {
				t.Fatalf("asked %d times, held %q: %s", len(b.asked), out.Held, res.Content)
			}
			if b.content(t, "old/.npmrc") != "as it was" {
				t.Error("what was there before was taken away")
			}
			b.say = true
			if out, res = b.run(t, plant); !b.has(name) || len(out.Held) != 0 {
				t.Errorf("approved, and held %q: %s", out.Held, res.Content)
			}
		})
	}
}

// A program that was killed with its host planted a secret name: the next one waits for what becomes of it, and what was
// there before it is left alone.
func TestSecretNamesOfKilledRunsAreHeld(t *testing.T) {
	runs := t.TempDir()
	b := setup(t, confine.Options{Runs: runs})
	b.write(t, ".netrc", "as it was")
	record := `{"call":"c","argv":["x"],"roots":["` + b.dir + `"],"had":["` + filepath.Join(b.dir, ".netrc") + `"]}`
	if err := os.WriteFile(filepath.Join(runs, "dead.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write(t, ".npmrc", "evil")
	b.say = false
	out, res := b.run(t, script(`true`))
	if len(out.Held) != 1 || !strings.HasPrefix(out.Held[0], ".npmrc ") || b.has(".npmrc") || !b.has(".netrc") {
		t.Errorf("held %q: %s", out.Held, res.Content)
	}
}
