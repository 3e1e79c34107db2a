package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// trustFile vouches for a file as a person at a terminal would: the terminal itself is tested in prompt_test.go.
func trustFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trusted FILE")
	}
	path := ts.MkAbs(args[0])
	db, err := state.Open(ts.Getenv("TONGS_STATE_DIR"))
	ts.Check(err)
	defer db.Close()
	ts.Check(db.Trust().Set(context.Background(), path, config.Hash([]byte(ts.ReadFile(args[0]))), "test"))
}

// approveServers approves what MCP servers said of themselves, as a person at a terminal would.
func approveServers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: approved")
	}
	files, err := filepath.Glob(filepath.Join(ts.Getenv("TONGS_STATE_DIR"), "mcp", "*.json"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no server was seen")
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		ts.Check(err)
		var r mcpclient.Record
		ts.Check(json.Unmarshal(data, &r))
		r.Approved, r.Program = r.Seen, r.SeenProgram
		data, err = json.Marshal(r)
		ts.Check(err)
		ts.Check(os.WriteFile(path, data, 0o600))
	}
}

// escapeFile writes a file whose name holds an escape sequence and a line end, which a script cannot spell.
func escapeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: escape DIR CONTENT")
	}
	name := ts.MkAbs(args[0]) + "/evil\x1b[2J\x1b]0;owned\x07\nname\u202etxt"
	ts.Check(os.WriteFile(name, []byte(strings.ReplaceAll(args[1], "ESC", "\x1b")), 0o600))
}
