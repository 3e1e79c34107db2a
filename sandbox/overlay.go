package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Overlay holds back what a program writes to the layered places of its policy: it sees them as they are and what it changed
// in them, while they themselves stay as they were. That takes tier A. What it changed is in [Result.Overlay] afterwards.
//
// The kernel's overlay file system does it, with the tree as the lower layer. Where that is refused, a small tree is
// copied, and the program changes the copy; a large one is a refusal, SANDBOX_UNAVAILABLE.
type Overlay struct {
	// Dir is the directory for the layers, made where it is missing. It must be on a local file system that can be the
	// upper layer of an overlay (ext4, xfs, btrfs, tmpfs), and in no tree of the policy.
	Dir string
	// Reuse are the layers of an earlier run over the same places, which is over: the program sees them as that one left them
	// and adds to them. It must not be closed, and runs over it follow one another. Layers that are copies are refused. Nil
	// makes new ones.
	Reuse *Layers
	// CopyFiles and CopyBytes bound a tree that may be copied: 4,096 and 64 MiB. Negative values keep it from being.
	CopyFiles, CopyBytes int64
}

// Layers are what programs of one run wrote. They stay on disk until they are closed; those of a process that died are
// removed by the next one that uses the same directory.
type Layers struct {
	// Dir holds all of them.
	Dir  string
	List []Layer

	once sync.Once
	lock *os.File
	err  error
	// idle is closed once nothing of the last run is mounted any more.
	idle chan struct{}
}

// Layer is what was written to one tree.
type Layer struct {
	// Root is the tree, a directory of the host.
	Root string `json:"root"`
	// Upper is the directory that holds what was written: the upper layer of an overlay, with its marks in extended
	// attributes user.overlay.*, or where Copied is set a copy of the tree that was written to.
	Upper  string `json:"upper"`
	Copied bool   `json:"copied,omitempty"`
	// Below is a directory that shows through below Root, "" for none.
	Below string `json:"below,omitempty"`
	// Through are the directories in it, as paths below Root, that were shown as they are.
	Through []string `json:"through,omitempty"`
	// Began is the time, in nanoseconds since 1970, such that whatever of the tree has that stamp of change or an older
	// one is what the program saw. A copy was complete at Ready: what the program changed in it has a later stamp.
	Began int64 `json:"began"`
	Ready int64 `json:"ready,omitempty"`
	// Clock is by how much that clock was ahead of the time since the machine was started: when it is less now, the
	// clock was set back, and stamps tell nothing.
	Clock int64 `json:"clock"`
	// Device and Inode are what Root was.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Dirs are the inodes that directories of the host had, by path, as far as they were looked into for names. It is
	// shared by the layers of a run.
	Dirs map[string]uint64 `json:"-"`
	// Base says of what there was in a tree that was copied, by path below Root: the inode of its copy, its own, and its
	// type as in the mode of stat(2).
	Base map[string][3]uint64 `json:"-"`
}

// Close removes the layers. It can be called more than once.
func (l *Layers) Close() error {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		l.err = removeLayers(l.Dir)
		if l.lock != nil {
			_ = l.lock.Close()
		}
	})
	return l.err
}

// OverlayStatus is whether what programs write can be held back.
type OverlayStatus struct {
	// OK says that it works by an overlay; otherwise small trees are copied.
	OK bool `json:"ok"`
	// Reason and Fix are set where it does not: why, and what to do about it.
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// overlays is what a Runner remembers of them.
type overlays struct {
	mu sync.Mutex
	// refused says of which pairs of file systems no overlay can be made, and why.
	refused map[string]string
	swept   map[string]bool
}

func (o *overlays) refusal(key string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused[key]
}

func (o *overlays) refuse(keys []string, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refused == nil {
		o.refused = map[string]string{}
	}
	for _, k := range keys {
		o.refused[k] = why
	}
}

// once reports whether a directory was not asked for before.
func (o *overlays) once(dir string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.swept == nil {
		o.swept = map[string]bool{}
	}
	first := !o.swept[dir]
	o.swept[dir] = true
	return first
}

const (
	defaultCopyFiles = 4096
	defaultCopyBytes = 64 << 20
)

// overlaid refuses trees that cannot be held back, and a directory for layers that the program would see.
func (r *resolved) overlaid(o *Overlay) error {
	if o == nil {
		return nil
	}
	if !filepath.IsAbs(o.Dir) {
		return tongs.Errorf(tongs.CodeConfigError, "the directory for overlays %q is not an absolute path", o.Dir)
	}
	for _, t := range r.trees {
		if info, err := os.Lstat(t.path); t.over() && (err != nil || !info.IsDir()) {
			return tongs.Errorf(tongs.CodeInvalidPath, "%q is not a directory; what is written to a single file cannot be held back", t.path)
		}
		if hostpath.Within(t.path, filepath.Clean(o.Dir)) {
			return tongs.Errorf(tongs.CodeConfigError, "the directory for overlays %q is inside %q, which the program sees; choose another", o.Dir, t.path)
		}
	}
	return nil
}

// held reports whether what is written to a path is held back.
func (r *resolved) held(p string) bool {
	t := r.treeOf(p)
	return t != nil && t.over()
}

// through returns the trees right inside one that is held back that are shown as they are, as paths below it.
func (r *resolved) through(root string) (rels []string) {
	for _, t := range r.trees {
		if t.path == root || !hostpath.Within(root, t.path) {
			continue
		}
		if rel, err := filepath.Rel(root, t.path); err == nil && r.treeOf(filepath.Dir(t.path)).path == root {
			rels = append(rels, rel)
		}
	}
	slices.Sort(rels)
	return rels
}

// ProbeOverlay says whether what programs write to a directory can be held back with layers in dir, by trying.
func (r *Runner) ProbeOverlay(ctx context.Context, root, dir string) OverlayStatus {
	return r.probeOverlay(ctx, root, dir)
}
