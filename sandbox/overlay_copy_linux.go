package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// treeCopy is the copying of a tree, up to a bound.
type treeCopy struct {
	ctx          context.Context
	from, to     string
	skip         []string
	files, bytes int64
	base         map[string][3]uint64
}

// copyTree copies the tree: directories, files and links, with modes, owners and times. What is let through is an empty
// directory. Sockets, FIFOs and devices are left out.
func (l *Layer) copyTree(ctx context.Context, o *Overlay) error {
	l.Base = map[string][3]uint64{}
	c := &treeCopy{base: l.Base, ctx: ctx, from: l.Root, to: l.Upper, skip: l.Through, files: filled(o.CopyFiles, defaultCopyFiles), bytes: filled(o.CopyBytes, defaultCopyBytes)}
	err := filepath.WalkDir(l.Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.from, path)
		if err != nil || rel == "." {
			return err
		}
		return c.entry(rel, e)
	})
	switch {
	case ctx.Err() != nil:
		return tongs.Errorf(tongs.CodeCancelled, "the command was not started: %w", ctx.Err())
	case err != nil:
		return err
	}
	return c.times()
}

func (c *treeCopy) entry(rel string, e fs.DirEntry) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	from, to := filepath.Join(c.from, rel), filepath.Join(c.to, rel)
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return unavailable("copying "+from, err)
	}
	c.files--
	if e.Type().IsRegular() {
		c.bytes -= st.Size
	}
	if c.files < 0 || c.bytes < 0 {
		return cannotHold(c.from, "the kernel or a file system refuses overlays, and the tree is too large to be copied",
			"'tongs doctor' says what is missing for overlays; or approve the command to write directly.")
	}
	var err error
	switch e.Type() {
	case fs.ModeDir:
		err = os.Mkdir(to, 0o700)
	case fs.ModeSymlink:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	case 0:
		err = c.file(from, to)
	default:
		return nil
	}
	if err == nil {
		err = giveTo(to, &st)
	}
	if err == nil && e.Type() == 0 {
		err = adornCopy(to, &st)
	}
	if errors.Is(err, fs.ErrPermission) {
		return cannotHold(c.from, "no overlay can be made of it, and to copy it, "+from+" would have to be read, which this user may not",
			"'tongs doctor' says what is missing for overlays.")
	}
	if err != nil {
		return unavailable("copying "+from, err)
	}
	_, inode := identity(to)
	c.base[rel] = [3]uint64{inode, st.Ino, uint64(st.Mode & unix.S_IFMT)}
	if e.IsDir() && slices.Contains(c.skip, rel) {
		return fs.SkipDir
	}
	return nil
}

func (c *treeCopy) file(from, to string) error {
	src, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}

// times gives directories their modes and times, the innermost first.
func (c *treeCopy) times() error {
	var dirs []string
	err := filepath.WalkDir(c.to, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != c.to {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		rel, relErr := filepath.Rel(c.to, dir)
		var st unix.Stat_t
		if err == nil {
			err = relErr
		}
		if err == nil {
			err = unix.Lstat(filepath.Join(c.from, rel), &st)
		}
		if err == nil {
			err = adornCopy(dir, &st)
		}
	}
	if err != nil {
		return unavailable("copying "+c.from, err)
	}
	return nil
}

func adornCopy(path string, st *unix.Stat_t) error {
	if err := unix.Chmod(path, st.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}
