package manual_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/tools/manual"
)

func TestTextsAreFitToBeShown(t *testing.T) {
	list, err := fs.Glob(manual.Texts(), "*")
	if err != nil || len(list) == 0 {
		t.Fatalf("%d texts, %v", len(list), err)
	}
	for _, name := range list {
		text, err := fs.ReadFile(manual.Texts(), name)
		if err != nil || !strings.HasSuffix(name, ".txt") || strings.TrimSpace(string(text)) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
