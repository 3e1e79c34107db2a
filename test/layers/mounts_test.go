package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writing are the places that make a program's policy, or say what becomes of what it writes, each with the reason. Whoever
// adds one says here why the place is what it claims to be.
var writing = map[string]string{
	"internal/confine/confine.go Default": "every program of a call: shell, run_code, custom tools, their builds, modules, tool servers; and 'sandbox run' and 'mcp wrap'",
	"internal/confine/confine.go Layered": "the roots of a program on a copy; its changes are settled",
	"internal/confine/confine.go Decided": "the roots of a program that was decided before it ran",
	"internal/confine/confine.go Private": "the scratch directory of one call",
	"internal/confine/scope.go Decided":   "the identity of what a caller may do; no program runs with it",
	"internal/confine/outcome.go Decided": "what the user's configuration lets through",
	"internal/wire/wrap.go Decided":       "what a person gives with --write",
	"mcp/mcpclient/host.go Default":       "the PATH that programs have; no program runs with it",
	"sandbox/inherits.go Default":         "the names of variables; no program runs with it",
	"sandbox/shown.go Default":            "the names of what every program sees; no program runs with it",
	"sandbox/overlay_linux.go Layered":    "the probe of overlays, which runs nothing",
	"sandbox/toolchain_linux.go Default":  "a toolchain's cache, which nothing but a program of ours writes, without a workspace",
}

// Every place where production code makes a policy, or makes something writable, is known.
func TestEveryWritablePlaceIsKnown(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "examples" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && name != "../.."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel("../..", name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for what := range makes(file, filepath.Dir(rel) == "sandbox") {
			found[filepath.ToSlash(rel)+" "+what] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if writing[place] == "" {
			t.Errorf("%s is not in the list: say what is written there, and why it is that", place)
		}
	}
	for place := range writing {
		if !found[place] {
			t.Errorf("%s is in the list, and there is no such place", place)
		}
	}
}

// makes are the functions of package sandbox that a file uses which make a policy or a mount, and the literals of both.
func makes(file *ast.File, within bool) map[string]bool {
	names := []string{"Default", "Layered", "Private", "Decided"}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "sandbox" && slices.Contains(names, n.Sel.Name) {
				used[n.Sel.Name] = true
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && within && slices.Contains(names, f.Name) {
				used[f.Name] = true
			}
		case *ast.CompositeLit:
			s, ok := n.Type.(*ast.SelectorExpr)
			if !ok || len(n.Elts) == 0 {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "sandbox" && (s.Sel.Name == "Policy" || s.Sel.Name == "Mount") {
				used[s.Sel.Name] = true
			}
		}
		return true
	})
	return used
}
