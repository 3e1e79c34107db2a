package system_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/system"
)

// All of Tongs in one call. Leave Config, State and CustomTools out to use those of the user.
func Example() {
	dir, _ := os.MkdirTemp("", "tongs-example-")
	defer os.RemoveAll(dir)
	_ = os.Mkdir(filepath.Join(dir, "work"), 0o755)
	hands, err := system.Open(context.Background(), system.Options{
		Workspace: filepath.Join(dir, "work"), Config: filepath.Join(dir, "config"),
		State: filepath.Join(dir, "state"), CustomTools: filepath.Join(dir, "tools"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hands.Close()
	fmt.Println(hands.Call(context.Background(), &tongs.Call{Tool: "glob", Args: []byte(`{"pattern": "*.go"}`)}).Content)
	// Output: [no file matches *.go in .]
}
