package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mountFolding reports whether the temporary directory is on a file system that ignores case, as is usual here.
func mountFolding(t *testing.T, dir string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(dir), strings.ToUpper(filepath.Base(dir))))
	return err == nil
}
