package sandbox

import (
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// idmaps holds the user namespaces by which mounts are mapped, one for each owner of files, and which file systems
// cannot be mapped.
type idmaps struct {
	mu    sync.Mutex
	fds   map[[2]uint32]int
	plain map[uint64]bool
}

func (m *idmaps) close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, fd := range m.fds {
		_ = unix.Close(fd)
	}
	m.fds = nil
}

func (r *Runner) idmaps() *idmaps {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machine.idmaps == nil {
		r.machine.idmaps = &idmaps{fds: map[[2]uint32]int{}, plain: map[uint64]bool{}}
	}
	return r.machine.idmaps
}

// canMap reports whether this process may map mounts: it is root, and not only in name.
func canMap() bool {
	if os.Geteuid() != 0 {
		return false
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return false
	}
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	return data[0].Effective&need == need
}

// everybody are trees that any user can read: they need no mapping.
var everybody = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/nix/store"}

// mapTrees makes detached copies of the trees that a run as another user needs, in which the owner's files are that
// user's. It returns their descriptors, in the order of p.trees. When one cannot be mapped, none is, and root stays root.
func (r *Runner) mapTrees(p *plan, k *keeper) (fds []int, err error) {
	if p.tier != TierA || !canMap() {
		return nil, nil
	}
	for _, t := range p.res.trees {
		system := slices.ContainsFunc(everybody, func(dir string) bool { return hostpath.Within(dir, t.path) })
		switch l, _ := p.layerOf(t.path); {
		case l != nil && l.Copied:
			p.trees = append(p.trees, layerTree(l))
		case l != nil:
			p.trees = append(p.trees, lowerTree(t), layerTree(l))
			if l.Below != "" {
				p.trees = append(p.trees, tree{path: l.Below})
			}
		case t.writable() || !system:
			p.trees = append(p.trees, t)
		}
	}
	m := r.idmaps()
	for _, t := range p.trees {
		fd, ok, err := m.mapped(t, k)
		if err != nil || !ok {
			closeAll(fds)
			p.trees = nil
			return nil, err
		}
		fds = append(fds, fd)
	}
	p.mapped = true
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// mapped returns a detached, mapped copy of a tree. ok is false when its file system cannot be mapped.
func (m *idmaps) mapped(t tree, k *keeper) (fd int, ok bool, err error) {
	at, err := unix.Openat2(unix.AT_FDCWD, t.path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return -1, false, unavailable("opening "+t.path, err)
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, false, unavailable("opening "+t.path, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plain[st.Dev] {
		return -1, false, nil
	}
	owner := [2]uint32{st.Uid, st.Gid}
	ns, known := m.fds[owner]
	if !known {
		_, ns, err = k.request(&launch.Request{Op: launch.OpIdmap, UID: int(st.Uid), GID: int(st.Gid)})
		if err != nil {
			return -1, false, unavailable("mapping the owner of "+t.path, err)
		}
		m.fds[owner] = ns
	}
	fd, err = unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, false, unavailable("copying the mount of "+t.path, err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP | readOnlyMount, Userns_fd: uint64(ns)}
	if t.writable() {
		attr.Attr_set = unix.MOUNT_ATTR_IDMAP | writableMount
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		_ = unix.Close(fd)
		m.plain[st.Dev] = true
		return -1, false, nil
	}
	return fd, true, nil
}

// hostSockets returns the sockets that processes of the host have bound inside the trees.
func hostSockets(res *resolved) (paths []string) {
	b, err := os.ReadFile("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		i := strings.IndexByte(line, '/')
		if i < 0 || line[i-1] != ' ' {
			continue
		}
		path := strings.TrimSuffix(line[i:], "\n")
		if real, _, err := resolve(path); err == nil && res.treeOf(real) != nil {
			paths = append(paths, real)
		}
	}
	return unique(paths)
}
