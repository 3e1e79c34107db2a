package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// house is a module that was read.
type house struct {
	folders  []string // at the top
	packages []*room
	files    token.FileSet
}

// room is a package without its tests.
type room struct {
	path    string // below the module; "" is its root
	name    string
	imports []string // of the module, by their path below it
	sources []source
}

// source is a file of a room, on whatever platform it is compiled.
type source struct {
	path string // below the module
	text string
	tree *ast.File
}

// aside are the folders whose code is not part of the product.
var aside = []string{"bench", "e2e", "examples", "scripts", "test"}

// product reports whether users run or import the package: it lies in no folder for tests, and is no suite for them.
func (r *room) product() bool {
	top, _, _ := strings.Cut(r.path, "/")
	if slices.Contains(aside, top) {
		return false
	}
	return !slices.ContainsFunc(r.sources, func(s source) bool {
		return slices.ContainsFunc(s.tree.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
	})
}

// importable reports whether another module can import the package, be it a suite for tests.
func (r *room) importable() bool {
	top, _, _ := strings.Cut(r.path, "/")
	return !slices.Contains(aside, top) && r.name != "main" && !slices.Contains(strings.Split(r.path, "/"), "internal")
}

func read(dir string) (*house, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	h := &house{}
	if err := h.readFolders(dir); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Module,Imports,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		if err := h.readPackage(dir, p); err != nil {
			return nil, err
		}
	}
}

// readFolders finds the folders at the top that git keeps, or that are there where git does not keep the module.
func (h *house) readFolders(dir string) error {
	cmd := exec.Command("git", "-C", dir, "ls-tree", "-d", "--name-only", "HEAD")
	if out, err := cmd.Output(); err == nil {
		h.folders = strings.Fields(string(out))
		return nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			h.folders = append(h.folders, e.Name())
		}
	}
	return err
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Name                      string
	Module                                     struct{ Path string }
	Imports, GoFiles, CgoFiles, IgnoredGoFiles []string
}

func (h *house) readPackage(dir string, p listed) error {
	below := func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, p.Module.Path)
		return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
	}
	path, _ := below(p.ImportPath)
	r := &room{path: path, name: p.Name}
	for _, i := range p.Imports {
		if to, ok := below(i); ok {
			r.imports = append(r.imports, to)
		}
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		full := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(&h.files, full, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		r.sources = append(r.sources, source{filepath.ToSlash(short), string(text), tree})
	}
	h.packages = append(h.packages, r)
	return nil
}
