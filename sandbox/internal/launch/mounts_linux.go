package launch

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// builder makes the tree that the command sees, on a tmpfs that nobody else does. It works on descriptors and follows
// no links, so that nothing in a tree that others write to can lead it elsewhere.
type builder struct {
	root    int
	at      string          // where the root is mounted while it is built
	device  map[uint64]bool // of the file systems that we made: only there may mount points be created
	blank   int             // a file that cannot be read, or -1
	shown   int             // how many files stand in for hidden ones
	missing []string
}

// noLinks is how every path is resolved that is not ours alone.
const noLinks = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// buildRoot mounts what the spec says, and makes it the root.
func buildRoot(s *Spec, trees []int) (missing []string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return nil, step("making mounts private", err)
	}
	// The new root may cover what others come from: take them all first.
	sources, err := takeSources(s.Mounts, trees)
	if err != nil {
		return nil, err
	}
	root, err := newFS("tmpfs", "size=16m,nr_inodes=16k,mode=0755", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, step("tmpfs for the root", err)
	}
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, s.Root, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return nil, step("mounting the root on "+s.Root, err)
	}
	b := &builder{root: root, at: s.Root, device: map[uint64]bool{}, blank: -1}
	b.own(root)
	for i := range s.Mounts {
		m := &s.Mounts[i]
		err := b.mount(m, sources[i])
		switch {
		case err == nil:
		case m.Optional && (m.Missing != "" || errors.Is(err, unix.ENOENT)):
			if m.Missing != "" {
				b.missing = append(b.missing, m.Missing+" ("+err.Error()+")")
			}
		default:
			return nil, step(m.Target, err)
		}
		if sources[i] >= 0 {
			_ = unix.Close(sources[i])
		}
	}
	return b.missing, b.pivot()
}

// step says where an error happened. It is what fmt.Errorf would do, which the launcher does not link.
func step(what string, err error) error { return &stepError{what, err} }

type stepError struct {
	what string
	err  error
}

func (e *stepError) Error() string { return e.what + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// takeSources clones the sources of all binds; -1 stands for those that have none, or are optional and absent.
func takeSources(mounts []Mount, trees []int) ([]int, error) {
	fds := make([]int, len(mounts))
	for i, m := range mounts {
		fds[i] = -1
		switch m.Kind {
		case MountTree:
			if m.Tree >= len(trees) {
				return nil, errShort
			}
			fds[i] = trees[m.Tree]
		case MountBind:
			var err error
			fds[i], err = takeBind(&m)
			if err != nil && !(m.Optional && errors.Is(err, unix.ENOENT)) {
				return nil, step("bind "+m.Source, err)
			}
		}
	}
	return fds, nil
}

// errStale is returned when a path is not what the host saw there: somebody swapped it, or our mount namespace is older
// than what is mounted there.
var errStale = errors.New("it is not what it was a moment ago")

func takeBind(m *Mount) (int, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, m.Source, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: noLinks})
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	if m.Inode != 0 && (st.Dev != m.Device || st.Ino != m.Inode) {
		return -1, errStale
	}
	return unix.OpenTree(at, "", cloneTree)
}

const cloneTree = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH | unix.AT_RECURSIVE

// newFS makes a file system that is not mounted anywhere yet, and returns its root.
func newFS(kind, options string, attr int) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for option := range strings.SplitSeq(options, ",") {
		if key, value, ok := strings.Cut(option, "="); ok {
			if err := unix.FsconfigSetString(fs, key, value); err != nil {
				return -1, step(option, err)
			}
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}

// own marks the file system of fd as one that we made.
func (b *builder) own(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		b.device[st.Dev] = true
	}
}

func (b *builder) mount(m *Mount, source int) error {
	switch m.Kind {
	case MountBind, MountTree:
		if source < 0 {
			return unix.ENOENT
		}
		if m.Kind == MountBind {
			if err := setAttr(source, m.Attr); err != nil {
				return err
			}
		}
		return b.attach(source, m.Target)
	case MountTmpfs:
		return b.attachNew("tmpfs", m)
	case MountProc:
		return b.attachNew("proc", m)
	case MountDevpts:
		return b.attachNew("devpts", m)
	case MountOverlay:
		return b.overlay(m)
	case MountSelf:
		return b.self(m)
	case MountMask:
		return b.mask(m)
	default:
		return b.make(m)
	}
}

func setAttr(fd int, attr uint64) error {
	if attr == 0 {
		return nil
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
}

// attach mounts a detached tree at target, which is made where it may be.
func (b *builder) attach(tree int, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	at, err := b.target(target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func (b *builder) attachNew(kind string, m *Mount) error {
	fs, err := newFS(kind, m.Source, int(m.Attr))
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if kind == "tmpfs" {
		b.own(fs)
	}
	return b.attach(fs, m.Target)
}

// self binds what is at the target on itself: a mount point can be neither renamed nor removed.
func (b *builder) self(m *Mount) error {
	at, err := b.open(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := unix.OpenTree(at, "", cloneTree)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setAttr(tree, m.Attr); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

const sealed = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

// mask covers a file or a directory with one that cannot be read.
func (b *builder) mask(m *Mount) error {
	at, err := b.open(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	var tree int
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		tree, err = newFS("tmpfs", "size=4k,nr_inodes=1,mode=0", sealed)
	} else if tree, err = b.standIn(m.Source); err == nil {
		err = setAttr(tree, sealed)
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// standIn returns a new detached mount of a file that is shown instead of a hidden one.
func (b *builder) standIn(content string) (int, error) {
	if content == "" {
		return b.blankFile()
	}
	b.shown++
	fd, err := unix.Openat(b.root, ".shown"+itoa(b.shown), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	if n, err := unix.Write(fd, []byte(content)); err != nil || n < len(content) {
		return -1, cmp.Or(err, error(unix.EIO))
	}
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}

// blankFile returns a new detached mount of a file without content and without permissions.
func (b *builder) blankFile() (int, error) {
	if b.blank < 0 {
		fd, err := unix.Openat(b.root, ".hidden", unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		b.blank = fd
	}
	return unix.OpenTree(b.blank, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}

// open opens what is at a path of the new tree.
func (b *builder) open(p string) (int, error) {
	return unix.Openat2(b.root, strings.TrimPrefix(p, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: noLinks | unix.RESOLVE_BENEATH,
	})
}

// target opens a mount point, and makes it and what leads to it in file systems of ours.
func (b *builder) target(p string, dir bool) (int, error) {
	fd, err := b.open(p)
	if err == nil || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	parent, err := b.parent(p)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	name := path.Base(p)
	if dir {
		err = unix.Mkdirat(parent, name, 0o755)
	} else {
		var f int
		if f, err = unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0o444); err == nil {
			_ = unix.Close(f)
		}
	}
	if err != nil {
		return -1, err
	}
	return b.open(p)
}

// parent opens the directory that p is to be made in, making it where that may be done.
func (b *builder) parent(p string) (int, error) {
	cur, err := unix.Dup(b.root)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(strings.Trim(path.Dir(p), "/"), "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := b.enter(cur, name)
		_ = unix.Close(cur)
		if err != nil {
			return -1, err
		}
		cur = next
	}
	if !b.ours(cur) {
		_ = unix.Close(cur)
		return -1, unix.ENOENT
	}
	return cur, nil
}

func (b *builder) enter(dir int, name string) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: noLinks | unix.RESOLVE_BENEATH}
	fd, err := unix.Openat2(dir, name, how)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if !b.ours(dir) {
		return -1, unix.ENOENT
	}
	if err := unix.Mkdirat(dir, name, 0o755); err != nil {
		return -1, err
	}
	return unix.Openat2(dir, name, how)
}

// ours reports whether fd is in a file system that we made.
func (b *builder) ours(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && b.device[st.Dev]
}

// make makes a link, a file or a directory. What is there already stays.
func (b *builder) make(m *Mount) error {
	if m.Kind == MakeDir {
		fd, err := b.target(m.Target, true)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	parent, err := b.parent(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	name := path.Base(m.Target)
	if m.Kind == MakeSymlink {
		err = unix.Symlinkat(m.Source, parent, name)
		if errors.Is(err, unix.EEXIST) {
			return nil
		}
		return err
	}
	fd, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for content := []byte(m.Source); len(content) > 0; {
		n, err := unix.Write(fd, content)
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

// pivot makes the new tree the root, lets go of the old one, and seals the top.
func (b *builder) pivot() error {
	if err := unix.Fchdir(b.root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return step("pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return step("detaching the old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, attr); err != nil {
		return step("sealing the root", err)
	}
	return nil
}
