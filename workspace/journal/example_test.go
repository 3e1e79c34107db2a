package journal_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Several files change as one, and are as they were again.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		log.Fatal(err)
	}
	top := filepath.Join(dir, "workspace")
	if err := os.Mkdir(top, 0o755); err != nil {
		log.Fatal(err)
	}
	j, err := journal.Open(journal.Options{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		log.Fatal(err)
	}
	defer j.Close()

	ctx, roots := context.Background(), map[string]string{tongs.WorkspaceRoot: top}
	t, err := j.Begin(ctx, journal.Entry{Call: "c_1", Tool: "example", Roots: roots})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := t.File(tongs.Path{Rel: name}, journal.State{Mode: 0o644}, strings.NewReader("hello\n")); err != nil {
			log.Fatal(err)
		}
	}
	entry, err := t.Commit(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", entry.Changes)

	entries, err := j.Select(journal.Selector{Call: "c_1"})
	if err != nil {
		log.Fatal(err)
	}
	undo, err := j.Undo(ctx, journal.Entry{Call: "c_2", Tool: "undo", Roots: roots}, entries, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer undo.Close()
	if _, err := undo.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	left, err := os.ReadDir(top)
	fmt.Println("left:", len(left), err)
	// Output:
	// changed: 2
	// left: 0 <nil>
}
