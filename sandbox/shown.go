package sandbox

import (
	"maps"
	"slices"
)

// made are the files below /etc that every tree of tier A has of its own.
var made = []string{"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf"}

// settings are what programs need and a person may have put a password into: reading it is not free for others.
var settings = []string{"/etc/npmrc", "/etc/maven", "/etc/gradle"}

// Shown returns the directories and files that programs under Default's policy can read in tier A, whatever else they were
// given, and that tell no secret: programs and libraries, and files that say nothing of this machine.
func Shown(opt PresetOptions) []string {
	opt.Cache = Cache{} // nothing is made
	pol := Default("/", opt)
	pol.Readable = slices.DeleteFunc(pol.Readable, func(path string) bool { return slices.Contains(settings, path) })
	shown := slices.Concat(pol.Readable, slices.Sorted(maps.Keys(pol.Files)), []string{"/sys/devices/system/cpu"})
	for _, name := range made {
		shown = append(shown, "/etc/"+name)
	}
	return shown
}

// Scratch returns the directories that are private to each program in tier A: empty when it starts, and gone when it ended.
func Scratch() []string { return []string{"/tmp", "/var/tmp", "/dev/shm"} }
