//go:build unix

package owned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links a path may lead through, as for the kernel.
const maxLinks = 40

// walk is one way from the root to a file.
type walk struct {
	owner int
	// make is set where directories that are missing are made.
	make bool
	// dir is where the walk is, at its path; open says that others can make entries there, but not replace ours.
	dir   *os.File
	at    string
	open  bool
	rest  []string
	links int
}

// Open opens a file or directory for reading, provided that only its owner and root can have put it there. It does not
// wait for what is neither.
func Open(path string, owner int) (*os.File, error) {
	return (&walk{owner: owner}).to(path)
}

// MakeDir opens a directory of the user's own that nobody else can write, and makes what is missing of it, private.
func MakeDir(path string) (*os.File, error) {
	f, err := (&walk{owner: User(), make: true}).to(path)
	if err != nil {
		return nil, err
	}
	if err := own(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// own refuses what is no directory of this user, and one that others may put files into.
func own(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	mode := uint32(st.Mode)
	switch {
	case mode&unix.S_IFMT != unix.S_IFDIR:
		return &Error{f.Name(), "is not a directory", "remove it, or choose another directory"}
	case int(st.Uid) != User():
		return &Error{f.Name(), fmt.Sprintf("is owned by user %d (mode %04o), not by you", st.Uid, mode&0o7777), "choose a directory of your own"}
	case mode&0o022 != 0:
		return &Error{
			f.Name(), fmt.Sprintf("is writable by others (mode %04o)", mode&0o7777),
			fmt.Sprintf("check what is in it, then run: chmod 700 %s", quoted(f.Name())),
		}
	}
	return nil
}

func (w *walk) to(path string) (f *os.File, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	defer func() {
		if w.dir != nil && w.dir != f {
			_ = w.dir.Close()
		}
	}()
	if err := w.restart(); err != nil {
		return nil, err
	}
	w.rest = parts(path)
	for len(w.rest) > 0 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		if f, err := w.step(name); f != nil || err != nil {
			return f, err
		}
	}
	return w.readable(w.dir, ".", w.at)
}

func parts(path string) []string {
	var list []string
	for p := range strings.SplitSeq(path, "/") {
		if p != "" && p != "." {
			list = append(list, p)
		}
	}
	return list
}

// restart begins at the root of the file system.
func (w *walk) restart() error {
	fd, err := unix.Open("/", dirFlags, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	return w.enter(os.NewFile(uintptr(fd), "/"), "/")
}

// enter goes on in a directory, once it was checked.
func (w *walk) enter(dir *os.File, at string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		_ = dir.Close()
		return &fs.PathError{Op: "stat", Path: at, Err: err}
	}
	open, err := w.check(dir, at, &st)
	if err != nil {
		_ = dir.Close()
		return err
	}
	if w.dir != nil {
		_ = w.dir.Close()
	}
	w.dir, w.at, w.open = dir, at, open
	return nil
}

// step takes one name of the path. It returns the file where the walk ended at one.
func (w *walk) step(name string) (*os.File, error) {
	at := filepath.Join(w.at, name)
	var st unix.Stat_t
	err := unix.Fstatat(int(w.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) && w.make {
		if err = unix.Mkdirat(int(w.dir.Fd()), name, 0o700); err == nil || errors.Is(err, unix.EEXIST) {
			err = unix.Fstatat(int(w.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
	}
	switch {
	case errors.Is(err, unix.ENOENT) && w.links > 0:
		return nil, &Error{at, "does not exist, and a link leads to it", "mend or remove the link"}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil, w.follow(name, at, &st)
	case unix.S_IFDIR:
		fd, err := unix.Openat(int(w.dir.Fd()), name, dirFlags|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		return nil, w.enter(os.NewFile(uintptr(fd), at), at)
	}
	if len(w.rest) > 0 {
		return nil, &fs.PathError{Op: "open", Path: at, Err: unix.ENOTDIR}
	}
	return w.file(name, at)
}

// follow puts what a link says before the rest of the path.
func (w *walk) follow(name, at string, st *unix.Stat_t) error {
	if err := w.owned(at, st); err != nil {
		return err
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: at, Err: unix.ELOOP}
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(w.dir.Fd()), name, buf)
	if err != nil || n == len(buf) {
		return &fs.PathError{Op: "readlink", Path: at, Err: errors.Join(err, unix.ELOOP)}
	}
	target := string(buf[:n])
	w.rest = append(parts(target), w.rest...)
	if filepath.IsAbs(target) {
		return w.restart()
	}
	return nil
}

// file opens what is no directory, and checks what was opened.
func (w *walk) file(name, at string) (*os.File, error) {
	f, err := w.readable(w.dir, name, at)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil {
		_, err = w.check(f, at, &st)
	}
	if err == nil && w.open && st.Nlink > 1 {
		err = &Error{at, "has another name, and others can make names in its directory", "copy the file to a directory of your own"}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (w *walk) readable(dir *os.File, name, at string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	return os.NewFile(uintptr(fd), at), nil
}

// check refuses what others could have written. Open reports a directory in which others can make entries, but cannot
// replace those of the owner and of root, as in /tmp.
func (w *walk) check(f *os.File, at string, st *unix.Stat_t) (open bool, err error) {
	if err := w.owned(at, st); err != nil {
		return false, err
	}
	mode := uint32(st.Mode)
	everybody := mode&0o002 != 0
	group := mode&0o020 != 0 && (!privateGroup(st.Uid, st.Gid) || listed(f))
	if !everybody && !group {
		return false, nil
	}
	if mode&unix.S_IFMT == unix.S_IFDIR && mode&unix.S_ISVTX != 0 {
		return true, nil
	}
	who := "everybody"
	if !everybody {
		who = "the group " + strconv.Itoa(int(st.Gid))
	}
	return false, &Error{
		at, fmt.Sprintf("is writable by others: by %s (mode %04o)", who, mode&0o7777),
		fmt.Sprintf("check what is in it, then run: chmod go-w %s", quoted(at)),
	}
}

// owned refuses what belongs to somebody else than the owner and root.
func (w *walk) owned(at string, st *unix.Stat_t) error {
	if int(st.Uid) == w.owner || st.Uid == 0 || unmapped(st) {
		return nil
	}
	who := "root"
	if w.owner != 0 {
		who = fmt.Sprintf("user %d or root", w.owner)
	}
	return &Error{
		at, fmt.Sprintf("is owned by user %d (mode %04o), not by %s", st.Uid, uint32(st.Mode)&0o7777, who),
		fmt.Sprintf("check what is in it, then run: chown -h %d %s", w.owner, quoted(at)),
	}
}

// quoted writes a path so that a shell reads it as one.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// privateGroup reports whether a group has one member, that user, as the files of users and groups say. A group that
// they do not know may have others.
func privateGroup(uid, gid uint32) bool {
	user, only := "", true
	for _, f := range records("/etc/passwd", 4) {
		if f[2] == strconv.Itoa(int(uid)) {
			user = f[0]
			only = only && f[3] == strconv.Itoa(int(gid))
		} else if f[3] == strconv.Itoa(int(gid)) {
			only = false
		}
	}
	if user == "" || !only {
		return false
	}
	found := false
	for _, f := range records("/etc/group", 4) {
		if f[2] != strconv.Itoa(int(gid)) {
			continue
		}
		found = true
		for member := range strings.SplitSeq(f[3], ",") {
			if member != "" && member != user {
				return false
			}
		}
	}
	return found
}

// records reads the lines of a file of fields between colons that have that many at least.
func records(path string, fields int) (list [][]string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if f := strings.Split(line, ":"); len(f) >= fields {
			list = append(list, f)
		}
	}
	return list
}
