package launch

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeper starts sandboxes for one host and removes what belongs to them, also when the host is gone. It has one thread
// that matters and does one thing at a time.
type keeper struct {
	sock   int
	null   int
	runs   map[uint64]*kept
	last   uint64
	groups *cgroups
	mark   string
	swept  map[string]bool
}

// kept is what the keeper knows of a run.
type kept struct {
	pid     int
	group   *cgroup
	scratch string
	orphans bool
}

// keep serves requests until the host closes its end.
func keep(sock int) int {
	_ = unix.CloseRange(uint(sock)+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(sock)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	mark := processMark(os.Getpid())
	k := &keeper{
		sock: sock, null: null, runs: map[uint64]*kept{}, mark: mark, groups: &cgroups{mark: mark}, swept: map[string]bool{},
	}
	buf, oob := make([]byte, 8192), make([]byte, unix.CmsgSpace(16*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		fds, err := rights(oob[:oobn])
		rep, give, after := k.serve(buf[:n], fds, err)
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		var out []byte
		if give >= 0 {
			out = unix.UnixRights(give)
		}
		err = unix.Sendmsg(sock, rep.encode(), out, nil, unix.MSG_NOSIGNAL)
		if give >= 0 {
			_ = unix.Close(give)
		}
		if after != nil {
			after()
		}
		if err != nil {
			break
		}
	}
	for id := range k.runs {
		_, after := k.finish(id)
		after()
	}
	return 0
}

// serve answers one request. give is a descriptor for the host, or -1; after runs once the answer is sent.
func (k *keeper) serve(b []byte, fds []int, err error) (rep *Reply, give int, after func()) {
	give = -1
	var req *Request
	if err == nil {
		req, err = decodeRequest(b)
	}
	if err != nil {
		return failed(err), -1, nil
	}
	switch req.Op {
	case OpHello:
		return &Reply{ID: Version}, -1, nil
	case OpStart:
		rep, give, err = k.start(req, fds)
	case OpFinish:
		rep, after = k.finish(req.ID)
	case OpIdmap:
		give, err = k.idmap(req.UID, req.GID)
		rep = &Reply{}
	default:
		err = errShort
	}
	if err != nil {
		return failed(err), -1, after
	}
	return rep, give, after
}

func failed(err error) *Reply {
	r := &Reply{Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	return r
}

// namespaces are those of every tier A sandbox; the network's comes on top where the host asks for it.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// setupCaps are what init needs while it builds the tree. They count in its own user namespace only, and are gone
// before the command starts.
var setupCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN,
}

func (k *keeper) start(req *Request, fds []int) (*Reply, int, error) {
	if len(fds) != 4 {
		return nil, -1, errShort
	}
	run, rep := &kept{orphans: !req.Namespaces}, &Reply{}
	run.group, rep.Held = k.groups.create(req.Cgroup)
	undo := func() {
		run.group.remove()
		if run.scratch != "" {
			_ = os.RemoveAll(run.scratch)
		}
	}
	if req.Scratch != "" {
		dir, err := k.makeScratch(req.Scratch)
		if err != nil {
			undo()
			return nil, -1, err
		}
		run.scratch, rep.Scratch = dir, dir
	}
	pidfd := -1
	sys := &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if req.Namespaces {
		userNamespace(sys, req)
	}
	if fd := run.group.fd(); fd >= 0 {
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{initName}, &syscall.ProcAttr{
		Dir: "/", Env: initEnv, Files: []uintptr{uintptr(fds[1]), uintptr(fds[2]), uintptr(fds[3]), uintptr(fds[0])}, Sys: sys,
	})
	if err != nil {
		undo()
		return nil, -1, step("starting init", err)
	}
	run.pid = pid
	if err = run.group.add(pid); err == nil && pidfd < 0 {
		err = unix.ENOSYS
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		reap(pid)
		_ = unix.Close(pidfd)
		undo()
		return nil, -1, step("joining the control group", err)
	}
	k.last++
	k.runs[k.last] = run
	rep.ID, rep.PID = k.last, pid
	return rep, pidfd, nil
}

var initEnv = []string{"GOMAXPROCS=2", "GOGC=off", "GOTRACEBACK=none"}

func userNamespace(sys *syscall.SysProcAttr, req *Request) {
	uid, gid := os.Getuid(), os.Getgid()
	inside, outside, outsideGroup := uid, uid, gid
	sys.Cloneflags = namespaces
	if req.NetNS {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	insideGroup := gid
	if req.Mapped {
		inside, insideGroup, outside, outsideGroup = SandboxID, SandboxID, MappedID, MappedID
		sys.GidMappingsEnableSetgroups = true
		sys.Credential = &syscall.Credential{Uid: SandboxID, Gid: SandboxID}
	}
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: outside, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideGroup, HostID: outsideGroup, Size: 1}}
	if inside != 0 {
		sys.AmbientCaps = setupCaps
	}
}

// finish reaps a run and takes its figures. What it returns removes the rest, which the host need not wait for.
func (k *keeper) finish(id uint64) (*Reply, func()) {
	run := k.runs[id]
	if run == nil {
		return &Reply{Error: "there is no such run"}, nil
	}
	delete(k.runs, id)
	if run.orphans {
		run.group.kill()
	}
	_ = unix.Kill(run.pid, unix.SIGKILL) // it is our child and not reaped, so the number is still its own
	reap(run.pid)
	if run.orphans {
		k.killOrphans()
	}
	rep := &Reply{ID: id}
	rep.OOM, rep.Peak = run.group.figures()
	return rep, func() {
		run.group.remove()
		if run.scratch != "" {
			_ = os.RemoveAll(run.scratch)
		}
	}
}

// killOrphans kills what a supervisor that died left to us: children of ours that no run knows, and all below them.
func (k *keeper) killOrphans() {
	known := map[int]bool{}
	for _, r := range k.runs {
		known[r.pid] = true
	}
	for range 1000 {
		found := false
		procs := processes()
		for _, p := range procs.children(os.Getpid()) {
			if known[p] {
				continue
			}
			found = true
			for _, q := range append(procs.below(p), p) {
				_ = unix.Kill(q, unix.SIGKILL)
			}
			reap(p)
		}
		if !found {
			return
		}
	}
}

func reap(pid int) {
	for {
		_, err := unix.Wait4(pid, nil, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// idmap returns the descriptor of a user namespace in which files of uid and gid belong to MappedID.
func (k *keeper) idmap(uid, gid int) (int, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, err
	}
	defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
	null := uintptr(k.null)
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{idleName}, &syscall.ProcAttr{
		Dir: "/", Env: initEnv, Files: []uintptr{null, null, null, uintptr(p[0])},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: MappedID, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: MappedID, Size: 1}},
		},
	})
	if err != nil {
		return -1, err
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	_ = unix.Kill(pid, unix.SIGKILL)
	reap(pid)
	return fd, err
}

const scratchPrefix = "tongs-scratch-"

// makeScratch makes a private directory, and once for each parent removes those that dead keepers left there.
func (k *keeper) makeScratch(parent string) (string, error) {
	if !k.swept[parent] {
		k.swept[parent] = true
		entries, _ := os.ReadDir(parent)
		for _, e := range entries {
			if mark, ok := strings.CutPrefix(e.Name(), scratchPrefix); ok && e.IsDir() && abandoned(mark) {
				_ = os.RemoveAll(parent + "/" + e.Name())
			}
		}
	}
	return os.MkdirTemp(parent, scratchPrefix+k.mark+"-")
}

// processMark names a process, also across reuse of its number: "4711-123456".
func processMark(pid int) string { return strconv.Itoa(pid) + "-" + startTime(pid) }

// abandoned reports whether the process that a name starting with its mark belongs to is gone.
func abandoned(name string) bool {
	pid, rest, _ := strings.Cut(name, "-")
	start, _, ok := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	return ok && err == nil && startTime(n) != start
}
