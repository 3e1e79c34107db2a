package launch

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// task is what /proc says of a process.
type task struct {
	parent  int
	threads int
	zombie  bool
	// ticks is processor time of it and of its reaped children, rss its resident memory in bytes.
	ticks, rss uint64
	start      string
}

// statOf reads /proc/PID/stat. ok is false for a process that is gone.
func statOf(pid int) (t task, ok bool) {
	var buf [1024]byte
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t, false
	}
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd)
	if err != nil || n <= 0 {
		return t, false
	}
	// The name may hold anything, also spaces and brackets: what matters comes after the last bracket.
	s := string(buf[:n])
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 22 {
		return t, false
	}
	num := func(i int) uint64 { v, _ := strconv.ParseUint(f[i], 10, 64); return v }
	t = task{
		parent: int(num(1)), zombie: f[0] == "Z" || f[0] == "X", threads: int(num(17)), start: f[19],
		ticks: num(11) + num(12) + num(13) + num(14), rss: num(21) * uint64(os.Getpagesize()),
	}
	return t, true
}

// startTime returns when a process started, in ticks since the machine did, or "" when there is none.
func startTime(pid int) string {
	t, ok := statOf(pid)
	if !ok || t.zombie {
		return ""
	}
	return t.start
}

// processes returns the numbers of all processes that /proc shows.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns the direct children of a process, dead ones too.
func children(pid int) (kids []int) {
	dir := "/proc/" + itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			if _, err := os.Stat(dir + "/" + t.Name()); err == nil {
				return childrenByParent(pid) // a kernel without CONFIG_PROC_CHILDREN
			}
			continue
		}
		for _, f := range strings.Fields(string(b)) {
			if kid, err := strconv.Atoi(f); err == nil {
				kids = append(kids, kid)
			}
		}
	}
	return kids
}

// childrenByParent is children, by looking at every process.
func childrenByParent(pid int) (kids []int) {
	for _, p := range processes() {
		if t, ok := statOf(p); ok && t.parent == pid {
			kids = append(kids, p)
		}
	}
	return kids
}

// descendants returns all processes below one. What is forked meanwhile may be missing.
func descendants(pid int) []int {
	all := children(pid)
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}
