// Package workspace is the file system as a call may see it: named roots, the resolution of spellings to paths inside
// them, the versions of files, locks across processes, protected names, and atomic replacement.
package workspace

// Options describe the roots.
type Options struct {
	// Dir is the host directory of the workspace.
	Dir string
	// Cap is a directory that Dir must be inside (AGENT_WORKSPACE_ROOT); empty means none.
	Cap string
	// Roots are further roots (zones).
	Roots []Root
	// Private are host directories that no root may contain or be inside of (state, configuration), except a root
	// marked Inside.
	Private []string
	// LockDir holds the locks and the list of temporary files; empty means a directory in the user's cache.
	LockDir string
}

// Root is a named directory besides the workspace, spelled /Name/... in calls.
type Root struct {
	Name string
	Dir  string
	// Writable roots can be written where the rules allow it.
	Writable bool
	// Inside allows the root to lie in a private directory, as /spill does.
	Inside bool
}
