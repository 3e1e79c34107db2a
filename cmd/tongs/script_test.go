package main

import (
	"context"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/durable"
)

// trustFile vouches for a file as a person at a terminal would: the terminal itself is tested in prompt_test.go.
func trustFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trusted FILE")
	}
	path := ts.MkAbs(args[0])
	db, err := durable.Open(ts.Getenv("TONGS_STATE_DIR"))
	ts.Check(err)
	defer db.Close()
	ts.Check(db.Trust().Set(context.Background(), path, config.Hash([]byte(ts.ReadFile(args[0]))), "test"))
}

// escapeFile writes a file whose name holds an escape sequence and a line end, which a script cannot spell.
func escapeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: escape DIR CONTENT")
	}
	name := ts.MkAbs(args[0]) + "/evil\x1b[2J\x1b]0;owned\x07\nname\u202etxt"
	ts.Check(os.WriteFile(name, []byte(strings.ReplaceAll(args[1], "ESC", "\x1b")), 0o600))
}
