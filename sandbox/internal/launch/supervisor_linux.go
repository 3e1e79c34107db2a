package launch

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervisor answers for system calls that the filter does not decide, where there is no PID namespace: forks, so that
// it can count them and stop them dead when everything is to be killed; and signals, where Landlock does not confine
// them. It looks at numbers only, never at the caller's memory, so nothing can change between the look and the call.
type supervisor struct {
	fd   int
	init *initProcess
	// forks counts those since the tasks were last counted, tasks what was found then.
	forks, tasks uint64
}

type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

const (
	notifyReceive  = 0xc0502100
	notifySend     = 0xc0182101
	notifyContinue = 1
)

func (s *supervisor) serve() {
	for {
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), notifyReceive, uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT {
				continue
			}
			return
		}
		r := response{id: n.id}
		if errno := s.decide(&n); errno != 0 {
			r.errno = -int32(errno)
		} else {
			r.flags = notifyContinue
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), notifySend, uintptr(unsafe.Pointer(&r)))
	}
}

func (s *supervisor) decide(n *notification) unix.Errno {
	if isFork(uintptr(n.nr)) {
		return s.fork(int(n.pid))
	}
	if !s.maySignal(int(int32(n.args[0]))) {
		return unix.EPERM
	}
	return 0
}

func (s *supervisor) fork(caller int) unix.Errno {
	if s.init.killing.Load() {
		return unix.EAGAIN
	}
	if ownThread(caller) {
		return 0
	}
	<-s.init.gate
	limit := s.init.spec.Processes
	if limit == 0 {
		return 0
	}
	s.forks++
	if s.tasks+s.forks > limit {
		s.forks, s.tasks = 1, 0
		for _, pid := range descendants(os.Getpid()) {
			t, _ := statOf(pid)
			s.tasks += uint64(max(t.threads, 1))
		}
		if s.tasks+1 > limit {
			return unix.EAGAIN
		}
	}
	return 0
}

// ownThread reports whether a task is a thread of ours: it forks the command.
func ownThread(tid int) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/self/task/"+itoa(tid), &st) == nil
}

// maySignal reports whether a target, as kill(2) takes it, is inside the sandbox as a whole.
func (s *supervisor) maySignal(target int) bool {
	if target == 0 {
		return true
	}
	if target == -1 {
		return false
	}
	inside := map[int]bool{}
	for _, pid := range descendants(os.Getpid()) {
		inside[pid] = true
	}
	if target > 0 {
		return inside[target] || inside[threadGroup(target)]
	}
	any := false
	for _, pid := range processes() {
		if group, err := unix.Getpgid(pid); err == nil && group == -target {
			any = true
			if !inside[pid] {
				return false
			}
		}
	}
	return any
}

// threadGroup returns the process that a thread belongs to, or 0.
func threadGroup(tid int) int {
	b, err := os.ReadFile("/proc/" + itoa(tid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
	}
	return 0
}
