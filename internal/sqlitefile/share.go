package sqlitefile

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"zombiezen.com/go/sqlite"
)

// maxShared is how many writes one transaction takes up at most.
const maxShared = 64

// shared are the writes that wait for a transaction to take them up.
type shared struct {
	mu      sync.Mutex
	waiting []*write
	// last is how many the last transaction took up.
	last int
}

// write is one of them.
type write struct {
	fn   func(*sqlite.Conn) error
	done chan error
}

// errAlone tells a write that the transaction it was in failed: it must have one of its own.
var errAlone = errors.New("write alone")

// Share is Write for what may be in one transaction with what others share at the same time: they come one after the
// other in it, and each returns when it is committed. Where one of them fails, each gets a transaction of its own: fn may
// run twice, the first time in vain.
func (s *Store) Share(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	w := &write{fn: fn, done: make(chan error, 1)}
	s.shared.add(w)
	err := s.await(ctx, w)
	if errors.Is(err, errAlone) {
		return s.Write(ctx, fn)
	}
	return err
}

// await returns when the write is done, by whoever has the connection meanwhile.
func (s *Store) await(ctx context.Context, w *write) error {
	for {
		select {
		case err := <-w.done:
			return err
		default:
		}
		select {
		case err := <-w.done:
			return err
		case conn := <-s.writer:
			s.commit(ctx, conn)
		case <-ctx.Done():
			if s.shared.remove(w) {
				return ctx.Err()
			}
			return <-w.done
		case <-s.closed:
			if s.shared.remove(w) {
				return s.explain("write", ErrClosed)
			}
			return <-w.done
		}
	}
}

// commit writes what waits, for all who do.
func (s *Store) commit(ctx context.Context, conn *sqlite.Conn) {
	defer func() { s.writer <- conn }()
	if s.shared.busy() {
		runtime.Gosched() // those who are about to write come along
	}
	group := s.shared.take()
	if len(group) == 0 {
		return
	}
	if len(group) > 1 {
		ctx = context.WithoutCancel(ctx) // others wait as well
	}
	err := errAlone
	defer func() { // also where one of them panics: it will do so again, where it belongs
		if p := recover(); p != nil {
			err = errAlone
		}
		for _, w := range group {
			w.done <- err
		}
	}()
	if s.isClosed() {
		err = s.explain("write", ErrClosed)
		return
	}
	err = s.transact(ctx, conn, func(conn *sqlite.Conn) error {
		for _, w := range group {
			if err := w.fn(conn); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(group) > 1 {
		err = errAlone
	}
}

func (q *shared) add(w *write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
}

// busy reports whether there are several who write at the same time.
func (q *shared) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last > 1 || len(q.waiting) > 1
}

// take returns what waits, in the order in which it came.
func (q *shared) take() []*write {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxShared)
	q.last = n
	group := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
	return group
}

// remove takes back a write that nobody took up yet, and reports whether it was in time.
func (q *shared) remove(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting {
		if other == w {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}
