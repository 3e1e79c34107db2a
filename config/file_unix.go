//go:build unix

package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ManagedPath is where the administrator's policy is.
func ManagedPath() string { return filepath.Join("/etc/tongs", ManagedFile) }

func openNonblocking(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	return os.OpenFile(path, flags, 0)
}

// ownedBy refuses a file that somebody else than the owner could have written.
func ownedBy(f *os.File, owner int) error {
	info, err := f.Stat()
	if err != nil {
		return bare(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("has an owner that cannot be told")
	}
	if int(st.Uid) != owner && st.Uid != 0 {
		return fmt.Errorf("is owned by user %d, not by %s; run chown on it", st.Uid, userName(owner))
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("is writable by others than its owner (mode %04o); run chmod go-w on it", perm)
	}
	return nil
}

func userName(uid int) string {
	if uid == 0 {
		return "root"
	}
	return "user " + strconv.Itoa(uid)
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

// ours makes a directory private to its owner. One that others could have written into is refused.
func ours(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to somebody else; choose a directory of your own", dir)
	}
	switch perm := info.Mode().Perm(); {
	case perm&0o022 != 0:
		return fmt.Errorf("%s is writable by others (mode %04o); check what is in it, then run chmod 700 on it", dir, perm)
	case perm&0o077 != 0:
		return os.Chmod(dir, 0o700)
	}
	return nil
}
