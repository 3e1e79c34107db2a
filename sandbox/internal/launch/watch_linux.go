package launch

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The names of limits, as they are reported.
const (
	LimitMemory = "memory"
	LimitCPU    = "cpu"
	LimitDisk   = "disk"
	LimitFiles  = "files"
)

// How often the tree is looked at: often when it is near its memory limit, rarely when nothing can happen quickly.
const (
	watchNear   = 10 * time.Millisecond
	watchMemory = 40 * time.Millisecond
	watchSlow   = 100 * time.Millisecond
	ticksPerSec = 100
	walkShare   = 20 // walking the trees takes at most one part in so many of the time
)

// watch enforces what no resource limit and no control group holds, by looking. It runs on a clean thread.
func (p *initProcess) watch() {
	w := &p.spec.Watch
	if w.Memory == 0 && w.CPU == 0 && w.Disk == 0 && w.Files == 0 {
		return
	}
	disk := newDiskWatch(w)
	var sinceDisk time.Duration
	pause := watchSlow
	if w.Memory > 0 {
		pause = watchMemory
	}
	next := pause
	for !p.killing.Load() {
		time.Sleep(next)
		memory, cpu := p.usage()
		next = pause
		switch {
		case w.CPU > 0 && cpu > w.CPU:
			p.exceeded(LimitCPU)
			return
		case w.Memory > 0 && memory > w.Memory:
			p.exceeded(LimitMemory)
			return
		case w.Memory > 0 && memory > w.Memory/4:
			next = watchNear
		}
		if sinceDisk += next; sinceDisk < watchMemory {
			continue
		}
		sinceDisk = 0
		if limit := disk.exceeded(); limit != "" {
			p.exceeded(limit)
			return
		}
	}
}

// usage returns resident memory and processor time of the tree. Pages that processes share count for each of them.
func (p *initProcess) usage() (memory, cpu uint64) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru) == nil {
		cpu = uint64(ru.Utime.Nano() + ru.Stime.Nano())
	}
	for _, pid := range descendants(os.Getpid()) {
		t, _ := statOf(pid)
		memory += t.rss
		cpu += t.ticks * uint64(time.Second/ticksPerSec)
	}
	for _, dir := range p.spec.Watch.Memories {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			memory += (st.Blocks - st.Bfree) * uint64(st.Bsize)
		}
	}
	return memory, cpu
}

// diskWatch notices growth. A file system has other users, so that its free space alone accuses nobody and, since they
// also remove things, acquits nobody: when what was taken from it since the start, whatever was given back, is more than
// the limit, the trees are walked and what is new in them is added up.
type diskWatch struct {
	w     *Watch
	start time.Time
	disks []disk
	next  time.Time // when the trees may be walked again
}

// disk is the file system of a tree.
type disk struct {
	last unix.Statfs_t
	// blocks and files are the sums of all decreases of what is free; highest is the most that was free.
	blocks, files, highest uint64
}

func newDiskWatch(w *Watch) *diskWatch {
	d := &diskWatch{w: w, start: time.Now(), disks: make([]disk, len(w.Paths))}
	for i, path := range w.Paths {
		_ = unix.Statfs(path, &d.disks[i].last)
		d.disks[i].highest = d.disks[i].last.Bfree
	}
	return d
}

// update looks at a file system, and returns what was taken from it in bytes and files, and what is missing now.
func (k *disk) update(path string) (taken, files, missing uint64) {
	var now unix.Statfs_t
	if unix.Statfs(path, &now) == nil {
		k.blocks += k.last.Bfree - min(now.Bfree, k.last.Bfree)
		k.files += k.last.Ffree - min(now.Ffree, k.last.Ffree)
		k.highest, k.last = max(k.highest, now.Bfree), now
	}
	if files = k.files; k.last.Files == 0 {
		files = ^uint64(0) // it does not count them: only walking tells
	}
	size := uint64(k.last.Bsize)
	return k.blocks * size, files, (k.highest - k.last.Bfree) * size
}

// exceeded returns the limit that was exceeded, or "".
func (d *diskWatch) exceeded() string {
	if d.w.Disk == 0 && d.w.Files == 0 {
		return ""
	}
	suspect := false
	var missing uint64
	for i, path := range d.w.Paths {
		taken, files, gone := d.disks[i].update(path)
		missing = max(missing, gone)
		suspect = suspect || d.w.Disk > 0 && taken > d.w.Disk || d.w.Files > 0 && files > d.w.Files
	}
	now := time.Now()
	if !suspect || now.Before(d.next) {
		return ""
	}
	g := d.grown()
	d.next = time.Now().Add(max(watchSlow, walkShare*time.Since(now)))
	switch {
	case d.w.Disk > 0 && g.fresh > d.w.Disk, d.w.Disk > 0 && missing > d.w.Disk && g.fresh+g.changed > d.w.Disk:
		return LimitDisk
	case d.w.Files > 0 && g.files > d.w.Files:
		return LimitFiles
	}
	return ""
}

// growth is what is new in the trees: the size of files that were made since the start, that of older ones which were
// changed since, as a whole, and the number of the former.
type growth struct{ fresh, changed, files uint64 }

func (d *diskWatch) grown() (g growth) {
	since := d.start.Add(-time.Second).Unix()
	for _, root := range d.w.Paths {
		_ = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil {
				g.add(path, since)
			}
			return nil
		})
	}
	return g
}

func (g *growth) add(path string, since int64) {
	var st unix.Statx_t
	const want = unix.STATX_BTIME | unix.STATX_CTIME | unix.STATX_BLOCKS
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, want, &st) != nil || st.Ctime.Sec < since {
		return
	}
	if st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec < since {
		g.changed += st.Blocks * 512
		return
	}
	g.fresh += st.Blocks * 512
	g.files++
}
