//go:build unix

package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ManagedPath is where the administrator's policy is.
func ManagedPath() string { return filepath.Join("/etc/tongs", ManagedFile) }

func openNonblocking(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// passwdHome returns the home directory of the user database, whatever the environment says.
func passwdHome() (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(u.HomeDir) {
		return "", fmt.Errorf("home directory %q of the user database is not absolute", u.HomeDir)
	}
	return u.HomeDir, nil
}

// tighten takes from a directory what others may read of it.
func tighten(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return dir.Chmod(0o700)
}
