package launch

import (
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeper starts sandboxes for one host and removes what belongs to them, also when the host is gone.
//
// Starting init takes longer than anything that comes after, so there is always one in reserve: in its namespaces and
// its control group, waiting to be told what to do.
type keeper struct {
	sock    int
	null    int
	runs    map[uint64]*kept
	last    uint64
	mark    string
	swept   map[string]bool
	spawner *spawner
	// cleaning is what the host need not wait for, leaving the processes that it waits for.
	cleaning sync.WaitGroup
	mu       sync.Mutex
	leaving  map[int]bool
}

// kept is what the keeper knows of a run.
type kept struct {
	pid, pidfd int
	// conn is our end of the stream on which init is told to begin; -1 once it was.
	conn    int
	group   *cgroup
	scratch *scratch
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
	k := &keeper{sock: sock, null: null, runs: map[uint64]*kept{}, mark: mark, swept: map[string]bool{}, leaving: map[int]bool{}}
	k.spawner = newSpawner(null, &cgroups{mark: mark})
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
		rep, give := k.serve(buf[:n], fds, err)
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
		if err != nil {
			break
		}
	}
	for id := range k.runs {
		k.finish(id, false)
	}
	if spare := k.spawner.stop(); spare != nil {
		k.discard(spare)
	}
	k.cleaning.Wait()
	return 0
}

// serve answers one request. give is a descriptor for the host, or -1.
func (k *keeper) serve(b []byte, fds []int, err error) (rep *Reply, give int) {
	give = -1
	var req *Request
	if err == nil {
		req, err = decodeRequest(b)
	}
	if err != nil {
		return failed(err), -1
	}
	switch req.Op {
	case OpHello:
		return &Reply{ID: Version}, -1
	case OpStart:
		rep, give, err = k.start(req, fds)
	case OpFinish:
		return k.finish(req.ID, req.Swept), -1
	case OpIdmap:
		give, err = k.idmap(req.UID, req.GID)
		rep = &Reply{}
	default:
		err = errShort
	}
	if err != nil {
		return failed(err), -1
	}
	return rep, give
}

func failed(err error) *Reply {
	r := &Reply{Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	return r
}

// start gives a run to an init that waits for one.
func (k *keeper) start(req *Request, fds []int) (*Reply, int, error) {
	if len(fds) != 4 {
		return nil, -1, errShort
	}
	run, err := k.spawner.take(req)
	if err != nil {
		return nil, -1, err
	}
	rep := &Reply{PID: run.pid, Held: run.group.limit(req.Cgroup)}
	run.orphans = !req.Namespaces
	if req.Scratch != "" {
		if run.scratch, err = k.makeScratch(req.Scratch); err == nil {
			rep.Scratch = run.scratch.dir
		}
	}
	if err == nil {
		err = conn{run.conn}.write(msgBegin, nil, fds...)
	}
	if err != nil {
		k.discard(run)
		return nil, -1, step("starting init", err)
	}
	_ = unix.Close(run.conn)
	pidfd := run.pidfd
	run.conn, run.pidfd = -1, -1
	k.last++
	k.runs[k.last], rep.ID = run, k.last
	return rep, pidfd, nil
}

// finish takes the figures of a run whose init ended or is about to, and cleans up behind it. Unless init said that nothing
// is left but itself, it looks for what is.
func (k *keeper) finish(id uint64, swept bool) *Reply {
	run := k.runs[id]
	if run == nil {
		return &Reply{Error: "there is no such run"}
	}
	delete(k.runs, id)
	if run.orphans && !swept {
		// What init did not get to kill has become ours.
		run.group.kill()
		_ = unix.Kill(run.pid, unix.SIGKILL)
		reap(run.pid)
		run.pid = 0
		k.killOrphans()
	}
	rep := &Reply{ID: id}
	rep.OOM, rep.Peak = run.group.figures()
	k.discard(run)
	return rep
}

// discard ends a run, if it has not ended, and removes what belongs to it.
func (k *keeper) discard(run *kept) {
	if run.pid > 0 {
		_ = unix.Kill(run.pid, unix.SIGKILL) // it is our child and not reaped, so the number is still its own
	}
	for _, fd := range []int{run.conn, run.pidfd} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	k.mu.Lock()
	k.leaving[run.pid] = true
	k.mu.Unlock()
	k.cleaning.Go(func() {
		if run.pid > 0 {
			reap(run.pid)
		}
		k.mu.Lock()
		delete(k.leaving, run.pid)
		k.mu.Unlock()
		run.group.remove()
		run.scratch.remove()
	})
}

// killOrphans kills what a supervisor that died left to us: children of ours that no run knows, and all below them.
func (k *keeper) killOrphans() {
	known := map[int]bool{}
	for _, r := range k.runs {
		known[r.pid] = true
	}
	k.mu.Lock()
	maps.Copy(known, k.leaving)
	k.mu.Unlock()
	// No init may be born between our list of children and our knowing it.
	defer k.spawner.hold(known)()
	for range 1000 {
		found := false
		for _, p := range children(os.Getpid()) {
			if known[p] {
				continue
			}
			found = true
			for _, q := range append(descendants(p), p) {
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

// scratch is a private directory. It is locked while it is in use, so that a keeper in another container, which cannot see
// us, does not take it for abandoned. A nil one is none.
type scratch struct {
	dir  string
	lock int
}

// makeScratch makes a private directory, and once for each parent removes those that dead keepers left there.
func (k *keeper) makeScratch(parent string) (*scratch, error) {
	if !k.swept[parent] {
		k.swept[parent] = true
		entries, _ := os.ReadDir(parent)
		for _, e := range entries {
			if mark, ok := strings.CutPrefix(e.Name(), scratchPrefix); ok && e.IsDir() && abandoned(mark) {
				if s, err := lockScratch(parent + "/" + e.Name()); err == nil {
					s.remove()
				}
			}
		}
	}
	dir, err := os.MkdirTemp(parent, scratchPrefix+k.mark+"-")
	if err != nil {
		return nil, err
	}
	return lockScratch(dir)
}

// lockScratch takes a directory that nobody uses.
func lockScratch(dir string) (*scratch, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &scratch{dir, fd}, nil
}

func (s *scratch) remove() {
	if s != nil {
		_ = os.RemoveAll(s.dir)
		_ = unix.Close(s.lock)
	}
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
