package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const (
	functionLines = 80
	fileLines     = 500
	optionFields  = 12
	methods       = 7
	sharedLines   = 12
)

// measures counts everything, in the order in which it is printed.
func (h *house) measures() []measure {
	var importable, public, edges, lines int
	var functions, files, options, interfaces []miss
	var product []source
	command := 0
	for _, r := range h.packages {
		edges += len(r.imports)
		if r.path == "cmd/tongs" {
			command = len(r.imports)
		}
		if r.importable() {
			importable++
		}
		seen := map[string]bool{}
		for _, s := range r.sources {
			lines += strings.Count(s.text, "\n")
			if r.importable() {
				exported(s.tree, seen)
			}
			if !r.product() {
				continue
			}
			product = append(product, s)
			functions = append(functions, h.longFunctions(s)...)
			if n := strings.Count(s.text, "\n"); n > fileLines && !ast.IsGenerated(s.tree) {
				files = append(files, miss{s.path, fmt.Sprintf("%d lines", n)})
			}
			wideTypes(r, s.tree, &options, &interfaces)
		}
		public += len(seen)
	}
	shared := shares(product)
	count := func(name string, list []miss) measure { return measure{name, float64(len(list)), 0, list} }
	return []measure{
		{name: "top-level folders", value: float64(len(h.folders)), goal: 18},
		{name: "importable packages", value: float64(importable), goal: 35},
		{name: "public identifiers in them, methods included", value: float64(public), goal: 1000},
		{name: "in-module imports a package", value: float64(edges) / float64(max(len(h.packages), 1)), goal: 2.5},
		{name: "in-module imports of cmd/tongs", value: float64(command), goal: 15},
		count(fmt.Sprintf("functions over %d lines", functionLines), functions),
		count(fmt.Sprintf("files over %d lines", fileLines), files),
		count(fmt.Sprintf("option structs over %d fields", optionFields), options),
		count(fmt.Sprintf("interfaces over %d methods", methods), interfaces),
		count(fmt.Sprintf("pairs of places that share over %d lines", sharedLines), shared),
		{name: "lines of Go without tests", value: float64(lines), goal: -1},
	}
}

// exported adds the exported names of a file: functions, types, variables, constants, and methods of exported types.
func exported(f *ast.File, seen map[string]bool) {
	add := func(prefix string, id *ast.Ident) {
		if id.IsExported() {
			seen[prefix+id.Name] = true
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if on := receiver(d); on == "" || ast.IsExported(on) {
				add(on+".", d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add("", s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add("", id)
					}
				}
			}
		}
	}
}

// receiver is the name of the type that a function is a method of.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

func (h *house) longFunctions(s source) (list []miss) {
	for _, d := range s.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		n := h.files.Position(f.End()).Line - h.files.Position(f.Pos()).Line + 1
		if n <= functionLines {
			continue
		}
		name := f.Name.Name
		if on := receiver(f); on != "" {
			name = on + "." + name
		}
		list = append(list, miss{s.path + " " + name, fmt.Sprintf("%d lines", n)})
	}
	return list
}

// wideTypes finds structs of options with many fields and interfaces with many methods. What an interface embeds counts
// as one method.
func wideTypes(r *room, f *ast.File, options, interfaces *[]miss) {
	ast.Inspect(f, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		name := cmp.Or(r.path, "tongs") + "." + t.Name.Name
		switch x := t.Type.(type) {
		case *ast.StructType:
			if n := fields(x.Fields); n > optionFields && isOptions(t.Name.Name) {
				*options = append(*options, miss{name, fmt.Sprintf("%d fields", n)})
			}
		case *ast.InterfaceType:
			if n := fields(x.Methods); n > methods {
				*interfaces = append(*interfaces, miss{name, fmt.Sprintf("%d methods", n)})
			}
		}
		return true
	})
}

func isOptions(name string) bool {
	return slices.ContainsFunc([]string{"options", "config", "settings"}, func(s string) bool {
		return strings.HasSuffix(strings.ToLower(name), s)
	})
}

func fields(l *ast.FieldList) (n int) {
	for _, f := range l.List {
		n += max(len(f.Names), 1)
	}
	return n
}
