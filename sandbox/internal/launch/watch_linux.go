package launch

import (
	"os"
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
	if w.Disk > 0 || w.Files > 0 {
		go p.watchDisk()
	}
	if w.Memory == 0 && w.CPU == 0 {
		return
	}
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
	}
}

// watchDisk does so for the growth of the trees: walking them takes a while, and a file system may take its time.
func (p *initProcess) watchDisk() {
	for !p.killing.Load() {
		time.Sleep(watchMemory)
		if limit := p.disk.exceeded(p.killing.Load); limit != "" {
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
