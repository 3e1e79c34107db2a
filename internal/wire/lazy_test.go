package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
)

const manyParts = `
toolsets:
  mcp: {files: {command: server, tools: [read]}}
  custom: {module: %s/ws/other.py, tools: [%s]}
`

// A call opens the parts that could supply its tool, whichever name it is called by, and every part where that is not known.
func TestACallOpensThePartsThatCouldSupplyItsTool(t *testing.T) {
	for _, c := range []struct {
		other, tool string
		modules     int
		servers     bool
	}{
		{other: "sub", tool: "edit"},
		{other: "edit", tool: "edit", modules: 1},
		{other: "bash", tool: "shell", modules: 1}, // an alias can be taken, too
		{other: "shell", tool: "bash", modules: 1},
		{other: "writeFile", tool: "write_file", modules: 1},
		{other: "sub", tool: "sub", modules: 1, servers: true},
		{other: "sub", tool: "files__read", modules: 1, servers: true},
		{other: "sub", tool: "no_such_tool", modules: 1, servers: true}, // for the names that it suggests
		{other: "sub", tool: "run_custom_tool", modules: 1, servers: true},
		{other: "sub", tool: "create_custom_tool", modules: 1, servers: true},
		{other: "sub", tool: "todo_write", modules: 1, servers: true},
		{other: "sub", tool: "", modules: 1, servers: true},
	} {
		t.Run(c.tool+" beside "+c.other, func(t *testing.T) {
			sys := openParts(t, partsIn(t, c.other), c.tool)
			if got := len(sys.Modules.States()); got != c.modules {
				t.Errorf("%d modules are open, want %d", got, c.modules)
			}
			_, found := sys.Engine.Set().Lookup("files__read")
			if found != c.servers {
				t.Errorf("the tools of servers are there: %t, want %t", found, c.servers)
			}
		})
	}
}

// Being lazy does not change what a name means: each name leads to the same tool as in a system where everything is open, also where
// an approved module took the name of a built-in one.
func TestBeingLazyDoesNotChangeWhatANameMeans(t *testing.T) {
	dir := partsIn(t, "edit")
	review := openParts(t, dir, "")
	v, err := review.Modules.Look(t.Context(), "other.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := review.Modules.Approve(t.Context(), v, "test"); err != nil {
		t.Fatal(err)
	}
	all := openParts(t, dir, "").Engine.Set()
	if e, _ := all.Lookup("edit"); e.Tool.Spec().Source.Kind != tongs.SourceModule {
		t.Fatalf("edit is of %v", e.Tool.Spec().Source)
	}
	for _, name := range []string{"edit", "edit_file", "write_file", "shell", "bash", "undo"} {
		got, found := openParts(t, dir, name).Engine.Set().Lookup(name)
		want, there := all.Lookup(name)
		if found != there || found && (got.Tool.Spec().Source != want.Tool.Spec().Source || got.Tool.Spec().Name != want.Tool.Spec().Name) {
			t.Errorf("%s means %v, and %v where all is open", name, got.Tool, want.Tool)
		}
	}
}

// partsIn makes a workspace, and a configuration with an MCP server and a module.
func partsIn(t *testing.T, other string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	python := "def %s(a: int) -> int:\n    return a\n"
	for name, text := range map[string]string{
		"config/config.yaml": fmt.Sprintf(manyParts, dir, other), "ws/other.py": fmt.Sprintf(python, other),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openParts(t *testing.T, dir, tool string) *System {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	h := Host{Workspace: at("ws"), ConfigDir: at("config"), StateDir: at("state"), ForgeDir: at("tools")}
	sys, err := h.Open(t.Context(), Options{Tool: tool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Close() })
	return sys
}
