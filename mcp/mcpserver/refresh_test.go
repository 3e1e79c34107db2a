package mcpserver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A list holds what came the moment before, and the client is told of it all the same.
func TestListIsUpToDate(t *testing.T) {
	w := newWorld(t, setup{})
	c := w.connect(withSessions, nil)
	w.must(w.registry.Register(attacher(t, nil)))
	listed, err := c.ListTools(t.Context(), nil)
	w.must(err)
	if !slices.ContainsFunc(listed.Tools, func(tool *mcp.Tool) bool { return tool.Name == "attach" }) {
		t.Error("the new tool is not listed")
	}
	select {
	case <-c.changed:
	case <-time.After(time.Minute):
		t.Error("the client was not told")
	}
	if !w.registry.Unregister("attach") {
		t.Fatal("there is no such tool")
	}
	if listed, err = c.ListTools(t.Context(), nil); err != nil || slices.ContainsFunc(listed.Tools, func(tool *mcp.Tool) bool { return tool.Name == "attach" }) {
		t.Errorf("the tool that went is listed, %v", err)
	}
}
