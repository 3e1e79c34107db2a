package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

func open() (*workspace.Workspace, func()) {
	base, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	dir := filepath.Join(base, "project")
	_ = os.MkdirAll(filepath.Join(dir, "src"), 0o755)
	_ = os.MkdirAll(filepath.Join(base, "cache"), 0o755)
	_ = os.WriteFile(filepath.Join(dir, "src", "a.go"), []byte("package a\n"), 0o644)
	w, err := workspace.Open(workspace.Options{
		Dir:     dir,
		Roots:   []workspace.Root{{Name: "cache", Dir: filepath.Join(base, "cache"), Writable: true}},
		LockDir: filepath.Join(base, "locks"),
	})
	if err != nil {
		panic(err)
	}
	return w, func() {
		_ = w.Close()
		_ = os.RemoveAll(base)
	}
}

func ExampleWorkspace_Resolve() {
	w, done := open()
	defer done()
	src := tongs.Path{Rel: "src"}
	for _, spelling := range []string{"a.go", "../src/./a.go", "/cache/x", "../../etc/passwd"} {
		p, err := w.Resolve(src, spelling)
		fmt.Printf("%q %q\n", p, tongs.CodeOf(err))
	}
	// Output:
	// "src/a.go" ""
	// "src/a.go" ""
	// "/cache/x" ""
	// "" "INVALID_PATH"
}

func ExampleWorkspace_Check() {
	w, done := open()
	defer done()
	effects, err := w.Check([]tongs.Effect{
		{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "src/b.go"}},
		{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".git/hooks/pre-commit"}},
		{Kind: tongs.EffectRead, Path: tongs.Path{Rel: ".env"}},
	})
	for _, e := range effects {
		fmt.Printf("%s: %v %q\n", e, e.MustAsk, e.Why)
	}
	fmt.Println(err)
	// Output:
	// write src/b.go: false ""
	// write .git/hooks/pre-commit: true "protected: git runs hooks and configured programs from it"
	// read .env: true "secret: it has credentials"
	// <nil>
}

func ExampleChanged() {
	w, done := open()
	defer done()
	view := w.View(tongs.Path{Rel: "."})
	a := tongs.Path{Rel: "src/a.go"}
	before, _ := view.Version(a)
	_ = os.Remove(view.Host(a))
	after, _ := view.Version(a)
	fmt.Println(workspace.Changed(before, after))
	// Output: it is gone
}
