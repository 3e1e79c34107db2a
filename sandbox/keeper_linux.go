package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// machine is what a Runner holds on this platform. Runner.mu guards it.
type machine struct {
	keeper *keeper
	idmaps *idmaps
}

func (m *machine) close() error {
	m.idmaps.close()
	k := m.keeper
	m.keeper, m.idmaps = nil, nil
	if k == nil {
		return nil
	}
	return k.close()
}

// keeper is the connection to the helper process that starts sandboxes. It is small, so that forking it is quick
// however large this process is, and it outlives this process by as long as it takes to clean up.
type keeper struct {
	mu   sync.Mutex // one request at a time
	sock int
	cmd  *exec.Cmd
	gone chan struct{}
	dead error
}

// keeperNow returns the helper process, starting it if there is none.
func (r *Runner) keeperNow() (*keeper, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.machine.keeper; k != nil {
		if k.alive() {
			return k, nil
		}
		_ = k.close()
		r.machine.keeper = nil
	}
	k, err := startKeeper(r.opt.Launcher)
	if err != nil {
		return nil, err
	}
	r.machine.keeper = k
	return k, nil
}

func startKeeper(path string) (*keeper, error) {
	prog, err := launcher(path)
	if err != nil {
		return nil, err
	}
	defer prog.close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, unavailable("starting the helper process", err)
	}
	child := os.NewFile(uintptr(pair[1]), "keeper")
	defer child.Close()
	cmd := &exec.Cmd{
		Path: prog.path, Args: []string{launch.KeeperName}, Dir: "/", Env: []string{"GOMAXPROCS=2", "GOTRACEBACK=none"},
		ExtraFiles: []*os.File{child}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = unix.Close(pair[0])
		return nil, unavailable("starting", &launcherError{prog.path, err})
	}
	k := &keeper{sock: pair[0], cmd: cmd, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(k.gone)
	}()
	_ = child.Close()
	rep, fd, err := k.request(&launch.Request{Op: launch.OpHello})
	if fd >= 0 {
		_ = unix.Close(fd)
	}
	if err == nil && rep.ID != launch.Version {
		err = errVersion
	}
	if err != nil {
		_ = k.close()
		return nil, unavailable("talking to", &launcherError{prog.path, err})
	}
	return k, nil
}

func (k *keeper) alive() bool {
	select {
	case <-k.gone:
		return false
	default:
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead == nil
}

// request sends a request with descriptors and returns the answer, with the descriptor that came with it or -1.
func (k *keeper) request(req *launch.Request, fds ...int) (*launch.Reply, int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead != nil {
		return nil, -1, k.dead
	}
	rep, fd, err := k.exchange(req.Encode(), fds)
	if err != nil {
		k.dead = err
		return nil, -1, err
	}
	if rep.Error != "" {
		err := error(syscall.Errno(rep.Errno))
		if rep.Errno == 0 {
			err = errors.New(rep.Error)
		}
		return rep, -1, &keeperError{rep.Error, err}
	}
	return rep, fd, nil
}

// keeperError is a request that the keeper could not fulfil.
type keeperError struct {
	text string
	err  error
}

func (e *keeperError) Error() string { return e.text }
func (e *keeperError) Unwrap() error { return e.err }

func (k *keeper) exchange(b []byte, fds []int) (*launch.Reply, int, error) {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if err := retry(func() error { return unix.Sendmsg(k.sock, b, oob, nil, unix.MSG_NOSIGNAL) }); err != nil {
		return nil, -1, err
	}
	buf, in := make([]byte, 8192), make([]byte, unix.CmsgSpace(4))
	var n, oobn int
	err := retry(func() (err error) {
		n, oobn, _, _, err = unix.Recvmsg(k.sock, buf, in, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return nil, -1, err
	}
	if n == 0 {
		return nil, -1, io.ErrUnexpectedEOF
	}
	fd := -1
	if got, err := parseRights(in[:oobn]); err == nil && len(got) > 0 {
		fd = got[0]
	}
	rep, err := launch.DecodeReply(buf[:n])
	return rep, fd, err
}

func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func parseRights(oob []byte) (fds []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		if got, err := unix.ParseUnixRights(&msgs[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds, nil
}

// close lets the helper process go, and waits until it has cleaned up and ended.
func (k *keeper) close() error {
	k.mu.Lock()
	if k.sock >= 0 {
		_ = unix.Close(k.sock)
		k.sock = -1
	}
	if k.dead == nil {
		k.dead = os.ErrClosed
	}
	k.mu.Unlock()
	<-k.gone
	return nil
}

// program is something to execute: a path, and what keeps it valid.
type program struct {
	path string
	fd   int
}

func (p *program) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
}

// launcher returns the program to start the helper from: the given one, the embedded one, or this program itself.
func launcher(path string) (*program, error) {
	if path != "" {
		return &program{path: path, fd: -1}, nil
	}
	if len(embedded) > 0 {
		return inMemory(strings.NewReader(embedded))
	}
	if !hooked.Load() {
		return nil, unavailable("starting", &launcherError{"/proc/self/exe", errHook})
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, unavailable("opening", &launcherError{"/proc/self/exe", err})
	}
	defer self.Close()
	info, err := self.Stat()
	if err != nil {
		return nil, unavailable("opening", &launcherError{"/proc/self/exe", err})
	}
	if os.Geteuid() == 0 && info.Mode()&0o001 == 0 {
		// Root's sandboxes run as somebody else, who may not execute this file.
		return inMemory(self)
	}
	return &program{path: "/proc/self/exe", fd: -1}, nil
}

// launcherKind says where the helper comes from, for the probe.
func launcherKind(path string) string {
	switch {
	case path != "":
		return path
	case len(embedded) > 0:
		return "embedded"
	}
	return "this program itself"
}

const memfdExec = 0x10 // MFD_EXEC, which kernels before 6.3 do not know

// inMemory puts a program where no mount option can keep it from being executed and nobody can change it.
func inMemory(r io.Reader) (*program, error) {
	fd, err := unix.MemfdCreate("tongs-launch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|memfdExec)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("tongs-launch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, unavailable("placing the launcher in memory", &launcherError{"/proc/self/fd", err})
	}
	f := os.NewFile(uintptr(fd), "tongs-launch")
	defer f.Close()
	if _, err := io.Copy(f, r); err != nil {
		return nil, unavailable("placing the launcher in memory", &launcherError{"/proc/self/fd", err})
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, unavailable("sealing the launcher", &launcherError{"/proc/self/fd", err})
	}
	// Out of the way of the descriptors that the child is given.
	high, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 64)
	if err != nil {
		return nil, unavailable("placing the launcher in memory", &launcherError{"/proc/self/fd", err})
	}
	return &program{path: "/proc/self/fd/" + strconv.Itoa(high), fd: high}, nil
}
