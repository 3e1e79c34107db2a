package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// ManagedPath is where the administrator's policy is.
func ManagedPath() string {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, 0)
	if err != nil {
		dir = `C:\ProgramData`
	}
	return filepath.Join(dir, "tongs", ManagedFile)
}

func openNonblocking(path string, _ bool) (*os.File, error) { return os.Open(path) }

// ownedBy refuses a file whose owner is neither the system nor the administrators. A negative owner accepts any.
func ownedBy(f *os.File, owner int) error {
	if owner < 0 {
		return nil
	}
	sd, err := windows.GetNamedSecurityInfo(f.Name(), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("has an owner that cannot be told: %w", err)
	}
	sid, _, err := sd.Owner()
	if err != nil {
		return fmt.Errorf("has an owner that cannot be told: %w", err)
	}
	if sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) || sid.IsWellKnown(windows.WinLocalSystemSid) {
		return nil
	}
	return errors.New("is not owned by the administrators")
}

// passwdHome returns the profile directory of the user's token, whatever the environment says.
func passwdHome() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
}

// ours leaves the access list as it is: a directory in a user's profile is private by inheritance.
func ours(string) error { return nil }
