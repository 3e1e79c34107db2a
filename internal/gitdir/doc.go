// Package gitdir tells which files decide what git runs: the parts of a repository that git executes or obeys, and the
// paths that its configuration names. It only reads files; it never runs git or anything else.
package gitdir
