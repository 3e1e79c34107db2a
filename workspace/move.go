package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// Move moves what is at one host path to another, where nothing is: a link as a link, a directory with all that is in it.
// It follows no link in either path, replaces nothing (ALREADY_EXISTS), and across file systems copies first and deletes
// when the copy is complete; a copy leaves out FIFOs, sockets and devices. Both paths are absolute and clean. It asks
// for nobody's decision and is not for tools: it takes away what a program left, and brings it back.
func Move(ctx context.Context, from, to string) error { return moveHost(ctx, from, to, false) }

// Take is Move that always copies, so that what is taken shares nothing with what others have open or have linked.
func Take(ctx context.Context, from, to string) error { return moveHost(ctx, from, to, true) }

func moveHost(ctx context.Context, from, to string, fresh bool) error {
	src, name, err := hostParent(from)
	if err != nil {
		return fail("move", tongs.Path{Rel: from}, err)
	}
	defer src.close()
	dst, newName, err := hostParent(to)
	if err != nil {
		return fail("move to", tongs.Path{Rel: to}, err)
	}
	defer dst.close()
	err = syscall.EXDEV
	if st, serr := src.lstat(name); !fresh || serr != nil || st.typ == tongs.FileOther {
		err = src.rename(name, dst, newName, false)
	}
	if errors.Is(err, syscall.EXDEV) {
		err = carry(ctx, src, name, dst, newName)
	}
	if err != nil {
		return fail("move", tongs.Path{Rel: from}, err)
	}
	src.sync()
	dst.sync()
	return nil
}

// carry moves an entry to another file system. What is copied is put in its place only when it is complete.
func carry(ctx context.Context, src handle, name string, dst handle, newName string) (err error) {
	st, err := src.lstat(name)
	if err != nil {
		return err
	}
	if _, err := dst.lstat(newName); err == nil {
		return syscall.EEXIST
	}
	temp := tempPrefix + randomName()
	always := context.WithoutCancel(ctx)
	if err = (copying{ctx: ctx, dev: st.dev, plain: true}).entry(src, name, dst, temp); err == nil {
		err = dst.rename(temp, dst, newName, false)
	}
	if err != nil {
		if made, missing := dst.lstat(temp); missing == nil {
			t := removal{ctx: always, dev: made.dev, recursive: true}
			_ = t.remove(dst, temp, tongs.Path{Rel: temp})
		}
		return err
	}
	t := removal{ctx: always, dev: st.dev, recursive: true}
	return t.remove(src, name, tongs.Path{Rel: name})
}

// hostParent opens the directory that a host path is in, following no link, and returns the name in it.
func hostParent(host string) (handle, string, error) {
	if !filepath.IsAbs(host) || filepath.Clean(host) != host || filepath.Dir(host) == host {
		return nil, "", badPath("%q is not an absolute, clean path", host)
	}
	top := filepath.VolumeName(host) + string(filepath.Separator)
	root, err := openHandle(top)
	if err != nil {
		return nil, "", err
	}
	defer root.close()
	rel := strings.TrimPrefix(filepath.Dir(host), top)
	if rel == "" {
		rel = "."
	}
	h, err := root.walk(filepath.ToSlash(rel))
	return h, filepath.Base(host), err
}
