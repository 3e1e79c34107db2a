package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
)

// View returns a read-only view of everything in the roots, for planning. Spellings are relative to dir.
func (w *Workspace) View(dir tongs.Path) tongs.FileView { return view{w: w, dir: dir} }

type view struct {
	w   *Workspace
	dir tongs.Path
}

func (v view) Resolve(name string) (tongs.Path, error) { return v.w.Resolve(v.dir, name) }

func (v view) ResolveEntry(name string) (tongs.Path, error) { return v.w.ResolveEntry(v.dir, name) }

func (v view) Host(p tongs.Path) string { return v.w.Host(p) }

var _ tongs.Namer = view{}

// Protected implements tongs.Namer.
func (v view) Protected(p tongs.Path) (why string, ok bool) { return v.w.Protected(p) }

func (v view) Stat(p tongs.Path) (tongs.FileInfo, error) {
	h, name, err := v.w.parent(p)
	if err != nil {
		return tongs.FileInfo{}, fail("stat", p, err)
	}
	defer h.close()
	info, err := describe(h, name, p)
	if err != nil {
		return tongs.FileInfo{}, fail("stat", p, err)
	}
	return info, nil
}

func describe(h handle, name string, p tongs.Path) (tongs.FileInfo, error) {
	st, err := h.lstat(name)
	if err != nil {
		return tongs.FileInfo{}, err
	}
	info := st.info(p)
	if st.typ == tongs.FileSymlink {
		info.Target, err = h.readlink(name)
	}
	return info, err
}

func (v view) Version(p tongs.Path) (tongs.Version, error) {
	s, err := v.w.stateAt(p, "")
	if err != nil {
		return "", fail("look at", p, err)
	}
	return s.version(), nil
}

func (v view) Open(p tongs.Path) (tongs.File, error) { return v.w.open(p, nil) }

func (w *Workspace) open(p tongs.Path, alive func() error) (tongs.File, error) {
	h, name, err := w.parent(p)
	if err != nil {
		return nil, fail("open", p, err)
	}
	defer h.close()
	f, st, err := h.open(name)
	if errors.Is(err, errLink) {
		return nil, badPath("cannot open %q: it is a symbolic link; resolve the path and open what it leads to", p.String())
	}
	if err != nil {
		return nil, fail("open", p, err)
	}
	return &file{w: w, f: f, path: p, st: st, alive: alive}, nil
}

// ReadDir yields the entries as they come. A name that is not valid UTF-8 is shown with its bytes escaped and as of
// type other: no path can name it, so nothing can be done with it. A nested root is shown under its own name.
func (v view) ReadDir(p tongs.Path) iter.Seq2[tongs.FileInfo, error] {
	return func(yield func(tongs.FileInfo, error) bool) {
		h, err := v.w.directory(p)
		if err != nil {
			yield(tongs.FileInfo{}, fail("list", p, err))
			return
		}
		defer h.close()
		more := true
		err = list(h, func(names []string) bool {
			for _, name := range names {
				if strings.HasPrefix(name, stagePrefix) {
					continue
				}
				info, err := v.entry(h, name, p)
				if missing(err) {
					continue
				}
				if err != nil {
					more = false
					yield(tongs.FileInfo{}, fail("list", p, err))
					return false
				}
				if more = yield(info, nil); !more {
					return false
				}
			}
			return true
		})
		if err != nil && more {
			yield(tongs.FileInfo{}, fail("list", p, err))
		}
	}
}

func (v view) entry(h handle, name string, dir tongs.Path) (tongs.FileInfo, error) {
	if !utf8.ValidString(name) {
		info, err := describe(h, name, dir.Join(escape(name)))
		info.Type = tongs.FileOther
		return info, err
	}
	return describe(h, name, v.w.owned(dir.Join(name)))
}

// escape writes the bytes of a name that are not UTF-8 as \xNN.
func escape(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r == utf8.RuneError && !strings.HasPrefix(name[i:], string(utf8.RuneError)) {
			fmt.Fprintf(&b, `\x%02x`, name[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// display spells a path for a message.
func display(p tongs.Path) string { return escape(p.String()) }

// file is an open regular file. alive, where it is set, fails once the call has ended.
type file struct {
	w     *Workspace
	f     *os.File
	path  tongs.Path
	st    stat
	alive func() error
}

func (f *file) check() error {
	if f.alive == nil {
		return nil
	}
	return f.alive()
}

func (f *file) Read(b []byte) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	n, err := f.f.Read(b)
	return n, f.wrap(err)
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(b, off)
	return n, f.wrap(err)
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	n, err := f.f.Seek(off, whence)
	return n, f.wrap(err)
}

func (f *file) Close() error { return f.wrap(f.f.Close()) }

func (f *file) Info() tongs.FileInfo { return f.st.info(f.path) }

func (f *file) Version() (tongs.Version, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	st, err := statFile(f.f)
	if err != nil {
		return "", fail("look at", f.path, err)
	}
	if f.st.weak {
		st = weakened(st)
	}
	s, err := f.w.openState(f.f, st, "")
	if err != nil {
		return "", fail("look at", f.path, err)
	}
	return s.version(), nil
}

// wrap gives errors of the system a code, and leaves io.EOF alone.
func (f *file) wrap(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok || errors.Is(err, syscall.EIO) {
		return fail("read", f.path, err)
	}
	return err
}
