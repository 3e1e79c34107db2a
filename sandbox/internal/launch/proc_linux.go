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

// table is every process that /proc shows.
type table map[int]task

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

// processes reads the whole table.
func processes() table {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	t := make(table, len(names))
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if p, ok := statOf(pid); ok {
			t[pid] = p
		}
	}
	return t
}

// children returns the direct children of pid, dead ones too.
func (t table) children(pid int) (kids []int) {
	for p, q := range t {
		if q.parent == pid {
			kids = append(kids, p)
		}
	}
	return kids
}

// below returns all descendants of pid.
func (t table) below(pid int) (all []int) {
	kids := make(map[int][]int, len(t))
	for p, q := range t {
		kids[q.parent] = append(kids[q.parent], p)
	}
	all = append(all, kids[pid]...)
	for i := 0; i < len(all); i++ {
		all = append(all, kids[all[i]]...)
	}
	return all
}
