package files_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/tools/files"
)

func TestEveryToolHasALongText(t *testing.T) {
	tools, err := files.Tools(files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, tool := range tools {
		name := tool.Spec().Name + ".txt"
		named[name] = true
		text, err := fs.ReadFile(files.Texts(), name)
		if err != nil || !strings.Contains(string(text), "${workspace}") {
			t.Errorf("%s: %v", name, err)
		}
	}
	entries, err := fs.ReadDir(files.Texts(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !named[e.Name()] {
			t.Errorf("%s describes no tool", e.Name())
		}
	}
}
