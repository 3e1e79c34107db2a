package code_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/code"
	"github.com/tongs-ai/tongs/workspace"
)

// A program that lets an agent run code of its own: free on a read-only workspace, refused where nobody can be asked.
func ExampleNew() {
	// A real program calls sandbox.Main first thing in main.
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"work", "scratch"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			log.Fatal(err)
		}
	}
	ws, err := workspace.Open(workspace.Options{Dir: filepath.Join(dir, "work"), LockDir: filepath.Join(dir, "locks")})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	confiner := confine.New(confine.Options{Runner: runner, Workspace: ws, Scratch: filepath.Join(dir, "scratch")})
	tool, err := code.New(code.Options{Full: confiner.Full})
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{tool}, Workspace: ws, Commands: confiner.Commands})
	if err != nil {
		log.Fatal(err)
	}
	for _, args := range []string{
		`{"language": "bash", "code": "echo $((6 * 7)); ls $WORKSPACE"}`,
		`{"language": "bash", "code": "touch $WORKSPACE/made", "write": true}`,
	} {
		res := e.Call(context.Background(), &tongs.Call{Tool: "run_code", Args: []byte(args)})
		if res.OK() {
			fmt.Print(res.Content)
		} else {
			fmt.Println(res.Error.Code)
		}
	}
	// Output:
	// 42
	// APPROVAL_REQUIRED
}
