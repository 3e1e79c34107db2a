package tongs

import "os"

// Trees is implemented by a call's Files where they can give out whole directories: a search that looked up each file
// by itself would take many times as long.
type Trees interface {
	// Tree opens the directory p for reading everything below it. It needs a read effect on p or a directory above.
	Tree(p Path) (*Tree, error)
}

// Tree is an open directory, with the limits that the call's Files set for what is below it. Whoever walks it asks Skip about
// every entry, follows no link, and ends with the context of the call.
type Tree struct {
	Path Path
	// Host is where the directory is on this machine, Dir is the directory itself, opened: what Host leads to may be
	// another one by now. Top is where the root that it is in begins on this machine.
	Host, Top string
	Dir       *os.File
	// Skip reports whether the entry at rel below the directory, and all that is below it, is not for this call: a
	// secret, another root, what a rule names, a name that no path can have. Once the call has ended that is every
	// directory. It is safe for concurrent use.
	Skip func(rel string, dir bool) bool
	// Scope, where it is not nil, is comparable, and equal for trees whose Skip says the same about every path while their
	// calls last: then who searches often need not ask about each path again.
	Scope any
}

// Close closes the directory.
func (t *Tree) Close() error { return t.Dir.Close() }
