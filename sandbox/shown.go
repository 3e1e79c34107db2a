package sandbox

import (
	"maps"
	"slices"
)

// made are the files below /etc that every tree of tier A has of its own.
var made = []string{"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf"}

// Shown returns the directories and files that programs under Default's policy can read in tier A, whatever else they were
// given: programs and libraries, and files that say nothing of this machine.
func Shown(opt PresetOptions) []string {
	opt.Cache = Cache{} // nothing is made
	pol := Default("/", opt)
	shown := slices.Concat(pol.Readable, slices.Sorted(maps.Keys(pol.Files)), []string{"/sys/devices/system/cpu"})
	for _, name := range made {
		shown = append(shown, "/etc/"+name)
	}
	return shown
}

// Scratch returns the directories that are private to each program in tier A: empty when it starts, and gone when it ended.
func Scratch() []string { return []string{"/tmp", "/var/tmp", "/dev/shm"} }
