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

// diskWatch notices growth. A file system has other users, so that its free space alone accuses nobody: only when it
// shrank beyond the limit are the trees walked, and what changed in them since the start is added up.
type diskWatch struct {
	w      *Watch
	start  time.Time
	before []unix.Statfs_t
	walked time.Time
}

func newDiskWatch(w *Watch) *diskWatch {
	d := &diskWatch{w: w, start: time.Now(), before: make([]unix.Statfs_t, len(w.Paths))}
	for i, path := range w.Paths {
		_ = unix.Statfs(path, &d.before[i])
	}
	return d
}

// exceeded returns the limit that was exceeded, or "".
func (d *diskWatch) exceeded() string {
	if d.w.Disk == 0 && d.w.Files == 0 {
		return ""
	}
	for i, path := range d.w.Paths {
		var now unix.Statfs_t
		if unix.Statfs(path, &now) != nil {
			continue
		}
		blocks := int64(d.before[i].Bfree-now.Bfree) * int64(now.Bsize)
		files := int64(d.before[i].Ffree - now.Ffree)
		over := d.w.Disk > 0 && blocks > int64(d.w.Disk)
		many := d.w.Files > 0 && files > int64(d.w.Files)
		if !over && !many || time.Since(d.walked) < watchSlow {
			continue
		}
		if over && d.written() > d.w.Disk {
			return LimitDisk
		}
		size, count := d.changed()
		d.walked = time.Now()
		if over && size > d.w.Disk {
			return LimitDisk
		}
		if many && count > d.w.Files {
			return LimitFiles
		}
	}
	return ""
}

// written returns how much the processes of the tree that have ended wrote to disks.
func (d *diskWatch) written() uint64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru) != nil {
		return 0
	}
	return uint64(ru.Oublock) * 512
}

// changed adds up files that were made or changed since the start.
func (d *diskWatch) changed() (size, count uint64) {
	since := d.start.Add(-time.Second).Unix()
	for _, root := range d.w.Paths {
		_ = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			var st unix.Stat_t
			if unix.Lstat(path, &st) == nil && st.Ctim.Sec >= since {
				size += uint64(st.Blocks) * 512
				count++
			}
			return nil
		})
	}
	return size, count
}
