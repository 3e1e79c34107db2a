package project

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// maxDocument is how large a report or a listing may be that is read as a whole.
const maxDocument = 64 << 20

// The programs by which it is found out which packages of Go uncommitted changes affect.
var (
	gitChanged = program{argv: []string{"git", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"}, readOnly: true}
	gitTop     = program{argv: []string{"git", "rev-parse", "--show-toplevel"}, readOnly: true}
	goList     = program{argv: []string{"go", "list", "-e", "-test", "-json=ImportPath,Dir,Deps,ForTest,EmbedFiles,TestEmbedFiles,XTestEmbedFiles", "./..."}, readOnly: true}
	goLooks    = []program{gitTop, gitChanged, goList}
)

// goPackage is what go list says of a package, or of the variant of it that is made for its tests.
type goPackage struct {
	ImportPath, Dir, ForTest                    string
	Deps                                        []string
	EmbedFiles, TestEmbedFiles, XTestEmbedFiles []string
}

// goAffected has go test run the packages below the pattern that changed or that depend on one that did.
func goAffected(p *place, argv []string, pattern string) func(context.Context, *session, *program) (bool, error) {
	return func(ctx context.Context, s *session, main *program) (bool, error) {
		files, err := changedFiles(ctx, s)
		if err != nil {
			return false, err
		}
		text, err := s.output(ctx, goList, maxDocument)
		if err != nil {
			return false, err
		}
		var all []goPackage
		for dec := json.NewDecoder(strings.NewReader(text)); ; {
			var pkg goPackage
			if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return false, tongs.Errorf(tongs.CodeExecutionError, "go list cannot be read: %w", err)
			}
			all = append(all, pkg)
		}
		top := p.host(strings.TrimSuffix(strings.TrimSuffix(pattern, "/..."), "."))
		list := affected(all, files, filepath.Clean(top), strings.HasSuffix(pattern, "/..."), p.host("."))
		main.argv = append(slices.Clone(argv), list...)
		return len(list) > 0, nil
	}
}

// changedFiles are the files that differ from the last commit, and those that git does not know, by their path on this machine.
func changedFiles(ctx context.Context, s *session) (files []string, err error) {
	if err := s.opt.installed("git", "install git, or leave out changed"); err != nil {
		return nil, err
	}
	top, err := s.output(ctx, gitTop, maxConfig)
	if err == nil && s.exit.Code != 0 {
		err = tongs.Errorf(tongs.CodeConfigError, "the project is in no git repository, so that it cannot be told what changed; leave out changed")
	}
	if err != nil {
		return nil, err
	}
	text, err := s.output(ctx, gitChanged, maxDocument)
	if err == nil && s.exit.Code != 0 {
		err = tongs.Errorf(tongs.CodeExecutionError, "git status failed with exit code %d", s.exit.Code)
	}
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(text, "\x00") {
		if len(entry) > 3 {
			files = append(files, filepath.Join(strings.TrimSuffix(top, "\n"), entry[3:]))
		}
	}
	return files, nil
}

// affected are the packages at top, or below it where deep, whose tests changed files can affect. A change of the module's own files
// affects every package.
func affected(all []goPackage, files []string, top string, deep bool, module string) (list []string) {
	changed := map[string]bool{}
	for _, pkg := range all {
		if pkg.ForTest == "" && slices.ContainsFunc(files, func(file string) bool { return belongs(file, pkg, module) }) {
			changed[pkg.ImportPath] = true
		}
	}
	for _, pkg := range all {
		name := pkg.ImportPath
		if pkg.ForTest != "" {
			name = pkg.ForTest
		}
		inside := pkg.Dir == top || deep && strings.HasPrefix(pkg.Dir, strings.TrimSuffix(top, "/")+"/")
		if !inside || strings.HasSuffix(name, ".test") || slices.Contains(list, name) {
			continue
		}
		if changed[name] || slices.ContainsFunc(pkg.Deps, func(dep string) bool {
			dep, _, _ = strings.Cut(dep, " ")
			return changed[dep]
		}) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// belongs reports whether a file counts for a package: it is in its directory or its testdata, it is embedded, or it is one of those
// that say how the module is built.
func belongs(file string, pkg goPackage, module string) bool {
	dir := path.Dir(filepath.ToSlash(file))
	if dir == pkg.Dir || strings.HasPrefix(dir+"/", pkg.Dir+"/testdata/") {
		return true
	}
	if dir == module && slices.Contains([]string{"go.mod", "go.sum", "go.work"}, path.Base(file)) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(pkg.EmbedFiles, pkg.TestEmbedFiles, pkg.XTestEmbedFiles), func(name string) bool {
		return path.Join(pkg.Dir, name) == filepath.ToSlash(file)
	})
}
