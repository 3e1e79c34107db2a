package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// seatbeltBase is what every program on macOS needs to start at all.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec*)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.notification_center"))
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read* file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty"))
(allow file-read* (literal "/") (subpath "/System") (subpath "/usr/lib") (subpath "/usr/share") (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone"))
`

// seatbeltProfile returns the profile of a policy. Later rules win, so that it goes from what is allowed to what is
// not: outer trees, inner trees, hidden and protected paths, the network.
func seatbeltProfile(res *resolved, tmp string, mode NetworkMode, proxyPort string) string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	rule := func(verb, what, path string) {
		b.WriteString("(" + verb + " " + what + " (subpath " + seatbeltString(path) + "))\n")
	}
	for _, t := range append(slices.Clone(res.trees), tree{tmp, MountPrivate}) {
		rule("allow", "file-read*", t.path)
		if t.writable() {
			rule("allow", "file-write*", t.path)
		} else {
			rule("deny", "file-write*", t.path)
		}
	}
	pin := func(p string) { // renaming a parent away would get round it
		for d := filepath.Dir(p); res.treeOf(d) != nil && d != res.treeOf(d).path; d = filepath.Dir(d) {
			b.WriteString("(deny file-write-unlink (literal " + seatbeltString(d) + "))\n")
		}
	}
	for _, p := range append(slices.Clone(res.protected), res.absent...) {
		rule("deny", "file-write*", p)
		pin(p)
	}
	for _, p := range res.hidden {
		rule("deny", "file-read* file-write*", p)
		pin(p)
	}
	switch mode {
	case NetworkOpen:
		b.WriteString("(allow network*)\n(allow system-socket)\n(allow file-read* (literal \"/private/etc/resolv.conf\") (literal \"/private/etc/hosts\"))\n")
	case NetworkProxy:
		b.WriteString("(allow network-outbound (remote ip \"localhost:" + proxyPort + "\"))\n(allow system-socket)\n")
	}
	return b.String()
}

// seatbeltString quotes a path for a profile.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
