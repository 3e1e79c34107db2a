package walk

// Folder is a directory of a tree that is kept open, for opening files in it after the walk that found them. It follows
// no link.
type Folder struct{ sys sysDir }

// Folder opens the directory d as it is now. Close releases it.
func (t *Tree) Folder(d *Dir) (Folder, error) {
	sys, err := t.root.dir(d.rel)
	return Folder{sys}, err
}

// Open opens the regular file of that name, as [Entry.Open] does.
func (f Folder) Open(name string) (Handle, error) { return f.sys.open(name) }

// Stat describes what has that name, without following a link.
func (f Folder) Stat(name string) (Info, error) { return f.sys.stat(name) }

// Close releases the directory.
func (f Folder) Close() { f.sys.close() }
