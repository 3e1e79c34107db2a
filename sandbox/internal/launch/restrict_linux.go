package launch

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// restrict takes away, from this thread and what it forks: capabilities, files by Landlock, system calls by seccomp.
func (p *initProcess) restrict() error {
	s := p.spec
	if err := p.lowerProcessLimit(); err != nil {
		return step("process limit", err)
	}
	if err := dropCapabilities(); err != nil {
		return step("dropping capabilities", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return step("no_new_privs", err)
	}
	if s.Landlock.Handled != 0 || s.Landlock.Scoped != 0 {
		if err := applyLandlock(&s.Landlock); err != nil {
			return step("Landlock", err)
		}
	}
	if len(s.Filter) > 0 {
		return p.applyFilter()
	}
	return nil
}

// spareThreads makes the runtime start the threads that it may need later, when the command has taken all the
// processes it may have: it keeps them. A runtime that cannot start a thread ends the process.
func spareThreads() {
	const spare = 5
	var ready, ended sync.WaitGroup
	release := make(chan struct{})
	for range spare {
		ready.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	ended.Wait()
}

// lowerProcessLimit sets the soft limit that the command inherits. The filter keeps the command from raising it. It
// counts tasks of this user in this user namespace, so ours too. Without a namespace it would count all of the user's;
// there the supervisor counts.
func (p *initProcess) lowerProcessLimit() error {
	if p.spec.Processes == 0 || !p.spec.Namespaces {
		return nil
	}
	var cur syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NPROC, &cur); err != nil {
		return err
	}
	return syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: min(p.spec.Processes+uint64(ownTasks()), cur.Max), Max: cur.Max})
}

// ownTasks counts our own threads.
func ownTasks() int {
	t, _ := statOf(os.Getpid())
	return max(t.threads, 1)
}

// dropCapabilities empties every set, on all threads where the runtime can reach them, and on this one for sure.
func dropCapabilities() error {
	last := uintptr(63)
	for c := uintptr(0); c <= last; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			last = c // the kernel knows no more
			break
		}
		if errors.Is(err, unix.EPERM) {
			break // without CAP_SETPCAP there is nothing in the set to come by, either
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	// A program that links C code has threads that the runtime cannot reach; those keep theirs, inside the namespace.
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none[0])), 0)
	return unix.Capset(&head, &none[0])
}

// applyLandlock restricts the calling thread.
func applyLandlock(l *Landlock) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: l.Handled, Handled_access_net: l.Net, Scoped: l.Scoped}
	size := unsafe.Sizeof(attr)
	if l.Scoped == 0 {
		size = unsafe.Offsetof(attr.Scoped)
	}
	if l.Scoped == 0 && l.Net == 0 {
		size = unsafe.Offsetof(attr.Handled_access_net)
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return step("creating the ruleset", errno)
	}
	defer unix.Close(int(set))
	for _, r := range l.Rules {
		if err := addRule(int(set), r, l.Handled); err != nil {
			return step(r.Path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return step("restricting", errno)
	}
	return nil
}

// FileAccess are the Landlock rights that make sense for what is not a directory.
const FileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

func addRule(set int, r PathRule, handled uint64) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access := r.Access & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= FileAccess
	}
	if access == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// applyFilter installs the seccomp program on the calling thread.
func (p *initProcess) applyFilter() error {
	filter := p.spec.Filter
	if len(filter)%8 != 0 {
		return errShort
	}
	var flags uintptr
	if p.spec.Notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	prog := unix.SockFprog{Len: uint16(len(filter) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return step("installing the filter", errno)
	}
	if p.spec.Notify {
		unix.CloseOnExec(int(fd))
		p.supervisor = &supervisor{fd: int(fd), init: p}
		go p.supervisor.serve()
	}
	return nil
}
