package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// resolve follows every link in an absolute path and returns where it leads, with the links it went through. What does
// not exist is fs.ErrNotExist.
func resolve(path string) (string, []hostpath.Link, error) {
	if !filepath.IsAbs(path) {
		return "", nil, tongs.Errorf(tongs.CodeInvalidPath, "%q is not an absolute path", path)
	}
	real, links, err := hostpath.Follow(path, hostpath.ReadLink)
	if errors.Is(err, hostpath.ErrLinks) {
		err = tongs.Errorf(tongs.CodeInvalidPath, "%q %w", path, err)
	}
	if err != nil {
		return "", links, err
	}
	return real, links, nil
}

// resolved is a policy whose paths are those that they lead to.
type resolved struct {
	trees []tree // outer ones first, and none that says the same as the one around it
	links []hostpath.Link
	// hidden and protected exist; absent are protected paths that do not, changing are those that are links. Files are
	// paths that are protected once a file is there, and watched are files that may change, and are looked at then.
	hidden, protected, absent, files []string
	changing                         []hostpath.Link
	watched                          map[string]stamp
	// opened are protected directories that something exempt is in, with what else was in them: only that is protected.
	opened map[string]map[string]bool
	// socketMasks are sockets of the host's inside the trees.
	sockets []string
	dir     string
	// cache is where the program sees its build cache, "" where it has none.
	cache string
	scan  scanned
}

// never are the directories that no policy may make writable, because the sandbox needs its own.
var never = []string{"/", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/run", "/var"}

// resolvePolicy resolves the paths of a policy, and looks for the names in it. The index may be nil.
func resolvePolicy(pol *Policy, index *nameIndex) (*resolved, error) {
	r := &resolved{watched: map[string]stamp{}, opened: map[string]map[string]bool{}}
	if err := r.addTrees(pol); err != nil {
		return nil, err
	}
	if err := r.overlaid(pol.Overlay); err != nil {
		return nil, err
	}
	dir := pol.Dir
	if dir == "" {
		dir = "/"
	}
	real, links, err := resolve(dir)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidPath, "the working directory %q: %w", dir, err)
	}
	r.dir, r.links = real, append(r.links, links...)
	if real != "/" && !hostpath.Within("/tmp", real) && r.treeOf(real) == nil {
		return nil, tongs.Errorf(tongs.CodeInvalidPath, "the working directory %q is in none of the policy's trees", dir)
	}
	var dirs map[string]uint64
	if pol.Overlay != nil {
		dirs = map[string]uint64{}
	}
	exempt := entryPaths(pol.Exempt)
	names := nameLists{pol.ProtectedNames, pol.HiddenNames, pol.OpenNames}
	r.scan = scanNames(index, r.named(pol.ReadOnly), names, exempt, dirs)
	if r.scan.cut && slices.Contains(pol.Require, PropertyProtect) {
		return nil, tongs.Errorf(tongs.CodeSandboxUnavailable,
			"the writable directories have more than %d entries, too many to look for protected names; choose a smaller workspace", index.bound())
	}
	for _, p := range pol.Hidden {
		r.hide(p, nil)
	}
	for _, p := range append(pol.HiddenPlaces, r.scan.hidden...) {
		r.hide(p, exempt)
	}
	for _, p := range pol.Protected {
		if err := r.addProtected(p, nil); err != nil {
			return nil, err
		}
	}
	for _, p := range pol.ProtectedPlaces {
		if err := r.addProtected(p, exempt); err != nil {
			return nil, err
		}
	}
	for _, p := range r.scan.protected {
		r.protectAround(p, exempt) // found without following a link
	}
	if err := r.addConfigured(exempt); err != nil {
		return nil, err
	}
	r.hidden, r.protected, r.absent, r.files = unique(r.hidden), unique(r.protected), unique(r.absent), unique(r.files)
	if pol.Found != nil {
		if err := pol.Found(r.scan.existingNames()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// named are the trees in which names are looked for: those that can be written to, but for the cache, and those that were
// kept from it.
func (r *resolved) named(readOnly []string) []string {
	roots := r.withoutCache(r.writable())
	for _, p := range realPaths(readOnly) {
		if !slices.ContainsFunc(roots, func(root string) bool { return hostpath.Within(root, p) }) {
			roots = append(roots, p)
		}
	}
	return roots
}

// realPaths are the paths without links in them; what does not exist is left out.
func realPaths(paths []string) (real []string) {
	for _, p := range paths {
		if to, _, err := resolve(p); err == nil {
			real = append(real, to)
		}
	}
	return real
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// addTrees takes the trees of a policy, and refuses those that do not say what they are.
func (r *resolved) addTrees(pol *Policy) error {
	for _, p := range pol.Readable {
		if err := r.addTree(p, ""); err != nil {
			return err
		}
	}
	for _, m := range pol.Writable {
		if m.kind == "" {
			return tongs.Errorf(tongs.CodeConfigError, "the policy makes %q writable and does not say what becomes of what is written there: layered, private or decided", m.path)
		}
		if err := r.addTree(m.path, m.kind); err != nil {
			return err
		}
	}
	if err := r.addCache(pol.Cache); err != nil {
		return err
	}
	if err := r.checkMounts(pol.Overlay); err != nil {
		return err
	}
	for _, p := range pol.ReadOnly {
		if err := r.addTree(p, ""); err != nil {
			return err
		}
	}
	r.sortTrees()
	return nil
}

func (r *resolved) addTree(p string, kind MountKind) error {
	real, links, err := resolve(p)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return tongs.Errorf(tongs.CodeInvalidPath, "the policy names %q, which does not exist", p)
		}
		return tongs.Errorf(tongs.CodeInvalidPath, "the policy names %q: %w", p, err)
	}
	if kind != "" && slices.Contains(never, real) {
		return tongs.Errorf(tongs.CodeConfigError, "%q cannot be writable in a sandbox; choose a directory of its own", p)
	}
	if real == "/" || real == "/proc" || hostpath.Within("/proc", real) || hostpath.Within("/dev", real) {
		return tongs.Errorf(tongs.CodeConfigError, "%q cannot be shown in a sandbox, which has its own; name what is needed of it", p)
	}
	r.links = append(r.links, links...)
	r.trees = append(r.trees, tree{real, kind})
	return nil
}

// sortTrees puts outer trees first. Of equal ones the last that was added counts.
func (r *resolved) sortTrees() {
	last := map[string]tree{}
	for _, t := range r.trees {
		last[t.path] = t
	}
	sorted := make([]tree, 0, len(last))
	for _, t := range last {
		sorted = append(sorted, t)
	}
	slices.SortFunc(sorted, func(a, b tree) int { return strings.Compare(a.path, b.path) })
	r.trees = r.trees[:0]
	for _, t := range sorted {
		if outer := r.treeOf(t.path); outer == nil || outer.kind != t.kind {
			r.trees = append(r.trees, t)
		}
	}
}

// treeOf returns the innermost tree that holds p, or nil.
func (r *resolved) treeOf(p string) (found *tree) {
	for i := range r.trees {
		if hostpath.Within(r.trees[i].path, p) && (found == nil || len(r.trees[i].path) > len(found.path)) {
			found = &r.trees[i]
		}
	}
	return found
}

// writable returns the roots of the writable trees.
func (r *resolved) writable() (roots []string) {
	for _, t := range r.trees {
		if t.writable() {
			roots = append(roots, t.path)
		}
	}
	return roots
}

// addProtected sorts a protected path by what is there. Its parent is resolved, itself it is not: a link is protected as
// what it is.
func (r *resolved) addProtected(p string, exempt []string) error {
	if !filepath.IsAbs(p) {
		return tongs.Errorf(tongs.CodeInvalidPath, "%q is not an absolute path", p)
	}
	p = filepath.Clean(p)
	parent, _, err := resolve(filepath.Dir(p))
	if err != nil {
		if t := r.treeOf(p); t != nil && t.writable() {
			r.absent = append(r.absent, p)
		}
		return nil
	}
	r.protectAround(filepath.Join(parent, filepath.Base(p)), exempt)
	return nil
}

// addConfigured adds what git's configuration names. It has followed the links.
func (r *resolved) addConfigured(exempt []string) error {
	names, err := r.scan.configured()
	if err != nil {
		return tongs.Errorf(tongs.CodeSandboxUnavailable, "cannot determine what git runs in the workspace: %w", err)
	}
	for _, n := range names {
		info, err := os.Lstat(n.Path)
		switch t := r.treeOf(n.Path); {
		case slices.Contains(exempt, n.Path):
		case n.Tree || err == nil && !info.IsDir():
			r.sortProtected(n.Path)
		case t != nil && t.writable():
			r.files = append(r.files, n.Path)
		}
	}
	return nil
}

// sortProtected is addProtected for a path whose parent holds no links.
func (r *resolved) sortProtected(p string) {
	if t := r.treeOf(p); t == nil || !t.writable() {
		return
	}
	info, err := os.Lstat(p)
	switch {
	case err != nil:
		r.absent = append(r.absent, p)
	case info.Mode()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(p)
		r.changing = append(r.changing, hostpath.Link{At: p, To: to})
	case gitdir.Changes(p):
		r.watched[p] = stampOfFile(info)
	default:
		r.protected = append(r.protected, p)
	}
}

// planted returns the protected paths that are there now and were not, or are something else.
func (r *resolved) planted() (paths []string) {
	for _, p := range r.absent {
		if _, err := os.Lstat(p); err == nil && !r.held(p) {
			paths = append(paths, p)
		}
	}
	for _, p := range r.files {
		if info, err := os.Lstat(p); err == nil && !info.IsDir() && !r.held(p) {
			paths = append(paths, p)
		}
	}
	for p, was := range r.watched {
		if info, err := os.Lstat(p); err == nil && stampOfFile(info) != was && !r.held(p) {
			paths = append(paths, p)
		}
	}
	for _, l := range r.changing {
		if to, err := os.Readlink(l.At); err != nil || to != l.To {
			if _, err := os.Lstat(l.At); err == nil && !r.held(l.At) {
				paths = append(paths, l.At)
			}
		}
	}
	for dir, had := range r.opened {
		for _, e := range readDir(dir) {
			if p := filepath.Join(dir, e.Name()); !had[e.Name()] && !r.held(p) {
				paths = append(paths, p)
			}
		}
	}
	return unique(append(paths, r.scan.appeared(r.held)...))
}
