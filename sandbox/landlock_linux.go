package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// landlockABI returns the version of Landlock that the kernel has, 0 for none.
func landlockABI() int {
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(r)
}

// Landlock rights, in groups.
const (
	landRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	landWrite = landRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	landDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landDir    = unix.LANDLOCK_ACCESS_FS_READ_DIR
	// landResolveUnix, of version 9, is connecting to a socket that somebody outside made.
	landResolveUnix = 1 << 16
)

// handled returns the rights that this version knows, which are all to be controlled.
func handled(abi int) uint64 {
	h := uint64(1<<13 - 1)
	for _, r := range []struct {
		abi   int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}, {9, landResolveUnix}} {
		if abi >= r.abi {
			h |= r.right
		}
	}
	return h
}

// safeDevices can be opened by anybody without harm.
var safeDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// landlock returns the ruleset. In tier A it says again what the mount tree says; in tier B it is what there is.
func (p *plan) landlock(abi int, scratch string) launch.Landlock {
	if abi == 0 {
		return launch.Landlock{}
	}
	l := launch.Landlock{Handled: handled(abi)}
	if abi >= 4 && p.tier == TierB && p.pol.Network.Mode == NetworkNone {
		l.Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		l.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	add := func(access uint64, paths ...string) {
		for _, path := range paths {
			l.Rules = append(l.Rules, launch.PathRule{Path: path, Access: access})
		}
	}
	add(landDevice, safeDevices...)
	if p.tier == TierA {
		add(landRead, "/")
		add(landWrite, "/tmp", "/dev/shm")
		add(landDevice|landDir, "/dev/pts")
	} else {
		add(landWrite, scratch)
		add(landRead, tierBFiles...)
	}
	for _, t := range p.res.trees {
		if t.writable() {
			add(landWrite, t.path)
		} else if p.tier == TierB {
			add(landRead, t.path)
		}
	}
	return l
}

// tierBFiles tell about the machine, not about its processes. /proc as a whole would show those of the user.
var tierBFiles = []string{
	"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/uptime", "/proc/loadavg", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
	"/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/cap_last_cap", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/host.conf",
}
