package owned

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Open opens a file whose owner is the system, the administrators or, where owner is not 0, the user of this process. The
// access list, and the directories above, are not looked at: those of a profile are private by inheritance.
func Open(path string, owner int) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := check(f, owner); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// MakeDir opens a directory, and makes what is missing of it.
func MakeDir(path string) (*os.File, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return Open(path, User())
}

func check(f *os.File, owner int) error {
	fix := "make it yours, or move it away"
	sd, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return &Error{f.Name(), fmt.Sprintf("has an owner that cannot be told: %v", err), fix}
	}
	sid, _, err := sd.Owner()
	if err != nil {
		return &Error{f.Name(), fmt.Sprintf("has an owner that cannot be told: %v", err), fix}
	}
	if sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) || sid.IsWellKnown(windows.WinLocalSystemSid) {
		return nil
	}
	if owner != 0 {
		if u, err := windows.GetCurrentProcessToken().GetTokenUser(); err == nil && sid.Equals(u.User.Sid) {
			return nil
		}
	}
	return &Error{f.Name(), "is owned by " + sid.String() + ", which is neither you nor an administrator", fix}
}
