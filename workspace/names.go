package workspace

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

// Name is an entry of the list of protected names.
type Name struct {
	// Pattern is one or more names, separated by slashes; one * in a name stands for any part of it. It means every path that
	// has these names in a row, at any depth, and everything below.
	Pattern string
	Kind    NameKind
	// Why is the reason that it is in the list.
	Why string
}

// NameKind is what follows from a name.
type NameKind string

// The kinds of protected names.
const (
	// KindObeyed: programs run it or obey it unasked. Changing it is asked for in every mode, each time.
	KindObeyed NameKind = "obeyed"
	// KindSecret: reading it is asked for, too.
	KindSecret NameKind = "secret"
	// KindInstructions: agents follow what it says. Changing it is asked for in every mode that asks, with the diff, and an
	// approval can be remembered for the session.
	KindInstructions NameKind = "instructions"
)

// ProtectedNames returns the list of protected names. Names match whatever their case is, through characters that a file system ignores or
// takes for others, and as the short names of NTFS. Repositories that do not look like one by their name are not in
// the list: see Workspace.Protected.
func ProtectedNames() []Name { return slices.Clone(names) }

// OpenNames returns the exceptions: single names that match the list and have nothing in them to protect.
func OpenNames() []string { return slices.Clone(public) }

// Protected reports whether writing or deleting p must be asked for, and why: its name is in the list, it is a part of a
// directory that git would take for a repository, or that would be one with it, git's configuration names it, or a link with
// such a name leads to it or through it.
func (w *Workspace) Protected(p tongs.Path) (why string, ok bool) {
	why, _, ok = w.protection(p)
	return why, ok
}

// Steers reports whether p is protected for the instructions in it alone.
func (w *Workspace) Steers(p tongs.Path) bool {
	_, steers, _ := w.protection(p)
	return steers
}

func (w *Workspace) protection(p tongs.Path) (why string, steers, ok bool) {
	n := nameList().find(formsOf(p.Judged().Rel), false)
	if n != nil && n.Kind != KindInstructions {
		return "protected: " + n.Why, false, true
	}
	linked, how := w.linkedTo(p, false)
	if linked != nil && linked.Kind != KindInstructions {
		return "protected: " + how, false, true
	}
	if why, ok = w.repository(p); ok {
		return why, false, true
	}
	if why, ok = w.configured(p); ok {
		return why, false, true
	}
	if n != nil {
		return "instructions: " + n.Why, true, true
	}
	if linked != nil {
		return "instructions: " + how, true, true
	}
	return "", false, false
}

// Secret reports whether reading p must be asked for, and why: its name is that of a secret, or a link with such a name leads
// to it.
func (w *Workspace) Secret(p tongs.Path) (why string, ok bool) {
	if n := nameList().find(formsOf(p.Judged().Rel), true); n != nil {
		return "secret: " + n.Why, true
	}
	if n, how := w.linkedTo(p, true); n != nil {
		return "secret: " + how, true
	}
	return "", false
}
