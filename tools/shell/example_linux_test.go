package shell_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/shell"
	"github.com/tongs-ai/tongs/workspace"
)

// A program that lets an agent look at its workspace, and refuses what nobody decided.
func Example() {
	// A real program calls sandbox.Main first thing in main.
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: dir + ".locks"})
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir + ".locks")
	defer ws.Close()
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	confiner := confine.New(confine.Options{Runner: runner, Workspace: ws})
	set, err := shell.New(shell.Options{FreeReads: true, Full: confiner.Full})
	if err != nil {
		log.Fatal(err)
	}
	defer set.CloseAll()
	e, err := engine.New(engine.Options{
		Tools: set.Tools(), Workspace: ws, Rules: shell.Rules, Commands: confiner.Commands,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, args := range []string{`{"command":"ls | wc -l"}`, `{"command":"echo hi; touch made"}`} {
		res := e.Call(context.Background(), &tongs.Call{Tool: "shell", Args: []byte(args)})
		if res.OK() {
			fmt.Print(res.Content)
		} else {
			fmt.Println(res.Error.Code)
		}
	}
	// Output:
	// 0
	// APPROVAL_REQUIRED
}
