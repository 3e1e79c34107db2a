package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
)

// streams are the pipes, or the terminal, between a command and its caller. Memory is bounded: one buffer a stream.
type streams struct {
	cmd   *Cmd
	limit int64
	kill  func(why string)

	// ours and theirs are the ends of the pipes: stdin, stdout, stderr. Equal writers share one.
	ours, theirs [3]*os.File
	null         *os.File
	master       *os.File
	copies       sync.WaitGroup
	written      atomic.Int64
	err          atomic.Pointer[error]
	tails        [2]tail
}

// newStreams makes the pipes. kill is called when a limit is met or a write fails.
func newStreams(cmd *Cmd, limit int64, kill func(string)) (*streams, error) {
	s := &streams{cmd: cmd, limit: limit, kill: kill}
	var err error
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, tongs.Errorf(tongs.CodeInternal, "opening %s: %w", os.DevNull, err)
	}
	if cmd.PTY != nil {
		return s, nil
	}
	if cmd.Stdin != nil || cmd.StdinPipe {
		s.theirs[0], s.ours[0], err = os.Pipe()
	}
	if err == nil && cmd.Stdout != nil {
		s.ours[1], s.theirs[1], err = outputPipe()
	}
	if err == nil && cmd.Stderr != nil && !sameWriter(cmd.Stdout, cmd.Stderr) {
		s.ours[2], s.theirs[2], err = outputPipe()
	}
	if err != nil {
		s.abandon()
		return nil, tongs.Errorf(tongs.CodeInternal, "making a pipe: %w", err)
	}
	return s, nil
}

// sameWriter reports whether two writers are one. Values that cannot be compared are not.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }()
	return a != nil && a == b
}

// files returns the descriptors that the command gets.
func (s *streams) files() [3]*os.File {
	f := s.theirs
	for i := range f {
		if f[i] == nil {
			f[i] = s.null
		}
	}
	if s.theirs[2] == nil && s.theirs[1] != nil && s.cmd.Stderr != nil {
		f[2] = f[1]
	}
	return f
}

// child returns their numbers.
func (s *streams) child() []int {
	var fds []int
	for _, f := range s.files() {
		fds = append(fds, int(f.Fd()))
	}
	return fds
}

func (s *streams) closeChild() {
	for _, f := range s.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
	_ = s.null.Close()
}

func (s *streams) abandon() {
	s.closeChild()
	for _, f := range s.ours {
		if f != nil {
			_ = f.Close()
		}
	}
}

// start begins to copy output.
func (s *streams) start() {
	if s.ours[1] != nil {
		s.collect(s.ours[1], s.cmd.Stdout, &s.tails[0])
	}
	if s.ours[2] != nil {
		s.collect(s.ours[2], s.cmd.Stderr, &s.tails[1])
	}
}

// feed begins to copy the caller's reader, once the command runs: a start that is tried again must find it untouched. It
// is not waited for: the reader may never end.
func (s *streams) feed() {
	if w := s.ours[0]; w != nil && s.cmd.Stdin != nil {
		go func() {
			_, _ = io.Copy(w, s.cmd.Stdin)
			_ = w.Close()
		}()
	}
}

const copyBuffer = 256 << 10

// collect copies what comes from the command to a writer, and counts it.
func (s *streams) collect(r *os.File, w io.Writer, t *tail) {
	if w == nil {
		w = io.Discard
	}
	s.copies.Go(func() {
		buf := make([]byte, copyBuffer)
		failed, waited := false, false
		for {
			n, err := r.Read(buf)
			if n > 0 {
				waited = false
				t.add(buf[:n])
				if keep := s.within(n); keep > 0 && !failed {
					if _, werr := w.Write(buf[:keep]); werr != nil {
						failed = true
						s.err.CompareAndSwap(nil, &werr)
						s.kill("write")
					}
				}
			}
			if errors.Is(err, os.ErrDeadlineExceeded) && !waited {
				// The deadline may have passed while the writer took its time: only one that passes in here counts.
				waited = true
				_ = r.SetReadDeadline(time.Now().Add(drainGrace))
				continue
			}
			if err != nil {
				return
			}
		}
	})
}

// within counts bytes and returns how many of them are still within the limit.
func (s *streams) within(n int) int {
	over := s.written.Add(int64(n)) - s.limit
	if s.limit < 0 || over <= 0 {
		return n
	}
	s.kill(LimitOutput)
	return max(0, n-int(min(over, int64(n))))
}

// drainGrace is how long output may still come after everything that should write it is gone.
const drainGrace = time.Second

// drain waits until everything was copied, however slow the writers are. But nobody outside who got hold of a pipe
// holds it up.
func (s *streams) drain() {
	outputs := []*os.File{s.ours[1], s.ours[2], s.master}
	for _, f := range outputs {
		if f != nil {
			_ = f.SetReadDeadline(time.Now().Add(drainGrace))
		}
	}
	s.copies.Wait()
	for _, f := range append(outputs, s.ours[0]) {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (s *streams) count() int64 {
	n := s.written.Load()
	if s.limit >= 0 {
		n = min(n, s.limit)
	}
	return n
}

func (s *streams) failure() error {
	if e := s.err.Load(); e != nil {
		return *e
	}
	return errors.New("unknown")
}

// tail keeps the first and the last part of a stream, for finding out what the command complained about.
type tail struct {
	mu         sync.Mutex
	head, last []byte
}

const tailSize = 8 << 10

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailSize - len(t.head); room > 0 {
		n := min(room, len(b))
		t.head = append(t.head, b[:n]...)
		b = b[n:]
	}
	if len(b) >= tailSize {
		t.last = append(t.last[:0], b[len(b)-tailSize:]...)
		return
	}
	t.last = append(t.last, b...)
	if len(t.last) > 2*tailSize {
		t.last = append(t.last[:0], t.last[len(t.last)-tailSize:]...)
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.head) + "\n" + string(t.last)
}
