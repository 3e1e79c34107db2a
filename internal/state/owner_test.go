//go:build unix

package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
)

// Files that others can read are tightened.
func TestFilesBesideTheDatabaseArePrivate(t *testing.T) {
	dir := written(t)
	db := openDB(t, dir)
	if _, err := db.Questions(approval.Options{}).Open(t.Context(), approvaltest.Question("d")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{HeadName, KeyName} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	work(t, dir, "d1")
	if info, err := os.Stat(filepath.Join(dir, HeadName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Files of another user are refused. Only root can make one to try.
func TestFilesOfAnotherUserAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir := written(t)
	for _, name := range []string{HeadName, KeyName} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 32), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	db := openDB(t, dir)
	if err := db.Audit().Open(t.Context(), audittest.Row("d", "x")); err == nil {
		t.Error("a call ran with a head that another user can write")
	}
	if _, err := db.Questions(approval.Options{}).Open(t.Context(), approvaltest.Question("d")); err == nil {
		t.Error("sealed with a key that another user knows")
	}
}
