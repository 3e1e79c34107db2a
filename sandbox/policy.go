package sandbox

import (
	"context"
	"net"
	"time"
)

// Policy is what a program may do. Paths are absolute paths of the host, and the program sees them under the same
// names; links in them are followed once, when the run starts. The zero Policy lets a program see nothing at all.
type Policy struct {
	// Readable are trees and files that can be read and executed, ReadOnly those that stay so inside a writable tree. Of
	// two that contain one another the inner one counts. They must exist.
	Readable, ReadOnly []string
	// Writable are places that can be changed, each with what becomes of what is written there.
	Writable []Mount
	// Hidden are files and directories inside them that cannot be read. Absent ones are ignored.
	Hidden []string
	// Protected are paths inside writable trees that cannot be changed, and whose parents cannot be moved away. Absent
	// ones cannot be kept absent, so that they are reported as planted when they are there after the run.
	Protected []string
	// ProtectedNames and HiddenNames are names that are protected or hidden wherever they are in a writable or ReadOnly
	// tree, at any depth: one or more names separated by slashes, in which * stands for any part of a name.
	ProtectedNames, HiddenNames []string
	// Redact, where it is set, returns what is shown of a hidden file instead of nothing; "" shows nothing.
	Redact func(path string) string
	// OpenNames are single names, in lower case, that are neither although they match: .env.example tells no secret.
	OpenNames []string
	// ProtectedPlaces and HiddenPlaces are paths in these trees that links with such names lead to.
	ProtectedPlaces, HiddenPlaces []string
	// Exempt are paths that these names and places do not hold for, because they were approved. They may be below one.
	Exempt []string
	// Cache is a writable tree in which these names mean nothing: nobody obeys what lies in a cache. It is inside no other
	// writable tree, and around none.
	Cache Cache
	// Found, where it is set, is called with the paths that ProtectedNames hold for and that are there, before anything
	// runs. An error refuses the run.
	Found func(protected []string) error
	// Files are read-only files that exist in the sandbox only, by path, and Links are links with what they lead to.
	Files, Links map[string]string

	// Dir is the working directory.
	Dir string
	// Env is the whole environment, as KEY=value.
	Env     []string
	Network Network
	Limits  Limits
	// Overlay is how what the program writes to layered places is held back; without it there are none.
	Overlay *Overlay
	// Require lists what must be enforced: where it cannot be, nothing runs. Empty requires nothing, and then even tier
	// B is accepted. Default requires everything.
	Require []Property
}

// NetworkMode is how much of the network there is.
type NetworkMode string

// The modes. The zero value is none: the program has a loopback interface of its own and nothing else.
const (
	NetworkNone  NetworkMode = ""
	NetworkProxy NetworkMode = "proxy"
	NetworkOpen  NetworkMode = "open"
)

// Network says what a program can reach.
type Network struct {
	Mode NetworkMode
	// Serve answers the connections of a program whose mode is proxy: to the program the listener is 127.0.0.1:3128,
	// and the usual variables (HTTPS_PROXY, ...) name it; Serve runs in this process. It returns when ctx ends, which
	// is when the program did.
	Serve func(ctx context.Context, l net.Listener) error
	// Forwards are ports of the program's own loopback interface that this process answers, in any mode but open. Other
	// programs of the sandbox cannot listen on them.
	Forwards []Forward
}

// Forward is a port of 127.0.0.1 in the sandbox. Serve is as that of a Network.
type Forward struct {
	Port  uint16
	Serve func(ctx context.Context, l net.Listener) error
}

// Property is something that the sandbox enforces.
type Property string

// The properties.
const (
	// PropertyRead: the content of files that the policy does not name cannot be read.
	PropertyRead Property = "fs_read"
	// PropertyWrite: files that the policy does not make writable cannot be made, changed or removed.
	PropertyWrite Property = "fs_write"
	// PropertyMetadata: neither can their mode, times and attributes, and their existence cannot be seen.
	PropertyMetadata Property = "fs_metadata"
	// PropertyProtect: Protected and ReadOnly hold inside writable trees.
	PropertyProtect Property = "protect"
	// PropertyHide: Hidden holds inside readable trees.
	PropertyHide Property = "hide"
	// PropertyNetwork: only what Network says is reachable.
	PropertyNetwork Property = "net"
	// PropertySignals: processes outside cannot be signalled, traced or seen.
	PropertySignals Property = "signals"
	// PropertyKillTree: nothing of the program survives its end, time-out or cancellation.
	PropertyKillTree Property = "kill_tree"
	// PropertyMemory: the memory limit holds for all processes together.
	PropertyMemory Property = "mem_tree"
	// PropertyProcesses: the limit of processes holds.
	PropertyProcesses Property = "pids"
)

// Properties returns every property.
func Properties() []Property {
	return []Property{
		PropertyRead, PropertyWrite, PropertyMetadata, PropertyProtect, PropertyHide, PropertyNetwork, PropertySignals,
		PropertyKillTree, PropertyMemory, PropertyProcesses,
	}
}

// Limits bound what a program uses up. Zero means the default, a negative value no limit.
type Limits struct {
	// Wall is the time until everything is killed: 120 s.
	Wall time.Duration
	// CPU is the processor time of all processes together: 1 h.
	CPU time.Duration
	// Cores is the number of processors; zero is all of them.
	Cores int
	// Memory is that of all processes together, with what is in /tmp and /dev/shm: 2 GiB.
	Memory int64
	// PIDs is the number of processes and threads: 256.
	PIDs int64
	// FileSize is the size of a single file: 2 GiB.
	FileSize int64
	// Disk and Files are how much the writable trees may grow, in bytes and files: 4 GiB, 500,000.
	Disk, Files int64
	// Tmp is the size of /tmp: 1 GiB. /dev/shm has a quarter of it.
	Tmp int64
	// Descriptors is the number of open files of a process: 4096.
	Descriptors int64
	// Output is what is passed on of stdout and stderr together before everything is killed: 1 GiB.
	Output int64
}

// The names of limits, as they stand in Report.LimitsHit.
const (
	LimitWall     = "wall"
	LimitCPU      = "cpu"
	LimitMemory   = "memory"
	LimitFileSize = "fileSize"
	LimitDisk     = "disk"
	LimitFiles    = "files"
	LimitOutput   = "output"
)

// unlimited stands for a limit that a negative value switched off.
const unlimited = -1

// withDefaults returns the limits with zero values filled in, and all that were negative as unlimited.
func (l Limits) withDefaults() Limits {
	l.Wall = time.Duration(filled(int64(l.Wall), int64(120*time.Second)))
	l.CPU = time.Duration(filled(int64(l.CPU), int64(time.Hour)))
	l.Memory = filled(l.Memory, 2<<30)
	l.PIDs = filled(l.PIDs, 256)
	l.FileSize = filled(l.FileSize, 2<<30)
	l.Disk = filled(l.Disk, 4<<30)
	l.Files = filled(l.Files, 500_000)
	l.Tmp = filled(l.Tmp, 1<<30)
	l.Descriptors = filled(l.Descriptors, 4096)
	l.Output = filled(l.Output, 1<<30)
	l.Cores = max(l.Cores, 0)
	return l
}

func filled(v, def int64) int64 {
	switch {
	case v == 0:
		return def
	case v < 0:
		return unlimited
	}
	return v
}

// positive returns a limit as the launcher takes it: 0 for none.
func positive(v int64) uint64 {
	if v < 0 {
		return 0
	}
	return uint64(v)
}
