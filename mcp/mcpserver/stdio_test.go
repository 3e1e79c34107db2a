package mcpserver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

func TestStdio(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("a.txt", "one\n")
		p := says(map[string]any{"answer": "this file, this session"})
		c, hangUp, ended := w.overStdio(version, p.options())
		for range 2 { // the connection is one session, in both eras
			if res := c.call("edit", edit); res.IsError {
				t.Fatal(text(res))
			}
			w.write("a.txt", "one\n")
			c.call("read_file", args{"path": "a.txt"})
		}
		if p.count() != 1 {
			t.Errorf("asked %d times, want once", p.count())
		}
		hangUp()
		w.must(<-ended)
	})
}

// The end of the input ends the server and everything that it runs.
func TestStdioEndsWithItsInput(t *testing.T) {
	needsLinux(t)
	w := newWorld(t, setup{mode: tongs.ModeAll})
	c, hangUp, ended := w.overStdio(withSessions, nil)
	mark := fmt.Sprintf("35%d", time.Now().UnixNano()%1e9)
	go func() {
		_, _ = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "sleep " + mark}})
	}()
	if res := c.call("shell", args{"command": "sleep " + mark, "background": true}); res.IsError {
		t.Fatal(text(res))
	}
	eventually(t, func() bool { return running(t, mark) >= 2 })
	hangUp()
	w.must(<-ended)
	if n := running(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}
