package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Rename moves a file, a link or a directory to a name that is free, or holds a file where Overwrite is set. Across
// file systems it copies first and deletes when the copy is complete; then hard links among the moved files become
// files of their own.
func (f *files) Rename(ctx context.Context, from, to tongs.Path, opt tongs.Renaming) error {
	if err := ctx.Err(); err != nil {
		return fail("move", from, err)
	}
	if from == to || from.Contains(to) {
		return badPath("cannot move %q to %q, which is the same or inside it; choose another place",
			from.String(), to.String())
	}
	for _, want := range moving(from, to) {
		if _, err := f.decided(want.Kind, want.Path); err != nil {
			return err
		}
	}
	if to.Rel == "." {
		return tongs.Errorf(tongs.CodePermissionDenied, "%q is %s itself, which is never replaced", to.String(), f.w.label(to.Root))
	}
	if opt.MakeDirs {
		if dirs := f.w.missingParents(to); len(dirs) > 0 {
			done, err := f.w.litter.add(ctx, "", dirs...)
			if err != nil {
				return fail("move to", to, err)
			}
			defer done()
		}
	}
	dir, made, err := f.w.makeParent(to, opt.MakeDirs)
	if err != nil {
		return fail("move to", to, err)
	}
	m := &move{files: f, ctx: ctx, from: from, to: to, opt: opt, dst: dir, dstName: lastName(to), dirs: made}
	err = m.run()
	dir.close()
	if err != nil {
		made.undo()
	}
	made.close()
	return err
}

func moving(from, to tongs.Path) []tongs.Effect {
	return []tongs.Effect{{Kind: tongs.EffectDelete, Path: from}, {Kind: tongs.EffectWrite, Path: to}}
}

type move struct {
	*files
	ctx              context.Context
	from, to         tongs.Path
	opt              tongs.Renaming
	src, dst         handle
	srcName, dstName string
	srcStat          stat
	// before is the state of the source when it was admitted.
	before state
	// exists is set where something is overwritten.
	exists bool
	// dirs are the directories that were made for it.
	dirs *parents
}

func (m *move) run() error {
	unlock, err := m.w.lock(m.ctx, m.from, m.to)
	if err != nil {
		return err
	}
	defer unlock()
	if m.src, m.srcName, err = m.w.parent(m.from); err != nil {
		return fail("move", m.from, err)
	}
	defer m.src.close()
	if err := m.admitBoth(); err != nil {
		return err
	}
	done, err := m.keep(m.ctx, Changing{Path: m.to, From: &m.from, Dirs: m.dirs.paths(m.to)})
	if err != nil {
		return err
	}
	err = m.rename()
	if errors.Is(err, syscall.EXDEV) {
		err = m.copy()
	}
	done(err == nil)
	if err != nil {
		return fail("move", m.from, err)
	}
	m.src.sync()
	m.dst.sync()
	v := tongs.Version("")
	if now, err := m.w.stateIn(m.dst, m.dstName, ""); err == nil {
		v = now.version()
	}
	m.leave(m.from, tongs.Absent, "moved "+m.from.String()+" to "+m.to.String())
	m.mu.Lock()
	m.made[m.to] = v
	m.mu.Unlock()
	return nil
}

func (m *move) admitBoth() (err error) {
	gone, err := m.decided(tongs.EffectDelete, m.from)
	if err != nil {
		return err
	}
	written, err := m.decided(tongs.EffectWrite, m.to)
	if err != nil {
		return err
	}
	if m.srcStat, err = m.src.lstat(m.srcName); err != nil {
		return fail("move", m.from, err)
	}
	there, err := m.dst.lstat(m.dstName)
	if err != nil && !missing(err) {
		return fail("move to", m.to, err)
	}
	m.exists = err == nil
	if m.exists {
		if err := m.mayOverwrite(there); err != nil {
			return err
		}
	}
	if err := m.mayLose(m.src, m.srcName, m.from, gone, m.srcStat, true); err != nil {
		return err
	}
	// What can be read by its new name is read by its old one.
	err = m.mayTouch(m.ctx, m.from, m.srcStat, touch{tongs.EffectDelete, m.from}, touch{tongs.EffectRead, m.from}, touch{tongs.EffectWrite, m.to})
	if err != nil {
		return err
	}
	if err := m.mayLead(); err != nil {
		return err
	}
	if m.before, err = m.w.stateIn(m.src, m.srcName, ""); err != nil {
		return fail("look at", m.from, err)
	}
	_, err = m.admit(m.dst, m.dstName, m.to, written, "")
	return err
}

// mayLead checks that no link comes to lead out of its root by the move, unless that was decided: what is written in it stays as
// it is, and means another place.
func (m *move) mayLead() error {
	if m.from.Root == m.to.Root && m.from.Dir() == m.to.Dir() && m.srcStat.typ != tongs.FileDirectory {
		return nil
	}
	var open []tongs.Effect
	err := linksIn(m.ctx, m.src, m.srcName, ".", func(rel, target string) bool {
		at := tongs.Path{Root: m.to.Root, Rel: path.Join(m.to.Rel, rel)}
		was := tongs.Path{Root: m.from.Root, Rel: path.Join(m.from.Rel, rel)}
		target = filepath.ToSlash(target)
		if path.IsAbs(target) || !hostpath.LeadsOut(at.Rel, target) ||
			filepath.Join(m.w.Host(at.Dir()), target) == filepath.Join(m.w.Host(was.Dir()), target) {
			return true
		}
		e := tongs.Effect{
			Kind: tongs.EffectWrite, Path: at, MustAsk: true,
			Why: fmt.Sprintf("protected: it is a link that would lead out of its root, to %q", target),
		}
		if !slices.ContainsFunc(m.permit.Effects(), func(d tongs.Effect) bool { return d.MustAsk && d.SameTarget(e) }) {
			open = append(open, e)
		}
		return len(open) < maxRuled
	})
	if err != nil && !errors.Is(err, errScanned) {
		return fail("look into", m.from, err)
	}
	if len(open) == 0 {
		return nil
	}
	return m.need("by the move it would lead out of its root", open...)
}

// linksIn calls visit for the entry where it is a link, or for every link in it, with the path from it and what is written in the
// link, until that returns false.
func linksIn(ctx context.Context, dir handle, name, rel string, visit func(rel, target string) bool) error {
	st, err := dir.lstat(name)
	if missing(err) || err == nil && st.typ != tongs.FileDirectory && st.typ != tongs.FileSymlink {
		return nil
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if st.typ == tongs.FileSymlink {
		target, err := dir.readlink(name)
		if err == nil && !visit(rel, target) {
			return errScanned
		}
		return err
	}
	h, err := dir.walk(name)
	if err != nil {
		return err
	}
	defer h.close()
	list, err := entries(h, 0)
	for i := 0; i < len(list) && err == nil; i++ {
		err = linksIn(ctx, h, list[i], path.Join(rel, list[i]), visit)
	}
	return err
}

func (m *move) mayOverwrite(there stat) error {
	switch {
	case !m.opt.Overwrite:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%q exists already; set overwrite, or choose another name", m.to.String())
	case there.typ == tongs.FileDirectory:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%q is a directory, which a move never overwrites; choose another name",
			m.to.String())
	case m.srcStat.typ == tongs.FileDirectory:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%q is a file, which a directory cannot overwrite; choose another name",
			m.to.String())
	}
	if err := m.dst.writable(m.dstName); err != nil && there.typ == tongs.FileRegular {
		return fail("overwrite", m.to, err)
	}
	return nil
}

func (m *move) rename() error {
	if m.w.copyAlways {
		return syscall.EXDEV
	}
	if m.exists {
		// The system does nothing where both names are links to one file.
		there, err := m.dst.lstat(m.dstName)
		if err == nil && there.same(m.srcStat) {
			return m.src.remove(m.srcName, false)
		}
	}
	m.w.crash("renaming")
	return m.src.rename(m.srcName, m.dst, m.dstName, m.exists)
}

// copy is the move across file systems: the copy is made under a temporary name, put in its place when it is
// complete and the source did not change meanwhile, and only then the source is deleted.
func (m *move) copy() error {
	temp := tempPrefix + randomName()
	done, err := m.w.litter.add(m.ctx, m.w.Host(m.to.Dir().Join(temp)))
	if err != nil {
		return err
	}
	defer done()
	placed := false
	defer func() {
		if !placed {
			if st, err := m.dst.lstat(temp); err == nil {
				t := removal{ctx: context.WithoutCancel(m.ctx), dev: st.dev, recursive: true}
				_ = t.remove(m.dst, temp, m.to.Dir().Join(temp))
			}
		}
	}()
	c := copying{ctx: m.ctx, dev: m.srcStat.dev}
	if err := c.entry(m.src, m.srcName, m.dst, temp); err != nil {
		return err
	}
	m.w.crash("copied")
	now, err := m.w.stateIn(m.src, m.srcName, m.before.version())
	if err != nil {
		return err
	}
	if !now.holds(m.before.version()) {
		return m.changed(m.from, tongs.EffectDelete, m.before.version(), now)
	}
	if err := m.dst.rename(temp, m.dst, m.dstName, m.exists); err != nil {
		return err
	}
	placed = true
	m.w.crash("placed")
	t := removal{ctx: context.WithoutCancel(m.ctx), dev: m.srcStat.dev, recursive: true}
	if err := t.remove(m.src, m.srcName, m.from); err != nil {
		m.leave(m.to, "", "copied "+m.from.String()+" to "+m.to.String())
		return tongs.Errorf(tongs.CodePermissionDenied, "%q was copied to %q, but could not be deleted: %w; delete the rest of it",
			m.from.String(), m.to.String(), plain(err))
	}
	return nil
}

// copying copies a tree by descriptors, links as links. It leaves no file system for another.
type copying struct {
	ctx context.Context
	dev uint64
	// plain leaves out what is neither a file, a directory nor a link, instead of failing.
	plain bool
}

func (c copying) entry(src handle, name string, dst handle, newName string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	st, err := src.lstat(name)
	if err != nil {
		return err
	}
	switch st.typ {
	case tongs.FileRegular:
		err = c.file(src, name, dst, newName)
	case tongs.FileDirectory:
		err = c.directory(src, name, dst, newName)
	case tongs.FileSymlink:
		var target string
		if target, err = src.readlink(name); err == nil {
			err = dst.symlink(target, newName)
		}
	default:
		if c.plain {
			return nil
		}
		err = errNotRegular
	}
	if err != nil {
		return err
	}
	return dst.adopt(newName, st)
}

func (c copying) file(src handle, name string, dst handle, newName string) error {
	from, _, err := src.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := dst.create(newName, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(cancelling{c.ctx, to}, from)
	if err == nil {
		keepAttributes(from, to)
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

func (c copying) directory(src handle, name string, dst handle, newName string) error {
	from, err := src.walk(name)
	if err != nil {
		return err
	}
	defer from.close()
	st, err := from.lstat(".")
	if err != nil {
		return err
	}
	if st.dev != c.dev {
		return tongs.Errorf(tongs.CodePermissionDenied, "another file system is mounted at %q; unmount it first", escape(name))
	}
	if err := dst.mkdir(newName, 0o700); err != nil {
		return err
	}
	to, err := dst.walk(newName)
	if err != nil {
		return err
	}
	defer to.close()
	list, err := entries(from, 0)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := c.entry(from, e, to, e); err != nil {
			return err
		}
	}
	return nil
}
