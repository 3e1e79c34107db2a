package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/config"
)

// A limit that can be configured must reach somebody: each field of config.Limits is used where the parts are wired.
func TestEveryLimitIsConsumed(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch from := sel.X.(type) {
			case *ast.Ident:
				used[sel.Sel.Name] = used[sel.Sel.Name] || from.Name == "l" || from.Name == "limits"
			case *ast.SelectorExpr:
				used[sel.Sel.Name] = used[sel.Sel.Name] || from.Sel.Name == "Limits"
			}
			return true
		})
	}
	for field := range reflect.TypeFor[config.Limits]().Fields() {
		if !used[field.Name] {
			t.Errorf("limits: %s is read from configuration, and nobody consumes it", field.Name)
		}
	}
}
