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
		b.ok(name, args{"path": "f", "content": name})
	}
	for _, name := range []string{"read_file", "read"} {
		b.contains(name, b.ok(name, args{"path": "f"}).Content, "write")
	}
	for _, name := range []string{"list_directory", "list", "list_files"} {
		b.contains(name, b.ok(name, args{}).Content, "f (")
	}
	for i, name := range []string{"edit", "edit_file", "apply_diff"} {
		b.ok(name, args{"path": "f", "oldString": "write" + strings.Repeat("!", i), "newString": "write" + strings.Repeat("!", i+1)})
	}
	blocked := newBench(t, setup{mode: tongs.ModeAll, rules: []tongs.Rule{{Tool: "edit_file", Decision: tongs.Blocked}}})
	blocked.put("f", "x")
	for _, name := range []string{"edit", "edit_file", "apply_diff"} {
		blocked.fails(tongs.CodeBlocked, "", name, args{"path": "f", "oldString": "x", "newString": "y"})
	}
}

func TestDesign9_EverySpellingOfAnArgument(t *testing.T) {
	b := newBench(t, setup{})
	for i, spelling := range []string{"createDirs", "createDirectories", "create_dirs", "create_directories", "create-dirs", "CreateDirs"} {
		dir := string(rune('a' + i))
		res := b.call("write_file", args{"path": dir + "/f", "content": "x", spelling: false})
		if res.OK() || b.exists(dir) {
			t.Errorf("%s was not understood: %s", spelling, res.Content)
		}
		b.ok("write_file", args{"path": dir + "/f", "content": "x", spelling: true})
	}
	b.ok("read_file", args{"file_path": "a/f"})
	b.ok("read_file", args{"filePath": "a/f"})
	b.ok("edit", args{"path": "a/f", "old_string": "x", "new_string": "y"})
}

func TestDesign9_WriteFileAsksOnOverwriteOrAlwaysByConfiguration(t *testing.T) {
	b := newBench(t, setup{})
	b.ok("write_file", args{"path": "f", "content": "1"})
	b.equal("asked for a new file", len(b.asked), 0)
	b.ok("write_file", args{"path": "f", "content": "2"})
	b.equal("asked to overwrite", len(b.asked), 1)
	always := newBench(t, setup{rules: []tongs.Rule{{Tool: "write_file", Layer: tongs.LayerUser, Decision: tongs.Ask}}})
	always.ok("write_file", args{"path": "f", "content": "1"})
	always.equal("asked for a new file", len(always.asked), 1)
}

func TestDesign4_ReadsInTheWorkspaceAreFree(t *testing.T) {
	b := newBench(t, setup{nope: true})
	b.put("f", "x")
	for _, tool := range []string{"read_file", "file_info", "file_exists"} {
		b.ok(tool, args{"path": "f"})
	}
	b.ok("list_directory", args{})
}

func TestDesign4_ProtectedNamesAreOneListForEveryTool(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll, nope: true})
	for _, name := range []string{
		".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".mcp.json", ".claude/settings.json", ".codex/x", ".vscode/tasks.json",
		".idea/x", ".envrc", ".bashrc", ".github/workflows/ci.yml", "tongs.yaml", "a.worker", ".env", "server.key", ".GIT/Config", ".Envrc",
	} {
		b.put("plain", "x")
		b.fails(tongs.CodeApprovalRequired, "", "write_file", args{"path": name, "content": "x"})
		b.fails(tongs.CodeApprovalRequired, "", "edit", args{"path": name, "oldString": "", "newString": "x"})
		b.fails(tongs.CodeApprovalRequired, "", "move_file", args{"from": "plain", "to": name})
		b.put(name, "there")
		b.fails(tongs.CodeApprovalRequired, "", "delete_file", args{"path": name})
		b.fails(tongs.CodeApprovalRequired, "", "move_file", args{"from": name, "to": "elsewhere"})
		b.equal(name, b.get(name), "there")
	}
	for _, name := range []string{".env", "server.key"} {
		b.fails(tongs.CodeApprovalRequired, "", "read_file", args{"path": name})
	}
}

func TestDesign4_AcceptedSpellingsAndReadOnlyZones(t *testing.T) {
	cache, docs := t.TempDir(), t.TempDir()
	b := newBench(t, setup{roots: []workspace.Root{{Name: "cache", Dir: cache, Writable: true}, {Name: "docs", Dir: docs}}})
	for i, name := range []string{"src/a", "./src/../src/b", "/cache/c", filepath.Join(b.dir, "d"), filepath.Join(cache, "e")} {
		b.ok("write_file", args{"path": name, "content": strings.Repeat("x", i+1)})
		b.ok("read_file", args{"path": name})
	}
	b.fails(tongs.CodePermissionDenied, "read-only", "write_file", args{"path": "/docs/x", "content": "x"})
	b.fails(tongs.CodePermissionDenied, "read-only", "move_file", args{"from": "src/a", "to": "/docs/x"})
	b.fails(tongs.CodeInvalidPath, "", "write_file", args{"path": "/nowhere/x", "content": "x"})
}
