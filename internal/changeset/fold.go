package changeset

import (
	"io"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// folded is a directory with the lines that tell of all changes below it.
type folded struct {
	dir  tongs.Path
	does []string
}

// Fold has previews and counts show lines instead of the changes below a directory. They are kept and dropped as before.
func (s *Set) Fold(dir tongs.Path, does []string) { s.folded = append(s.folded, folded{dir, does}) }

// Forget leaves out the changes below a directory, as if the program had not made them.
func (s *Set) Forget(dir tongs.Path) {
	s.changes = slices.DeleteFunc(s.changes, func(c Change) bool { return dir.Root == c.Path.Root && dir != c.Path && dir.Contains(c.Path) })
}

// told reports whether the lines of a folded directory tell of a change.
func (s *Set) told(c *Change) bool {
	return slices.ContainsFunc(s.folded, func(f folded) bool {
		return f.dir.Root == c.Path.Root && f.dir != c.Path && f.dir.Contains(c.Path)
	})
}

// lines are those of the folded directories.
func (s *Set) lines() (lines []string) {
	for _, f := range s.folded {
		lines = append(lines, f.does...)
	}
	return lines
}

// Summary says in a line what changed: "commit 1 file to main: a message; 3 added, 1 deleted".
func (s *Set) Summary() string {
	lines := s.lines()
	if counts := s.Counts(); len(lines) == 0 || counts.Added+counts.Modified+counts.Deleted+counts.Renamed+counts.Mode > 0 {
		lines = append(lines, counts.String())
	}
	return strings.Join(lines, "; ")
}

// begin is what a preview begins with.
func (s *Set) begin() string {
	var b strings.Builder
	for _, line := range s.lines() {
		b.WriteString("git: " + line + "\n")
	}
	if counts := s.Counts().String(); b.Len() == 0 || slices.ContainsFunc(s.changes, func(c Change) bool { return !s.told(&c) }) {
		b.WriteString(counts + "\n")
	}
	return b.String()
}

// shown are the changes that a preview shows one by one.
func (s *Set) shown() (list []*Change) {
	for i := range s.changes {
		if c := &s.changes[i]; !s.told(c) {
			list = append(list, c)
		}
	}
	return list
}

// OpenBefore opens the file that a change replaces.
func (s *Set) OpenBefore(c *Change) (io.ReadCloser, error) {
	before, _ := s.sides(c)
	return before.Open()
}
