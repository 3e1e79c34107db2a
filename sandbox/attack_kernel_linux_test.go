package sandbox

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

var attacksOnTheKernel = map[string]attackFunc{
	"mount":  func([]string) (string, error) { return did("mounted", unix.Mount("t", ".", "tmpfs", 0, "")) },
	"bind":   func([]string) (string, error) { return did("bound", unix.Mount("/", ".", "", unix.MS_BIND, "")) },
	"umount": func(a []string) (string, error) { return did("unmounted", unix.Unmount(a[0], unix.MNT_DETACH)) },
	"remount": func(a []string) (string, error) {
		return did("remounted", unix.Mount("", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	},
	"setattr": func(a []string) (string, error) {
		return did("made writable", unix.MountSetattr(unix.AT_FDCWD, a[0], 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}))
	},
	"chroot": func([]string) (string, error) {
		return did("chroot", inChild(unix.SYS_CHROOT, cstring("."), 0))
	},
	"pivot":  reached(unix.SYS_PIVOT_ROOT, cstring("/nonexistent"), cstring("/nonexistent")),
	"fsopen": func([]string) (string, error) { return did("fsopen", raw(unix.SYS_FSOPEN, cstring("tmpfs"), 0)) },
	"fspick": func([]string) (string, error) { return did("fspick", raw(unix.SYS_FSPICK, atFDCWD, cstring("/"), 0)) },
	"open-tree": func([]string) (string, error) {
		return did("open_tree", raw(unix.SYS_OPEN_TREE, atFDCWD, cstring("/"), 1))
	},
	"move-mount":  reached(unix.SYS_MOVE_MOUNT, ^uintptr(0), cstring(""), ^uintptr(0), cstring(""), 0),
	"iouring":     func([]string) (string, error) { return did("io_uring", raw(unix.SYS_IO_URING_SETUP, 4, pad())) },
	"userfaultfd": reached(unix.SYS_USERFAULTFD, 1),
	"bpf": func([]string) (string, error) {
		a := [32]uint32{1, 4, 4, 1}
		return did("bpf map", raw(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&a)), 128))
	},
	"perf": perfEvent,
	"add-key": func([]string) (string, error) {
		return did("key added", raw(unix.SYS_ADD_KEY, cstring("user"), cstring("tongs"), cstring("v"), 1, ^uintptr(3)))
	},
	"request-key":  reached(unix.SYS_REQUEST_KEY, cstring("user"), cstring("tongs-none"), 0, 0),
	"keyctl":       reached(unix.SYS_KEYCTL, 0, ^uintptr(3), 0),
	"init-module":  reached(unix.SYS_INIT_MODULE, pad(), 1, cstring("")),
	"finit-module": reached(unix.SYS_FINIT_MODULE, ^uintptr(0), cstring(""), 0),
	"kexec":        reached(unix.SYS_KEXEC_LOAD, 0, 99, 0, 0),
	"reboot":       reached(unix.SYS_REBOOT, 0, 0, 0, 0), // without its magic numbers: it can only be refused or invalid
	"settime":      reached(unix.SYS_SETTIMEOFDAY, 0, 0),
	"adjtime":      reached(unix.SYS_ADJTIMEX, 0),
	"syslog":       reached(unix.SYS_SYSLOG, 3, pad(), 16),
	"swapon":       reached(unix.SYS_SWAPON, cstring("/nonexistent"), 0),
	"acct":         reached(unix.SYS_ACCT, cstring("/nonexistent")),
	"quotactl":     reached(unix.SYS_QUOTACTL, 0x800002<<8, cstring("/nonexistent"), 0, pad()),
	"dcookie":      reached(unix.SYS_LOOKUP_DCOOKIE, 0, pad(), 16),
	"fanotify":     func([]string) (string, error) { return did("fanotify", raw(unix.SYS_FANOTIFY_INIT, 0x200, 0)) },
	"personality": func([]string) (string, error) {
		return did("READ_IMPLIES_EXEC set", inChild(unix.SYS_PERSONALITY, 0x400000, 0))
	},
	"vmsplice":     reached(unix.SYS_VMSPLICE, ^uintptr(0), pad(), 0, 0),
	"memfd-secret": reached(unix.SYS_MEMFD_SECRET, 0x7fffffff),
	"mbind":        reached(unix.SYS_MBIND, pad(), 0, 99, 0, 0, 0),
	"move-pages":   reached(unix.SYS_MOVE_PAGES, 0, 0, 0, 0, 0, 0),
	"kcmp": func(a []string) (string, error) {
		return did("compared", raw(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(number(a, 0)), 0, 0, 0))
	},
	"new-syscall":   reached(467, ^uintptr(0), pad(), 0, pad(), 8),
	"statmount":     reached(unix.SYS_STATMOUNT, 0, 0, 0, 0),
	"lsm-list":      reached(unix.SYS_LSM_LIST_MODULES, pad(), pad(), 0),
	"mrelease":      reached(unix.SYS_PROCESS_MRELEASE, ^uintptr(0), 0),
	"sethostname":   func([]string) (string, error) { return did("host name set", unix.Sethostname([]byte("tongs-pwned"))) },
	"setdomainname": reached(unix.SYS_SETDOMAINNAME, pad(), 1<<20),
	"int80":         int80,
	"x32":           reached(0x40000000+unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0),
	"x32-getpid":    reached(0x40000000 + unix.SYS_GETPID),
}

const atFDCWD = ^uintptr(99)

func perfEvent([]string) (string, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return did("performance counter opened", err)
}

// int80 makes a system call by the 32-bit entry, which a filter for 64 bits alone would let through.
func int80([]string) (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", errors.New("there is no such entry on " + runtime.GOARCH)
	}
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return "", err
	}
	copy(code, []byte{0x31, 0xd2, 0xcd, 0x80, 0xc3}) // xor edx, edx; int 0x80; ret
	at := &code[0]
	call := *(*func(nr, a, b uintptr) uintptr)(unsafe.Pointer(&[]unsafe.Pointer{unsafe.Pointer(&at)}[0]))
	if fd := int32(call(359, unix.AF_INET, unix.SOCK_STREAM)); fd >= 0 {
		return "a socket by the 32-bit entry", nil
	}
	if pid := int32(call(20, 0, 0)); pid > 0 {
		return "getpid by the 32-bit entry", nil
	}
	return "", errors.New("refused")
}

// attacksByMode try to leave a set-user-ID file behind, in every way there is to give a file a mode.
var attacksByMode = map[string]attackFunc{
	"suid-chmod": func([]string) (string, error) {
		return suid(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) })
	},
	"suid-fchmod": func([]string) (string, error) {
		return suid(func(f string) error {
			fd, err := unix.Open(f, unix.O_RDWR, 0)
			if err != nil {
				return err
			}
			return unix.Fchmod(fd, 0o6755)
		})
	},
	"suid-fchmodat2": func([]string) (string, error) {
		return suid(func(f string) error { return raw(unix.SYS_FCHMODAT2, atFDCWD, cstring(f), 0o4755, 0) })
	},
	"suid-openat": func([]string) (string, error) {
		return suid(func(f string) error {
			_ = os.Remove(f)
			_, err := unix.Open(f, unix.O_CREAT|unix.O_WRONLY, 0o4755)
			return err
		})
	},
	"suid-openat2": func([]string) (string, error) {
		return suid(func(f string) error {
			_ = os.Remove(f)
			_, err := unix.Openat2(unix.AT_FDCWD, f, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
			return err
		})
	},
	"suid-mknod": func([]string) (string, error) {
		return suid(func(f string) error {
			_ = os.Remove(f)
			return unix.Mknod(f, unix.S_IFREG|0o4755, 0)
		})
	},
	"suid-tmpfile": func([]string) (string, error) {
		return suid(func(f string) error {
			_ = os.Remove(f)
			fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, f, unix.AT_SYMLINK_FOLLOW)
		})
	},
	"sgid-chmod": func([]string) (string, error) {
		return suid(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o2755, 0) })
	},
}

func suid(make func(file string) error) (string, error) {
	const file = "set-user-id"
	if err := os.WriteFile(file, []byte("x"), 0o755); err != nil {
		return "", err
	}
	if err := make(file); err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return "", err
	}
	if st.Mode&0o6000 == 0 {
		return "", errors.New("the bits were dropped")
	}
	return "a set-ID file", nil
}
