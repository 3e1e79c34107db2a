package walk

import (
	"context"
	"errors"
	"io/fs"
)

// Read visits the entries of one directory, in order and directories too, without going into them: that of the name in
// the directory in, or the root where in is nil. It returns the state of the directory as it was read. opened is called
// before anything is read, with the directory that it will be read from: who watches it from then on misses nothing.
// The folder is valid during the call only.
func (t *Tree) Read(ctx context.Context, in *Dir, name string, opened func(Folder) error, visit func(*Entry) error) (*Dir, error) {
	d := &Dir{rules: t.rules}
	if in != nil {
		d = &Dir{parent: in, rel: join(in.rel, name), depth: in.depth + 1, rules: in.rules}
		if t.leaves(in, t.above+d.rel, len(t.above)+len(d.rel)-len(name), true) {
			return nil, ErrExcluded
		}
	}
	o, err := t.open(d, nil)
	if err != nil {
		return nil, err
	}
	defer func() { o.sys.close() }()
	if err := opened(Folder{o.sys}); err != nil {
		return nil, err
	}
	w := newWalker(t, visit, false)
	defer context.AfterFunc(ctx, w.queue.stop)()
	(&worker{walker: w, top: d}).entries(o)
	if err := w.err(); err != nil && !errors.Is(err, fs.SkipAll) {
		return o.dir, err
	}
	return o.dir, context.Cause(ctx)
}

// entries visits the entries of one directory.
func (k *worker) entries(o *openDir) {
	names, refs := k.whole(o)
	above := k.tree.above + prefix(o.dir.rel)
	for _, r := range refs {
		if k.queue.over.Load() {
			return
		}
		path := above + r.path(names)
		if !k.tree.leaves(o.dir, path, len(above), r.typ == Directory) {
			k.visitOne(o, path, r.typ)
		}
	}
}

// prefix is what the paths of the entries of the directory at rel begin with.
func prefix(rel string) string {
	if rel == "" {
		return ""
	}
	return rel + "/"
}

// Special reports whether the directory has ignore files, or is the root of a repository: then what is said about its
// entries may change although nothing in it is added or taken away.
func (d *Dir) Special() bool { return d.special != 0 }

// Repository reports whether the directory has a .git.
func (d *Dir) Repository() bool { return d.special.has(specialGit) }

// Stat describes what is at rel, "." being the root, without following a link at its end. Links on the way are followed:
// it is for seeing whether something is still what it was, not for going there.
func (t *Tree) Stat(rel string) (Info, error) {
	if rel == "" {
		rel = "."
	}
	return t.root.stat(rel)
}

// FolderAt opens the directory at rel as it is now, "." being the root, without looking whether a walk would go there.
func (t *Tree) FolderAt(rel string) (Folder, error) {
	if rel == "." {
		rel = ""
	}
	sys, err := t.root.dir(rel)
	return Folder{sys}, err
}
