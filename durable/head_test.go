package durable

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/audit"
	"github.com/tongs-ai/tongs/audit/audittest"
)

// verify returns what a process finds that opens the directory anew.
func verify(t *testing.T, dir string) audit.Chain {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	chain, err := db.Audit().Verify(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// written returns a directory whose log has five calls, 15 entries.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"c1", "c2", "c3", "c4", "c5"} {
		audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// execute changes the file of a directory behind the back of its users.
func execute(t *testing.T, dir, sql string) {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tamper(t, db, sql)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// What goes missing from the end of the log is an alarm, and stays one while work goes on.
func TestALogThatLostItsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		attack  func(t *testing.T, dir string)
		missing int64
	}{
		"cut off by one": {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries WHERE seq = 15") }, 1},
		"cut off":        {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries WHERE seq > 12") }, 3},
		"emptied":        {func(t *testing.T, dir string) { execute(t, dir, "DELETE FROM entries") }, 15},
		"deleted": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, FileName), filepath.Join(dir, FileName+"-wal"), filepath.Join(dir, FileName+"-shm"))
		}, 15},
		"replaced by another": {func(t *testing.T, dir string) {
			copyFile(t, filepath.Join(written(t), FileName), filepath.Join(dir, FileName))
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			tt.attack(t, dir)
			if verify(t, dir).OK() {
				t.Fatal("not noticed")
			}
			db := openDB(t, dir)
			for _, call := range []string{"d1", "d2", "d3", "d4", "d5", "d6", "d7"} { // longer than it was before
				audittest.Write(t, db.Audit(), audittest.Row(call, "x"), sampleClose)
			}
			if verify(t, dir).OK() {
				t.Fatal("forgotten when work went on")
			}
		})
	}
}
