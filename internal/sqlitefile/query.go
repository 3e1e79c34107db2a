package sqlitefile

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// Query runs a prepared statement and calls each for its rows, where it is not nil. Arguments are string, []byte, int64 or
// [time.Time], which is kept as [Nanos].
func Query(conn *sqlite.Conn, sql string, each func(*sqlite.Stmt) error, args ...any) (err error) {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Reset()) }()
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		case int64:
			stmt.BindInt64(i+1, v)
		case time.Time:
			stmt.BindInt64(i+1, Nanos(v))
		default:
			return fmt.Errorf("store: argument %d has the type %T, which cannot be bound", i+1, arg)
		}
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if each == nil {
			continue
		}
		if err := each(stmt); err != nil {
			return err
		}
	}
}

// Nanos is how times are kept: nanoseconds since 1970, and 0 for no time.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
