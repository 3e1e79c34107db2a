package symbols

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// golang returns the definitions of Go source, and false where there is nothing in it that could be parsed.
func golang(text []byte) ([]Definition, bool) {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || len(file.Decls) == 0 {
		return nil, false
	}
	g := &goFile{file: set.File(file.FileStart)}
	if g.file == nil {
		return nil, false
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.general(d)
		}
	}
	return g.list, true
}

type goFile struct {
	file *token.File
	list []Definition
}

func (g *goFile) line(p token.Pos) int {
	if !p.IsValid() || int(p) < g.file.Base() || int(p) > g.file.Base()+g.file.Size() {
		return 0
	}
	return g.file.PositionFor(p, false).Line
}

func (g *goFile) add(name *ast.Ident, kind Kind, end token.Pos, doc *ast.CommentGroup, container string) {
	line := g.line(name.Pos())
	if line == 0 || name.Name == "_" || len(g.list) >= MaxDefinitions {
		return
	}
	d := Definition{Name: name.Name, Kind: kind, Line: line, End: max(line, g.line(end)), Doc: line, Container: container}
	if doc != nil {
		if at := g.line(doc.Pos()); at > 0 && at < line {
			d.Doc = at
		}
	}
	g.list = append(g.list, d)
}

func (g *goFile) function(d *ast.FuncDecl) {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		g.add(d.Name, Function, d.End(), d.Doc, "")
		return
	}
	g.add(d.Name, Method, d.End(), d.Doc, typeName(d.Recv.List[0].Type))
}

// typeName returns the name of a type, without what points to it or parametrises it.
func typeName(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.SelectorExpr:
			return t.Sel.Name
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (g *goFile) general(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			g.typeSpec(s, either(s.Doc, single(d)))
		case *ast.ValueSpec:
			kind := Variable
			if d.Tok == token.CONST {
				kind = Constant
			}
			for _, name := range s.Names {
				g.add(name, kind, s.End(), either(s.Doc, single(d)), "")
			}
		}
	}
}

// single returns the comment of a declaration that is not a group.
func single(d *ast.GenDecl) *ast.CommentGroup {
	if d.Lparen.IsValid() {
		return nil
	}
	return d.Doc
}

func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a != nil {
		return a
	}
	return b
}

func (g *goFile) typeSpec(s *ast.TypeSpec, doc *ast.CommentGroup) {
	switch t := s.Type.(type) {
	case *ast.StructType:
		g.add(s.Name, Struct, s.End(), doc, "")
		g.fields(t.Fields, Field, s.Name.Name)
	case *ast.InterfaceType:
		g.add(s.Name, Interface, s.End(), doc, "")
		g.fields(t.Methods, Method, s.Name.Name)
	default:
		g.add(s.Name, Type, s.End(), doc, "")
	}
}

func (g *goFile) fields(list *ast.FieldList, kind Kind, container string) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, name := range f.Names {
			g.add(name, kind, f.End(), f.Doc, container)
		}
	}
}
