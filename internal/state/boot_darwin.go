package state

import "golang.org/x/sys/unix"

// bootName identifies this start of the machine, empty where it cannot be told.
func bootName() string {
	name, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return name
}
