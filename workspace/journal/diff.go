package journal

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// MaxDiffed is the size of a file above which no difference is computed.
const MaxDiffed = 1 << 20

// Side is one side of a difference: a state and what opens its content, which is called for files only.
type Side struct {
	State State
	Open  func() (io.ReadCloser, error)
}

// Diff shows how a path comes from one state to another: as a unified diff where both are text, in a line otherwise. From
// is where it was moved from, nil where it was not.
func Diff(p tongs.Path, from *tongs.Path, before, after Side) string {
	b, a := before.State, after.State
	switch {
	case from != nil:
		return fmt.Sprintf("move %s to %s\n", named(*from), named(p))
	case b.Type != File && a.Type != File:
		return words(p, b, a)
	case b.Type == File && a.Type == File && b.Hash != "" && b.Hash == a.Hash:
		return fmt.Sprintf("%s: mode %s becomes %s\n", named(p), b.Mode, a.Mode)
	case b.Type != File && b.Type != Absent || a.Type != File && a.Type != Absent:
		return words(p, b, a)
	}
	old, err := before.read()
	var now string
	if err == nil {
		now, err = after.read()
	}
	if err != nil {
		return fmt.Sprintf("%s: %s becomes %s (%v)\n", named(p), b.size(), a.size(), err)
	}
	name := strings.TrimPrefix(p.String(), "/")
	names := [2]string{text.Name("a/" + name), text.Name("b/" + name)}
	if b.Type == Absent {
		names[0] = "/dev/null"
	}
	if a.Type == Absent {
		names[1] = "/dev/null"
	}
	if diff := udiff.Unified(names[0], names[1], old, now); diff != "" {
		return diff
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", names[0], names[1])
}

// named spells a path so that it cannot pass for another line.
func named(p tongs.Path) string { return text.Name(p.String()) }

// size is a state in a word.
func (s State) size() string {
	if s.Type == File {
		return text.Size(s.Size)
	}
	return "nothing"
}

// words describes a change of what has no text.
func words(p tongs.Path, b, a State) string {
	say := func(s State) string {
		switch s.Type {
		case Absent:
			return "nothing"
		case Link:
			return "a link to " + text.Name(s.Target)
		case Dir:
			return "a directory"
		case File:
			return "a file"
		default:
			return "a special file"
		}
	}
	switch {
	case b.Type == Absent:
		return fmt.Sprintf("%s: create %s\n", named(p), say(a))
	case a.Type == Absent:
		return fmt.Sprintf("%s: delete %s\n", named(p), say(b))
	case b.Type == a.Type && a.Type == Dir:
		return fmt.Sprintf("%s: mode %s becomes %s\n", named(p), b.Mode, a.Mode)
	}
	return fmt.Sprintf("%s: %s becomes %s\n", named(p), say(b), say(a))
}

// read returns the text of a side.
func (s Side) read() (string, error) {
	if s.State.Type != File {
		return "", nil
	}
	if s.State.Size > MaxDiffed {
		return "", errors.New("too large to compare")
	}
	r, err := s.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxDiffed+1))
	if err != nil {
		return "", err
	}
	str, err := text.Decode(data, text.Detect(data))
	if err != nil {
		return "", errors.New("not text")
	}
	return text.ToLF(str), nil
}

// Sides returns what an entry changed at a path, both sides: from the journal or, where that does not keep it since
// nothing changed it later, from the disk.
func (j *Journal) Sides(e *Entry, c *Change) (before, after Side) {
	side := func(s State) Side {
		return Side{State: s, Open: func() (io.ReadCloser, error) {
			switch {
			case s.Lost != "":
				return nil, errors.New(s.Lost)
			case s.Hash == "" || j.blobs.has(s.Hash):
				return j.Content(s.Hash)
			}
			return openKnown(e.Roots, c.Path, s)
		}}
	}
	return side(c.Before), side(c.After)
}

// openKnown opens a file of the disk if it is in the given state.
func openKnown(roots map[string]string, p tongs.Path, s State) (io.ReadCloser, error) {
	d := newDisk(roots)
	defer d.close()
	now, err := d.look(p)
	if err != nil {
		return nil, err
	}
	if !s.Same(now) {
		return nil, errors.New("it changed since, and its content is not kept")
	}
	at, name, err := d.parent(p)
	if err != nil {
		return nil, err
	}
	fi, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	return openFile(at, name, fi)
}
