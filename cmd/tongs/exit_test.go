package main

import (
	"errors"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
)

func TestExitCodes(t *testing.T) {
	want := map[tongs.Code]int{
		tongs.CodeInvalidArgs: 2, tongs.CodeUnknownTool: 2, tongs.CodeDenied: 3, tongs.CodeBlocked: 3, tongs.CodeApprovalRequired: 3,
	}
	for _, code := range tongs.Codes() {
		exit, ok := want[code]
		if !ok {
			exit = 1
		}
		if got := exitCode(tongs.Errorf(code, "x")); got != exit {
			t.Errorf("%s exits with %d, want %d", code, got, exit)
		}
	}
	if exitCode(cli.Usagef("x")) != exitUsage {
		t.Error("wrong usage is not exitUsage")
	}
	if exitCode(nil) != 0 || exitCode(errors.New("x")) != 1 {
		t.Error("nil is 0, any other error 1")
	}
}
