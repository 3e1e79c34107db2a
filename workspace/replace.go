package workspace

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// Replace writes the new content to a temporary file beside p and, under the lock of p, puts it in its place if p is
// still in the decided state. A reader, and whoever looks after a crash, sees the old file or the new one. The new
// file has the permissions, the owner and the extended attributes of the old one, but not its set-user-ID and
// set-group-ID bits. Another hard link to the old file keeps the old content. write must not use this Files.
func (f *files) Replace(
	ctx context.Context, p tongs.Path, opt tongs.Replacing, write func(io.Writer) error,
) (tongs.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", fail("write", p, err)
	}
	e, err := f.decided(tongs.EffectWrite, p)
	if err != nil {
		return "", err
	}
	t, err := f.w.newTemp(ctx, p, opt.MakeDirs)
	if err != nil {
		return "", fail("write", p, err)
	}
	defer t.discard()
	// A first look, so that nothing is written in vain; the one that counts is under the lock.
	if _, err := f.target(t, p, e, opt.Expect); err != nil {
		return "", err
	}
	if err := t.write(ctx, p, write); err != nil {
		return "", err
	}
	v, err := f.place(ctx, t, p, opt.Expect)
	if err != nil {
		return "", err
	}
	t.dir.sync()
	return v, nil
}

// target checks what would be replaced.
func (f *files) target(t *temp, p tongs.Path, e tongs.Effect, expect tongs.Version) (stat, error) {
	st, err := t.dir.lstat(t.name)
	if err != nil && !missing(err) {
		return stat{}, fail("write", p, err)
	}
	switch st.typ {
	case tongs.FileDirectory:
		return stat{}, fail("write", p, syscall.EISDIR)
	case tongs.FileSymlink:
		return stat{}, badPath("cannot write %q: it is a symbolic link; resolve it and write to what it leads to", p.String())
	case tongs.FileOther:
		return stat{}, fail("write", p, errNotRegular)
	case tongs.FileRegular:
		if err := t.dir.writable(t.name); err != nil {
			return stat{}, fail("write", p, err)
		}
	}
	_, err = f.admit(t.dir, t.name, p, e, expect)
	return st, err
}

// place puts the temporary file in the place of p.
func (f *files) place(ctx context.Context, t *temp, p tongs.Path, expect tongs.Version) (tongs.Version, error) {
	unlock, err := f.w.lock(ctx, p)
	if err != nil {
		return "", err
	}
	defer unlock()
	// Decided anew: the call may have ended while it wrote or waited.
	e, err := f.decided(tongs.EffectWrite, p)
	if err != nil {
		return "", err
	}
	if err := t.finish(p, f.w.umask); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", fail("write", p, err)
	}
	done, err := t.keep(ctx, f, p)
	if err != nil {
		return "", err
	}
	defer func() { done(t.placed) }()
	// The look that counts is the last thing before the renaming. It holds for what was kept, too.
	old, err := f.target(t, p, e, expect)
	if err != nil {
		return "", err
	}
	exists := old.typ != ""
	f.w.crash("placing")
	err = t.dir.rename(t.temp, t.dir, t.name, exists)
	if errors.Is(err, fs.ErrExist) {
		// It appeared just now.
		if _, changed := f.admit(t.dir, t.name, p, e, expect); changed != nil {
			err = changed
		}
	}
	if err != nil {
		return "", fail("write", p, err)
	}
	f.w.crash("placed")
	t.placed = true
	v := t.version(f.w)
	f.leave(p, v, "wrote "+p.String())
	return v, nil
}

// temp is a temporary file beside the file that it will replace.
type temp struct {
	dir        handle
	name, temp string
	file       *os.File
	digest     string
	placed     bool
	// crash is the workspace's.
	crash func(string)
	// made are the directories that were made for it; done ends its registration.
	made *parents
	done func()
}

// newTemp makes an empty temporary file for p and the directories that it needs.
func (w *Workspace) newTemp(ctx context.Context, p tongs.Path, makeDirs bool) (*temp, error) {
	for try := 0; ; try++ {
		t, err := w.tryTemp(ctx, p, makeDirs)
		// Another call may take back the directory that it made just when this one found it.
		if err == nil || !makeDirs || !missing(err) || try == 5 {
			return t, err
		}
	}
}

func (w *Workspace) tryTemp(ctx context.Context, p tongs.Path, makeDirs bool) (*temp, error) {
	t := &temp{name: lastName(p), temp: tempPrefix + randomName(), done: func() {}, crash: w.crash}
	if p.Rel == "." {
		return nil, syscall.EISDIR
	}
	var dirs []string
	if makeDirs {
		dirs = w.missingParents(p)
	}
	done, err := w.litter.add(ctx, w.Host(p.Dir().Join(t.temp)), dirs...)
	if err != nil {
		return nil, err
	}
	w.crash("registered")
	if t.dir, t.made, err = w.makeParent(p, makeDirs); err != nil {
		done()
		return nil, err
	}
	t.done = done
	w.crash("made")
	if t.file, err = t.dir.create(t.temp, 0o600); err != nil {
		t.discard()
		return nil, err
	}
	w.crash("created")
	return t, nil
}

// parents are the directories that were made on the way to a path, the outermost first. One without a name
// was there before.
type parents struct {
	dirs  []handle
	names []string
}

// undo removes the directories that were made, as far as they are still empty.
func (ps *parents) undo() {
	for i, name := range slices.Backward(ps.names) {
		if name != "" {
			_ = ps.dirs[i].remove(name, true)
		}
	}
}

func (ps *parents) close() {
	for _, d := range ps.dirs {
		d.close()
	}
}

// missingParents returns the host directories that must be made for p, the deepest first.
func (w *Workspace) missingParents(p tongs.Path) (list []string) {
	for dir := p.Dir(); dir.Rel != "."; dir = dir.Dir() {
		h, err := w.directory(dir)
		if err == nil {
			h.close()
		}
		if !missing(err) {
			break
		}
		list = append(list, w.Host(dir))
	}
	return list
}

// makeParent opens the directory of p and, where makeDirs is set, makes it first. The caller closes both results.
func (w *Workspace) makeParent(p tongs.Path, makeDirs bool) (handle, *parents, error) {
	made := &parents{}
	h, _, err := w.parent(p)
	if err == nil || !missing(err) || !makeDirs {
		return h, made, err
	}
	if err := w.byName[p.Root].create(); err != nil {
		return nil, made, err
	}
	if h, err = w.directory(tongs.Path{Root: p.Root, Rel: "."}); err != nil || p.Dir().Rel == "." {
		return h, made, err
	}
	for name := range strings.SplitSeq(p.Dir().Rel, "/") {
		made.dirs = append(made.dirs, h)
		err := h.mkdir(name, 0o777)
		switch {
		case err == nil:
			made.names = append(made.names, name)
		case errors.Is(err, fs.ErrExist):
			made.names = append(made.names, "")
			err = nil
		}
		if err == nil {
			h, err = h.walk(name)
		}
		if err != nil {
			made.undo()
			made.close()
			return nil, made, err
		}
	}
	return h, made, nil
}

// write fills the file. An error of the writer that the caller gave is its own, unless writing to the file failed.
func (t *temp) write(ctx context.Context, p tongs.Path, write func(io.Writer) error) error {
	sum := sha256.New()
	out := &digesting{to: t.file, sum: sum}
	buf := bufio.NewWriterSize(out, 64<<10)
	err := write(cancelling{ctx, buf})
	t.crash("written")
	if err == nil {
		err = buf.Flush()
	}
	switch {
	case out.err != nil:
		return fail("write", p, out.err)
	case ctx.Err() != nil:
		return fail("write", p, ctx.Err())
	case err != nil:
		if code := tongs.CodeOf(err); code != tongs.CodeInternal {
			return err
		}
		if _, ok := errors.AsType[*tongs.Need](err); ok {
			return err
		}
		return tongs.Errorf(tongs.CodeExecutionError, "the new content of %q could not be made: %w", p.String(), err)
	}
	t.digest = hex.EncodeToString(sum.Sum(nil))
	if err := t.file.Sync(); err != nil {
		return fail("write", p, err)
	}
	return nil
}

// finish gives the file its mode and owner, and closes it: some systems cannot rename an open file.
func (t *temp) finish(p tongs.Path, umask fs.FileMode) error {
	old, err := t.dir.lstat(t.name)
	if err != nil && !missing(err) {
		return fail("write", p, err)
	}
	if old.typ == tongs.FileRegular {
		if err := t.inherit(old); err != nil {
			return tongs.Errorf(tongs.CodePermissionDenied,
				"cannot write %q: its owner or mode cannot be kept (%w); a person must change the file or its owner", p.String(), err)
		}
	} else if err := t.file.Chmod(0o666 &^ umask); err != nil {
		return fail("write", p, err)
	}
	if err := t.file.Close(); err != nil {
		return fail("write", p, err)
	}
	return nil
}

// keep tells the journal what the temporary file will replace.
func (t *temp) keep(ctx context.Context, f *files, p tongs.Path) (done func(made bool), err error) {
	if f.w.journal == nil {
		return func(bool) {}, nil
	}
	st, err := t.dir.lstat(t.temp)
	if err != nil {
		return nil, fail("write", p, err)
	}
	file := &NewFile{Mode: st.mode, Size: st.size, Modified: timeOf(st.mtime), Digest: t.digest}
	return f.keep(ctx, Changing{Path: p, New: file, Dirs: t.made.paths(p)})
}

// inherit gives the temporary file what belongs to the name rather than to the content.
func (t *temp) inherit(old stat) error {
	if err := keepOwner(t.file, old); err != nil {
		return err
	}
	if f, _, err := t.dir.open(t.name); err == nil {
		keepAttributes(f, t.file)
		_ = f.Close()
	}
	return t.file.Chmod(old.mode.Perm())
}

// version returns the version of the file in its place. The content is known: it need not be read again.
func (t *temp) version(w *Workspace) tongs.Version {
	st, err := t.dir.lstat(t.name)
	if err != nil {
		return tongs.Absent // somebody took it away at once
	}
	s := identify(st)
	s.digest = t.digest
	w.remember(st, s.identity)
	return s.version()
}

// discard releases everything, and removes every trace of a file that was not placed.
func (t *temp) discard() {
	if t.file != nil {
		_ = t.file.Close()
	}
	if !t.placed {
		if t.file != nil {
			_ = t.dir.remove(t.temp, false)
		}
		t.made.undo()
	}
	t.made.close()
	t.dir.close()
	t.done()
}

// cancelling stops a writer when the call is cancelled.
type cancelling struct {
	ctx context.Context
	w   io.Writer
}

func (c cancelling) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}
