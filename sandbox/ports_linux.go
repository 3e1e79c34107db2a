package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// asked are the questions to init that were not answered yet.
type asked struct {
	mu   sync.Mutex
	last uint64
	wait map[uint64]chan answered
	over bool
}

// answered is an answer of init, with the socket that came with it or -1.
type answered struct {
	*launch.Answer
	socket int
}

// add returns the ID of a new question and where its answer will be; false where nobody answers any more.
func (a *asked) add() (id uint64, answer chan answered, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return 0, nil, false
	}
	if a.wait == nil {
		a.wait = map[uint64]chan answered{}
	}
	a.last++
	answer = make(chan answered, 1)
	a.wait[a.last] = answer
	return a.last, answer, true
}

// take removes a question, and returns where its answer is waited for.
func (a *asked) take(id uint64) chan answered {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.wait[id]
	delete(a.wait, id)
	return answer
}

// answer passes on a message of init.
func (a *asked) answer(payload []byte, fds []int) {
	got, err := launch.DecodeAnswer(payload)
	if err != nil || len(fds) > 1 {
		closeAll(fds)
		return
	}
	socket := -1
	if len(fds) == 1 {
		socket = fds[0]
	}
	if answer := a.take(got.ID); answer != nil {
		answer <- answered{got, socket}
	} else {
		closeAll(fds)
	}
}

// close ends all waiting.
func (a *asked) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for _, answer := range a.wait {
		close(answer)
	}
	a.wait = nil
}

// ask asks init, which must be one of tier A, and returns its answer.
func (run *running) ask(ctx context.Context, q launch.Question) (got answered, err error) {
	if !run.plan.spec.Loopback {
		return got, errNoPorts
	}
	id, answer, ok := run.asked.add()
	if !ok {
		return got, errNoPorts
	}
	q.ID = id
	if err := run.ctl.write(launch.MsgAsk, q.Encode()); err != nil {
		run.asked.take(id)
		return got, errNoPorts
	}
	select {
	case got, ok = <-answer:
		if !ok {
			return got, errNoPorts
		}
	case <-ctx.Done():
		if run.asked.take(id) == nil { // it came, or comes, meanwhile
			if got, ok = <-answer; ok && got.socket >= 0 {
				_ = unix.Close(got.socket)
			}
		}
		return got, ctx.Err()
	}
	if got.Error != "" {
		return got, tongs.Errorf(tongs.CodeExecutionError, "the program's port cannot be reached: %s", got.Error)
	}
	return got, nil
}

func (run *running) ports(ctx context.Context) (list []port, err error) {
	got, err := run.ask(ctx, launch.Question{})
	if err != nil {
		return nil, err
	}
	if got.socket >= 0 {
		_ = unix.Close(got.socket)
	}
	for _, p := range got.Ports {
		list = append(list, port{p.Number, p.Six})
	}
	return list, nil
}

// connectTime is how long a program may take to accept a connection.
const connectTime = 5 * time.Second

func (run *running) dial(ctx context.Context, to port) (net.Conn, error) {
	got, err := run.ask(ctx, launch.Question{Port: to.number, Six: to.six})
	if err != nil {
		return nil, err
	}
	if got.socket < 0 {
		return nil, errNoPorts
	}
	f := os.NewFile(uintptr(got.socket), "port")
	defer f.Close()
	for deadline := time.Now().Add(connectTime); ; {
		var n int
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(got.socket), Events: unix.POLLOUT}}, max(0, int(time.Until(deadline).Milliseconds())))
		if err == nil && n == 0 {
			err = unix.ETIMEDOUT
		}
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		var code int
		if code, err = unix.GetsockoptInt(got.socket, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && code != 0 {
			err = unix.Errno(code)
		}
	}
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "the program's port %d cannot be reached: %w", to.number, err)
	}
	return net.FileConn(f)
}
