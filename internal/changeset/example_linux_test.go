package changeset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// A command runs, what it did is shown, and a part of it is kept.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 added, 1 modified
	// --- a/notes.txt
	// +++ b/notes.txt
	// @@ -1 +1,2 @@
	//  milk
	// +bread
	// --- /dev/null
	// +++ b/other.txt
	// @@ -0,0 +1 @@
	// +x
	//
	// milk
	// milk
	// bread
}

func example() error {
	top, err := os.MkdirTemp("", "outcome-example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	ws, notes := filepath.Join(top, "ws"), filepath.Join(top, "ws/notes.txt")
	if err := os.Mkdir(ws, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(notes, []byte("milk\n"), 0o644); err != nil {
		return err
	}
	ctx := context.Background()
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return err
	}
	defer runner.Close()
	policy := sandbox.Default(ws, sandbox.PresetOptions{})
	policy.Writable = append(policy.Writable, sandbox.Layered(ws))
	policy.Overlay = &sandbox.Overlay{Dir: filepath.Join(top, "layers")}
	res, err := runner.Run(ctx, &sandbox.Cmd{Argv: []string{"sh", "-c", "echo bread >> notes.txt; echo x > other.txt"}, Policy: policy})
	if err != nil {
		return err
	}
	defer res.Overlay.Close()
	opt := changeset.Options{Drop: res.Overlay.Close}
	for _, l := range res.Overlay.List {
		opt.Layers = append(opt.Layers, changeset.Layer{Layer: l, At: tongs.Path{Rel: "."}})
	}
	set, err := changeset.Read(ctx, opt)
	if err != nil {
		return err
	}
	fmt.Println(set.Preview(1000))
	if b, err := os.ReadFile(notes); err == nil {
		fmt.Print(string(b)) // nothing has happened yet
	}
	j, err := journal.Open(journal.Options{Dir: filepath.Join(top, "journal")})
	if err != nil {
		return err
	}
	defer j.Close()
	if _, err := set.Commit(ctx, j, journal.Entry{Call: "1", Roots: map[string]string{"": ws}}, []string{"notes.txt"}); err != nil {
		return err
	}
	b, err := os.ReadFile(notes)
	fmt.Print(string(b))
	return err
}
