package grep

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
	"github.com/tongs-ai/tongs/internal/text"
)

const (
	// blockSize is how much of a file is read at a time, keepSize how large a buffer may stay.
	// The first read is shorter, since most files are, and most large ones are binary.
	blockSize = 256 << 10
	firstSize = 64 << 10
	keepSize  = 1 << 20
	// maxLine is how long a line is looked at as a whole.
	maxLine = 4 << 20
	// maxWhole is how large a file may be for a multiline search.
	maxWhole = 16 << 20
	// headSize is how much of a file tells whether it is text.
	headSize = 8 << 10
)

// ErrTooLarge is why a multiline search passes over a file.
var ErrTooLarge = errors.New("larger than 16 MiB, which a multiline search reads as a whole")

// worker searches files, one after the other.
type worker struct {
	s    *search
	slot *slot
	scan *regex.Scanner
	// dir, or rel, is the directory that is open as folder.
	dir    *walk.Dir
	rel    string
	folder walk.Folder
	opened bool
	// found and searched are what it came to, where there are no units.
	found    []File
	searched int
}

func newWorker(s *search, slot *slot) *worker {
	return &worker{s: s, slot: slot, scan: s.q.Matcher.Scanner()}
}

func (w *worker) close() {
	if w.opened {
		w.folder.Close()
	}
	w.scan.Release()
	if w.slot != nil {
		w.s.engine.release(w.slot)
	}
}

// yield lets others have the slot for a while, if somebody waits for one.
func (w *worker) yield(ctx context.Context) (err error) {
	e := w.s.engine
	if e.waiting.Load() == 0 {
		return nil
	}
	e.release(w.slot)
	w.slot, err = e.acquire(ctx)
	return err
}

// visit searches a file that a walk came to. It has a slot for no longer than that, since a walk may let its workers wait
// for each other. The error is that of ctx.
func (w *worker) visit(ctx context.Context, e *walk.Entry) (err error) {
	if w.slot, err = w.s.engine.acquire(ctx); err != nil {
		return err
	}
	defer func() {
		w.s.engine.release(w.slot)
		w.slot = nil
	}()
	w.searched++
	h, err := e.Open()
	if err != nil {
		w.s.skip(e.Rel, err)
		return nil
	}
	f, ok, err := w.handle(ctx, h, e.Rel)
	if err != nil {
		w.s.skip(e.Rel, err)
	}
	if ok {
		f.Path = strings.Clone(f.Path)
		w.found = append(w.found, f)
	}
	return context.Cause(ctx)
}

// unit searches the files of a unit.
func (w *worker) unit(ctx context.Context, tree *walk.Tree, at int64) {
	u := &w.s.units[at]
	if err := w.enter(tree, u); err != nil {
		w.s.skip(u.path(), err)
		w.s.put(at, nil, 0, 0)
		return
	}
	var found []File
	searched, matches := u.all(), 0
	for i, rel := range u.files {
		if ctx.Err() != nil || at > w.s.horizon.Load() {
			return
		}
		f, ok, err := w.open(ctx, rel, u.known[i])
		if err != nil {
			w.s.skip(rel, err)
		}
		if ok {
			found = append(found, f)
			if matches += f.Count; matches >= w.s.q.need() && w.s.q.need() > 0 {
				searched = u.upTo(i)
				break
			}
		}
	}
	w.s.put(at, found, searched, matches)
}

func (w *worker) enter(tree *walk.Tree, u *unit) (err error) {
	if w.opened && w.dir == u.dir && w.rel == u.rel {
		return nil
	}
	if w.opened {
		w.folder.Close()
	}
	if u.dir != nil {
		w.folder, err = tree.Folder(u.dir)
	} else {
		w.folder, err = tree.FolderAt(u.rel)
	}
	w.dir, w.rel, w.opened = u.dir, u.rel, err == nil
	return err
}

// open searches the file at rel, which is in the open folder, and reports whether it has a match.
func (w *worker) open(ctx context.Context, rel string, known Known) (f File, ok bool, err error) {
	h, err := w.folder.Open(path.Base(rel))
	if err != nil {
		return f, false, err
	}
	if len(known.Parts) > 0 {
		if f, sure := w.parts(h, known); sure {
			f.Path = rel
			return f, f.Count > 0, h.Close()
		}
	}
	return w.handle(ctx, h, rel)
}

// parts searches the parts of a file that can match. It returns false where the file has to be searched as a whole: it is
// not what it was, or lines around a match are wanted.
//
// That there is no match needs no look at what the file is now: it held until the search began. For a match it is looked
// at after reading, since the numbers of lines come from what is known.
func (w *worker) parts(h walk.Handle, known Known) (f File, sure bool) {
	w.slot.prepare()
	c := &content{q: &w.s.q, scan: w.scan}
	for _, p := range known.Parts {
		size := int(p.To - p.From)
		if size > len(w.slot.buf) {
			return f, false
		}
		part := w.slot.buf[:size]
		if n, err := h.ReadAt(part, p.From); err != nil || n < size {
			return f, false
		}
		c.number, c.counted, c.shown = p.Lines+1, 0, 0
		if c.search(part); c.done() {
			break
		}
	}
	f, found := c.file()
	if !found {
		return f, true
	}
	info, err := h.Stat()
	if w.s.q.Mode == Files {
		f.Modified = info.ModTime()
	}
	return f, err == nil && info == known.Info && w.s.q.Before+w.s.q.After == 0
}

// handle searches an open file and closes it.
func (w *worker) handle(ctx context.Context, h walk.Handle, rel string) (f File, ok bool, err error) {
	defer h.Close()
	f, ok, err = w.file(ctx, h)
	f.Path = rel
	if ok && w.s.q.Mode == Files {
		if info, err := h.Stat(); err == nil {
			f.Modified = info.ModTime()
		}
	}
	return f, ok, err
}

// file searches an open file.
func (w *worker) file(ctx context.Context, src io.Reader) (f File, ok bool, err error) {
	w.slot.prepare()
	n, err := fill(src, w.slot.buf[:firstSize])
	if err != nil || n == 0 {
		return f, false, err
	}
	more := n == firstSize
	if h, ok := src.(walk.Handle); more && ok {
		// What does not end here may never end: it is searched only if it is what it was when it was listed.
		if info, err := h.Stat(); err != nil || info.Type != walk.File {
			return f, false, err
		}
	}
	b := blocks{w: w, src: src, n: n, more: more}
	format, ok := formatOf(w.slot.buf[:n])
	switch {
	case !ok:
	case format.Encoding == text.Binary:
		if !w.s.q.Binary {
			w.countBinary()
			return f, false, nil
		}
		b.binary = true
	default:
		b.decode(format)
	}
	c := &content{q: &w.s.q, scan: w.scan, binary: b.binary}
	if w.s.q.Matcher.Multiline() {
		err = b.whole(ctx, c)
	} else {
		err = b.each(ctx, c)
	}
	if c.pieces > 0 || c.notText {
		w.count(c)
	}
	f, ok = c.file()
	return f, ok, err
}

func (w *worker) countBinary() {
	w.s.mu.Lock()
	w.s.res.Binary++
	w.s.mu.Unlock()
}

func (w *worker) count(c *content) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.res.Pieces += c.pieces
	if c.notText {
		w.s.res.Binary++
	}
}

// fill reads until the buffer is full or the file ends.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
