package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestMove(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	write("a/b/c", "content")
	write("taken/x", "mine")
	if err := os.Symlink(at("a"), at("link")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		from, to string
		want     tongs.Code
	}{
		{at("a/b"), at("taken/x"), tongs.CodeAlreadyExists},
		{at("link/b"), at("moved"), tongs.CodeInvalidPath},
		{at("a/b"), at("link/moved"), tongs.CodeInvalidPath},
		{at("nothing"), at("moved"), tongs.CodeFileNotFound},
		{"a/b", at("moved"), tongs.CodeInvalidPath},
		{at("a") + "/../a/b", at("moved"), tongs.CodeInvalidPath},
	} {
		if err := Move(t.Context(), tc.from, tc.to); tongs.CodeOf(err) != tc.want {
			t.Errorf("Move(%s, %s): %v, want %s", tc.from, tc.to, err, tc.want)
		}
	}
	if err := Move(t.Context(), at("a/b"), at("moved")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(at("moved/c")); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if err := Move(t.Context(), at("link"), at("moved/link")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(at("moved/link")); err != nil || to != at("a") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
