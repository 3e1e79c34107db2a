package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/workspace"
)

// The file tools in an engine that asks nobody: what would be asked is refused.
func Example() {
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
	tools, err := files.Tools(files.Options{ReadLines: 2})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := engine.New(engine.Options{Tools: tools, Workspace: ws})
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range []tongs.Call{
		{Tool: "write_file", Args: json.RawMessage(`{"path":"poem.txt","content":"one\ntwo\nthree\n"}`)},
		{Tool: "read_file", Args: json.RawMessage(`{"path":"poem.txt"}`)},
		{Tool: "delete_file", Args: json.RawMessage(`{"path":"poem.txt"}`)},
	} {
		res := eng.Call(context.Background(), &call)
		if res.OK() {
			fmt.Println(res.Content)
		} else {
			fmt.Println(res.Error.Code)
		}
	}
	// Output:
	// Created poem.txt (3 lines, 14 bytes).
	//      1	one
	//      2	two
	// [lines 1 to 2 of 3; 1 line left; read on with offset=3]
	// APPROVAL_REQUIRED
}
