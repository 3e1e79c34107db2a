package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
)

// view is a directory as a transaction would leave it. What the transaction does not touch is read from the disk at once.
type view struct {
	t    *Txn
	dir  tongs.Path
	root *os.Root // nil where the disk has no such directory
}

func (t *Txn) view(dir tongs.Path) (*view, error) {
	root, err := os.OpenRoot(filepath.Join(t.head.Roots[dir.Root], filepath.FromSlash(dir.Rel)))
	if err != nil && !missing(err) {
		return nil, err
	}
	return &view{t: t, dir: dir, root: root}, nil
}

func (v *view) close() {
	if v.root != nil {
		_ = v.root.Close()
	}
}

// disk is the directory as it is.
func (v *view) disk() fs.FS {
	if v.root == nil {
		return nothing{}
	}
	return v.root.FS()
}

// nothing is a directory that is not there.
type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// at returns what would be at a name, and whether that is what the disk has there, with all that is in it.
func (v *view) at(name string) (n node, p tongs.Path, same bool) {
	p = v.dir
	if name != "." {
		p = record(v.dir, name)
	}
	n = v.t.tree.at(p)
	return n, p, n.kind == there && n.at == p && len(n.names) == 0 && n.mode == nil
}

// Open implements fs.FS.
func (v *view) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	n, p, same := v.at(name)
	if same {
		return v.disk().Open(name)
	}
	info, err := v.t.info(p, &n)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := &viewFile{info: info}
	if !info.Mode().IsRegular() {
		return f, nil
	}
	if f.from, err = v.t.open(&n); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// ReadDir implements fs.ReadDirFS.
func (v *view) ReadDir(name string) (list []fs.DirEntry, err error) {
	n, p, same := v.at(name)
	if same {
		return fs.ReadDir(v.disk(), name)
	}
	names := maps.Clone(n.names)
	if names == nil {
		names = map[string]*node{}
	}
	if n.kind == there {
		dir, err := v.t.disk.dir(n.at)
		if err != nil {
			return nil, err
		}
		more, err := entriesOf(dir)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if names[m] == nil {
				names[m] = &node{kind: there, at: n.at.Join(m)}
			}
		}
	} else if n.kind == gone || n.state.Type != Dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	for _, m := range slices.Sorted(maps.Keys(names)) {
		info, err := v.t.info(p.Join(m), names[m])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}

// info tells of what would be at p.
func (t *Txn) info(p tongs.Path, n *node) (fs.FileInfo, error) {
	switch n.kind {
	case made:
		return madeInfo{filepath.Base(p.Rel), n.state}, nil
	case there:
		fi, err := t.disk.lstat(n.at)
		if err == nil && fi == nil {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return fi, nil
	default:
		return nil, fs.ErrNotExist
	}
}

// madeInfo is the fs.FileInfo of something new.
type madeInfo struct {
	name  string
	state State
}

func (m madeInfo) Name() string       { return m.name }
func (m madeInfo) Size() int64        { return m.state.Size }
func (m madeInfo) ModTime() time.Time { return time.Unix(0, m.state.Modified) }
func (m madeInfo) IsDir() bool        { return m.state.Type == Dir }
func (m madeInfo) Sys() any           { return nil }

func (m madeInfo) Mode() fs.FileMode {
	types := map[Type]fs.FileMode{Dir: fs.ModeDir, Link: fs.ModeSymlink, Other: fs.ModeIrregular}
	return m.state.Mode&modeBits | types[m.state.Type]
}

// viewFile is an open file of a view. From is nil for anything but a file.
type viewFile struct {
	info  fs.FileInfo
	from  io.ReadCloser
	once  sync.Once
	whole *bytes.Reader
	err   error
}

// Stat implements fs.File.
func (f *viewFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read implements fs.File.
func (f *viewFile) Read(b []byte) (int, error) {
	if f.from == nil {
		return 0, fs.ErrInvalid
	}
	return f.from.Read(b)
}

// ReadAt implements io.ReaderAt. It is for packs: a content of the journal is read as a whole for it, once anybody wants some.
func (f *viewFile) ReadAt(b []byte, at int64) (int, error) {
	if file, ok := f.from.(*os.File); ok {
		return file.ReadAt(b, at)
	}
	f.once.Do(func() {
		data, err := readRecord("a pack", f)
		f.whole, f.err = bytes.NewReader(data), err
	})
	if f.err != nil {
		return 0, f.err
	}
	return f.whole.ReadAt(b, at)
}

// Close implements fs.File.
func (f *viewFile) Close() error {
	if f.from == nil {
		return nil
	}
	return f.from.Close()
}
