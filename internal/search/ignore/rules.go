package ignore

import "strings"

// Kind says which of the names an ignore file has.
type Kind uint8

// The kinds of ignore file, the strongest first.
const (
	Tongs Kind = iota // .tongsignore
	Plain             // .ignore
	Git               // .gitignore
	kinds
)

var fileNames = [kinds]string{".tongsignore", ".ignore", ".gitignore"}

// String returns the name of the file, such as ".gitignore".
func (k Kind) String() string { return fileNames[min(k, kinds-1)] }

// KindOf returns the kind of the ignore file of that name.
func KindOf(name string) (Kind, bool) {
	for k, known := range fileNames {
		if name == known {
			return Kind(k), true
		}
	}
	return 0, false
}

// Files holds the lists of the ignore files of one directory, by kind; nil where there is none.
type Files [kinds]*List

// Rules are the lists that bear on the entries of a directory. They do not change. Nil rules are silent.
type Rules struct {
	// order is what is tried, in order. Those of each kind stand together, so that ends[k] is behind those of kind k.
	order []placed
	ends  [kinds]int
	repo  *Repository
	// repoBase is where paths relative to the root of the repository begin.
	repoBase int
}

// placed is a list and where the paths that it is about begin.
type placed struct {
	list *List
	base int
}

// Enter returns the rules for the entries of a directory below r's, given what ignore files it has. Paths are given to
// Match from some common top on; base is where in them the part below this directory begins. A directory that is the
// root of a repository has repo set: what git's files above it say does not hold in it.
func (r *Rules) Enter(base int, files Files, repo *Repository) *Rules {
	if repo == nil && files == (Files{}) {
		return r
	}
	if r == nil {
		r = &Rules{}
	}
	next := &Rules{repo: r.repo, repoBase: r.repoBase}
	if repo != nil {
		next.repo, next.repoBase = repo, base
	}
	start := 0
	for k := range kinds {
		if files[k] != nil {
			next.order = append(next.order, placed{files[k], base})
		}
		if k != Git || repo == nil {
			next.order = append(next.order, r.order[start:r.ends[k]]...)
		}
		start = r.ends[k]
		next.ends[k] = len(next.order)
	}
	if next.repo != nil {
		for _, l := range []*List{next.repo.exclude, next.repo.global} {
			if l != nil {
				next.order = append(next.order, placed{l, next.repoBase})
			}
		}
	}
	return next
}

// Match decides about the entry of the directory at path, which begins at the common top; its name begins at name.
func (r *Rules) Match(path string, name int, dir bool) Verdict {
	if r == nil {
		return Silent
	}
	last := path[name:]
	for _, p := range r.order {
		if v := p.list.match(path[p.base:], last, dir); v != Silent {
			return v
		}
	}
	return Silent
}

// Ignored reports whether the entry at path is excluded. The path is relative to the common top.
func (r *Rules) Ignored(path string, dir bool) bool {
	return r.Match(path, strings.LastIndexByte(path, '/')+1, dir) == Excluded
}

// Repository returns the repository that the directory is in, nil where there is none.
func (r *Rules) Repository() *Repository {
	if r == nil {
		return nil
	}
	return r.repo
}

// Fold reports whether patterns ignore case in the repository (core.ignoreCase).
func (r *Repository) Fold() bool { return r.fold }

// Fold reports whether patterns ignore case here.
func (r *Rules) Fold() bool { return r != nil && r.repo != nil && r.repo.fold }

// Same reports whether both rules say the same about every path.
func (r *Rules) Same(o *Rules) bool {
	if r == nil || o == nil {
		return r.empty() && o.empty()
	}
	if len(r.order) != len(o.order) || r.ends != o.ends {
		return false
	}
	for i, p := range r.order {
		if p != o.order[i] {
			return false
		}
	}
	return true
}

func (r *Rules) empty() bool { return r == nil || len(r.order) == 0 }
