package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack is what the test binary does inside a sandbox: one attempt, by raw system calls. It prints ESCAPED when it got
// what it must not get.
func attack(args []string) int {
	f := attackNamed(args[0])
	if f == nil {
		fmt.Println("there is no attack", args[0])
		return 2
	}
	runtime.LockOSThread()
	got, err := f(args[1:])
	if err != nil {
		fmt.Println("stopped:", err)
		return 0
	}
	fmt.Println("ESCAPED:", got)
	return 0
}

type attackFunc func(args []string) (got string, err error)

// raw makes a system call and succeeds when the kernel took it.
func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// reached makes a system call that may well fail for its arguments: what counts is whether the kernel looked at them.
func reached(nr uintptr, args ...uintptr) attackFunc {
	return func([]string) (string, error) {
		err := raw(nr, args...)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EACCES) {
			return "", err
		}
		return fmt.Sprintf("system call %d came through: %v", nr, err), nil
	}
}

func number(args []string, i int) int {
	if i >= len(args) {
		return 0
	}
	n, _ := strconv.Atoi(args[i])
	return n
}

// kept keeps what only the kernel is told the address of.
var kept []*byte

func cstring(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

// did turns a call's error into an attack's result.
func did(what string, err error) (string, error) { return what, err }

// the address of something that can be read and written, for calls that want a pointer
var scratchPad [4096]byte

func pad() uintptr { return uintptr(unsafe.Pointer(&scratchPad[0])) }

// attackNamed finds an attack, or returns nil.
func attackNamed(name string) attackFunc {
	for _, group := range []map[string]attackFunc{attacksOnFiles, attacksOnProcesses, attacksOnTheKernel, attacksByMode, attacksOnResources} {
		if f := group[name]; f != nil {
			return f
		}
	}
	return nil
}

var attacksOnFiles = map[string]attackFunc{
	"truncate": func(a []string) (string, error) {
		var st unix.Stat_t
		if err := unix.Stat(a[0], &st); err != nil {
			return "", err
		}
		return did("truncated to its own size", unix.Truncate(a[0], st.Size))
	},
	"utime": func(a []string) (string, error) {
		return did("times changed", unix.UtimesNanoAt(unix.AT_FDCWD, a[0], nil, 0))
	},
	"chmod": func(a []string) (string, error) {
		var st unix.Stat_t
		if err := unix.Stat(a[0], &st); err != nil {
			return "", err
		}
		return did("mode set", unix.Chmod(a[0], st.Mode&0o7777))
	},
	"chown": func(a []string) (string, error) { return did("owner set", unix.Chown(a[0], -1, -1)) },
	"setxattr": func(a []string) (string, error) {
		return did("attribute set", unix.Setxattr(a[0], "user.tongs", []byte("1"), 0))
	},
	"filecaps": func(a []string) (string, error) {
		if err := os.WriteFile("capable", nil, 0o755); err != nil {
			return "", err
		}
		caps := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0}
		return did("file capabilities set", unix.Setxattr("capable", "security.capability", caps, 0))
	},
	"stat": func(a []string) (string, error) {
		var st unix.Stat_t
		return did("seen", unix.Stat(a[0], &st))
	},
	"exchange": func(a []string) (string, error) {
		if err := os.WriteFile("evil", []byte("x"), 0o644); err != nil {
			return "", err
		}
		return did("exchanged", unix.Renameat2(unix.AT_FDCWD, "evil", unix.AT_FDCWD, a[0], unix.RENAME_EXCHANGE))
	},
	"reopen": func(a []string) (string, error) {
		fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, 0)
		return did("reopened for writing", err)
	},
	"map": func(a []string) (string, error) {
		fd, err := unix.Open(a[0], unix.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.Mmap(fd, 0, 1, unix.PROT_WRITE, unix.MAP_SHARED)
		return did("mapped for writing", err)
	},
	"handle": func(a []string) (string, error) {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
		if err != nil {
			return "", err
		}
		fd, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.OpenByHandleAt(fd, h, unix.O_RDONLY)
		return did("opened by handle", err)
	},
	"immutable": func(a []string) (string, error) {
		f, err := os.Create("fixed")
		if err != nil {
			return "", err
		}
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x10); err != nil {
			return "", err
		}
		return did("made immutable", unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0))
	},
	"mknod": func(a []string) (string, error) {
		return did("device made", unix.Mknod("device", uint32(unix.S_IFBLK|0o666), int(unix.Mkdev(uint32(number(a, 0)), 0))))
	},
	"exe-read": func(a []string) (string, error) {
		_, err := unix.Open("/proc/"+a[0]+"/exe", unix.O_RDONLY, 0)
		return did("its program opened", err)
	},
	"exe-write": func(a []string) (string, error) {
		fd, err := unix.Open("/proc/"+a[0]+"/exe", unix.O_PATH, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, 0)
		if errors.Is(err, unix.ETXTBSY) {
			return "only busy, not refused", nil
		}
		return did("its program opened for writing", err)
	},
	"proc-mem": func(a []string) (string, error) {
		_, err := unix.Open("/proc/"+a[0]+"/mem", unix.O_RDONLY, 0)
		return did("its memory opened", err)
	},
	"race": raceForSecret,
}

// raceForSecret swaps a directory for a link while reading through it.
func raceForSecret(a []string) (string, error) {
	dir, name := a[0][:strings.LastIndexByte(a[0], '/')], a[0][strings.LastIndexByte(a[0], '/')+1:]
	_ = os.Mkdir("real", 0o755)
	_ = os.Symlink(dir, "link")
	stop := time.Now().Add(100 * time.Millisecond)
	go func() {
		for time.Now().Before(stop) {
			_ = unix.Renameat2(unix.AT_FDCWD, "real", unix.AT_FDCWD, "link", unix.RENAME_EXCHANGE)
		}
	}()
	for time.Now().Before(stop) {
		if b, err := os.ReadFile("real/" + name); err == nil && strings.Contains(string(b), "SECRET") {
			return "read by a race", nil
		}
	}
	return "", errors.New("never got it")
}

var attacksOnProcesses = map[string]attackFunc{
	"kill": func(a []string) (string, error) {
		return did("signalled", unix.Kill(number(a, 0), unix.Signal(number(a, 1))))
	},
	"tgkill": func(a []string) (string, error) { return did("signalled", unix.Tgkill(number(a, 0), number(a, 0), 0)) },
	"ptrace": func(a []string) (string, error) { return did("traced", unix.PtraceSeize(number(a, 0))) },
	"renice": func(a []string) (string, error) {
		return did("reniced", unix.Setpriority(unix.PRIO_PROCESS, number(a, 0), 19))
	},
	"ioprio": func(a []string) (string, error) {
		return did("I/O priority set", raw(unix.SYS_IOPRIO_SET, 1, uintptr(number(a, 0)), 3<<13))
	},
	"renice*": func(a []string) (string, error) {
		return did("all of the user reniced", unix.Setpriority(unix.PRIO_USER, 0, 7))
	},
	"prlimit": func(a []string) (string, error) {
		var cur unix.Rlimit
		if err := unix.Prlimit(number(a, 0), unix.RLIMIT_NOFILE, nil, &cur); err != nil {
			return "", err
		}
		return did("limits set", unix.Prlimit(number(a, 0), unix.RLIMIT_NOFILE, &cur, nil))
	},
	"scheduler": func(a []string) (string, error) {
		var param int32
		return did("scheduler set", raw(unix.SYS_SCHED_SETSCHEDULER, uintptr(number(a, 0)), 3, uintptr(unsafe.Pointer(&param))))
	},
	"vmread": func(a []string) (string, error) {
		local := []unix.Iovec{{Base: &scratchPad[0], Len: 16}}
		_, err := unix.ProcessVMReadv(number(a, 0), local, []unix.RemoteIovec{{Base: 0x400000, Len: 16}}, 0)
		if errors.Is(err, unix.EFAULT) {
			return "it looked at the memory", nil
		}
		return did("memory read", err)
	},
	"getfd": func(a []string) (string, error) {
		pidfd, err := unix.PidfdOpen(number(a, 0), 0)
		if err != nil {
			return "", err
		}
		for i := range 20 {
			if _, err = unix.PidfdGetfd(pidfd, i, 0); err == nil {
				return "a descriptor taken", nil
			}
		}
		return "", err
	},
	"pidfd-signal": func(a []string) (string, error) {
		pidfd, err := unix.PidfdOpen(number(a, 0), 0)
		if err != nil {
			return "", err
		}
		return did("signalled", unix.PidfdSendSignal(pidfd, 0, nil, 0))
	},
	"sigio":      signalByOwner,
	"setns":      func(a []string) (string, error) { return setns(a[0], "net") },
	"setns-mnt":  func(a []string) (string, error) { return setns(a[0], "mnt") },
	"setns-user": func(a []string) (string, error) { return setns(a[0], "user") },
	"unshare": func([]string) (string, error) {
		return did("new user namespace", inChild(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0))
	},
	"unshare-net": func([]string) (string, error) {
		return did("new network namespace", raw(unix.SYS_UNSHARE, unix.CLONE_NEWNET))
	},
	"clone": func([]string) (string, error) {
		return did("new user namespace", inChild(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, 0))
	},
	"clone-user": func([]string) (string, error) {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
		if err == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
		return did("cloned into a user namespace", err)
	},
	"clone3": func([]string) (string, error) {
		args := [11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}
		if _, errno := forkAndCall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), unix.SYS_GETPID, 0, 0); errno != 0 {
			return "", errno
		}
		return "clone3 with a new user namespace", nil
	},
	"shm": func(a []string) (string, error) {
		id, err := unix.SysvShmGet(number(a, 0), 0, 0)
		if err != nil {
			return "", err
		}
		b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(string(b), "SECRET") {
			return "", errors.New("something else")
		}
		return "shared memory of the host read", nil
	},
	"shm-id": func(a []string) (string, error) {
		b, err := unix.SysvShmAttach(number(a, 0), 0, unix.SHM_RDONLY)
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(string(b), "SECRET") {
			return "", errors.New("something else")
		}
		return "shared memory of the host read by its number", nil
	},
	"mq": func(a []string) (string, error) {
		name := cstring(a[0])
		return did("message queue of the host opened", raw(unix.SYS_MQ_OPEN, name, unix.O_RDONLY|unix.O_NONBLOCK, 0, 0))
	},
	"tiocsti": func([]string) (string, error) {
		c := byte('X')
		return did("typed into the terminal", raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	},
	"tiocsti-high": func([]string) (string, error) {
		c := byte('X')
		return did("typed into the terminal", raw(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	},
	"tioclinux": func([]string) (string, error) {
		c := byte(3)
		err := raw(unix.SYS_IOCTL, 0, unix.TIOCLINUX, uintptr(unsafe.Pointer(&c)))
		if errors.Is(err, unix.EPERM) {
			return "", err
		}
		return "TIOCLINUX came through", nil
	},
	"dial": func(a []string) (string, error) {
		c, err := net.DialTimeout(a[0], a[1], time.Second)
		if err == nil {
			_, err = c.Write([]byte("exfiltrated"))
			_ = c.Close()
		}
		return did("connected to "+a[1], err)
	},
	"loopback": func([]string) (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write([]byte("hello"))
				_ = c.Close()
			}
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return "", err
		}
		_, err = c.Read(scratchPad[:])
		return did("talked to itself", err)
	},
	"fastopen": func(a []string) (string, error) {
		s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return "", err
		}
		return did("sent on connecting", unix.Sendto(s, []byte("exfiltrated"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: number(a, 0), Addr: [4]byte{127, 0, 0, 1}}))
	},
	"socket": func(a []string) (string, error) {
		_, err := unix.Socket(number(a, 0), number(a, 1), number(a, 2))
		return did("socket of family "+a[0], err)
	},
}

// inChild makes a system call in a forked process, where there is one thread only.
func inChild(nr, a, b uintptr) error {
	pid, errno := forkAndCall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, nr, a, b)
	if errno != 0 {
		return errno
	}
	var st unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &st, unix.WALL, nil); err != nil {
		return err
	}
	if st.ExitStatus() != 0 {
		return unix.EPERM
	}
	return nil
}

// forkAndCall forks by a system call and makes another one in the child, which ends with its error. A child of a Go program
// has none of the threads that the runtime counts on. So it must never enter the runtime, which any function that checks
// its stack may do.
//
//go:nosplit
//go:norace
func forkAndCall(fork, f1, f2, nr, a, b uintptr) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = unix.RawSyscall6(fork, f1, f2, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	_, _, errno = unix.RawSyscall6(nr, a, b, 0, 0, 0, 0)
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0, 0, 0, 0)
	}
}

func setns(pid, kind string) (string, error) {
	fd, err := unix.Open("/proc/"+pid+"/ns/"+kind, unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	return did("namespace entered", raw(unix.SYS_SETNS, uintptr(fd), 0))
}

// signalByOwner has the kernel signal somebody else when a socket becomes readable.
func signalByOwner(a []string) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETOWN, number(a, 0)); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETSIG, int(unix.SIGUSR1)); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return "", err
	}
	_, err = unix.Write(pair[1], []byte("x"))
	if err != nil {
		return "", err
	}
	return "", errors.New("asked for; whether it came is judged outside")
}

var attacksOnResources = map[string]attackFunc{
	"alloc": func(a []string) (string, error) {
		return grab(number(a, 0), unix.MAP_PRIVATE|unix.MAP_ANON, number(a, 1))
	},
	"alloc-shm": func(a []string) (string, error) {
		return grab(number(a, 0), unix.MAP_SHARED|unix.MAP_ANON, number(a, 1))
	},
	"memfd": func(a []string) (string, error) {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return "", err
		}
		block := make([]byte, 8<<20)
		for i := 0; i < number(a, 0); i += 8 {
			if _, err := unix.Write(fd, block); err != nil {
				return "", err
			}
		}
		holdFor(number(a, 1))
		return a[0] + " MiB in a memory file", nil
	},
	"sysv": func(a []string) (string, error) {
		for i := 0; i < number(a, 0); i += 8 {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 8<<20, unix.IPC_CREAT|0o600)
			if err != nil {
				return "", err
			}
			b, err := unix.SysvShmAttach(id, 0, 0)
			// It is gone with this process: without a sandbox, what is not removed would stay until the machine stops.
			if _, rmErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil || rmErr != nil {
				return "", errors.Join(err, rmErr)
			}
			for j := 0; j < len(b); j += 4096 {
				b[j] = 1
			}
		}
		holdFor(number(a, 1))
		return a[0] + " MiB in shared segments", nil
	},
	"many": holdTogether,
	"hold": func(a []string) (string, error) {
		if _, err := grab(number(a, 0), unix.MAP_PRIVATE|unix.MAP_ANON, 0); err != nil {
			os.Exit(1)
		}
		fmt.Print("h")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until all hold theirs, and it is closed
		return "", errors.New("held")
	},
	"threads": func(a []string) (string, error) {
		n := number(a, 0)
		for i := range n {
			// Each waits for nothing, without end.
			if _, errno := forkAndCall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, unix.SYS_PPOLL, 0, 0); errno != 0 {
				return "", fmt.Errorf("after %d: %w", i, errno)
			}
		}
		return a[0] + " processes", nil
	},
	"affinity": func([]string) (string, error) {
		var all unix.CPUSet
		for i := range 64 {
			all.Set(i)
		}
		_ = unix.SchedSetaffinity(0, &all)
		var got unix.CPUSet
		if err := unix.SchedGetaffinity(0, &got); err != nil {
			return "", err
		}
		if got.Count() <= 1 {
			return "", errors.New("one processor")
		}
		return fmt.Sprintf("%d processors", got.Count()), nil
	},
	"rlimit": func(a []string) (string, error) {
		all := &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		return did("limit raised", unix.Prlimit(0, number(a, 0), all, nil))
	},
	"nproc-soft": func([]string) (string, error) {
		var cur unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_NPROC, nil, &cur); err != nil {
			return "", err
		}
		cur.Cur = cur.Max
		return did("process limit raised", unix.Prlimit(0, unix.RLIMIT_NPROC, &cur, nil))
	},
	"control": withoutSandbox,
	"deaf": func([]string) (string, error) {
		signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1)
		for {
			time.Sleep(time.Hour)
		}
	},
}

// withoutSandbox runs a script as a sandbox's init would, but for the sandbox: it adopts and kills what the script leaves.
func withoutSandbox(a []string) (string, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return "", err
	}
	pid, err := syscall.ForkExec("/bin/bash", []string{"bash", "-c", a[0]}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return "", err
	}
	var status syscall.WaitStatus
	for got := 0; got != pid; {
		if got, err = syscall.Wait4(-1, &status, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return "", err
		}
	}
	left := 0
	for {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			kids, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			for kid := range strings.FieldsSeq(string(kids)) {
				_ = syscall.Kill(number([]string{kid}, 0), syscall.SIGKILL)
			}
		}
		var st syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &st, 0, nil); errors.Is(err, syscall.ECHILD) {
			break
		}
		left++
	}
	if left > 0 {
		return fmt.Sprintf("%d processes were left", left), nil
	}
	os.Exit(status.ExitStatus())
	return "", nil
}

// holdTogether has processes that each stay below the limit hold memory at the same time, for a number of seconds.
func holdTogether(a []string) (string, error) {
	release, hold, err := os.Pipe()
	if err != nil {
		return "", err
	}
	var all []*os.Process
	var holding []*os.File
	for range number(a, 0) {
		r, w, err := os.Pipe()
		if err != nil {
			return "", err
		}
		argv := []string{os.Args[0], "attack", "hold", a[1]}
		p, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{Files: []*os.File{release, w, os.Stderr}, Env: os.Environ()})
		if err != nil {
			return "", err
		}
		_ = w.Close()
		all, holding = append(all, p), append(holding, r)
	}
	for _, r := range holding {
		if _, err := r.Read(make([]byte, 1)); err != nil {
			return "", errors.New("one of them ended")
		}
	}
	holdFor(number(a, 2))
	_ = hold.Close()
	for _, p := range all {
		if st, err := p.Wait(); err != nil || !st.Success() {
			return "", fmt.Errorf("one of them ended: %v", st)
		}
	}
	return fmt.Sprintf("%d processes of %s MiB", len(all), a[1]), nil
}

// holdFor keeps what was taken for a number of seconds, in which a limit strikes if there is one.
func holdFor(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }

// grab takes memory, touches it and keeps it for a number of seconds.
func grab(mib, flags, seconds int) (string, error) {
	for i := 0; i < mib; i += 8 {
		b, err := unix.Mmap(-1, 0, 8<<20, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			return "", err
		}
		for j := 0; j < len(b); j += 4096 {
			b[j] = 1
		}
	}
	holdFor(seconds)
	return fmt.Sprintf("%d MiB", mib), nil
}
