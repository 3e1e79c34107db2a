package sandbox

import (
	"io"
	"os"
)

// Process is a command that was started. Its methods are safe for concurrent use.
type Process struct {
	done   chan struct{}
	result *Result
	err    error
	std    *streams
	run    *running
}

// Wait waits until the command and everything it started are gone, and its output was passed on. It can be called more
// than once; the result is the same.
func (p *Process) Wait() (*Result, error) {
	<-p.done
	return p.result, p.err
}

// Done is closed when Wait would return.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the command and everything it started.
func (p *Process) Kill() { p.run.kill("kill") }

// Stdin returns what writes to the command's standard input: that of a command with StdinPipe, or its terminal. It is
// nil for any other. Closing it is the end of input; a terminal's is not closed.
func (p *Process) Stdin() io.WriteCloser {
	if p.std.cmd.PTY != nil {
		if m := p.terminal(); m != nil {
			return nopCloser{m}
		}
		return nil
	}
	if !p.std.cmd.StdinPipe || p.std.ours[0] == nil {
		return nil
	}
	return p.std.ours[0]
}

type nopCloser struct{ *os.File }

func (nopCloser) Close() error { return nil }
