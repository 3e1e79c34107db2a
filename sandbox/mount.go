package sandbox

import (
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// MountKind says what becomes of what a program writes to a place. There are three kinds, and no fourth.
type MountKind string

// The kinds.
const (
	// MountLayered: the place is on a copy. What the program changes is in [Result.Overlay], to be settled.
	MountLayered MountKind = "layered"
	// MountPrivate: the place is ours. It is gone with the run or the session, and nobody else uses what is in it.
	MountPrivate MountKind = "private"
	// MountDecided: a rule or a person allowed this program to write there directly.
	MountDecided MountKind = "decided"
)

// Mount is a place that a program can write to, with what becomes of it. Only Layered, Private and Decided make one that
// a run accepts; the zero Mount is refused.
type Mount struct {
	path string
	kind MountKind
}

// Layered is a directory on a copy: what the program changes there is held back. It takes an Overlay.
func Layered(path string) Mount { return Mount{path, MountLayered} }

// Private is a place of our own, which is gone with the run or the session: a scratch directory, a cache. It lies neither
// inside a layered or decided place nor around one.
func Private(path string) Mount { return Mount{path, MountPrivate} }

// Decided is a place that a rule or a person allowed the program to change directly. With an Overlay it is inside a layered
// one, and is what is let through.
func Decided(path string) Mount { return Mount{path, MountDecided} }

// Path is the place, an absolute path of the host.
func (m Mount) Path() string { return m.path }

// Kind is what becomes of what is written there, "" for the zero Mount.
func (m Mount) Kind() MountKind { return m.kind }

// String names the mount: "layered /home/me/project".
func (m Mount) String() string { return string(m.kind) + " " + m.path }

// tree is a part of the host that the program sees. Without a kind it cannot be changed.
type tree struct {
	path string
	kind MountKind
}

func (t tree) writable() bool { return t.kind != "" }

// over reports whether what is written to the tree is held back in a layer.
func (t tree) over() bool { return t.kind == MountLayered }

// checkMounts refuses writable trees that are not what their kind says: it is the one place that every run goes through.
func (r *resolved) checkMounts(o *Overlay) error {
	kinds := map[string]MountKind{}
	for _, t := range r.trees {
		if !t.writable() {
			continue
		}
		if had := kinds[t.path]; had != "" && had != t.kind {
			return tongs.Errorf(tongs.CodeConfigError, "the policy names %q twice, as %s and as %s; name it once", t.path, had, t.kind)
		}
		kinds[t.path] = t.kind
		if t.over() && o == nil {
			return tongs.Errorf(tongs.CodeConfigError, "%q is to be changed on a copy only, and the policy has no overlay for that", t.path)
		}
	}
	for _, t := range r.trees {
		if o != nil && t.kind == MountDecided && !slices.ContainsFunc(r.trees, func(u tree) bool { return u.over() && hostpath.Within(u.path, t.path) }) {
			return tongs.Errorf(tongs.CodeConfigError, "the program runs on a copy, and %q, which it is to change directly, is in none of the copied directories; leave it out", t.path)
		}
		if t.kind != MountPrivate {
			continue
		}
		at := slices.IndexFunc(r.trees, func(u tree) bool {
			return u.writable() && u.kind != MountPrivate && (hostpath.Within(u.path, t.path) || hostpath.Within(t.path, u.path))
		})
		if at >= 0 {
			return tongs.Errorf(tongs.CodeConfigError, "%q is private to the program, and it is inside or around %q, which is not; choose another directory",
				t.path, r.trees[at].path)
		}
	}
	return nil
}
