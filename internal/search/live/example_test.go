package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

func ExampleService() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	service := live.New(live.Options{})
	defer service.Close()
	ctx := context.Background()
	if _, err := service.Ready(ctx, dir); err != nil { // searches would be cold until it is
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	m, err := regex.Compile("package", regex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, _, ok, err := service.Search(ctx, grep.New(0), live.Tree{Host: dir, Top: dir}, grep.Query{Matcher: m})
	if err != nil || !ok {
		fmt.Println(ok, err) // where it is not known: search by the engine
		return
	}
	for _, f := range res.Files {
		fmt.Println(f.Path, f.Lines[0].Text)
	}
	// Output: a.go package a
}
