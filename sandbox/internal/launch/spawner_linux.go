package launch

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts inits beside what the keeper does for the host, so that nobody waits for the one in reserve.
type spawner struct {
	null   int
	groups *cgroups

	mu    sync.Mutex // held while processes are started
	kids  map[int]bool
	order chan kindOf
	ready chan spawned
	due   bool // one is being made
	ended chan struct{}
}

// kindOf is what must be known when an init is started, and cannot be changed later.
type kindOf struct{ namespaces, net, mapped, group bool }

type spawned struct {
	kind kindOf
	run  *kept
	err  error
}

func newSpawner(null int, groups *cgroups) *spawner {
	s := &spawner{
		null: null, groups: groups, kids: map[int]bool{}, order: make(chan kindOf, 1), ready: make(chan spawned, 1), ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		for kind := range s.order {
			run, err := s.spawn(kind)
			s.ready <- spawned{kind, run, err}
		}
	}()
	return s
}

// take returns an init of the wanted kind and has the next one made. Only one goroutine may call it.
func (s *spawner) take(req *Request) (*kept, error) {
	kind := kindOf{req.Namespaces, req.NetNS, req.Mapped, req.Cgroup != CgroupLimits{}}
	got := s.collect()
	if got != nil && (req.Fresh || got.kind != kind || got.err != nil || !got.run.alive()) {
		if got.err == nil {
			s.drop(got.run)
		}
		got = nil
	}
	if got == nil {
		s.make(kind)
		got = s.collect()
	}
	if got.err == nil {
		s.forget(got.run.pid)
		s.make(kind)
	}
	return got.run, got.err
}

// make orders an init.
func (s *spawner) make(kind kindOf) {
	s.due = true
	s.order <- kind
}

// collect returns the init that was ordered, or nil when none was.
func (s *spawner) collect() *spawned {
	if !s.due {
		return nil
	}
	s.due = false
	got := <-s.ready
	return &got
}

// stop ends the thread and returns the init in reserve, or nil.
func (s *spawner) stop() *kept {
	got := s.collect()
	close(s.order)
	<-s.ended
	if got == nil || got.err != nil {
		return nil
	}
	return got.run
}

// drop ends an init that nobody wants.
func (s *spawner) drop(run *kept) {
	s.forget(run.pid)
	_ = unix.Kill(run.pid, unix.SIGKILL)
	reap(run.pid)
	_, _ = unix.Close(run.conn), unix.Close(run.pidfd)
	run.group.remove()
}

func (s *spawner) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kids, pid)
}

// hold keeps inits from being started until its result is called, and adds those in reserve to known.
func (s *spawner) hold(known map[int]bool) (release func()) {
	s.mu.Lock()
	for pid := range s.kids {
		known[pid] = true
	}
	return s.mu.Unlock
}

// alive reports whether an init in reserve is still there.
func (r *kept) alive() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(r.pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && n == 0
}

// namespaces are those of every tier A sandbox; the network's comes on top where the host asks for it.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// setupCaps are what init needs while it builds the tree. They count in its own user namespace only, and are gone
// before the command starts.
var setupCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN,
}

var initEnv = []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=24MiB", "GOTRACEBACK=none"}

// spawn starts an init, in its namespaces and its control group.
func (s *spawner) spawn(kind kindOf) (*kept, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	run := &kept{conn: pair[0], pidfd: -1}
	if kind.group {
		run.group = s.groups.create()
	}
	sys := &syscall.SysProcAttr{Setsid: true, PidFD: &run.pidfd}
	if kind.namespaces {
		userNamespace(sys, kind)
	}
	if fd := run.group.fd(); fd >= 0 {
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	null := uintptr(s.null)
	s.mu.Lock()
	run.pid, _, err = syscall.StartProcess("/proc/self/exe", []string{initName}, &syscall.ProcAttr{
		Dir: "/", Env: initEnv, Files: []uintptr{null, null, null, uintptr(pair[1])}, Sys: sys,
	})
	if err == nil {
		s.kids[run.pid] = true
	}
	s.mu.Unlock()
	if err != nil {
		_ = unix.Close(run.conn)
		run.group.remove()
		return nil, step("starting init", err)
	}
	if err = run.group.add(run.pid); err == nil && run.pidfd < 0 {
		err = unix.ENOSYS
	}
	if err != nil {
		s.drop(run)
		return nil, step("joining the control group", err)
	}
	return run, nil
}

func userNamespace(sys *syscall.SysProcAttr, kind kindOf) {
	uid, gid := os.Getuid(), os.Getgid()
	outside, outsideGroup := uid, gid
	sys.Cloneflags = namespaces
	if kind.net {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	if kind.mapped {
		uid, gid, outside, outsideGroup = SandboxID, SandboxID, MappedID, MappedID
		sys.GidMappingsEnableSetgroups = true
		sys.Credential = &syscall.Credential{Uid: SandboxID, Gid: SandboxID}
	}
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: outside, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: outsideGroup, Size: 1}}
	if uid != 0 {
		sys.AmbientCaps = setupCaps
	}
}
