package sandbox

import (
	"math"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// maxScan is how many directory entries are looked at for protected and hidden names before a program runs. Where there are
// more, it does not. What it left is looked at as a whole, however much that is.
const maxScan = 4_000_000

// skipped are directories of other people's packages, which are many, deep, and full of names that nothing obeys there.
var skipped = []string{"node_modules", "site-packages", "__pycache__", ".venv"}

// scanned is what was found of names in the writable trees.
type scanned struct {
	protected, hidden []string
	// cut says that there was more than could be looked at, skipped names the directories that were passed over.
	cut     bool
	skipped []string
	// repositories are those that were found; files are the names that git's configuration has of files.
	repositories []gitdir.Repository
	files        map[string]bool

	index    *nameIndex
	roots    []string
	names    *namePatterns
	patterns string
	had      map[string]bool
	dirs     map[string]uint64
}

// scanNames looks for names in trees, at any depth, and passes over exempt paths. Dirs, where it is not nil, is given the
// inodes of the directories that were looked into.
func scanNames(index *nameIndex, roots []string, names nameLists, exempt []string, dirs map[string]uint64) scanned {
	s := scanned{index: index, roots: roots, had: map[string]bool{}, dirs: dirs}
	none := len(names.protect) == 0 && len(names.hide) == 0
	if none && dirs == nil {
		return s
	}
	s.names = newPatterns(names)
	for _, list := range [][]string{names.protect, names.hide, names.open} {
		s.patterns += strings.Join(list, "\x00") + "\x00\x00"
	}
	w := s.walk(index.bound(), func(p string, hide bool) {
		s.had[p] = true
		switch {
		case slices.Contains(exempt, p):
		case hide:
			s.hidden = append(s.hidden, p)
		default:
			s.protected = append(s.protected, p)
		}
	})
	if !none {
		s.skipped, s.cut, s.repositories = w.skippedNames(), w.left <= 0, w.repositories
	}
	return s
}

// walk calls found for every name in the trees, as long as there are no more entries than limit.
func (s *scanned) walk(limit int, found func(p string, hide bool)) *nameWalk {
	w := &nameWalk{names: s.names, git: s.git(), left: limit, settled: settled, skips: map[string]bool{}, found: found, dirs: s.dirs}
	for _, root := range s.roots {
		w.walk(s.index.tree(root, s.patterns), root)
	}
	return w
}

// git reports whether what git runs is protected.
func (s *scanned) git() bool { return s.names != nil && s.names.protect.match(nil, ".git") }

// configured returns what git would run or obey in the trees because its configuration names it.
func (s *scanned) configured() ([]gitdir.Name, error) {
	if !s.git() {
		return nil, nil
	}
	repositories := slices.Clone(s.repositories)
	for _, root := range s.roots {
		repositories = append(repositories, gitdir.Above(root)...)
	}
	names, _, err := gitdir.ThisHost().Named(s.roots, repositories)
	s.files = map[string]bool{}
	for _, n := range names {
		s.had[n.Path] = true
		s.files[n.Path] = !n.Tree
	}
	return names, err
}

// existingNames returns the protected and hidden names that existed at the start, exempt ones too.
func (s *scanned) existingNames() (paths []string) {
	for p := range s.had {
		if info, err := os.Lstat(p); err == nil && !(s.files[p] && info.IsDir()) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// appeared returns the protected and hidden names that are there now and were not at the start: what is hidden for its
// secrets is obeyed by programs, too. What is held back in a layer is not looked at here.
func (s *scanned) appeared(held func(p string) bool) (paths []string) {
	if s.names == nil || s.names.protect.empty() && s.names.hide.empty() {
		return nil
	}
	direct := *s
	direct.dirs = nil
	direct.roots = slices.DeleteFunc(slices.Clone(s.roots), held)
	direct.walk(math.MaxInt, func(p string, _ bool) {
		if s.had[p] || held(p) {
			return
		}
		if _, err := os.Lstat(p); err == nil {
			paths = append(paths, p)
		}
	})
	return paths
}

// nameLists are the names of a policy: those to protect, to hide, and single ones that are neither although they match.
type nameLists struct{ protect, hide, open []string }

// namePatterns are the names to look for.
type namePatterns struct{ protect, hide patternSet }

// patternSet is a list of patterns, each split into its names, and found by its last one. Open are names that match none.
type patternSet struct {
	exact map[string][][]string
	globs [][]string
	open  []string
}

func newPatterns(names nameLists) *namePatterns {
	return &namePatterns{newPatternSet(names.protect, names.open), newPatternSet(names.hide, names.open)}
}

func newPatternSet(list, open []string) patternSet {
	s := patternSet{exact: map[string][][]string{}, open: open}
	for _, p := range list {
		if p = strings.Trim(strings.ToLower(p), "/"); p == "" {
			continue
		}
		names := strings.Split(p, "/")
		if last := names[len(names)-1]; strings.Contains(last, "*") {
			s.globs = append(s.globs, names)
		} else {
			s.exact[last] = append(s.exact[last], names)
		}
	}
	return s
}

func (s *patternSet) empty() bool { return len(s.exact) == 0 && len(s.globs) == 0 }

// match reports whether a name, below the names above it, matches one of the patterns.
func (s *patternSet) match(above []string, name string) bool {
	return (matchAny(s.exact[name], above, name) || matchAny(s.globs, above, name)) &&
		!slices.ContainsFunc(s.open, func(open string) bool { return matchName(open, name) })
}

// isRepository reports whether git takes a directory with these entries for a repository, whatever its name is.
func isRepository(entries []os.DirEntry) bool {
	return gitdir.Is(func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	})
}

// obeyed reports the parts of a git directory that git executes or obeys.
func obeyed(dir string, found func(p string, hide bool)) {
	for _, p := range gitdir.PartsOf(dir) {
		found(p, false)
	}
}

// matchAny reports whether one of the patterns ends in a name and has those above it before.
func matchAny(patterns [][]string, above []string, name string) bool {
	for _, p := range patterns {
		last := len(p) - 1
		if last <= len(above) && matchName(p[last], name) && slices.EqualFunc(p[:last], above[len(above)-last:], matchName) {
			return true
		}
	}
	return false
}

// matchName matches one name; one * in the pattern stands for any part of it.
func matchName(pattern, name string) bool {
	before, after, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
