package changeset

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tongs-ai/tongs/internal/text"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// WriteAll writes the whole set: what Preview begins, with the difference of every change, however large. It needs little memory:
// of files that are too large to compare, what is the same at their start is left out, and all that follows is shown.
func (s *Set) WriteAll(ctx context.Context, w io.Writer) error {
	if _, err := io.WriteString(w, s.begin()); err != nil {
		return err
	}
	for _, c := range s.shown() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !s.dropped && c.large() {
			before, after := s.sides(c)
			if err := writeLarge(w, c, before, after); err != nil {
				return err
			}
			continue
		}
		if _, err := io.WriteString(w, s.diff(c)); err != nil {
			return err
		}
	}
	return nil
}

// large reports whether a change is one of contents that are too large to compare in memory.
func (c *Change) large() bool {
	fine := func(s journal.State) bool { return s.Type == journal.File || s.Type == journal.Absent }
	return c.Refused == "" && c.Entries == 0 && (c.Kind == Added || c.Kind == Modified || c.Kind == Deleted) && fine(c.Before) && fine(c.After) &&
		max(c.Before.Size, c.After.Size) > journal.MaxDiffed
}

// writeLarge writes the difference of two large files line by line.
func writeLarge(w io.Writer, c *Change, before, after journal.Side) error {
	if kind := binaryKind(before, after); kind != "" {
		_, err := fmt.Fprintf(w, "%s (%s)\n", c.line(), kind)
		return err
	}
	same, old, now, err := measure(before, after)
	if err != nil {
		_, err = fmt.Fprintf(w, "%s (%v)\n", c.line(), err)
		return err
	}
	name := c.Path.String()
	names := [2]string{text.Name("a/" + name), text.Name("b/" + name)}
	if before.State.Type != journal.File {
		names[0] = "/dev/null"
	}
	if after.State.Type != journal.File {
		names[1] = "/dev/null"
	}
	first := func(n int64) int64 { // where a part begins: at its first line, or before it where it has none
		if n == 0 {
			return same
		}
		return same + 1
	}
	if _, err := fmt.Fprintf(w, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", names[0], names[1], first(old), old, first(now), now); err != nil {
		return err
	}
	if err := writeRest(w, before, same, '-'); err != nil {
		return err
	}
	if err := writeRest(w, after, same, '+'); err != nil {
		return err
	}
	_, err = io.WriteString(w, c.executable())
	return err
}

// binaryKind says what a file is that is no text, empty where both are text.
func binaryKind(sides ...journal.Side) string {
	for _, side := range sides {
		if side.State.Type != journal.File {
			continue
		}
		r, err := side.Open()
		if err != nil {
			return err.Error()
		}
		head := make([]byte, 8000)
		n, _ := io.ReadFull(r, head)
		_ = r.Close()
		if bytes.IndexByte(head[:n], 0) >= 0 {
			return "not text: " + http.DetectContentType(head[:n])
		}
	}
	return ""
}

func open(side journal.Side) (*bufio.Reader, func(), error) {
	if side.State.Type != journal.File {
		return bufio.NewReader(bytes.NewReader(nil)), func() {}, nil
	}
	r, err := side.Open()
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReaderSize(r, 64<<10), func() { _ = r.Close() }, nil
}

// measure tells how many lines two files have in common at their start, and how many each has after them.
func measure(before, after journal.Side) (same, old, now int64, err error) {
	a, closeA, err := open(before)
	if err != nil {
		return 0, 0, 0, err
	}
	defer closeA()
	b, closeB, err := open(after)
	if err != nil {
		return 0, 0, 0, err
	}
	defer closeB()
	for equal := true; ; {
		x, errA := a.ReadSlice('\n')
		y, errB := b.ReadSlice('\n')
		equal = equal && bytes.Equal(x, y)
		if equal && len(x) > 0 && x[len(x)-1] == '\n' {
			same++
			continue
		}
		if equal && errA == bufio.ErrBufferFull && errB == bufio.ErrBufferFull {
			continue // a long line, the same so far
		}
		if old, err = restLines(a, x, errA); err == nil {
			now, err = restLines(b, y, errB)
		}
		return same, old, now, err
	}
}

// restLines counts the lines from the one that a reader is in, of which it read some.
func restLines(r *bufio.Reader, read []byte, err error) (n int64, _ error) {
	open := len(read) > 0
	if open && read[len(read)-1] == '\n' {
		n, open = 1, false
	}
	for err == nil || err == bufio.ErrBufferFull {
		var part []byte
		part, err = r.ReadSlice('\n')
		if len(part) > 0 {
			open = part[len(part)-1] != '\n'
			if !open {
				n++
			}
		}
	}
	if open {
		n++
	}
	if err != io.EOF {
		return n, err
	}
	return n, nil
}

// writeRest writes the lines of a file after the first ones, each with a mark before it.
func writeRest(w io.Writer, side journal.Side, skip int64, mark byte) error {
	r, closing, err := open(side)
	if err != nil {
		return err
	}
	defer closing()
	start := true
	for {
		part, err := r.ReadSlice('\n')
		ended := len(part) > 0 && part[len(part)-1] == '\n'
		if skip > 0 {
			if ended {
				skip--
			}
		} else if len(part) > 0 {
			if start {
				part = append([]byte{mark}, part...)
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
			start = ended
		}
		switch {
		case err == io.EOF:
			if !start {
				_, err = io.WriteString(w, "\n\\ No newline at end of file\n")
				return err
			}
			return nil
		case err != nil && err != bufio.ErrBufferFull:
			return err
		}
	}
}
