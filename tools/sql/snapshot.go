package sql

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tongs-ai/tongs"
)

// maxValue bounds one value, and the statement.
const maxValue = 64 << 20

// open opens the copy. It is the only connection to it, and nothing else has its directory.
func (s *snapshot) open(ctx context.Context) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(s.file, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	conn.SetInterrupt(ctx.Done())
	for limit, value := range map[sqlite.Limit]int32{
		sqlite.LimitLength: maxValue, sqlite.LimitAttached: 0, sqlite.LimitWorkerThreads: 0, sqlite.LimitExprDepth: 200,
		sqlite.LimitTriggerDepth: 100, sqlite.LimitLikePatternLength: 1000,
	} {
		conn.Limit(limit, value)
	}
	// As SQLite recommends for files of others: https://sqlite.org/security.html
	if err = conn.SetDefensive(true); err == nil {
		for _, pragma := range []string{"trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY", "foreign_keys=ON"} {
			if err = sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil); err != nil {
				break
			}
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// snapshot is a private copy of a database.
type snapshot struct {
	dir, file string
}

func (s *snapshot) close() { _ = os.RemoveAll(s.dir) }

// maxTries is how often a file is copied that changes meanwhile.
const maxTries = 5

// snapshot copies a database with what is beside it, as they are at one moment: what a crash would have left then, which SQLite
// recovers from.
func (t *tool) snapshot(ctx context.Context, files tongs.FileView, d database) (*snapshot, error) {
	dir, err := t.tempDir()
	if err != nil {
		return nil, err
	}
	s := &snapshot{dir: dir, file: filepath.Join(dir, "db")}
	if !d.there {
		return s, nil
	}
	for range maxTries {
		same, err := t.copyAll(ctx, files, d, s)
		if err != nil {
			s.close()
			return nil, err
		}
		if same {
			return s, nil
		}
	}
	s.close()
	return nil, tongs.Errorf(tongs.CodeStaleFile, "%s is being written by another program all the time; try again later", d.path)
}

// copyAll copies the files, and reports whether none of them changed meanwhile.
func (t *tool) copyAll(ctx context.Context, files tongs.FileView, d database, s *snapshot) (same bool, err error) {
	before, err := versions(files, d)
	if err != nil {
		return false, err
	}
	left := t.opt.FileBytes
	for _, end := range append([]string{""}, beside[:2]...) {
		p := tongs.Path{Root: d.path.Root, Rel: d.path.Rel + end}
		if before[end] == tongs.Absent {
			_ = os.Remove(s.file + end) // of a try before this one
			continue
		}
		n, err := copyFile(ctx, files, p, s.file+end, left)
		if err != nil {
			return false, err
		}
		left -= n
	}
	after, err := versions(files, d)
	if err != nil {
		return false, err
	}
	for end, v := range before {
		if after[end] != v {
			return false, nil
		}
	}
	return true, nil
}

// versions are those of the files that hold data.
func versions(files tongs.FileView, d database) (map[string]tongs.Version, error) {
	list := map[string]tongs.Version{}
	for _, end := range append([]string{""}, beside[:2]...) {
		v, err := files.Version(tongs.Path{Root: d.path.Root, Rel: d.path.Rel + end})
		if err != nil {
			return nil, err
		}
		list[end] = v
	}
	return list, nil
}

func copyFile(ctx context.Context, files tongs.FileView, p tongs.Path, to string, most int64) (int64, error) {
	from, err := files.Open(p)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	into, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(into, io.LimitReader(contextReader{ctx, from}, most+1))
	if closing := into.Close(); err == nil {
		err = closing
	}
	if err == nil && n > most {
		err = tongs.Errorf(tongs.CodeTooLarge, "%s is larger than a database may be here; raise sqlFileBytes", p)
	}
	return n, err
}

// contextReader stops with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
