package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitssh"
)

// GitSSH returns the command that git in a sandbox runs instead of ssh, and the program of that command, which the policy must
// show. The program is the launcher: it is put into dir, a private directory, unless it is this program and can be
// shown as it is. Both are empty where there is none.
func GitSSH(dir string) (command, program string, err error) {
	if program, err = gitSSHProgram(dir); program == "" || err != nil {
		return "", "", err
	}
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "' " + gitssh.Name, program, nil
}

func gitSSHProgram(dir string) (string, error) {
	if len(embedded) > 0 {
		return placed(dir, strings.NewReader(embedded), embedded)
	}
	if !hooked.Load() {
		return "", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	if info.Mode()&0o005 == 0o005 || os.Geteuid() != 0 {
		return filepath.EvalSymlinks(self)
	}
	f, err := os.Open(self)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return placed(dir, f, info.ModTime().String()+self)
}

// placed puts a program into a directory, once for each version.
func placed(dir string, r io.Reader, version string) (string, error) {
	sum := sha256.Sum256([]byte(version))
	name := filepath.Join(dir, "ssh-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(name); err == nil {
		return filepath.EvalSymlinks(name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(0o555)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}
