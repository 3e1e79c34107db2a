package gitrelay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pack says in its header how many objects it has; one of too many, or one that is cut off, is refused before git reads it.
func TestPacksAreCounted(t *testing.T) {
	for header, want := range map[string]string{
		"PACK\x00\x00\x00\x02\x00\x00\x00\x03": "",
		"PACK\x00\x00\x00\x02\x01\x00\x00\x00": "16777216 objects",
		"PACK\x00\x00":                         "not sound",
		"0123456789ab":                         "not sound",
	} {
		pack := filepath.Join(t.TempDir(), "pack")
		if err := os.WriteFile(pack, []byte(header), 0o600); err != nil {
			t.Fatal(err)
		}
		err := countable(pack)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", header, err)
		}
	}
}
