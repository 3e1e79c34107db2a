package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
)

// gathered starts fns as shared writes that one transaction takes up, and returns what became of each. A panic is told as
// an error.
func gathered(t *testing.T, s *Store, contexts []context.Context, fns []func(*sqlite.Conn) error) []error {
	t.Helper()
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	conn := <-s.writer // nobody writes before all wait
	for i, fn := range fns {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = s.Share(contexts[i], fn)
		})
		for waiting := 0; waiting <= i; { // in this order
			s.shared.mu.Lock()
			waiting = len(s.shared.waiting)
			s.shared.mu.Unlock()
		}
	}
	s.writer <- conn
	wg.Wait()
	return errs
}

func always(ctx context.Context, n int) []context.Context {
	list := make([]context.Context, n)
	for i := range list {
		list[i] = ctx
	}
	return list
}

func TestShareTakesWritesTogether(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	var conns []bool
	fns := make([]func(*sqlite.Conn) error, 2*maxShared+5)
	for i := range fns {
		fns[i] = func(conn *sqlite.Conn) error {
			conns = append(conns, conn.AutocommitEnabled())
			return insert(conn)
		}
	}
	for _, err := range gathered(t, s, always(t.Context(), len(fns)), fns) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, s); n != int64(len(fns)) || len(conns) != len(fns) {
		t.Errorf("%d rows of %d runs, want %d", n, len(conns), len(fns))
	}
}

// What fails, or panics, fails alone.
func TestShareFailsAlone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	boom := errors.New("boom")
	fns := []func(*sqlite.Conn) error{
		insert,
		func(conn *sqlite.Conn) error { return errors.Join(insert(conn), boom) },
		insert,
		func(conn *sqlite.Conn) error { panic(errors.Join(insert(conn), boom)) },
		insert,
	}
	errs := gathered(t, s, always(t.Context(), len(fns)), fns)
	for i, err := range errs {
		if wrong := i == 1 || i == 3; (err != nil) != wrong {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, s); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// One that leads and gives up does not take the others with it.
func TestShareEndsWithItsOwnContext(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	over, cancel := context.WithCancel(t.Context())
	contexts := []context.Context{t.Context(), over, t.Context()}
	fns := []func(*sqlite.Conn) error{
		func(conn *sqlite.Conn) error { cancel(); return insert(conn) }, insert, insert,
	}
	errs := gathered(t, s, contexts, fns)
	if errs[0] != nil || errs[2] != nil || errs[1] != nil && !errors.Is(errs[1], context.Canceled) {
		t.Errorf("%v", errs)
	}
	conn := <-s.writer
	if err := s.Share(over, insert); !errors.Is(err, context.Canceled) || len(s.shared.waiting) != 0 {
		t.Errorf("%v, %d wait", err, len(s.shared.waiting))
	}
	s.writer <- conn
	want := int64(3)
	if errs[1] != nil {
		want = 2
	}
	if n := count(t, s); n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}

func TestShareAfterClose(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Share(t.Context(), insert); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestShareFromManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	stores := []*Store{open(t, path, schema), open(t, path, schema)}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 10 {
				if err := stores[i%2].Share(context.Background(), insert); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, stores[0]); n != 320 {
		t.Errorf("%d rows", n)
	}
}
