package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

const layersPrefix = "tongs-layers-"

// foreign are file systems whose stamps are not of this machine's clock, so that they cannot tell what changed during a
// run.
var foreign = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9P", unix.CEPH_SUPER_MAGIC: "Ceph", unix.FUSE_SUPER_MAGIC: "FUSE", unix.AFS_SUPER_MAGIC: "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
}

func cannotHold(root, why, fix string) error {
	return tongs.Errorf(tongs.CodeSandboxUnavailable, "what the command writes to %s cannot be held back: %s. %s", root, why, fix)
}

// makeLayers makes a layer for each tree that is held back. With copies, or where it is known that the kernel makes no
// overlay of these file systems, they are copies. Begun is a time before the trees were looked at.
func (r *Runner) makeLayers(ctx context.Context, o *Overlay, res *resolved, begun clock, copies bool) (*Layers, error) {
	if o == nil || !slices.ContainsFunc(res.trees, tree.over) {
		return nil, nil
	}
	if err := checkTrees(res); err != nil {
		return nil, err
	}
	if o.Reuse != nil {
		return o.Reuse, o.Reuse.again(res)
	}
	ls, err := r.layersDir(o.Dir)
	if err != nil {
		return nil, unavailable("making a directory for layers in "+o.Dir, err)
	}
	for _, t := range res.trees {
		if !t.over() {
			continue
		}
		dir := filepath.Join(ls.Dir, strconv.Itoa(len(ls.List)))
		l := Layer{Root: t.path, Upper: filepath.Join(dir, "upper"), Began: begun.now, Clock: begun.ahead, Through: res.through(t.path), Dirs: res.scan.dirs}
		l.Copied = copies || r.opt.NoOverlay || r.over.refusal(deviceKey(ls.Dir, t.path)) != ""
		if err := l.make(ctx, dir, o); err != nil {
			_ = ls.Close()
			return nil, err
		}
		ls.List = append(ls.List, l)
	}
	return ls, nil
}

// again makes layers ready for another run over the same trees. Protected and hidden names are looked for in the trees, not in
// layers: in an overlay those of the trees are where they were, since they are mounted over and directories of the tree
// cannot be moved; in a copy they may not be.
func (ls *Layers) again(res *resolved) error {
	left := len(ls.List)
	for _, t := range res.trees {
		if !t.over() {
			continue
		}
		l, i := ls.of(t.path)
		if left--; l == nil || !slices.Equal(l.Through, res.through(t.path)) {
			return cannotHold(t.path, "an earlier program of the same call wrote to other places", "Run one program.")
		}
		if l.Copied {
			return cannotHold(t.path, "it was copied for an earlier program of the same call, and is for one program only",
				"'tongs doctor' says what is missing for overlays; or run one program.")
		}
		if device, inode := identity(t.path); device != l.Device || inode != l.Inode {
			return cannotHold(t.path, "somebody replaced it meanwhile", "Run it again.")
		}
		if ls.idle != nil {
			<-ls.idle
		}
		if err := l.renewWork(filepath.Join(ls.Dir, strconv.Itoa(i), "work")); err != nil {
			return unavailable("making a layer ready", err)
		}
	}
	if left != 0 {
		return tongs.Errorf(tongs.CodeSandboxUnavailable, "an earlier program of the same call wrote to other places; run one program")
	}
	return nil
}

// renewWork makes the directory anew that the kernel works in: it does not take one that was used for an overlay as ours are.
func (l *Layer) renewWork(work string) error {
	if err := removeLayers(work); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(l.Root, &st); err != nil {
		return err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	return giveTo(work, &st)
}

// checkTrees refuses trees of which no layer can be made.
func checkTrees(res *resolved) error {
	for _, t := range res.trees {
		if !t.over() {
			continue
		}
		var st unix.Statfs_t
		if err := unix.Statfs(t.path, &st); err != nil {
			return unavailable("looking at "+t.path, err)
		}
		if name := foreign[int64(st.Type)]; name != "" {
			return cannotHold(t.path, "it is on "+name+", whose files do not have the times of this machine", "Use a local file system.")
		}
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return unavailable("reading what is mounted", err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		at := unescapeMount(f[4])
		if t := res.treeOf(at); t != nil && t.over() && t.path != at {
			return cannotHold(t.path, "something else is mounted at "+at+", which an overlay does not show",
				"Unmount it, or let writing through to it.")
		}
	}
	return nil
}

// unescapeMount undoes how the kernel spells blanks in a list of mounts.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// stampClock returns the time, and by how much it is ahead of the time since the start of the machine. No file has a
// later stamp; one that changes from now on may have an earlier one, until the coarse clock, which is the least that
// files are stamped by, has passed it: that is waited for before the program starts.
func stampClock() clock {
	var real, boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &real)
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return clock{real.Nano(), real.Nano() - boot.Nano()}
}

// clock is a time, in nanoseconds, and by how much it is ahead of that since the start of the machine.
type clock struct{ now, ahead int64 }

// layersDir makes a locked directory, and removes once those that nobody has locked.
func (r *Runner) layersDir(parent string) (*Layers, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	if r.over.once(parent) {
		sweepLayers(parent)
	}
	for range 100 {
		dir, err := os.MkdirTemp(parent, layersPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(dir)
		if err == nil && sameDir(lock, dir) {
			return &Layers{Dir: dir, lock: lock}, nil
		}
		if err == nil {
			_ = lock.Close() // swept by somebody between its making and its locking
		}
	}
	return nil, errors.New("it is always removed by somebody")
}

// sweepLayers removes what processes that died left.
func sweepLayers(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), layersPrefix) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if lock, err := lockDir(dir); err == nil {
			_ = removeLayers(dir)
			_ = lock.Close()
		}
	}
}

// lockDir locks a directory that nobody has locked.
func lockDir(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

func sameDir(f *os.File, dir string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Lstat(dir)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// deviceKey names the file systems of two directories.
func deviceKey(upper, lower string) string {
	a, _ := identity(upper)
	b, _ := identity(lower)
	return strconv.FormatUint(a, 10) + "/" + strconv.FormatUint(b, 10)
}

// make makes a layer in dir. Its top has the owner and the mode of the tree's, for it is what the program sees as such.
func (l *Layer) make(ctx context.Context, dir string, o *Overlay) error {
	var st unix.Stat_t
	if err := unix.Lstat(l.Root, &st); err != nil {
		return unavailable("looking at "+l.Root, err)
	}
	l.Device, l.Inode = st.Dev, st.Ino
	work := filepath.Join(dir, "work")
	for _, d := range []string{dir, l.Upper, work} {
		if l.Copied && d == work {
			continue
		}
		if err := os.Mkdir(d, 0o700); err != nil {
			return unavailable("making a layer", err)
		}
		if err := giveTo(d, &st); err != nil {
			return unavailable("making a layer", err)
		}
	}
	if l.Copied {
		if err := l.copyTree(ctx, o); err != nil {
			return err
		}
	}
	if err := unix.Chmod(l.Upper, st.Mode&0o7777); err != nil {
		return unavailable("making a layer", err)
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, l.Upper, times, unix.AT_SYMLINK_NOFOLLOW)
	if l.Copied {
		l.Ready = stampClock().now
	}
	return nil
}

// giveTo gives an entry to the owner that st has, where it is another's. Where this process may not, it stays its own:
// the sandbox is one of the same user then.
func giveTo(path string, st *unix.Stat_t) error {
	if int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	err := unix.Lchown(path, int(st.Uid), int(st.Gid))
	if errors.Is(err, unix.EPERM) && os.Geteuid() != 0 {
		return nil
	}
	return err
}

// of returns the layer of a tree.
func (ls *Layers) of(root string) (l *Layer, index int) {
	if ls != nil {
		for i := range ls.List {
			if ls.List[i].Root == root {
				return &ls.List[i], i
			}
		}
	}
	return nil, -1
}

// after returns when the program may start: once files that change have a later stamp than those that were seen.
func (ls *Layers) after() (mark int64) {
	if ls != nil {
		for _, l := range ls.List {
			mark = max(mark, l.Began, l.Ready)
		}
	}
	return mark
}

// keys names the file systems of the overlays.
func (ls *Layers) keys() (keys []string) {
	if ls == nil {
		return nil
	}
	for _, l := range ls.List {
		if !l.Copied {
			keys = append(keys, deviceKey(ls.Dir, l.Root))
		}
	}
	return keys
}

// probeOverlay runs nothing in a sandbox with an overlay.
func (r *Runner) probeOverlay(ctx context.Context, root, dir string) OverlayStatus {
	probe := r.Probe(ctx)
	if st := probe.status(TierA); st == nil || !st.OK {
		s := OverlayStatus{Reason: "it takes tier A of the sandbox"}
		if st != nil {
			s.Fix = st.Fix
		}
		return s
	}
	cmd := &Cmd{Argv: []string{"probe"}, Policy: Policy{
		Writable: []Mount{Layered(root)}, Dir: root, Overlay: &Overlay{Dir: dir, CopyFiles: -1, CopyBytes: -1},
	}}
	run, err := r.startRun(ctx, TierA, cmd, startOptions{fresh: true, probe: true})
	if err == nil {
		res, werr := run.Wait()
		if res != nil {
			_ = res.Overlay.Close()
		}
		err = werr
	}
	if err == nil {
		return OverlayStatus{OK: true}
	}
	return OverlayStatus{Reason: reason(err), Fix: fixOverlay(dir, err)}
}

// fixOverlay says what to do where no overlay can be made.
func fixOverlay(dir string, err error) string {
	var st unix.Statfs_t
	_ = unix.Statfs(dir, &st)
	switch {
	case int64(st.Type) == unix.OVERLAYFS_SUPER_MAGIC:
		return dir + " is on an overlay itself, as in a container: put the state directory on a volume, or on a tmpfs."
	case errors.Is(err, errOverlayRefused) && foreign[int64(st.Type)] != "":
		return dir + " is on " + foreign[int64(st.Type)] + ": put the state directory on ext4, xfs, btrfs or a tmpfs."
	case errors.Is(err, errOverlayRefused):
		return "The kernel needs overlayfs (modprobe overlay), Linux 5.19 or newer for root, and a state directory on ext4, xfs, btrfs or a tmpfs."
	}
	return ""
}

// describe is what the report says of the layers.
func (ls *Layers) describe() string {
	if slices.ContainsFunc(ls.List, func(l Layer) bool { return l.Copied }) {
		return "what is written is held back in a copy"
	}
	return "what is written is held back in an overlay"
}
