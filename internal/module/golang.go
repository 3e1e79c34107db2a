package module

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// ownModule is the path of a module that has no go.mod.
	ownModule = "tongs.module"
	// hostDir is where the host is put in the module, below internal.
	hostDir  = "internal/tongshost"
	mainFile = "tongs_main_gen.go"
	// tongsPath is the module that one which has a Tools function imports.
	tongsPath = "github.com/tongs-ai/tongs"
	// servePath is the package that serves the finished tools of such a module.
	servePath = tongsPath + "/tools/serve"
)

var moduleLine = regexp.MustCompile(`(?m)^[ \t]*module[ \t]+"?([^\s"/(][^\s"(]*)"?`)

// goModule is a Go module that is read.
type goModule struct {
	recorder
	label string
	// root is where go.mod is, or the package; path is the module's; pkg is the package below root.
	root, path, pkg string
	content         content
	name            string // of the package
	seen            map[string]bool
	outside         []string // imports that are neither of the module nor of the standard library

	funcs  map[string]*ast.FuncDecl
	others map[string]string // what else is exported, and what it is
	says   map[string][]string
	tools  bool // it has a Tools function
}

// bundleGo takes the package of a file, what it imports of its own module, and the packages of others that it needs.
func bundleGo(c *Config, label string) (*bundled, error) {
	g := &goModule{
		label: label, content: content{}, seen: map[string]bool{}, funcs: map[string]*ast.FuncDecl{}, others: map[string]string{}, says: map[string][]string{},
	}
	if err := g.locate(c.Module); err != nil {
		return nil, err
	}
	if err := g.packageOf(c.Module); err != nil {
		return nil, err
	}
	if err := g.add(g.pkg, true); err != nil {
		return nil, err
	}
	if g.tools && !slices.Contains(g.outside, servePath) {
		return nil, fmt.Errorf("it has a Tools function; import _ %q beside it, so that 'go mod tidy' knows what its program needs", servePath)
	}
	if err := g.dependencies(); err != nil {
		return nil, err
	}
	if g.others["main"] != "" {
		return nil, errors.New("its package has a main function, which a module of tools has not; put the tools into a package of their own")
	}
	b := &bundled{content: g.content, inputs: g.list(), problems: map[string]string{}}
	b.settings = map[string]any{"goModule": g.path, "goPackage": g.pkg, "goMain": string(g.main())}
	for _, name := range c.Tools {
		if why := g.problem(name); why != "" {
			b.problems[name] = why
		}
	}
	return b, nil
}

// locate finds the go.mod that a file belongs to.
func (g *goModule) locate(file string) error {
	dir := filepath.Dir(file)
	for at := dir; ; at = filepath.Dir(at) {
		if isFile(filepath.Join(at, "go.mod")) {
			data, err := g.read(filepath.Join(at, "go.mod"))
			if err != nil {
				return err
			}
			m := moduleLine.FindSubmatch(data)
			if m == nil {
				return fmt.Errorf("%s names no module", filepath.Join(at, "go.mod"))
			}
			rel, err := filepath.Rel(at, dir)
			if err != nil {
				return err
			}
			g.root, g.path, g.pkg = at, string(m[1]), filepath.ToSlash(rel)
			g.content["go.mod"] = data
			if sum := filepath.Join(at, "go.sum"); isFile(sum) {
				if g.content["go.sum"], err = g.read(sum); err != nil {
					return err
				}
			}
			return nil
		}
		if filepath.Dir(at) == at {
			g.root, g.path, g.pkg = dir, ownModule, "."
			return nil
		}
	}
}

// packageOf reads the name of the package that a file is of.
func (g *goModule) packageOf(file string) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Base(file), data, parser.PackageClauseOnly)
	if err != nil {
		return err
	}
	g.name = f.Name.Name
	return nil
}

// add takes up the files of a package, and the packages of the module that they import. The main one becomes a program.
func (g *goModule) add(pkg string, main bool) error {
	if g.seen[pkg] {
		return nil
	}
	g.seen[pkg] = true
	dir := filepath.Join(g.root, filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == mainFile {
			continue
		}
		data, err := g.read(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path.Join(pkg, name), data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if main {
			if f.Name.Name != g.name {
				continue // another package in the same directory
			}
			at := fset.Position(f.Name.Pos()).Offset
			data = slices.Concat(data[:at], []byte("main"), data[at+len(f.Name.Name):])
			g.declared(f)
		}
		g.content[path.Join(pkg, name)] = data
		if err := g.embedded(f, pkg); err != nil {
			return err
		}
		for _, imp := range f.Imports {
			if err := g.follow(imp); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow takes up what is imported, where it is of the module; the rest is remembered.
func (g *goModule) follow(imp *ast.ImportSpec) error {
	name, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return err
	}
	if name == "C" {
		return errors.New(`it imports "C"; a module is built without a C compiler`)
	}
	if rel, ok := strings.CutPrefix(name, g.path+"/"); ok {
		return g.add(rel, false)
	}
	if first, _, _ := strings.Cut(name, "/"); (strings.Contains(first, ".") || g.requires(first)) && !slices.Contains(g.outside, name) {
		g.outside = append(g.outside, name)
	}
	return nil
}

// requires reports whether go.mod names another module whose path begins with a word that has no dot: it looks like a
// package of the standard library, but is not one.
func (g *goModule) requires(first string) bool {
	line := regexp.MustCompile(`(?m)^[ \t]*((require|replace)[ \t]+)?["` + "`" + `]?` + regexp.QuoteMeta(first) + `(/[^\s"` + "`" + `]*)?["` + "`" + `]?[ \t]+(v[0-9]|=>)`)
	return line.Match(g.content["go.mod"])
}

// embedded takes up the files that a file embeds.
func (g *goModule) embedded(f *ast.File, pkg string) error {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			patterns, ok := strings.CutPrefix(comment.Text, "//go:embed ")
			if !ok {
				continue
			}
			for _, pattern := range strings.Fields(patterns) {
				pattern = strings.TrimPrefix(strings.Trim(pattern, "`\""), "all:")
				if err := g.embed(pkg, pattern); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *goModule) embed(pkg, pattern string) error {
	dir := filepath.Join(g.root, filepath.FromSlash(pkg))
	found, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return err
	}
	for _, name := range found {
		err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(name)), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if !d.Type().IsRegular() { // what a link leads to is not the module's, and may be somebody's secret
				return fmt.Errorf("it embeds %s, which is no regular file", relative(g.root, file))
			}
			as := relative(g.root, file)
			if as == bundleName {
				return fmt.Errorf("it embeds %s, a name that people are not shown; give it another", as)
			}
			g.content[as], err = g.read(file)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// declared notes what a file of the package declares that could be a tool, or be taken for one.
func (g *goModule) declared(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch name := d.Name.Name; {
			case d.Recv != nil:
			case name == "main":
				g.others[name] = "the main function"
			case g.about(name):
			case name == "Tools" && g.givesTools(f, d):
				g.tools = true
			case d.Name.IsExported():
				g.funcs[name] = d
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				g.value(d.Tok, s)
			}
		}
	}
}

// about notes what says of a tool whether it needs approval, and reports whether the name is that of such a thing.
func (g *goModule) about(name string) bool {
	for _, end := range []string{"NeedsApproval", "RequiresApproval"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			g.says[base] = append(g.says[base], name)
			return true
		}
	}
	return false
}

func (g *goModule) value(tok token.Token, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		g.others[s.Name.Name] = "a type"
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if !g.about(name.Name) {
				g.others[name.Name] = map[token.Token]string{token.CONST: "a constant", token.VAR: "a variable"}[tok]
			}
		}
	}
}

// givesTools reports whether a function is func Tools() []tongs.Tool.
func (g *goModule) givesTools(f *ast.File, d *ast.FuncDecl) bool {
	if d.Type.Params.NumFields() != 0 || d.Type.Results.NumFields() != 1 {
		return false
	}
	list, ok := d.Type.Results.List[0].Type.(*ast.ArrayType)
	if !ok || list.Len != nil {
		return false
	}
	sel, ok := list.Elt.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Tool" && slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(tongsPath) })
}

// signature says why a function cannot be a tool, empty where it can.
func signature(d *ast.FuncDecl) string {
	params, results := 0, d.Type.Results
	for i, p := range d.Type.Params.List {
		n := max(1, len(p.Names))
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && i == 0 && n == 1 && sel.Sel.Name == "Context" {
			continue
		}
		params += n
	}
	switch {
	case d.Type.TypeParams != nil:
		return "it has type parameters, so that there is no schema for its arguments"
	case params > 1:
		return fmt.Sprintf("it takes %d arguments, so that there is no schema for them; a tool takes one struct, whose fields are the arguments", params)
	case results.NumFields() > 2:
		return "it returns more than a value and an error"
	}
	if results.NumFields() == 2 {
		if last, ok := results.List[len(results.List)-1].Type.(*ast.Ident); !ok || last.Name != "error" {
			return "it returns two values, and the second is no error"
		}
	}
	return ""
}

// problem says why a name cannot be a tool, empty where it can.
func (g *goModule) problem(name string) string {
	if g.tools {
		return "" // what they are shows when it runs
	}
	upper := strings.ToUpper(name[:1]) + name[1:]
	for _, n := range []string{name, upper} {
		if d := g.funcs[n]; d != nil {
			if why := signature(d); why != "" {
				return fmt.Sprintf("the function %s of %s cannot be a tool: %s", n, g.label, why)
			}
			if given := g.says[n]; len(given) > 1 {
				return fmt.Sprintf("%s has both %s, which mean the same; keep one", g.label, strings.Join(given, " and "))
			}
			return ""
		}
		if what := g.others[n]; what != "" {
			return fmt.Sprintf("%s of %s is %s; a tool is a function", n, g.label, what)
		}
	}
	var names []string
	for n, d := range g.funcs {
		if signature(d) == "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		names = []string{"none"}
	}
	return fmt.Sprintf("%s exports no function %s; it exports %s", g.label, upper, strings.Join(names, ", "))
}

// main is the file that makes a program of the package.
func (g *goModule) main() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by tongs. DO NOT EDIT.\n\npackage main\n\n")
	if g.tools {
		fmt.Fprintf(&b, "import tongshost %q\n\nfunc main() { tongshost.Main(Tools()) }\n", servePath)
		return b.Bytes()
	}
	fmt.Fprintf(&b, "import tongshost %q\n\nfunc main() {\n\ttongshost.Main([]tongshost.Func{\n", path.Join(g.path, hostDir))
	for _, name := range slices.Sorted(maps.Keys(g.funcs)) {
		if signature(g.funcs[name]) != "" {
			continue
		}
		says := "nil"
		if given := g.says[name]; len(given) == 1 {
			says = given[0]
		}
		about := strings.TrimSpace(g.funcs[name].Doc.Text())
		if about == "" {
			about = "Custom tool: " + name
		}
		fmt.Fprintf(&b, "\t\t{Name: %q, Description: %q, Func: %s, NeedsApproval: %s},\n", name, about, name, says)
	}
	b.WriteString("\t})\n}\n")
	return b.Bytes()
}

// generateGo adds what makes a program of a Go module to what runs.
func (b *bundled) generateGo(c content) error {
	for _, name := range []string{"host.go", "schema.go"} {
		data, err := hostFiles.ReadFile("gohost/" + name)
		if err != nil {
			return err
		}
		c[path.Join("gen", hostDir, name)] = bytes.Replace(data, []byte("package gohost"), []byte("package tongshost"), 1)
	}
	pkg, _ := b.settings["goPackage"].(string)
	main, _ := b.settings["goMain"].(string)
	c[path.Join("gen", pkg, mainFile)] = []byte(main)
	return nil
}
