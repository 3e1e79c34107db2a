package state

import (
	"os"
	"strings"
)

// bootName identifies this start of the machine, empty where it cannot be told.
func bootName() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
