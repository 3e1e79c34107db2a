package changeset

import "io"

// Open opens the file that a change left, as the program wrote it.
func (s *Set) Open(c *Change) (io.ReadCloser, error) {
	if s.dropped {
		return nil, ErrDropped
	}
	l := &s.opt.Layers[c.layer]
	return openFile(l.upper(l.rel(c.Path)))
}
