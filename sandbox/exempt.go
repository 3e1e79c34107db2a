package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// entryPaths are the paths with no link on the way to them, whether they exist or not.
func entryPaths(paths []string) (entries []string) {
	for _, p := range paths {
		if parent, _, err := resolve(filepath.Dir(p)); err == nil {
			entries = append(entries, filepath.Join(parent, filepath.Base(p)))
		}
	}
	return unique(entries)
}

// hide hides what a path leads to, but for what is exempt in it. What is exempt is not hidden for a link that leads there either.
func (r *resolved) hide(p string, exempt []string) {
	real, _, err := resolve(p)
	if err != nil || r.treeOf(real) == nil {
		return
	}
	rest, _ := around(real, exempt)
	r.hidden = append(r.hidden, rest...)
}

// protectAround protects a path whose parent holds no links, but for what is exempt in it. A new name beside that is planted.
func (r *resolved) protectAround(p string, exempt []string) {
	rest, opened := around(p, exempt)
	for _, q := range rest {
		r.sortProtected(q)
	}
	if t := r.treeOf(p); t == nil || !t.writable() {
		return
	}
	for _, dir := range opened {
		had := map[string]bool{}
		for _, e := range readDir(dir) {
			had[e.Name()] = true
		}
		for _, e := range exempt {
			if filepath.Dir(e) == dir {
				had[filepath.Base(e)] = true
			}
		}
		r.opened[dir] = had
	}
}

// around returns the paths at and below p that have everything there but what is exempt, and the directories that were opened
// for that.
func around(p string, exempt []string) (rest, opened []string) {
	if slices.Contains(exempt, p) {
		return nil, nil
	}
	info, err := os.Lstat(p)
	if err != nil || !info.IsDir() || !slices.ContainsFunc(exempt, func(e string) bool { return hostpath.Within(p, e) }) {
		return []string{p}, nil
	}
	opened = []string{p}
	for _, e := range readDir(p) {
		below, more := around(filepath.Join(p, e.Name()), exempt)
		rest, opened = append(rest, below...), append(opened, more...)
	}
	return rest, opened
}
