package launch

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
	"golang.org/x/sys/unix"
)

// census adds up what is new in the trees: files with a name, and files without one that a process holds open. It works
// with descriptors, so that neither long paths nor renames hide anything, and follows no links.
type census struct {
	w *Watch
	// since is when the command had not been started yet, in seconds.
	since int64
	// changes says to look at files that are older, too.
	changes bool
	stop    func() bool

	// fresh is the size of what was made since, files the number of them; changed is the size, as a whole, of what is older
	// and was changed since.
	fresh, changed, files uint64
	// hidden says that the program keeps something from us: a directory that we may not read, or one that is nested deeper
	// than there are descriptors.
	hidden bool
	// linked are new files that were counted and may be met again.
	linked map[[3]uint64]bool
}

const statxWant = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_INO | unix.STATX_BTIME | unix.STATX_CTIME | unix.STATX_BLOCKS

// take looks at all trees, and at what the processes of the sandbox hold open.
func (c *census) take(roots []string) {
	for _, root := range roots {
		c.directory(unix.AT_FDCWD, root, true)
	}
	for _, pid := range descendants(os.Getpid()) {
		c.nameless(pid)
	}
}

// outermost returns the paths that are not inside another one.
func outermost(paths []string) (roots []string) {
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if !slices.ContainsFunc(roots, func(root string) bool { return hostpath.Within(root, path) }) {
			roots = append(roots, path)
		}
	}
	return roots
}

// enough reports whether the result cannot change any more, or is not wanted.
func (c *census) enough() bool {
	return over(c.fresh, c.w.Disk) || over(c.files, c.w.Files) || c.stop()
}

// directory looks at what is in a directory and below. One that did not change since has no new files of its own.
func (c *census) directory(at int, name string, changed bool) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		gone := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
		c.hidden = c.hidden || changed && !gone
		return
	}
	// By this name the entries can be looked at where the file system does not say what they are.
	dir := os.NewFile(uintptr(fd), "/proc/self/fd/"+itoa(fd))
	defer dir.Close()
	for !c.enough() {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			switch {
			case e.IsDir():
				c.directory(fd, e.Name(), c.entry(fd, e.Name()))
			case changed || c.changes:
				c.entry(fd, e.Name())
			}
		}
		if err != nil {
			return
		}
	}
}

// entry counts one file or directory, and reports whether it changed since.
func (c *census) entry(at int, name string) bool {
	var st unix.Statx_t
	if unix.Statx(at, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, statxWant, &st) != nil || st.Ctime.Sec < c.since {
		return false
	}
	c.add(&st)
	return true
}

// add counts what changed since, once.
func (c *census) add(st *unix.Statx_t) {
	if st.Nlink != 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		id := [3]uint64{uint64(st.Dev_major), uint64(st.Dev_minor), st.Ino}
		if c.linked[id] {
			return
		}
		if c.linked == nil {
			c.linked = map[[3]uint64]bool{}
		}
		c.linked[id] = true
	}
	if st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec < c.since {
		c.changed += st.Blocks * 512
		return
	}
	c.fresh += st.Blocks * 512
	c.files++
}

// nameless counts the files of the trees that have no name any more, or never had one, and that a process holds open.
func (c *census) nameless(pid int) {
	tasks := "/proc/" + itoa(pid) + "/task"
	threads, _ := os.ReadDir(tasks) // each may have descriptors of its own
	for _, t := range threads {
		dir := tasks + "/" + t.Name() + "/fd"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path, err := os.Readlink(dir + "/" + e.Name())
			if err != nil || !strings.HasSuffix(path, " (deleted)") || c.enough() {
				continue
			}
			inside := func(root string) bool { return hostpath.Within(root, path) }
			var st unix.Statx_t
			if slices.ContainsFunc(c.w.Paths, inside) && unix.Statx(unix.AT_FDCWD, dir+"/"+e.Name(), 0, statxWant, &st) == nil && st.Nlink == 0 {
				c.add(&st)
			}
		}
	}
}
