// Package wire puts the parts together: it reads the configuration, opens the state, the workspace and the sandbox, and
// gives an engine the tools of all sources. It is the only place where the parts meet. The command and the package system
// are built on it.
package wire

// Host is for whom a system is wired: what a command line, or a program that embeds Tongs, says of where things are.
type Host struct {
	// Workspace is the directory that tools work in; empty is the current one.
	Workspace string
	// ConfigDir, StateDir and ForgeDir are directories that the program itself names, which therefore count as the user's own.
	// Empty ones are found by the environment.
	ConfigDir, StateDir, ForgeDir string
	// Attended says that a person started this program. Where it is not set, directories that the environment names can only
	// narrow, and what they say was approved does not count.
	Attended bool
	// Version is what the system says of itself to others.
	Version string
	// Warn is told what stops nothing and a person should know; nil tells nobody.
	Warn func(string)
	// Managed, ManagedOwner and Home override where configuration is found. Only tests set them.
	Managed      string
	ManagedOwner int
	Home         string
}

func (h Host) warn(text string) {
	if h.Warn != nil {
		h.Warn(text)
	}
}
