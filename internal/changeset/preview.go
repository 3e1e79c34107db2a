package changeset

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Diff shows one change: a unified diff where it is text, a line otherwise. A path without a change is "".
func (s *Set) Diff(p tongs.Path) string {
	c := s.find(p)
	if c == nil {
		return ""
	}
	return s.diff(c)
}

func (s *Set) diff(c *Change) string {
	if s.dropped {
		return c.line() + "\n"
	}
	var b strings.Builder
	before, after := s.sides(c)
	switch {
	case c.Refused != "":
		fmt.Fprintf(&b, "%s: %s\n", named(c.Path), c.Refused)
	case c.Kind == Modified && c.Before.Type != c.After.Type:
		b.WriteString(c.line() + "\n")
		if c.Before.Type == journal.File {
			b.WriteString(journal.Diff(c.Path, nil, before, journal.Side{}))
		}
		if c.After.Type == journal.File {
			b.WriteString(journal.Diff(c.Path, nil, journal.Side{}, after))
			b.WriteString(c.executable())
		}
	case c.Entries > 0 || c.Kind == Deleted && c.Before.Type == journal.Dir, c.Kind == Mode:
		b.WriteString(c.line() + "\n")
	default:
		b.WriteString(journal.Diff(c.Path, c.From, before, after))
		b.WriteString(c.executable())
	}
	if c.Note != "" {
		fmt.Fprintf(&b, "(%s: %s)\n", named(c.Path), c.Note)
	}
	return b.String()
}

// named spells a path so that it cannot pass for another line.
func named(p tongs.Path) string { return text.Name(p.String()) }

// executable says what a diff of contents does not: that a file can be run, and could not be before.
func (c *Change) executable() string {
	if c.After.Type != journal.File || c.After.Mode&0o111 == 0 || c.Before.Type == journal.File && c.Before.Mode&0o111 != 0 {
		return ""
	}
	return fmt.Sprintf("(%s is executable)\n", named(c.Path))
}

// line is a change in a line.
func (c *Change) line() string {
	what := ""
	switch {
	case c.Refused != "":
		return fmt.Sprintf("not kept  %s: %s", named(c.Path), c.Refused)
	case c.Kind == Renamed:
		what = " (from " + named(*c.From) + ")"
	case c.Kind == Mode:
		what = fmt.Sprintf(" (%s becomes %s)", c.Before.Mode, c.After.Mode)
	case c.Kind == Modified && c.Before.Type != c.After.Type:
		what = fmt.Sprintf(" (%s becomes %s)", c.describeSide(c.Before), c.describeSide(c.After))
	case c.Entries > 0:
		what = fmt.Sprintf(" (a directory with %d entries, %s)", c.Entries, text.Size(c.Bytes))
	case c.After.Type == journal.Dir || c.Kind == Deleted && c.Before.Type == journal.Dir:
		what = "/"
	case c.After.Type == journal.Link:
		what = " (a link to " + text.Name(c.After.Target) + ")"
	case c.Kind == Modified && c.Before.Type == journal.File && c.After.Type == journal.File:
		what = fmt.Sprintf(" (%s becomes %s)", text.Size(c.Before.Size), text.Size(c.After.Size))
	case c.After.Type == journal.File:
		what = " (" + text.Size(c.After.Size) + ")"
	case c.Before.Type == journal.File:
		what = " (" + text.Size(c.Before.Size) + ")"
	}
	return fmt.Sprintf("%-9s %s%s", c.Kind, named(c.Path), what)
}

// describeSide says in words what a side of the change is.
func (c *Change) describeSide(s journal.State) string {
	switch {
	case s.Type == journal.File:
		return "a file of " + text.Size(s.Size)
	case s.Type == journal.Link:
		return "a link to " + text.Name(s.Target)
	case s.Type == journal.Dir && s == c.Before && c.Entries > 0:
		return fmt.Sprintf("a directory with %d entries, %s,", c.Entries, text.Size(c.Bytes))
	case s.Type == journal.Dir:
		return "a directory"
	}
	return "a special file"
}

// String says how many changes there are: "3 added, 1 deleted".
func (n Counts) String() string {
	var say []string
	for _, k := range []struct {
		n    int
		what string
	}{
		{n.Added, "added"}, {n.Modified, "modified"}, {n.Deleted, "deleted"}, {n.Renamed, "renamed"}, {n.Mode, "with other permissions"},
	} {
		if k.n > 0 {
			say = append(say, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	if len(say) == 0 {
		return "nothing changed"
	}
	s := strings.Join(say, ", ")
	if n.Refused > 0 {
		s += fmt.Sprintf(" (%d cannot be kept)", n.Refused)
	}
	return s
}

// Preview shows the set in about so many bytes: how many changes there are, their diffs as far as there is room for
// them, then the rest as a list, and how many are left out of that.
func (s *Set) Preview(limit int) string {
	shown, _ := s.Begin(limit)
	return shown
}

// Begin is Preview, and reports whether that is all: the difference of every change.
func (s *Set) Begin(limit int) (shown string, whole bool) {
	var b strings.Builder
	b.WriteString(s.begin())
	i, list := 0, s.shown()
	for ; i < len(list); i++ {
		if list[i].large() {
			break
		}
		d := s.diff(list[i])
		if b.Len()+len(d) > limit*3/4 {
			break
		}
		b.WriteString(d)
	}
	whole = i == len(list)
	for ; i < len(list); i++ {
		line := list[i].line() + "\n"
		if b.Len()+len(line) > limit {
			break
		}
		b.WriteString(line)
	}
	if left := len(list) - i; left > 0 {
		fmt.Fprintf(&b, "and %d more\n", left)
	}
	return b.String(), whole
}
