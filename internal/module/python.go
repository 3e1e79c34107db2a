package module

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	importLine = regexp.MustCompile(`(?m)^[ \t]*import[ \t]+([A-Za-z0-9_., \t]+)`)
	fromLine   = regexp.MustCompile(`(?m)^[ \t]*from[ \t]+(\.*)([A-Za-z0-9_.]*)[ \t]+import[ \t]+\(?([A-Za-z0-9_,* \t\r\n#]+)`)
	moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// bundlePython takes a module and what it imports of the files beside it. What it imports otherwise belongs to the
// installation of Python; what neither is cannot be imported.
func bundlePython(c *Config, label string) (*bundled, error) {
	name := strings.TrimSuffix(filepath.Base(c.Module), filepath.Ext(c.Module))
	if !moduleName.MatchString(name) {
		return nil, configError("%q is no name that Python can import; use letters, digits and _", filepath.Base(c.Module))
	}
	p := &pythonFiles{dir: filepath.Dir(c.Module), content: content{}}
	if err := p.add(filepath.Base(c.Module)); err != nil {
		return nil, err
	}
	return &bundled{
		content: p.content, inputs: p.list(), settings: map[string]any{"name": name}, problems: missingPython(c, label, p.content),
	}, nil
}

type pythonFiles struct {
	recorder
	dir     string
	content content
}

// add takes up a file, by its path below the directory, and what it seems to import. Too much does no harm.
func (p *pythonFiles) add(rel string) error {
	slashed := filepath.ToSlash(rel)
	if _, done := p.content[slashed]; done {
		return nil
	}
	data, err := p.read(filepath.Join(p.dir, rel))
	if err != nil {
		return err
	}
	p.content[slashed] = data
	for _, m := range importLine.FindAllSubmatch(data, -1) {
		for name := range strings.SplitSeq(string(m[1]), ",") {
			if words := strings.Fields(name); len(words) > 0 {
				if err := p.follow("", words[0]); err != nil {
					return err
				}
			}
		}
	}
	for _, m := range fromLine.FindAllSubmatch(data, -1) {
		below := ""
		if dots := len(m[1]); dots > 0 {
			below = filepath.Dir(rel)
			for range dots - 1 {
				below = filepath.Dir(below)
			}
		}
		if err := p.follow(below, string(m[2])); err != nil {
			return err
		}
		for name := range strings.SplitSeq(string(m[3]), ",") { // each may be a module of its own
			if words := strings.Fields(name); len(words) > 0 && moduleName.MatchString(words[0]) {
				if err := p.follow(filepath.Join(below, strings.ReplaceAll(string(m[2]), ".", "/")), words[0]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// follow takes up the module of a name: a file, or a package with all that is in it.
func (p *pythonFiles) follow(below, name string) error {
	top, _, _ := strings.Cut(name, ".")
	if top == "" {
		return nil
	}
	rel := filepath.Join(below, top)
	if !filepath.IsLocal(rel) {
		return nil
	}
	if isFile(filepath.Join(p.dir, rel+".py")) {
		return p.add(rel + ".py")
	}
	if !isFile(filepath.Join(p.dir, rel, "__init__.py")) {
		return nil
	}
	return filepath.WalkDir(filepath.Join(p.dir, rel), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" || d.Type()&os.ModeType != 0 {
			return err
		}
		inner, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		return p.add(inner)
	})
}
