package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
	"golang.org/x/sys/unix"
)

// merged is a tree as a program left it: what is in its layer, over what is in the tree.
type merged struct{ *Layer }

// whiteout reports whether an entry of an upper layer says that there is none.
func whiteout(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}

// opaque reports whether a directory of an upper layer hides the one below it.
func opaque(path string) bool {
	var b [2]byte
	n, err := unix.Lgetxattr(path, "user.overlay.opaque", b[:])
	return err == nil && n == 1 && b[0] == 'y'
}

func (m *merged) upper(path string) string {
	rel, err := filepath.Rel(m.Root, path)
	if err != nil {
		return m.Upper
	}
	return filepath.Join(m.Upper, rel)
}

// at returns where what is at a path of the tree really is, "" where there is nothing.
func (m *merged) at(path string) string {
	up := m.upper(path)
	if _, err := os.Lstat(up); err == nil {
		if whiteout(up) {
			return ""
		}
		return up
	}
	if m.Copied {
		return ""
	}
	if m.covered(filepath.Dir(path)) {
		return ""
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// covered reports whether nothing of a directory of the tree shows through the layer.
func (m *merged) covered(dir string) bool {
	for ; dir != m.Root && hostpath.Within(m.Root, dir); dir = filepath.Dir(dir) {
		u := m.upper(dir)
		if info, err := os.Lstat(u); err == nil && (!info.IsDir() || opaque(u)) {
			return true
		}
	}
	return false
}

// list returns what is in a directory of the tree.
func (m *merged) list(dir string) []os.DirEntry {
	entries := readDir(m.upper(dir))
	if m.Copied || m.covered(dir) {
		return entries
	}
	had := map[string]bool{}
	for _, e := range entries {
		had[e.Name()] = true
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return whiteout(filepath.Join(m.upper(dir), e.Name())) })
	for _, e := range readDir(dir) {
		if !had[e.Name()] {
			entries = append(entries, e)
		}
	}
	return entries
}

// planted returns the protected paths that are there after the run and were not, or are other ones, in the trees and in
// the layers.
func (p *plan) planted() []string {
	paths := p.res.planted()
	if p.over == nil {
		return paths
	}
	for i := range p.over.List {
		paths = append(paths, p.plantedIn(&merged{Layer: &p.over.List[i]})...)
	}
	return unique(paths)
}

// plantedIn returns those of one layer.
func (p *plan) plantedIn(m *merged) (paths []string) {
	in := func(path string) bool {
		t := p.res.treeOf(path)
		return t != nil && t.path == m.Root && m.at(path) != ""
	}
	for _, path := range p.res.absent {
		if in(path) {
			paths = append(paths, path)
		}
	}
	for _, path := range p.res.files {
		if !in(path) {
			continue
		}
		if info, err := os.Lstat(m.at(path)); err == nil && !info.IsDir() {
			paths = append(paths, path)
		}
	}
	for path := range p.res.watched {
		if in(path) && (m.Copied || m.at(path) != path) {
			paths = append(paths, path)
		}
	}
	for _, l := range p.res.changing {
		if !in(l.At) {
			continue
		}
		if to, err := os.Readlink(m.at(l.At)); err != nil || to != l.To {
			paths = append(paths, l.At)
		}
	}
	if s := &p.res.scan; s.names != nil && !s.names.protect.empty() && slices.Contains(s.roots, m.Root) {
		m.names(s, m.Root, nil, regionOf(m.Root, s.git()), func(path string, hide bool) {
			if !hide && !s.had[path] && m.at(path) != "" {
				paths = append(paths, path)
			}
		})
	}
	return paths
}

// names calls found for every name below dir that is in the layer and matches, for what is obeyed of a directory that has
// become a repository, and for what cannot be looked into. In a git directory only others are looked for.
func (m *merged) names(s *scanned, dir string, above []string, in region, found func(path string, hide bool)) {
	entries, err := listDir(m.upper(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		found(dir, false)
	}
	git := s.git()
	is := git && isRepository(m.list(dir))
	if is || in.git() && strings.EqualFold(filepath.Base(dir), ".git") {
		obeyed(dir, found)
	}
	for _, e := range entries {
		path, name := filepath.Join(dir, e.Name()), strings.ToLower(e.Name())
		sub := in.sub(e.Name(), is, git)
		switch {
		case whiteout(m.upper(path)):
		case git && e.Type()&fs.ModeSymlink != 0 && in.link(e.Name(), is):
			found(path, false)
		case e.IsDir() && sub.git():
			if !in.skips(e.Name()) {
				m.names(s, path, nil, sub, found)
			}
		case in.git():
		case s.names.hide.match(above, name):
			found(path, true)
		case s.names.protect.match(above, name):
			found(path, false)
		case e.IsDir() && !in.skips(e.Name()):
			m.names(s, path, append(slices.Clip(above), name), sub, found)
		}
	}
}
