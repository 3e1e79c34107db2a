package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs"
)

// disk reaches what is in the roots. It follows no link: each directory on the way is opened from the one above it and
// must be the very one that was seen there. It is for one goroutine at a time.
type disk struct {
	tops map[string]string
	open map[string]*os.Root
	// chain is the last directory that was opened, with those above it, so that neighbours are cheap.
	root  string
	chain []opened
}

type opened struct {
	name string
	dir  *os.Root
}

var errLink = errors.New("a link is on the way that was not there before")

func newDisk(tops map[string]string) *disk {
	return &disk{tops: tops, open: map[string]*os.Root{}}
}

// forget drops what was opened: directories may have moved.
func (d *disk) forget() {
	for _, o := range d.chain {
		_ = o.dir.Close()
	}
	d.chain = nil
}

func (d *disk) close() {
	d.forget()
	for _, r := range d.open {
		_ = r.Close()
	}
	d.open = map[string]*os.Root{}
}

func (d *disk) top(name string) (*os.Root, error) {
	if r := d.open[name]; r != nil {
		return r, nil
	}
	host, ok := d.tops[name]
	if !ok {
		return nil, fmt.Errorf("there is no root %q", name)
	}
	r, err := os.OpenRoot(host)
	if err == nil {
		d.open[name] = r
	}
	return r, err
}

// dir returns the open directory p. It stays open until the next call of dir, parent or forget.
func (d *disk) dir(p tongs.Path) (*os.Root, error) {
	at, err := d.top(p.Root)
	if err != nil || p.Rel == "." {
		return at, err
	}
	if d.root != p.Root {
		d.forget()
		d.root = p.Root
	}
	names := strings.Split(p.Rel, "/")
	same := 0
	for same < len(names) && same < len(d.chain) && d.chain[same].name == names[same] {
		same++
	}
	for _, o := range d.chain[same:] {
		_ = o.dir.Close()
	}
	d.chain = d.chain[:same]
	if same > 0 {
		at = d.chain[same-1].dir
	}
	for _, name := range names[same:] {
		sub, err := openDir(at, name)
		if err != nil {
			return nil, err
		}
		d.chain = append(d.chain, opened{name, sub})
		at = sub
	}
	return at, nil
}

// openDir opens an entry that is a directory and not a link.
func openDir(at *os.Root, name string) (*os.Root, error) {
	fi, err := at.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case fi.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !fi.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	sub, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := sub.Stat(".")
	if err != nil || !os.SameFile(fi, now) {
		_ = sub.Close()
		return nil, errors.Join(err, errLink)
	}
	return sub, nil
}

// parent returns the directory of p, open as dir says, and the name of p in it.
func (d *disk) parent(p tongs.Path) (*os.Root, string, error) {
	if p.Rel == "." {
		at, err := d.top(p.Root)
		return at, ".", err
	}
	at, err := d.dir(p.Dir())
	return at, p.Rel[strings.LastIndexByte(p.Rel, '/')+1:], err
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// lstat describes what is at p, nil where nothing is.
func (d *disk) lstat(p tongs.Path) (fs.FileInfo, error) {
	at, name, err := d.parent(p)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fi, err := at.Lstat(name)
	if missing(err) {
		return nil, nil
	}
	return fi, err
}

// look returns the state of what is at p, with the hash of a file.
func (d *disk) look(p tongs.Path) (State, error) {
	at, name, err := d.parent(p)
	if missing(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	return lookIn(at, name, hashOf)
}

// hashOf returns the hash and the size of a content.
func hashOf(f *os.File, _ int64) (string, int64, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), n, err
}

// lookIn returns the state of an entry; read is given the open file and returns its hash and size.
func lookIn(at *os.Root, name string, read func(*os.File, int64) (string, int64, error)) (State, error) {
	for try := 0; ; try++ {
		fi, err := at.Lstat(name)
		if missing(err) {
			return State{}, nil
		}
		if err != nil {
			return State{}, err
		}
		s := stateOf(fi)
		switch s.Type {
		case Link:
			s.Target, err = at.Readlink(name)
			return s, err
		case File:
		default:
			return s, nil
		}
		f, err := openFile(at, name, fi)
		if err != nil {
			return s, err
		}
		var n int64
		s.Hash, n, err = read(f, s.Size)
		after, statErr := f.Stat()
		_ = f.Close()
		if err = errors.Join(err, statErr); err != nil {
			s.Hash = ""
			return s, err
		}
		if n == s.Size && unchanged(fi, after) {
			return s, nil
		}
		if try == 3 {
			return s, errors.New("it is being written to all the time")
		}
	}
}

func unchanged(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// openFile opens the regular file that fi describes.
func openFile(at *os.Root, name string, fi fs.FileInfo) (*os.File, error) {
	f, err := at.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(fi, now) {
		_ = f.Close()
		return nil, errors.Join(err, errLink)
	}
	return f, nil
}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// stateOf is the state as far as a stat tells.
func stateOf(fi fs.FileInfo) State {
	s := State{Mode: fi.Mode() & modeBits, Owner: ownerOf(fi)}
	switch {
	case fi.Mode().IsRegular():
		s.Type, s.Size, s.Modified = File, fi.Size(), fi.ModTime().UnixNano()
	case fi.IsDir():
		s.Type = Dir
	case fi.Mode()&fs.ModeSymlink != 0:
		s.Type, s.Mode = Link, 0
	default:
		s.Type = Other
	}
	return s
}

// entriesOf returns the names in an open directory, sorted.
func entriesOf(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// each calls visit for what is at p and everything below it, the outermost first. Skip, where it is not nil, leaves out
// what is at a path below p. It does not enter another file system.
func (d *disk) each(
	ctx context.Context, p tongs.Path, skip func(tongs.Path) bool, visit func(p tongs.Path, at *os.Root, name string, fi fs.FileInfo) error,
) error {
	at, name, err := d.parent(p)
	if err != nil {
		return err
	}
	fi, err := at.Lstat(name)
	if err != nil {
		return err
	}
	return eachIn(ctx, at, name, p, device(fi), skip, visit)
}

func eachIn(
	ctx context.Context, at *os.Root, name string, p tongs.Path, dev string, skip func(tongs.Path) bool,
	visit func(tongs.Path, *os.Root, string, fs.FileInfo) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fi, err := at.Lstat(name)
	if err != nil {
		return err
	}
	if err := visit(p, at, name, fi); err != nil || !fi.IsDir() {
		return err
	}
	if device(fi) != dev {
		return fmt.Errorf("another file system is mounted at %s", p)
	}
	sub, err := openDir(at, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := entriesOf(sub)
	if err != nil {
		return err
	}
	for _, n := range names {
		below := p.Join(n)
		if skip != nil && skip(below) {
			continue
		}
		if err := eachIn(ctx, sub, n, below, dev, skip, visit); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint identifies what is at p and everything below it by what a stat tells, without the times of directories.
func (d *disk) fingerprint(ctx context.Context, p tongs.Path, skip func(tongs.Path) bool) (string, error) {
	sum := sha256.New()
	err := d.each(ctx, p, skip, func(q tongs.Path, _ *os.Root, _ string, fi fs.FileInfo) error {
		var size, modified int64
		if fi.Mode().IsRegular() {
			size, modified = fi.Size(), fi.ModTime().UnixNano()
		}
		mode := fi.Mode()
		if fi.IsDir() {
			mode |= 0o200 // which a move may need
		}
		_, err := fmt.Fprintln(sum, strings.TrimPrefix(q.Rel, p.Rel), mode, size, modified, identity(fi))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// rename moves an entry to a name that is free, or, with exchange, exchanges two.
func (d *disk) rename(from, to tongs.Path, exchange bool) error {
	d.forget()
	a, name, err := d.parent(from)
	if err != nil {
		return err
	}
	other := newDisk(d.tops)
	defer other.close()
	b, newName, err := other.parent(to)
	if err != nil {
		return err
	}
	err = renameAt(a, name, b, newName, exchange)
	d.forget()
	return err
}

// chmod changes the mode of a directory.
func (d *disk) chmod(p tongs.Path, mode fs.FileMode) error {
	at, err := d.dir(p)
	if err != nil {
		return err
	}
	return at.Chmod(".", mode)
}

// restoreAttributes gives a new entry the owner, the mode and the time of a state.
func restoreAttributes(at *os.Root, name string, s State) error {
	if s.Owner != "" {
		uid, gid, _ := strings.Cut(s.Owner, ":")
		u, err1 := strconv.Atoi(uid)
		g, err2 := strconv.Atoi(gid)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		// Kept where this process may: only an administrator can give files away.
		_ = at.Lchown(name, u, g)
	}
	if s.Type == Link {
		return nil
	}
	if err := at.Chmod(name, s.Mode); err != nil {
		return err
	}
	if s.Type == File && s.Modified != 0 {
		t := time.Unix(0, s.Modified)
		return at.Chtimes(name, t, t)
	}
	return nil
}

// removeAll removes an entry with everything in it, also below directories that may not be written to.
func removeAll(at *os.Root, name string) error {
	err := at.RemoveAll(name)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	sub, openErr := openDir(at, name)
	if openErr != nil {
		if at.Chmod(name, 0o700) != nil {
			return err
		}
		if sub, openErr = openDir(at, name); openErr != nil {
			return err
		}
	}
	defer sub.Close()
	_ = sub.Chmod(".", 0o700)
	names, err := entriesOf(sub)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := removeAll(sub, n); err != nil {
			return err
		}
	}
	return at.Remove(name)
}
