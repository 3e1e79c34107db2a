package launch

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The exit codes of init itself. The host goes by messages; these are for whoever looks at the process.
const exitSetup = 125

// initProcess is the first process of a sandbox. One OS thread takes on the restrictions and forks the command, which
// inherits them. The other threads stay free to watch and to kill. The restricted one is never the first thread: for the
// kernel that one stands for the whole process, and Landlock would let the command signal it.
type initProcess struct {
	conn conn
	std  []int // the command's standard descriptors
	spec *Spec

	sending sync.Mutex
	missing []string
	killing atomic.Bool
	limit   atomic.Pointer[string]
	// gate is closed once the command runs under all its limits.
	gate       chan struct{}
	supervisor *supervisor
	disk       *diskWatch
}

// initialize receives the spec, has it carried out, and returns the exit code. It is called on a locked thread.
func initialize(ctl int) int {
	_ = unix.CloseRange(uint(ctl)+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(ctl)
	// What can be done before it is known what is to be run.
	spareThreads()
	p := &initProcess{gate: make(chan struct{})}
	trees, err := p.receive(conn{ctl})
	if err != nil {
		return exitSetup
	}
	go p.lifeline()
	code := make(chan int)
	onOtherThread(func() { code <- p.perform(trees) })
	return <-code
}

// onOtherThread runs f on a thread of its own that is not the process's first.
func onOtherThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onOtherThread(f)
			select {} // keeps the first thread from being chosen again
		}
		f()
	}()
}

// perform carries out the spec, and returns the exit code.
func (p *initProcess) perform(trees []int) int {
	files, err := p.prepare(trees)
	if err == nil {
		err = p.restrict()
	}
	if err != nil {
		kind := MsgSetup
		switch {
		case errors.Is(err, errStale):
			kind = MsgStale
		case errors.Is(err, errOverlay):
			kind = MsgOverlay
		}
		p.send(kind, []byte(err.Error()))
		return exitSetup
	}
	if p.spec.Probe {
		if err := p.check(); err != nil {
			p.send(MsgSetup, []byte(err.Error()))
			return exitSetup
		}
		p.send(MsgStarted, (&Started{Missing: p.missing}).Encode())
		p.send(MsgDone, (&Done{}).Encode())
		return 0
	}
	pid, err := p.execute(files)
	if err != nil {
		p.send(MsgExec, []byte(err.Error()))
		return exitSetup
	}
	return p.wait(pid)
}

// receive waits for the keeper to hand over a run, then reads the host's messages up to the spec.
func (p *initProcess) receive(keeper conn) (trees []int, err error) {
	_, _, fds, err := keeper.read()
	if err != nil || len(fds) != 4 {
		return nil, errShort
	}
	_ = unix.Close(keeper.fd)
	p.conn, p.std = conn{fds[0]}, fds[1:]
	for {
		kind, payload, fds, err := p.conn.read()
		if err != nil {
			return nil, err
		}
		trees = append(trees, fds...)
		if kind == MsgSpec {
			p.spec, err = DecodeSpec(payload)
			if err != nil {
				p.send(MsgSetup, []byte(err.Error()))
			}
			return trees, err
		}
	}
}

// lifeline kills everything when the host says so, or is gone.
func (p *initProcess) lifeline() {
	for {
		kind, payload, _, err := p.conn.read()
		switch {
		case err != nil:
			p.killAll()
			if !p.spec.Namespaces {
				p.sweep()
			}
			unix.Exit(137)
		case kind == MsgKill:
			p.killAll()
		case kind == MsgAsk && p.spec.Loopback:
			p.answer(payload)
		}
	}
}

func (p *initProcess) send(kind Kind, payload []byte, fds ...int) {
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.conn.write(kind, payload, fds...)
}

// prepare does everything that needs privileges, and returns the command's standard descriptors.
func (p *initProcess) prepare(trees []int) (files []uintptr, err error) {
	s := p.spec
	if !s.Namespaces {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, step("becoming the subreaper", err)
		}
	}
	if s.Hostname != "" {
		if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
			return nil, step("setting the host name", err)
		}
	}
	if s.Loopback {
		if err := loopbackUp(); err != nil {
			return nil, step("bringing up the loopback interface", err)
		}
	}
	if s.Listen != 0 {
		if err := p.listen(s.Listen); err != nil {
			return nil, step("listening for the proxy", err)
		}
	}
	for _, port := range s.Forward {
		if err := p.listen(port); err != nil {
			return nil, step("listening on the port "+itoa(int(port)), err)
		}
	}
	if s.Root != "" {
		if p.missing, err = buildRoot(s, trees); err != nil {
			return nil, err
		}
	}
	if err := unix.Chdir(s.Dir); err != nil {
		return nil, step("entering "+s.Dir, err)
	}
	if files, err = p.standardFiles(); err != nil {
		return nil, err
	}
	// Nobody may look into this process or trace it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, step("becoming undumpable", err)
	}
	p.disk = newDiskWatch(&s.Watch) // before anything runs that could make it grow
	return files, p.setLimits()
}

// standardFiles returns the command's standard descriptors. With a terminal they are its slave.
func (p *initProcess) standardFiles() ([]uintptr, error) {
	if !p.spec.PTY {
		return []uintptr{uintptr(p.std[0]), uintptr(p.std[1]), uintptr(p.std[2])}, nil
	}
	slave, err := p.terminal()
	if err != nil {
		return nil, step("making a terminal", err)
	}
	return []uintptr{slave, slave, slave}, nil
}

// terminal makes a pseudo-terminal, sends its master to the host and returns its slave.
func (p *initProcess) terminal() (uintptr, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(master)
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return 0, err
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return 0, errno
	}
	size := &unix.Winsize{Row: p.spec.Rows, Col: p.spec.Cols}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, size); err != nil {
		return 0, err
	}
	p.send(MsgTerminal, nil, master)
	return slave, nil
}

// loopbackUp switches the interface lo on.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
}

// listen opens a port inside the network namespace and hands the listening socket to the host, which serves it from
// outside: nothing has to be mounted, and no process has to bridge.
func (p *initProcess) listen(port uint16) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Bind(s, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(s, 128); err != nil {
		return err
	}
	p.send(MsgListener, []byte(itoa(int(port))), s)
	return nil
}

// setLimits sets the resource limits, which the command inherits, and the processors.
func (p *initProcess) setLimits() error {
	for _, l := range p.spec.Rlimits {
		var cur syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &cur); err != nil {
			return step("resource limits", err)
		}
		v := min(l.Value, cur.Max)
		// Through package syscall: it forgets that the runtime raised RLIMIT_NOFILE, and does not put it back.
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: v, Max: v}); err != nil {
			return step("resource limits", err)
		}
	}
	if p.spec.Cores > 0 {
		var have, want unix.CPUSet
		if err := unix.SchedGetaffinity(0, &have); err != nil {
			return step("processors", err)
		}
		for i, n := 0, 0; i < len(have)*64 && n < p.spec.Cores; i++ {
			if have.IsSet(i) {
				want.Set(i)
				n++
			}
		}
		if err := unix.SchedSetaffinity(0, &want); err != nil {
			return step("processors", err)
		}
	}
	return nil
}

// execute forks the command from the restricted thread.
func (p *initProcess) execute(files []uintptr) (int, error) {
	s := p.spec
	prog, err := lookPath(s.Argv[0], s.Env)
	if err != nil {
		return 0, err
	}
	if err := waitPast(s.After); err != nil {
		return 0, err
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if s.PTY {
		sys.Setctty = true
	}
	pid, err := syscall.ForkExec(prog, s.Argv, &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files, Sys: sys})
	// We hold the command's pipes no longer than it does.
	for _, fd := range files {
		_ = unix.Close(int(fd))
	}
	p.raiseProcessLimit()
	if err != nil {
		return 0, step(prog, err)
	}
	// If memory runs out, the kernel shall pick the command and not us.
	p.clean(func() { _ = writeTo("/proc/"+itoa(pid)+"/oom_score_adj", "1000") })
	close(p.gate)
	p.send(MsgStarted, (&Started{Missing: p.missing}).Encode())
	return pid, nil
}

// clean runs f on a thread that is not restricted, and waits for it.
func (p *initProcess) clean(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// lookPath finds a program as a shell would: in PATH, or where the name says if it has a slash.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(list, ":") {
			file := filepath.Join(dir, name)
			var st unix.Stat_t
			if filepath.IsAbs(file) && unix.Access(file, unix.X_OK) == nil && unix.Stat(file, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return file, nil
			}
		}
	}
	return "", errors.New(name + ": not found in PATH")
}

// wait reaps until the command ended, kills what it left, and reports.
func (p *initProcess) wait(pid int) int {
	go p.watch()
	var status syscall.WaitStatus
	for {
		var st syscall.WaitStatus
		got, err := syscall.Wait4(-1, &st, unix.WALL, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || got == pid {
			status = st
			break
		}
	}
	var left int64
	p.clean(func() {
		p.killAll()
		left = p.sweep()
	})
	done := &Done{Exit: status.ExitStatus(), Leftover: left}
	if status.Signaled() {
		done.Signal = int(status.Signal())
		done.Exit = 128 + done.Signal
	}
	if l := p.limit.Load(); l != nil {
		done.Limit = *l
	}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru) == nil {
		done.User, done.System, done.MaxRSS = ru.Utime.Nano(), ru.Stime.Nano(), ru.Maxrss*1024
	}
	p.send(MsgDone, done.Encode())
	return done.Exit & 0xff
}

// killAll kills every process of the sandbox but this one. It must be called on a clean thread.
func (p *initProcess) killAll() {
	p.killing.Store(true)
	if p.spec.Namespaces {
		_ = unix.Kill(-1, unix.SIGKILL)
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// sweep reaps until there is no process left, and returns how many there were.
func (p *initProcess) sweep() (n int64) {
	options := unix.WALL
	if !p.spec.Namespaces {
		options |= unix.WNOHANG
	}
	for {
		got, err := syscall.Wait4(-1, nil, options, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return n
		case got > 0:
			n++
		default:
			// Without a namespace one round may miss what was being forked.
			p.killAll()
			_, _ = unix.Poll(nil, 1)
		}
	}
}

// exceeded ends the sandbox because of a limit.
func (p *initProcess) exceeded(limit string) {
	if p.killing.Load() {
		return
	}
	p.limit.CompareAndSwap(nil, &limit)
	p.killAll()
}

// raiseProcessLimit gives us back the right to start threads, which the soft limit around the fork took.
func (p *initProcess) raiseProcessLimit() {
	if p.spec.Processes == 0 || !p.spec.Namespaces {
		return
	}
	p.clean(func() {
		var cur syscall.Rlimit
		if syscall.Getrlimit(unix.RLIMIT_NPROC, &cur) == nil {
			_ = syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: cur.Max, Max: cur.Max})
		}
	})
}

// check tries, from the restricted thread, what must fail.
func (p *initProcess) check() error {
	if err := unix.Unshare(unix.CLONE_NEWUSER); !errors.Is(err, unix.EPERM) {
		return errors.New("check: unshare was not refused by the filter")
	}
	if err := unix.Mkdir("/.tongs-check", 0o700); err == nil {
		_ = unix.Rmdir("/.tongs-check")
		return errors.New("check: the root directory is writable")
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		return errors.New("check: the filter lets sockets through that reach outside")
	}
	if !p.spec.Namespaces {
		return nil
	}
	if os.Getpid() != 1 {
		return errors.New("check: not the first process of a namespace")
	}
	if fd, err := unix.Open("/proc/self/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.Close(fd)
	} else {
		return step("check: /proc", err)
	}
	return nil
}
