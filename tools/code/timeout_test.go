package code

import (
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// What a call may ask for is what the program that made the tool allows, and the schema says so.
func TestTimeoutsAreOptions(t *testing.T) {
	tool, err := New(Options{Timeout: time.Second, MaxTimeout: 7 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, setup{tool: tool})
	input := tool.Spec().Input.Properties["timeout"]
	b.Equal("default", string(input.Default), "1")
	b.Equal("maximum", *input.Maximum, 7.0)
	b.Fails(tongs.CodeTimeout, "longer timeout (7 at most)", b.call("bash", "sleep 100"))
	b.Fails(tongs.CodeInvalidArgs, "timeout", b.call("bash", "true", args{"timeout": 8}))
}
