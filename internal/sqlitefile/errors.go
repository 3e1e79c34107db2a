package sqlitefile

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// advice says what a person can do about an SQLite error.
var advice = map[sqlite.ResultCode]string{
	sqlite.ResultFull:     "the disk is full or a limit was reached: free some space, or run \"tongs gc\"",
	sqlite.ResultIOErr:    "the disk cannot be read or written: check its space and health",
	sqlite.ResultReadOnly: "it cannot be written: check the owner and the mode of the file and its directory",
	sqlite.ResultCantOpen: "it cannot be opened: check the owner and the mode of the file and its directory",
	sqlite.ResultPerm:     "it cannot be opened: check the owner and the mode of the file and its directory",
	sqlite.ResultCorrupt:  "it is damaged: move it away (with its -wal and -shm), and restore a copy if there is one",
	sqlite.ResultNotADB:   "it is not a database: move it away, or use another state directory",
	sqlite.ResultBusy:     "other processes kept it locked for too long: see which of them hangs",
	sqlite.ResultTooBig:   "a value is larger than a row can be",
}

// explain adds the file, what was tried and what to do. Errors that are not SQLite's are returned as they are, except
// ErrClosed.
func (s *Store) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*explained](err); ok {
		return err
	}
	if errors.Is(err, ErrClosed) {
		return fmt.Errorf("state file %s: %s: %w", s.path, op, err)
	}
	code := sqlite.ErrCode(err).ToPrimary()
	if code == sqlite.ResultError || code == sqlite.ResultOK {
		return err
	}
	return &explained{path: s.path, op: op, advice: advice[code], err: err}
}

// explained is an SQLite error with the file's name.
type explained struct {
	path, op, advice string
	err              error
}

func (e *explained) Error() string {
	if e.advice == "" {
		return fmt.Sprintf("state file %s: %s: %v", e.path, e.op, e.err)
	}
	return fmt.Sprintf("state file %s: %s: %s (%v)", e.path, e.op, e.advice, e.err)
}

func (e *explained) Unwrap() error { return e.err }
