package walk

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sysRoot is the directory that everything is opened beneath.
type sysRoot struct {
	fd int
	// steps is set once openat2 turned out to be missing: then directories are opened one element at a time.
	steps *atomic.Bool
}

func openRoot(host string, dir *os.File) (sysRoot, error) {
	r := sysRoot{steps: &atomic.Bool{}}
	var err error
	if dir != nil {
		r.fd, err = openat(int(dir.Fd()), ".", unix.O_PATH|unix.O_DIRECTORY)
	} else {
		r.fd, err = openat(unix.AT_FDCWD, host, unix.O_PATH|unix.O_DIRECTORY)
	}
	if err != nil {
		return sysRoot{}, &os.PathError{Op: "open", Path: host, Err: err}
	}
	return r, nil
}

func (r sysRoot) stat(rel string) (Info, error) { return sysDir{r.fd}.stat(rel) }

func (r sysRoot) close() error { return unix.Close(r.fd) }

// openat opens without following a link at the end, and starts again when a signal came in between.
func openat(fd int, name string, flags int) (int, error) {
	for {
		opened, err := unix.Openat(fd, name, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return opened, err
		}
	}
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK

// maxPath is the length from which the system refuses a path.
const maxPath = 4096

// dir opens the directory at rel, "" being the root. A link on the way is an error.
func (r sysRoot) dir(rel string) (sysDir, error) {
	if rel == "" {
		rel = "."
	}
	var fd int
	err := error(unix.ENOSYS)
	if len(rel) < maxPath && !r.steps.Load() {
		fd, err = beneath(r.fd, rel)
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
		if len(rel) < maxPath && !errors.Is(err, unix.EAGAIN) {
			r.steps.Store(true)
		}
		fd, err = r.stepwise(rel)
	}
	return sysDir{fd}, err
}

// beneath opens a directory by openat2, which refuses every link and every way out.
func beneath(fd int, rel string) (int, error) {
	how := unix.OpenHow{
		Flags:   dirFlags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		opened, err := unix.Openat2(fd, rel, &how)
		if err != unix.EINTR {
			return opened, err
		}
	}
}

// stepwise opens one element after the other, following no link at any.
func (r sysRoot) stepwise(rel string) (int, error) {
	fd, err := openat(r.fd, ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	for rel != "" {
		var name string
		name, rel, _ = strings.Cut(rel, "/")
		flags := unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
		if rel == "" {
			flags = dirFlags
		}
		next, err := openat(fd, name, flags)
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// sysDir is an open directory.
type sysDir struct{ fd int }

// dir opens a directory in this one. A link is an error.
func (d sysDir) dir(name string) (sysDir, error) {
	fd, err := openat(d.fd, name, dirFlags)
	return sysDir{fd}, err
}

// noDir is a directory that is closed already.
func noDir() sysDir { return sysDir{-1} }

func (d sysDir) close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

func (d sysDir) info() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

func (d sysDir) stat(name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) Info {
	i := Info{
		Type: Other, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
		Device: uint64(st.Dev), Inode: st.Ino, Links: uint64(st.Nlink),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		i.Type = File
	case unix.S_IFDIR:
		i.Type = Directory
	case unix.S_IFLNK:
		i.Type = Symlink
	}
	return i
}

func (d sysDir) open(name string) (Handle, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	return Handle{fd}, err
}

// content returns what is in a small regular file.
func (d sysDir) content(name string, limit int64) ([]byte, bool) {
	h, err := d.open(name)
	if err != nil {
		return nil, false
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil || info.Type != File || info.Size > limit {
		return nil, false
	}
	content := make([]byte, 0, info.Size+512)
	for {
		n, err := h.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case err == io.EOF:
			return content, true
		case err != nil || int64(len(content)) > limit:
			return nil, false
		case len(content) == cap(content):
			content = append(content, 0)[:len(content)]
		}
	}
}

// What getdents64 writes for each entry: inode, offset, its own length, the type, then the name up to a zero.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

const bufferSize = 64 << 10

// next adds entries to the chunk, about as many as it is for, and reports whether there may be more.
func (d sysDir) next(c *chunk) (more bool, err error) {
	if c.buf == nil {
		c.buf = make([]byte, bufferSize)
	}
	for start := len(c.refs); len(c.refs)-start < chunkSize; {
		n, err := unix.Getdents(d.fd, c.buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return false, err
		}
		for rest := c.buf[:n]; len(rest) > direntName; {
			length := binary.NativeEndian.Uint16(rest[direntLength:])
			d.entry(c, rest[direntType], rest[direntName:length])
			rest = rest[length:]
		}
	}
	return true, nil
}

func (d sysDir) entry(c *chunk, typ byte, name []byte) {
	end := 0
	for end < len(name) && name[end] != 0 {
		end++
	}
	name = name[:end]
	if string(name) == "." || string(name) == ".." || end == 0 {
		return
	}
	switch typ {
	case unix.DT_REG:
		c.add(name, File)
	case unix.DT_DIR:
		c.add(name, Directory)
	case unix.DT_LNK:
		c.add(name, Symlink)
	case unix.DT_UNKNOWN:
		if info, err := d.stat(string(name)); err == nil {
			c.add(name, info.Type)
		}
	default:
		c.add(name, Other)
	}
}

// Handle is an open file. Whoever opened it closes it. It is a descriptor without a finaliser or a poller, since
// searches open many.
type Handle struct{ fd int }

// Fd returns the descriptor.
func (h Handle) Fd() int { return h.fd }

// Fd returns the descriptor of the directory.
func (f Folder) Fd() int { return f.sys.fd }

// Read reads up to len(b) bytes; at the end of the file it returns io.EOF.
func (h Handle) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(h.fd, b)
		if err == unix.EINTR {
			continue
		}
		return count(n, len(b), err)
	}
}

// ReadAt reads up to len(b) bytes from an offset on; at the end of the file it returns io.EOF. Unlike io.ReaderAt it
// may return fewer bytes than asked for without an error.
func (h Handle) ReadAt(b []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(h.fd, b, off)
		if err == unix.EINTR {
			continue
		}
		return count(n, len(b), err)
	}
}

func count(n, want int, err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case n == 0 && want > 0:
		return 0, io.EOF
	default:
		return n, nil
	}
}

// Stat describes the open file.
func (h Handle) Stat() (Info, error) { return sysDir(h).info() }

// Close closes the file.
func (h Handle) Close() error { return unix.Close(h.fd) }
