package sandbox

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// endOfInput is what a person types at a terminal to end the input: control-D.
const endOfInput = 4

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
		go func() {
			if _, err := io.Copy(s.master, s.cmd.Stdin); err == nil {
				_, _ = s.master.Write([]byte{endOfInput})
			}
		}()
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
