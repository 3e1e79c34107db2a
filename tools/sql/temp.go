package sql

import (
	"os"
	"path/filepath"
	"time"

	"github.com/tongs-ai/tongs"
)

// leftFor is how long the copy of a process that was killed is left.
const leftFor = 24 * time.Hour

// tempDir makes a private directory, and removes those that killed processes left.
func (t *tool) tempDir() (string, error) {
	if t.opt.Temp != "" {
		if err := os.MkdirAll(t.opt.Temp, 0o700); err != nil {
			return "", err
		}
		left, _ := filepath.Glob(filepath.Join(t.opt.Temp, "sql-*"))
		for _, dir := range left {
			if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > leftFor {
				_ = os.RemoveAll(dir)
			}
		}
	}
	return os.MkdirTemp(t.opt.Temp, "sql-")
}

// untold refuses a database that looks as if another program had it open, where the system does not tell.
func untold(d database) error {
	if len(d.sides) == 0 {
		return nil
	}
	return tongs.Errorf(tongs.CodeExecutionError,
		"%s is beside %s, so another program may have it open, or was killed; end that program, or open the file with it once", d.sides[0], d.path)
}
