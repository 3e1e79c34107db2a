// Package gitrepo tells what happened to a git repository between two states of its git directory: which branches, tags and
// stashes came, went or moved, what was committed, staged or discarded, and whether all of it is what git itself records. It
// reads files only. It never runs git, and it believes nothing that it can check: an object is one if its name is the hash of
// its content.
package gitrepo
