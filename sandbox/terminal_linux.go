package sandbox

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// terminal takes the master of the command's terminal and begins to copy.
func (s *streams) terminal(fds []int) *os.File {
	if len(fds) != 1 || s.cmd.PTY == nil {
		closeAll(fds)
		return nil
	}
	_ = unix.SetNonblock(fds[0], true)
	s.master = os.NewFile(uintptr(fds[0]), "terminal")
	s.collect(s.master, s.cmd.Stdout, &s.tails[0])
	if s.cmd.Stdin != nil {
		go func() { _, _ = io.Copy(s.master, s.cmd.Stdin) }()
	}
	return s.master
}

func (p *Process) terminal() *os.File {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.run.master
}

// Resize tells the command that its terminal has another size.
func (p *Process) Resize(rows, cols uint16) error {
	m := p.terminal()
	if m == nil {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the command has no terminal")
	}
	raw, err := m.SyscallConn()
	if err != nil {
		return err
	}
	var ierr error
	err = raw.Control(func(fd uintptr) {
		ierr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	if err == nil {
		err = ierr
	}
	return err
}
