package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

func unavailable(what string, err error) error {
	return tongs.Errorf(tongs.CodeSandboxUnavailable, "the sandbox failed: %s: %w", what, err)
}

// launcherError is why the helper process could not be started. It says nothing about what the machine enforces.
type launcherError struct {
	path string // of the launcher; one below /proc is in memory or this program itself
	err  error
}

func (e *launcherError) Error() string { return "the helper process " + e.path + ": " + e.err.Error() }
func (e *launcherError) Unwrap() error { return e.err }

var (
	errVersion = errors.New("it is of another version")
	errHook    = errors.New("this program does not call system.Main() or sandbox.Main()")
)

// fix says what to do about it.
func (e *launcherError) fix() string {
	own := strings.HasPrefix(e.path, "/proc/")
	switch {
	case errors.Is(e.err, errHook):
		return "In main, call system.Main() before anything else (sandbox.Main() in a program that does not use package system), or " +
			"build with the tag tongslauncher, which embeds the launcher (make build does)."
	case errors.Is(e.err, errVersion):
		return "Build " + e.path + " anew, from the same source as this program."
	case errors.Is(e.err, io.ErrUnexpectedEOF) || errors.Is(e.err, unix.ECONNRESET) || errors.Is(e.err, unix.EPIPE):
		return e.path + " ended at once: it is not a tongs-launch program, or something killed it."
	case own && !isProc():
		return "/proc is not mounted here, or is something else: mount it (mount -t proc proc /proc)."
	case own && readSetting("vm/memfd_noexec") == "2":
		return "Programs may not be started from memory here. As root: sysctl -w vm.memfd_noexec=1"
	case errors.Is(e.err, fs.ErrNotExist):
		return "There is no " + e.path + ": correct the path of the launcher, or leave it out to use the built-in one."
	case errors.Is(e.err, unix.ENOEXEC):
		return e.path + " is not a program for " + runtime.GOARCH + ": build tongs-launch for this machine."
	case errors.Is(e.err, fs.ErrPermission):
		return "It must not be executed: " + e.refusal()
	}
	return "The launcher could not be started: " + e.err.Error() + "."
}

// refusal says why the launcher may not be executed.
func (e *launcherError) refusal() string {
	var st unix.Statfs_t
	if unix.Statfs(e.path, &st) == nil && st.Flags&unix.ST_NOEXEC != 0 {
		return e.path + " is on a file system that is mounted noexec. Put it elsewhere, or use a build with the launcher embedded."
	}
	if info, err := os.Stat(e.path); err == nil && info.IsDir() {
		return e.path + " is a directory."
	}
	if unix.Access(e.path, unix.X_OK) != nil {
		return "nobody, or somebody else only, may execute " + e.path + ". Run chmod +x on it."
	}
	return "a security module or a system call filter forbids it."
}

// isProc reports whether /proc is what it should be.
func isProc() bool {
	var st unix.Statfs_t
	return unix.Statfs("/proc/self", &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// readSetting returns a setting of the kernel's, or "".
func readSetting(path string) string {
	b, _ := os.ReadFile("/proc/sys/" + path)
	return strings.TrimSpace(string(b))
}

// reason is why a tier does not work.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "SANDBOX_UNAVAILABLE: ") }

// fix says what to do about a tier that does not work.
func fix(tier, kernel string, err error) string {
	var l *launcherError
	switch {
	case errors.As(err, &l):
		return l.fix()
	case tier == TierB && (errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOSPC) || errors.Is(err, fs.ErrNotExist)):
		return "Tier B needs a directory for temporary files that can be written to: set TMPDIR to one."
	case tier == TierB && landlockABI() > 0:
		return "Something forbids Landlock or system call filters to this program: an outer filter, or a security module."
	case tier == TierB:
		return "Tier B needs a kernel with Landlock (Linux 5.13, with landlock in the lsm= list)."
	case olderThan(kernel, 5, 14):
		return "Tier A needs Linux 5.14 or newer; this is " + kernel + "."
	}
	return fixNamespaces(err)
}

// fixNamespaces says what to do where a sandbox with namespaces cannot be set up.
func fixNamespaces(err error) string {
	self, _ := os.Executable()
	user := os.Geteuid() != 0
	switch {
	case err != nil && strings.Contains(err.Error(), "set up: /proc: "):
		return "A part of /proc is covered here, as containers do, so that no new one can be mounted. Start the container with --security-opt systempaths=unconfined, or use tier B."
	case errors.Is(err, unix.EROFS):
		return "/proc is mounted read-only here, so that no user can be mapped: mount it writable, or use tier B."
	case readSetting("kernel/apparmor_restrict_unprivileged_userns") == "1" && user:
		return "AppArmor keeps programs that have no profile from making user namespaces. As root, write to /etc/apparmor.d/tongs:\n" +
			AppArmorProfile(self) + "and run: apparmor_parser -r /etc/apparmor.d/tongs"
	case readSetting("user/max_user_namespaces") == "0":
		return "User namespaces are switched off. As root: sysctl -w user.max_user_namespaces=15000"
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS):
		return "There are as many namespaces as this machine allows, or they are nested too deeply. As root: sysctl -w user.max_user_namespaces=15000"
	case readSetting("kernel/unprivileged_userns_clone") == "0" && user:
		return "User namespaces are for root only here. As root: sysctl -w kernel.unprivileged_userns_clone=1"
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && (err == nil || !strings.Contains(err.Error(), "operation not permitted")):
		return ""
	case inContainer():
		return "This is a container whose seccomp or AppArmor profile forbids namespaces. Start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or use tier B."
	}
	return "Something forbids namespaces to this program: a system call filter, a security module, or the sandbox that it runs in itself."
}
