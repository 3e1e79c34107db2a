package changeset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/workspace/journal"
)

const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// reader reads one layer.
type reader struct {
	*Set
	ctx   context.Context
	layer *Layer
	index int
	// opened are the modes, by inode, of files that were opened to this process.
	opened map[uint64]uint32
}

func (s *Set) read(ctx context.Context, index int) error {
	r := &reader{Set: s, ctx: ctx, layer: &s.opt.Layers[index], index: index, opened: map[uint64]uint32{}}
	up, err := look(r.layer.Upper)
	if err != nil || up == nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	low, err := look(r.layer.Root)
	if err != nil || low == nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	if up.Mode&0o7777 != low.Mode&0o7777 && (!r.layer.Copied || up.Ctim.Nano() > r.layer.Ready) {
		c := Change{Path: r.layer.At, Kind: Mode, Before: stateOf(r.layer.Root, low), After: stateOf(r.layer.Upper, up), layer: index}
		c.Refused = "it is the root of the tree itself, whose permissions are not changed"
		if err := s.add(c); err != nil {
			return err
		}
	}
	if r.layer.Copied {
		return r.compareDir(".")
	}
	return r.dir(".", false, false)
}

// dir reads a directory of an upper layer. Hidden says that the tree has no directory at its place: it is new. Covered
// says that the tree has one, but that nothing of it shows: the program removed it, or one that it is in, and made it
// again.
func (r *reader) dir(rel string, hidden, covered bool) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	names, err := r.entries(rel)
	if err != nil {
		return err
	}
	covered = covered || !hidden && opaque(r.layer.upper(rel))
	for _, name := range names {
		if err := r.entry(path.Join(rel, name), hidden, covered); err != nil {
			return err
		}
	}
	if hidden || !covered {
		return nil
	}
	// What the program did not make again is gone.
	below, err := namesIn(r.layer.lower(rel))
	if err != nil {
		return err
	}
	for _, name := range below {
		if _, made := slices.BinarySearch(names, name); !made {
			if err := r.gone(path.Join(rel, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries returns the names in a directory of the layer. The layer is ours alone, so that a directory that the program
// closed to everybody is opened again; what it left is in the change.
func (r *reader) entries(rel string) ([]string, error) {
	dir := r.layer.upper(rel)
	names, err := namesIn(dir)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(dir, 0o700) == nil {
		names, err = namesIn(dir)
	}
	return names, err
}

func namesIn(dir string) ([]string, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// look returns what is at a path, nil where there is nothing.
func look(path string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err == nil:
		return &st, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil, nil
	default:
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
}

// statInTree returns what is at a path of the tree, nil where there is nothing. No link is followed on the way.
func (l *Layer) statInTree(rel string) (*unix.Stat_t, error) {
	dir := path.Dir(rel)
	if dir == "." {
		return look(l.lower(rel))
	}
	top, err := unix.Open(l.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: l.Root, Err: err}
	}
	defer unix.Close(top)
	at, err := unix.Openat2(top, dir, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, nil
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: l.lower(dir), Err: err}
	}
	defer unix.Close(at)
	var st unix.Stat_t
	switch err := unix.Fstatat(at, path.Base(rel), &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil:
		return &st, nil
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	default:
		return nil, &fs.PathError{Op: "lstat", Path: l.lower(rel), Err: err}
	}
}

// entry reads an entry of an upper layer.
func (r *reader) entry(rel string, hidden, covered bool) error {
	if r.layer.passes(rel) {
		return nil
	}
	at := r.layer.upper(rel)
	if r.tooLong(rel) {
		return r.unreachable(rel)
	}
	up, err := look(at)
	if err != nil || up == nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	var low *unix.Stat_t
	if !hidden {
		if low, err = r.layer.statInTree(rel); err != nil {
			return err
		}
	}
	if up.Mode&unix.S_IFMT == unix.S_IFCHR && up.Rdev == 0 {
		return r.goneOr(rel, low)
	}
	marks, attrs := attributes(at, up)
	switch {
	case marks["whiteout"]:
		return r.goneOr(rel, low)
	case marks["redirect"], marks["metacopy"]:
		c := Change{Path: r.layer.path(rel), Kind: Modified, After: stateOf(at, up), layer: r.index}
		c.Refused = "the kernel left its content elsewhere (redirect or metacopy), which is not read"
		return r.add(c)
	case up.Mode&unix.S_IFMT == unix.S_IFDIR:
		return r.directory(rel, up, low, covered)
	}
	return r.leaf(rel, up, low, attrs, marks["origin"], false)
}

// room is how much longer than in the tree or the layer a path may be on its way into the tree, and out of it.
const room = 256

// tooLong reports whether the kernel takes no path to an entry. Programs get there step by step.
func (r *reader) tooLong(rel string) bool {
	return max(len(r.layer.upper(rel)), len(r.layer.lower(rel))) >= unix.PathMax-room
}

// unreachable notes something that cannot be looked at, with all that is in it.
func (r *reader) unreachable(rel string) error {
	return r.add(Change{Path: r.layer.path(rel), Kind: Added, After: journal.State{Type: journal.Other}, layer: r.index, Refused: "its path is too long"})
}

// goneOr notes that the program removed what is at a path. Where it is gone anyway that is no change.
func (r *reader) goneOr(rel string, low *unix.Stat_t) error {
	if low == nil {
		return nil
	}
	return r.gone(rel)
}

// gone notes that what the tree has at a path goes, with all that is in it.
func (r *reader) gone(rel string) error {
	low, err := r.layer.statInTree(rel)
	if err != nil || low == nil {
		return err
	}
	c := Change{Path: r.layer.path(rel), Kind: Deleted, Before: stateOf(r.layer.lower(rel), low), layer: r.index}
	if err := r.measure(&c, rel); err != nil {
		return err
	}
	return r.add(c)
}

// measure counts what is in a directory that goes.
func (r *reader) measure(c *Change, rel string) error {
	if c.Before.Type != journal.Dir {
		return nil
	}
	return filepath.WalkDir(r.layer.lower(rel), func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == r.layer.lower(rel) {
			return ignoreGone(err)
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		c.Entries++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			c.Bytes += info.Size()
		}
		return nil
	})
}

// ignoreGone drops errors about what vanished while it was looked at, or cannot be looked into.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// directory reads a directory of the layer that has or has not one of the tree below it.
func (r *reader) directory(rel string, up, low *unix.Stat_t, covered bool) error {
	c := Change{Path: r.layer.path(rel), After: stateOf(r.layer.upper(rel), up), layer: r.index}
	merged := false
	switch {
	case low == nil:
		c.Kind = Added
	case low.Mode&unix.S_IFMT != unix.S_IFDIR:
		c.Kind, c.Before = Modified, stateOf(r.layer.lower(rel), low)
	default:
		merged, c.Kind, c.Before = true, Mode, stateOf(r.layer.lower(rel), low)
	}
	if !merged || up.Mode&0o7777 != low.Mode&0o7777 {
		if err := r.add(c); err != nil {
			return err
		}
	}
	return r.dir(rel, !merged, merged && covered)
}

// leaf reads anything else.
func (r *reader) leaf(rel string, up, low *unix.Stat_t, attrs []string, stems, lost bool) error {
	at, was := r.layer.upper(rel), r.layer.lower(rel)
	if err := r.readable(at, up); err != nil {
		return err
	}
	c := Change{Path: r.layer.path(rel), Kind: Added, After: stateOf(at, up), layer: r.index, stems: stems && low == nil, lost: lost}
	if low != nil {
		c.Kind, c.Before = Modified, stateOf(was, low)
		if err := r.measure(&c, rel); err != nil {
			return err
		}
	}
	if low != nil && c.Before.Type == c.After.Type {
		same, err := r.sameLeaf(&c, at, was)
		switch {
		case err != nil:
			return err
		case same && c.Before.Mode == c.After.Mode:
			return nil
		case same:
			c.Kind = Mode
		}
	}
	r.remark(&c, up, low, attrs)
	return r.add(c)
}

// sameLeaf reports whether a file has the content, or a link the target, that it had.
func (r *reader) sameLeaf(c *Change, at, was string) (bool, error) {
	switch c.After.Type {
	case journal.Link:
		return c.Before.Target == c.After.Target, nil
	case journal.File:
		if c.Before.Size != c.After.Size {
			return false, nil
		}
		same, err := sameContent(r.ctx, at, was)
		if err != nil && r.ctx.Err() == nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
			return false, nil
		}
		return same, err
	}
	return false, nil
}

// readable opens a file of the layer to this process, where the program left it closed to everybody. The mode that it
// had stays in st, also for its other names.
func (r *reader) readable(at string, st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFREG || os.Geteuid() == 0 {
		return nil
	}
	if mode, ok := r.opened[st.Ino]; ok {
		st.Mode = mode
		return nil
	}
	if st.Mode&0o400 != 0 {
		return nil
	}
	r.opened[st.Ino] = st.Mode
	return os.Chmod(at, fs.FileMode(st.Mode&0o777)|0o400)
}

const mostlyHoles = 1 << 20

// remark says what cannot be kept of a change.
func (r *reader) remark(c *Change, up, low *unix.Stat_t, attrs []string) {
	var notes []string
	switch c.After.Type {
	case journal.Other:
		c.Refused = special(up) + " cannot be kept; it is of no use once the command has ended"
		return
	case journal.File:
		if c.shared = up.Nlink > 1; c.shared {
			notes = append(notes, "a hard link: it is kept as a file of its own")
		}
		if (c.shared || r.moves(up)) && up.Size > mostlyHoles && up.Blocks*512 < up.Size/2 {
			notes = append(notes, "most of it are holes, which are filled")
		}
	}
	if low != nil && c.Before.Type == journal.File && low.Nlink > 1 {
		notes = append(notes, "the tree has other names for the same file, which keep what they have")
	}
	if len(attrs) > 0 && (c.shared || r.moves(up)) {
		notes = append(notes, "extended attributes are not kept: "+strings.Join(attrs, ", "))
	}
	c.Note = strings.Join(notes, "; ")
}

// moves reports whether what the layer holds has to be copied to come into the tree.
func (r *reader) moves(up *unix.Stat_t) bool { return up.Dev != r.layer.Device }

func special(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFIFO:
		return "a FIFO"
	}
	return "a device"
}

// stateOf returns the state of what was looked at, without a hash.
func stateOf(at string, st *unix.Stat_t) journal.State {
	s := journal.State{Mode: fs.FileMode(st.Mode & 0o777)}
	for _, b := range []struct {
		bit  uint32
		mode fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if st.Mode&b.bit != 0 {
			s.Mode |= b.mode
		}
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		s.Owner = owner(st)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Type, s.Size, s.Modified = journal.File, st.Size, st.Mtim.Nano()
	case unix.S_IFDIR:
		s.Type = journal.Dir
	case unix.S_IFLNK:
		s.Type, s.Mode = journal.Link, 0
		s.Target, _ = os.Readlink(at)
	default:
		s.Type = journal.Other
	}
	return s
}
