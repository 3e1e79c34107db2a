package sqlitefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var schema = []string{"CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)"}

func open(t *testing.T, path string, migrations []string) *Store {
	t.Helper()
	s, err := Open(path, migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func insert(conn *sqlite.Conn) error { return exec(conn, "INSERT INTO t (text) VALUES ('x')") }

func count(t *testing.T, s *Store) (n int64) {
	t.Helper()
	err := s.Read(context.Background(), func(conn *sqlite.Conn) (err error) {
		n, err = pragmaInt(conn, "SELECT count(*) FROM t")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWriteCommitsOrRollsBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	if err := s.Write(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := s.Write(t.Context(), func(conn *sqlite.Conn) error { return errors.Join(insert(conn), boom) })
	if !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Write(t.Context(), func(conn *sqlite.Conn) error {
			_ = insert(conn)
			panic("x")
		})
	}()
	if n := count(t, s); n != 1 {
		t.Errorf("%d rows", n)
	}
	if err := s.Write(t.Context(), insert); err != nil {
		t.Fatalf("after a panic: %v", err)
	}
	err = s.Read(t.Context(), insert)
	if err == nil || count(t, s) != 2 {
		t.Errorf("a reader wrote: %v", err)
	}
}

func TestReadersSeeOneState(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	err := s.Read(t.Context(), func(conn *sqlite.Conn) error {
		before, err := pragmaInt(conn, "SELECT count(*) FROM t")
		if err != nil {
			return err
		}
		if err := s.Write(t.Context(), insert); err != nil {
			return err
		}
		after, err := pragmaInt(conn, "SELECT count(*) FROM t")
		if before != after {
			t.Errorf("%d became %d", before, after)
		}
		return err
	})
	if err != nil || count(t, s) != 1 {
		t.Errorf("%v", err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, other := open(t, path, schema), open(t, path, schema)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(t.Context(), func(*sqlite.Conn) error {
		done := make(chan error)
		go func() { done <- s.Write(ctx, insert) }()
		go func() { done <- other.Write(ctx, insert) }() // another connection, as in another process
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		return nil
	})
	if err != nil || count(t, s) != 0 {
		t.Errorf("%v", err)
	}
	if err := other.Write(t.Context(), insert); err != nil {
		t.Errorf("after waiting in vain: %v", err)
	}
}

func TestClose(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	count(t, s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Write(t.Context(), insert); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := s.Read(t.Context(), insert); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(s.Path() + "-wal"); err == nil {
		t.Error("the WAL is left behind")
	}
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	two := append(schema[:1:1], "ALTER TABLE t ADD COLUMN more TEXT; CREATE TABLE u (n INTEGER)")
	first := open(t, path, schema)
	if err := first.Write(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 { // all at once
		wg.Go(func() {
			s, err := Open(path, two)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Write(context.Background(), func(conn *sqlite.Conn) error { return exec(conn, "INSERT INTO u VALUES (1)") }); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if count(t, first) != 1 {
		t.Error("a row was lost")
	}
	if _, err := Open(path, schema); err == nil || !strings.Contains(err.Error(), "newer") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	bad := append(two[:2:2], "CREATE TABLE v (n); CREATE TABLE t (n)")
	if _, err := Open(path, bad); err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("%v", err)
	}
	s := open(t, path, two) // the broken migration left nothing
	if n := pragma(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'v'"); n != 0 {
		t.Error("half a migration was kept")
	}
}

func pragma(t *testing.T, s *Store, sql string) (n int64) {
	t.Helper()
	if err := s.Read(t.Context(), func(conn *sqlite.Conn) (err error) {
		n, err = pragmaInt(conn, sql)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDesign4_StateIsForItsOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, filepath.Join(dir, "a.db"), schema)
	if err := s.Write(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestOpenTightensItsOwnFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path, schema)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	foreign := func(path string) error {
		conn, err := sqlite.OpenConn(path)
		if err != nil {
			return err
		}
		return errors.Join(sqlitex.ExecuteTransient(conn, "CREATE TABLE theirs (n)", nil), conn.Close())
	}
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"garbage":     {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 5000)), 0o600) }, "not a database"},
		"a directory": {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a link":      {func(path string) error { return os.Symlink("elsewhere", path) }, "not a regular file"},
		"foreign":     {foreign, "another program"},
		"no directory": {func(path string) error {
			return errors.Join(os.Remove(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		}, "not a directory"},
		"open to all":           {func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) }, "chmod go-w"},
		"a temporary directory": {func(path string) error { return os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky) }, "chmod 700"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (strings.HasPrefix(tt.want, "chmod") || name == "a link") {
				t.Skip("windows has no permission bits and no links for everybody")
			}
			path := filepath.Join(t.TempDir(), "state", "a.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, schema)
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDamageInTheMiddleIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(path, schema)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if err := s.Write(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 8192)), 4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, schema)
	err = s.Write(t.Context(), insert)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
}

func TestFullDiskIsNamed(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	err := s.Write(t.Context(), func(conn *sqlite.Conn) error {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA max_page_count = 2", nil); err != nil {
			return err
		}
		return sqlitex.ExecuteTransient(conn, "INSERT INTO t (text) VALUES (hex(zeroblob(100000)))", nil)
	})
	if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("%v", err)
	}
	if err := s.Write(t.Context(), insert); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	stores := []*Store{open(t, path, schema), open(t, path, schema)}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s := stores[i%2]
			for range 20 {
				if err := s.Write(context.Background(), insert); err != nil {
					t.Error(err)
				}
				count(t, s)
			}
		})
	}
	wg.Wait()
	if n := count(t, stores[0]); n != 320 {
		t.Errorf("%d rows", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "a.db"), schema)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for b.Loop() {
		if err := s.Write(b.Context(), insert); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.db")
	for b.Loop() {
		s, err := Open(path, schema)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
