package files

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// The tests of this file are named after rows of the design that the file tools show: section 4 (decide and ask),
// section 9 (where the founding documents disagree).

func TestDesign9_LongerNamesWithTheOthersAsAliases(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	for _, name := range []string{"write_file", "write"} {
		b.OK(name, args{"path": "f", "content": name})
	}
	for _, name := range []string{"read_file", "read"} {
		b.Contains(name, b.OK(name, args{"path": "f"}).Content, "write")
	}
	for _, name := range []string{"list_directory", "list", "list_files"} {
		b.Contains(name, b.OK(name, args{}).Content, "f (")
	}
	for i, name := range []string{"edit", "edit_file", "apply_diff"} {
		b.OK(name, args{"path": "f", "oldString": "write" + strings.Repeat("!", i), "newString": "write" + strings.Repeat("!", i+1)})
	}
	blocked := newBench(t, setup{mode: tongs.ModeAll, rules: []tongs.Rule{{Tool: "edit_file", Decision: tongs.Blocked}}})
	blocked.Put("f", "x")
	for _, name := range []string{"edit", "edit_file", "apply_diff"} {
		blocked.fails(tongs.CodeBlocked, "", name, args{"path": "f", "oldString": "x", "newString": "y"})
	}
}

func TestDesign9_EverySpellingOfAnArgument(t *testing.T) {
	b := newBench(t, setup{})
	for i, spelling := range []string{"createDirs", "createDirectories", "create_dirs", "create_directories", "create-dirs", "CreateDirs"} {
		dir := string(rune('a' + i))
		res := b.Call("write_file", args{"path": dir + "/f", "content": "x", spelling: false})
		if res.OK() || b.Exists(dir) {
			t.Errorf("%s was not understood: %s", spelling, res.Content)
		}
		b.OK("write_file", args{"path": dir + "/f", "content": "x", spelling: true})
	}
	b.OK("read_file", args{"file_path": "a/f"})
	b.OK("read_file", args{"filePath": "a/f"})
	b.OK("edit", args{"path": "a/f", "old_string": "x", "new_string": "y"})
}

func TestDesign9_WriteFileAsksOnOverwriteOrAlwaysByConfiguration(t *testing.T) {
	b := newBench(t, setup{})
	b.OK("write_file", args{"path": "f", "content": "1"})
	b.Equal("asked for a new file", len(b.Asked()), 0)
	b.OK("write_file", args{"path": "f", "content": "2"})
	b.Equal("asked to overwrite", len(b.Asked()), 1)
	always := newBench(t, setup{rules: []tongs.Rule{{Tool: "write_file", Layer: tongs.LayerUser, Decision: tongs.Ask}}})
	always.OK("write_file", args{"path": "f", "content": "1"})
	always.Equal("asked for a new file", len(always.Asked()), 1)
}

func TestDesign4_ReadsInTheWorkspaceAreFree(t *testing.T) {
	b := newBench(t, setup{nope: true})
	b.Put("f", "x")
	for _, tool := range []string{"read_file", "file_info", "file_exists"} {
		b.OK(tool, args{"path": "f"})
	}
	b.OK("list_directory", args{})
}

func TestDesign4_ProtectedNamesAreOneListForEveryTool(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll, nope: true})
	for _, name := range []string{
		".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".mcp.json", ".claude/settings.json", ".codex/x", ".vscode/tasks.json",
		".idea/x", ".envrc", ".bashrc", ".github/workflows/ci.yml", "tongs.yaml", "a.worker", ".env", "server.key", ".GIT/Config", ".Envrc",
	} {
		b.Put("plain", "x")
		b.fails(tongs.CodeApprovalRequired, "", "write_file", args{"path": name, "content": "x"})
		b.fails(tongs.CodeApprovalRequired, "", "edit", args{"path": name, "oldString": "", "newString": "x"})
		b.fails(tongs.CodeApprovalRequired, "", "move_file", args{"from": "plain", "to": name})
		b.Put(name, "there")
		b.fails(tongs.CodeApprovalRequired, "", "delete_file", args{"path": name})
		b.fails(tongs.CodeApprovalRequired, "", "move_file", args{"from": name, "to": "elsewhere"})
		b.Equal(name, b.Get(name), "there")
	}
	for _, name := range []string{".env", "server.key"} {
		b.fails(tongs.CodeApprovalRequired, "", "read_file", args{"path": name})
	}
}

func TestDesign4_AcceptedSpellingsAndReadOnlyZones(t *testing.T) {
	cache, docs := t.TempDir(), t.TempDir()
	b := newBench(t, setup{roots: []workspace.Root{{Name: "cache", Dir: cache, Writable: true}, {Name: "docs", Dir: docs}}})
	for i, name := range []string{"src/a", "./src/../src/b", "/cache/c", filepath.Join(b.Dir, "d"), filepath.Join(cache, "e")} {
		b.OK("write_file", args{"path": name, "content": strings.Repeat("x", i+1)})
		b.OK("read_file", args{"path": name})
	}
	b.fails(tongs.CodePermissionDenied, "read-only", "write_file", args{"path": "/docs/x", "content": "x"})
	b.fails(tongs.CodePermissionDenied, "read-only", "move_file", args{"from": "src/a", "to": "/docs/x"})
	b.fails(tongs.CodeInvalidPath, "", "write_file", args{"path": "/nowhere/x", "content": "x"})
}
