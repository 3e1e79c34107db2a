// Package sqlitefile is the mechanics of one SQLite file that many processes share: safe creation, migrations, one writing
// connection and a few reading ones, transactions that wait for their turn, and errors that name the file and say what
// to do. What is in the file is the business of its users.
//
// Writes are durable against the end of the process at any moment; the newest may be lost when the machine loses
// power, never a part of one.
package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	// maxReaders is how many connections read at the same time.
	maxReaders = 4
	// patience is how long a transaction waits for other processes.
	patience = 30 * time.Second
	// applicationID marks the file as one of Tongs ("Tngs").
	applicationID = 0x546e6773
)

// Store is an open file. It is safe for concurrent use.
type Store struct {
	path string
	// writer holds the writing connection while nobody writes.
	writer chan *sqlite.Conn
	// readers holds idle connections, and nil for those that were not opened yet.
	readers chan *sqlite.Conn
	closed  chan struct{}
	once    sync.Once
	shared  shared
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the database is closed")

// Open opens the file, creating it and its directory where they are missing, and brings it up to date: the version of
// a file is the number of migrations that were applied to it. Any number of processes may do so at the same time.
func Open(path string, migrations []string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state file %q: %w", path, err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	s := &Store{
		path:    path,
		writer:  make(chan *sqlite.Conn, 1),
		readers: make(chan *sqlite.Conn, maxReaders),
		closed:  make(chan struct{}),
	}
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	if err := s.migrate(conn, migrations); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s.writer <- conn
	for range maxReaders {
		s.readers <- nil
	}
	return s, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// connect opens a connection and sets it up. Switching a new file to WAL can meet another process that does the same,
// and opening one after a crash its recovery: both are worth waiting for.
func (s *Store) connect() (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, s.explain("open", err)
	}
	conn.SetBusyTimeout(0) // retry has pauses of its own
	setup := []string{
		"PRAGMA journal_mode = wal",
		"PRAGMA synchronous = normal",
		"PRAGMA wal_autocheckpoint = 1000",
		"PRAGMA journal_size_limit = 16777216",
		"PRAGMA foreign_keys = on",
		"PRAGMA trusted_schema = off",
		"PRAGMA secure_delete = on", // what was scrubbed is not left in free pages
	}
	for _, pragma := range setup {
		err = retry(context.Background(), func() error { return sqlitex.ExecuteTransient(conn, pragma, nil) })
		if err != nil {
			return nil, errors.Join(s.explain("open", err), conn.Close())
		}
	}
	return conn, nil
}

// migrate applies what is missing, all of it in one transaction.
func (s *Store) migrate(conn *sqlite.Conn, migrations []string) error {
	version, err := s.version(conn)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	return s.transact(context.Background(), conn, func(conn *sqlite.Conn) error {
		version, err := s.version(conn) // another process may have been first
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("state file %s was written by a newer Tongs (version %d, this one knows %d): "+
				"use the newer one, or another state directory", s.path, version, len(migrations))
		}
		if version == 0 {
			if err := s.claim(conn); err != nil {
				return err
			}
		}
		for i, script := range migrations[version:] {
			if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
				return fmt.Errorf("state file %s: migration to version %d: %w", s.path, version+i+1, err)
			}
		}
		return sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)), nil)
	})
}

func (s *Store) version(conn *sqlite.Conn) (int, error) {
	version, err := pragmaInt(conn, "PRAGMA user_version")
	if err != nil {
		return 0, s.explain("read", err)
	}
	if version < 0 {
		return 0, fmt.Errorf("state file %s has the version %d: it is not a file of Tongs; move it away", s.path, version)
	}
	return int(version), nil
}

// claim marks a new file as ours, and refuses one with somebody else's tables.
func (s *Store) claim(conn *sqlite.Conn) error {
	tables, err := pragmaInt(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	if tables > 0 {
		return fmt.Errorf("state file %s is an SQLite database of another program: use another state directory", s.path)
	}
	return sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA application_id = %d", applicationID), nil)
}

func pragmaInt(conn *sqlite.Conn, query string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt64(0)
			return nil
		},
	})
	return n, err
}

// Write runs fn in a transaction that holds the file's write lock from the start, and commits where fn returns nil. It
// waits for other writers, in this process and in others, until ctx ends. The connection is fn's until it returns; it
// keeps prepared statements. fn must not call Write or Read.
func (s *Store) Write(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	var conn *sqlite.Conn
	select {
	case conn = <-s.writer:
	default:
		select {
		case conn = <-s.writer:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return s.explain("write", ErrClosed)
		}
	}
	defer func() { s.writer <- conn }()
	if s.isClosed() {
		return s.explain("write", ErrClosed)
	}
	return s.transact(ctx, conn, fn)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

func (s *Store) transact(ctx context.Context, conn *sqlite.Conn, fn func(conn *sqlite.Conn) error) (err error) {
	if err := retry(ctx, func() error { return exec(conn, "BEGIN IMMEDIATE") }); err != nil {
		return s.explain("write", err)
	}
	defer func() { // also where fn panics
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, s.explain("write", exec(conn, "ROLLBACK")))
		}
	}()
	if err := fn(conn); err != nil {
		return s.explain("write", err)
	}
	return s.explain("write", retry(ctx, func() error { return exec(conn, "COMMIT") }))
}

// Read runs fn in a transaction that sees one state of the file, whatever is written meanwhile. fn must not call Write
// or Read.
func (s *Store) Read(ctx context.Context, fn func(conn *sqlite.Conn) error) (err error) {
	var conn *sqlite.Conn
	select {
	case conn = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return s.explain("read", ErrClosed)
	}
	defer func() { s.readers <- conn }()
	if s.isClosed() {
		return s.explain("read", ErrClosed)
	}
	if conn == nil {
		if conn, err = s.connect(); err != nil {
			return err
		}
		conn.SetBusyTimeout(patience) // a reader waits only for a recovery after a crash
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA query_only = on", nil); err != nil {
			return s.explain("open", err)
		}
	}
	if err := exec(conn, "BEGIN"); err != nil {
		return s.explain("read", err)
	}
	defer func() {
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, s.explain("read", exec(conn, "ROLLBACK")))
		}
	}()
	return s.explain("read", fn(conn))
}

// exec runs a statement without results that is used again.
func exec(conn *sqlite.Conn, query string) error {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	_, err = stmt.Step()
	return errors.Join(err, stmt.Reset())
}

// retry repeats do while another process holds the lock, with short pauses of random length: with many processes the
// lock is free most of the time, and a long pause would be lost time.
func retry(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(patience)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 3*time.Millisecond) {
		err := do()
		code := sqlite.ErrCode(err).ToPrimary()
		if err == nil || code != sqlite.ResultBusy && code != sqlite.ResultLocked {
			return err
		}
		if time.Now().After(deadline) {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Close waits for running transactions and closes the file. It can be called twice.
func (s *Store) Close() error {
	var errs []error
	s.once.Do(func() {
		close(s.closed)
		for range maxReaders {
			if conn := <-s.readers; conn != nil {
				errs = append(errs, s.explain("close", conn.Close()))
			}
		}
		conn := <-s.writer // the last one out removes the WAL
		errs = append(errs, s.explain("close", conn.Close()))
	})
	return errors.Join(errs...)
}
