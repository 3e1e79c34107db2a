package sandbox

import (
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Why something is known to get through.
var (
	noProtect  = map[string]string{"B": "Landlock cannot except a path from a writable tree"}
	noHide     = map[string]string{"B": "Landlock cannot except a path from a readable tree"}
	noMetadata = map[string]string{"B": "Landlock has no right for modes and times; the files are the user's own"}
	sameInode  = map[string]string{
		"A": "a hard link that somebody made before is a file of the workspace; nothing tells it from one",
		"B": "a hard link that somebody made before is a file of the workspace; nothing tells it from one",
	}
)

const harmful = "it would harm the machine"

// attempts is the whole list.
func attempts() []attempt {
	return slices.Concat(readAttempts(), writeAttempts, protectAttempts, processAttempts, kernelAttempts(), networkAttempts, resourceAttempts, lifeAttempts)
}

// readAttempts look for what must not be read. Those that change something for that are on their own.
func readAttempts() []attempt { return slices.Concat(brief(lookAttempts), moveAttempts) }

// brief marks attempts that can be made together.
func brief(list []attempt) []attempt {
	list = slices.Clone(list)
	for i := range list {
		list[i].brief = true
	}
	return list
}

var lookAttempts = []attempt{
	{name: "read a secret by its path", script: `grep -q SECRET {S} && echo ESCAPED`},
	{name: "read it with ../ from the workspace", script: `grep -q SECRET ./../../../../../../../../../../..{S} && echo ESCAPED`},
	{name: "read a private key", script: `cat {B}/.ssh/id_ed25519 | grep -q SECRET && echo ESCAPED`},
	{name: "read through a link of the workspace", script: `grep -q SECRET outward && echo ESCAPED`},
	{name: "read through a linked directory", script: `grep -q SECRET outdir/secret && echo ESCAPED`},
	{name: "read through any process's root or cwd", script: `for p in /proc/[0-9]*; do for d in root cwd; do grep -qs SECRET $p/$d{S} && echo ESCAPED; done; done`},
	{name: "read through init's root", script: `grep -qs SECRET /proc/1/root{S} && echo ESCAPED`},
	{name: "secret on a command line", script: `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -q 'CMDLINESECRE[T]' && echo ESCAPED`},
	{name: "secret in an environment", script: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' ' ' | grep -q 'ENVIRONSECRE[T]' && echo ESCAPED`},
	{name: "environment of the host process", script: `grep -qs . /proc/{P}/environ && echo ESCAPED`},
	{name: "variables of the host", script: `env | grep -q TONGS_TEST_SECRET && echo ESCAPED`},
	{name: "/etc/shadow", script: `grep -qs root /etc/shadow && echo ESCAPED`},
	{name: "user names of the host", script: `grep -qs daemon /etc/passwd && echo ESCAPED`, through: map[string]string{"B": "programs need /etc/passwd, and there is no other one to show"}},
	{name: "a hard link that was there before", script: `grep -q SECRET prelinked && echo ESCAPED`, through: sameInode},
	{name: "inherited descriptors", script: `for f in $(ls /proc/self/fd 2>/dev/null | grep -v '^[012]$'); do readlink /proc/self/fd/$f; done | grep -v -e '/proc/' -e '^/dev/pts' | grep -q . && echo ESCAPED`},
	{name: "descriptors by number", script: `for i in $(seq 3 60); do (true <&$i) 2>/dev/null && echo ESCAPED $i; done; true`},
	{name: "a file in the host's /tmp", script: `grep -qs SECRET /tmp/tongs-secret-{K} && echo ESCAPED`},
	{name: "list the host's /tmp", script: `ls /tmp | grep -v -e home -e cache -e "$(echo {W} | cut -d/ -f3)" | grep -q . && echo ESCAPED`},
	{name: "list a home", script: `ls -a {B} 2>/dev/null | grep -q -e secret -e ssh && echo ESCAPED`},
	{name: "list /root and /home", script: `ls -A /root /home 2>/dev/null | grep -v -e : -e '^$' | grep -q . && echo ESCAPED`},
	{name: "stat a secret", script: `{A} stat {S}`, through: map[string]string{"B": "Landlock does not hide names"}},
	{name: "raw disk", script: `for d in /dev/vd? /dev/sd? /dev/nvme?n1 /dev/dm-*; do [ "$(head -c 512 $d 2>/dev/null | wc -c)" = 512 ] && echo ESCAPED; done; true`},
	{name: "physical memory", script: `(head -c1 /dev/mem || head -c1 /dev/port || head -c 16 /proc/kcore) 2>/dev/null | grep -q . && echo ESCAPED`},
	{name: "kernel log", script: `(head -c1 /dev/kmsg || dmesg) 2>/dev/null | grep -q . && echo ESCAPED`},
	{name: "kernel keys of the user", script: `grep -qs keyring /proc/keys && echo ESCAPED`},
	{name: "kernel addresses", script: `grep -qsv '^0000000000000000' /proc/kallsyms && echo ESCAPED`},
	{name: "system logs", script: `ls /var/log 2>/dev/null | grep -q . && echo ESCAPED`},
	{name: "state below /run", script: `ls /run 2>/dev/null | grep -q . && echo ESCAPED`},
	{name: "identity of the machine", script: `cat /etc/machine-id /sys/class/dmi/id/product_uuid 2>/dev/null | grep -q . && echo ESCAPED`},
	{name: "host name", script: `[ "$(cat /proc/sys/kernel/hostname 2>/dev/null)" = "` + hostname() + `" ] && echo ESCAPED`},
	{name: "memory of init", script: `{A} proc-mem 1`},
	{name: "memory of a process outside", script: `{A} proc-mem {V}`},
	{name: "open by handle", script: `{A} handle`},
	{name: "hidden file", script: `grep -qs SECRET .env && echo ESCAPED`, through: noHide},
	{name: "hidden file below", script: `grep -qs SECRET sub/.env && echo ESCAPED`, through: noHide},
	{name: "hidden file by its pattern", script: `grep -qs SECRET keys/private.pem && echo ESCAPED`, through: noHide},
}

var moveAttempts = []attempt{
	{name: "make a link and read through it", script: `ln -s {S} l && grep -q SECRET l && echo ESCAPED`},
	{name: "make a hard link to it", script: `ln {S} h && grep -q SECRET h && echo ESCAPED`},
	{name: "read by a race between directory and link", script: `{A} race {S}`},
	{name: "hidden file moved", script: `mv .env e 2>/dev/null; grep -qs SECRET e && echo ESCAPED`, through: noHide},
	{name: "hidden file linked", script: `ln .env e 2>/dev/null; grep -qs SECRET e && echo ESCAPED`, through: noHide},
	{name: "hidden file by moving its directory", script: `mv sub s2 2>/dev/null; grep -qs SECRET s2/.env && echo ESCAPED`, through: noHide},
	{name: "hidden file after chmod", script: `chmod 644 .env 2>/dev/null; grep -qs SECRET .env && echo ESCAPED`, through: noHide},
}

func hostname() string {
	name, _ := os.Hostname()
	return name
}

var writeAttempts = []attempt{
	{name: "write beside the workspace", script: `(echo x > {B}/pwned) 2>/dev/null && echo ESCAPED`},
	{name: "write through a link", script: `(echo x > outdir/pwned) 2>/dev/null && echo ESCAPED`},
	{name: "append to a secret", script: `(echo >> {S}) 2>/dev/null && echo ESCAPED`},
	{name: "remove a file outside", script: `rm {B}/removable 2>/dev/null && echo ESCAPED`},
	{name: "move the workspace's parent", script: `mv {W} {W}-moved 2>/dev/null && echo ESCAPED`, uncontrolled: "it would take the workspace away from under the next check"},
	{name: "truncate a file outside", script: `{A} truncate {S}`},
	{name: "change times outside", script: `{A} utime {S}`, through: noMetadata},
	{name: "change a mode outside", script: `{A} chmod {S}`, through: noMetadata},
	{name: "change an owner outside", script: `{A} chown {S}`},
	{name: "set an attribute outside", script: `{A} setxattr {S}`},
	{name: "write system files", script: `(echo >> /etc/ld.so.preload || echo > /etc/cron.d/x || echo > /usr/bin/tongs-pwned || echo > /usr/lib/x) 2>/dev/null && echo ESCAPED`, uncontrolled: harmful},
	{name: "make a directory in the root", script: `mkdir /pwned 2>/dev/null && rmdir /pwned && echo ESCAPED`},
	{name: "core pattern", script: `(echo '|/bin/true' > /proc/sys/kernel/core_pattern) 2>/dev/null && echo ESCAPED`, uncontrolled: harmful},
	{name: "sysrq", script: `(echo h > /proc/sysrq-trigger) 2>/dev/null && echo ESCAPED`},
	{name: "kernel settings", script: `(cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness) 2>/dev/null && echo ESCAPED`},
	{name: "out-of-memory score of another process", script: `(echo 500 > /proc/{V}/oom_score_adj) 2>/dev/null && echo ESCAPED`},
	{name: "write a device node", script: `{A} mknod 254`},
	{name: "set-user-ID by chmod", script: `{A} suid-chmod`},
	{name: "set-user-ID by fchmod", script: `{A} suid-fchmod`},
	{name: "set-user-ID by fchmodat2", script: `{A} suid-fchmodat2`},
	{name: "set-user-ID by open", script: `{A} suid-openat`},
	{name: "set-user-ID by openat2", script: `{A} suid-openat2`},
	{name: "set-user-ID by mknod", script: `{A} suid-mknod`},
	{name: "set-user-ID by an unnamed file", script: `{A} suid-tmpfile`},
	{name: "set-group-ID by chmod", script: `{A} sgid-chmod`},
	{name: "set-user-ID by chmod(1)", script: `cp /bin/true t; chmod u+s t 2>/dev/null; [ -u t ] && echo ESCAPED`},
	{name: "file capabilities", script: `{A} filecaps`},
	{name: "an immutable file", script: `{A} immutable`},
	{name: "open the launcher", script: `{A} exe-read 1`},
	{name: "overwrite the launcher", script: `{A} exe-write 1`},
	{name: "a core dump in the workspace", script: `ulimit -c unlimited 2>/dev/null; sh -c 'kill -SEGV $$' 2>/dev/null; ls core* 2>/dev/null | grep -q . && echo ESCAPED`},
}

var protectAttempts = []attempt{
	{name: "write a hook", script: `(echo x > .git/hooks/pre-commit) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "write git's configuration", script: `(echo x >> .git/config) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "git config", script: `git config core.fsmonitor evil 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "rename .git away and put a copy back", script: `mv .git g 2>/dev/null && cp -r g .git && echo x > .git/hooks/evil && echo ESCAPED`, through: noProtect},
	{name: "rename the hooks away", script: `mv .git/hooks .git/h 2>/dev/null && mkdir .git/hooks && echo ESCAPED`, through: noProtect},
	{name: "replace .git by a link", script: `mv .git g 2>/dev/null && ln -s g .git && echo ESCAPED`, through: noProtect},
	{name: "remove the hooks", script: `rm -rf .git/hooks 2>/dev/null && mkdir .git/hooks 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "a nested repository's hook", script: `(echo x > sub/repo/.git/hooks/post-checkout) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "move a nested repository away", script: `mv sub/repo sub/r2 2>/dev/null && cp -r sub/r2 sub/repo && echo x > sub/repo/.git/hooks/e && echo ESCAPED`, through: noProtect},
	{name: "move a parent of it away", script: `mv sub s2 2>/dev/null && cp -r s2 sub 2>/dev/null; (echo x > sub/repo/.git/hooks/e) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "a directory that git takes for a repository", script: `(echo x >> bare/config) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "overwrite what agents obey", script: `(echo x > .mcp.json) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "rename over it", script: `echo x > t; mv -f t .mcp.json 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "link over it", script: `echo x > t; ln -f t .mcp.json 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "exchange it", script: `{A} exchange .mcp.json`, through: noProtect},
	{name: "remove it", script: `rm -f .mcp.json 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "write through a hard link to it", script: `ln .mcp.json h 2>/dev/null && echo x > h && echo ESCAPED`, through: noProtect},
	{name: "reopen it for writing", script: `{A} reopen .mcp.json`, through: noProtect},
	{name: "map it for writing", script: `{A} map .mcp.json`, through: noProtect},
	{name: "truncate it", script: `{A} truncate .mcp.json`, through: noProtect},
	{name: "change its mode", script: `chmod 777 .envrc 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "shell startup file", script: `(echo x >> .bashrc) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "CI file", script: `(echo x >> .github/workflows/ci.yml) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "a new CI file", script: `(echo x > .github/workflows/new.yml) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "move the CI directory", script: `mv .github g 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "an editor's tasks below", script: `(echo x > sub/.vscode/tasks.json) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "a protected name that was absent", script: `mkdir .vscode && echo x > .vscode/tasks.json`, judge: unreported(".vscode")},
	{name: "an absent one, deep below", script: `mkdir -p a/b/c && echo x > a/b/c/.envrc`, judge: unreported("a/b/c/.envrc")},
	{name: "an absent one, with times set back", script: `mkdir d && echo x > d/.envrc && touch -d 2001-01-01 d/.envrc d .`, judge: unreported("d/.envrc")},
	{name: "a new repository with a hook", script: `mkdir -p n/.git/hooks && echo x > n/.git/hooks/post-checkout`, judge: unreported("n/.git/hooks")},
	{name: "a new look-alike repository", script: `mkdir -p n/objects n/refs && touch n/HEAD && echo x > n/config`, judge: unreported("n/config")},
	{name: "point a protected link elsewhere", script: `ln -sfn sub/repo/a .zshrc`, judge: unreported(".zshrc")},
	{name: "write a read-only tree", script: `(echo x > vendor/lib/a) 2>/dev/null && echo ESCAPED`, through: noProtect},
	{name: "replace a read-only tree", script: `mv vendor v 2>/dev/null && mkdir vendor && echo ESCAPED`, through: noProtect},
	{name: "unmount a protection", script: `{A} umount .git/hooks`},
	{name: "remount a protection", script: `{A} remount .git/hooks`},
	{name: "clear a protection's attribute", script: `{A} setattr .git/hooks`},
}

// unreported judges a protected name that cannot be kept from being made: it must be in the report.
func unreported(name string) func(*world, *Result) bool {
	return func(_ *world, res *Result) bool {
		return !slices.ContainsFunc(res.Report.Planted, func(p string) bool { return strings.HasSuffix(p, "/"+name) })
	}
}

var processAttempts = []attempt{
	{name: "signal everything", script: `(trap '' USR1; kill -USR1 -1) 2>/dev/null; true`, uncontrolled: harmful},
	{name: "signal a process", script: `{A} kill {V} 10`},
	{name: "probe for a process", script: `{A} kill {V} 0`},
	{name: "signal a thread", script: `{A} tgkill {V}`},
	{name: "signal a process group", script: `{A} kill -{V} 10`},
	{name: "signal by a descriptor", script: `{A} pidfd-signal {V}`},
	{name: "signal by owning a socket", script: `{A} sigio {V}`},
	{name: "signal init", script: `{A} kill 1 9 >/dev/null; sleep 0.05`, uncontrolled: harmful, judge: func(_ *world, res *Result) bool { return res.ExitCode != 0 }},
	{name: "stop the supervisor", script: `kill -STOP $PPID 2>/dev/null && [ $PPID != 1 ] && [ $PPID != 0 ] && echo ESCAPED`, uncontrolled: harmful},
	{name: "trace init", script: `{A} ptrace 1`},
	{name: "trace a process", script: `{A} ptrace {V}`},
	{name: "read a process's memory", script: `{A} vmread {V}`},
	{name: "take a descriptor of init", script: `{A} getfd 1`},
	{name: "take a descriptor of a process", script: `{A} getfd {V}`},
	{name: "compare with a process", script: `{A} kcmp {V}`},
	{name: "renice a process", script: `{A} renice {V}`},
	{name: "renice all of the user's", script: `{A} renice\*; true`, uncontrolled: harmful, judge: func(w *world, _ *Result) bool {
		n, err := unix.Getpriority(unix.PRIO_PROCESS, w.victim.Process.Pid)
		return err == nil && n == 13 // the raw call returns 20 minus the nice value
	}},
	{name: "limits of a process", script: `{A} prlimit {V}`},
	{name: "scheduler of a process", script: `{A} scheduler {V}`},
	{name: "I/O priority of a process", script: `{A} ioprio {V}`},
	{name: "network namespace of a process", script: `{A} setns {V}`},
	{name: "mount namespace of a process", script: `{A} setns-mnt {V}`},
	{name: "user namespace of a process", script: `{A} setns-user {V}`},
	{name: "a new user namespace", script: `{A} unshare`},
	{name: "a new network namespace", script: `{A} unshare-net`},
	{name: "user and process namespaces", script: `{A} clone`},
	{name: "clone into a user namespace", script: `{A} clone-user`},
	{name: "clone3 into a user namespace", script: `{A} clone3`},
	{name: "unshare(1)", script: `unshare -Ur true 2>/dev/null && echo ESCAPED`},
	{name: "a set-user-ID program", script: `timeout 0.5 su -c 'echo ESCAPED' </dev/null 2>/dev/null; true`},
	{name: "capabilities", script: `grep -q 'CapEff:.*[1-9a-f]' /proc/self/status 2>/dev/null && echo ESCAPED`},
	{name: "gain privileges", script: `grep -q 'NoNewPrivs:.*0' /proc/self/status 2>/dev/null && echo ESCAPED`},
	{name: "no filter", script: `grep -q 'Seccomp:.*0' /proc/self/status 2>/dev/null && echo ESCAPED`},
	{name: "shared memory of the host", script: `{A} shm {K}`},
	{name: "shared memory by number", script: `{A} shm-id {I}`},
	{name: "message queue of the host", script: `{A} mq {Q}`},
	{name: "type into the terminal", script: `{A} tiocsti`, pty: true},
	{name: "type with high bits set", script: `{A} tiocsti-high`, pty: true},
	{name: "paste into the console", script: `{A} tioclinux`, pty: true},
	{name: "terminals of the host", script: `for t in /dev/pts/[0-9]*; do [ "$t" != "$(tty)" ] && (echo -n > $t) 2>/dev/null && echo ESCAPED $t; done; true`, pty: true},
}

// kernelAttempts are system calls that no sandboxed program has any business with.
func kernelAttempts() (list []attempt) {
	for _, name := range []string{
		"chroot", "pivot", "fsopen", "fspick", "open-tree", "move-mount", "iouring", "userfaultfd", "bpf", "perf", "add-key", "request-key", "keyctl",
		"init-module", "finit-module", "kexec", "reboot", "settime", "adjtime", "syslog", "swapon", "acct", "quotactl", "fanotify", "personality", "vmsplice",
		"memfd-secret", "mbind", "move-pages", "new-syscall", "statmount", "lsm-list", "mrelease", "setdomainname", "int80", "x32", "x32-getpid", "dcookie",
	} {
		list = append(list, attempt{name: "system call: " + name, script: "{A} " + name, brief: true})
	}
	for _, name := range []string{"mount", "bind", "sethostname"} {
		list = append(list, attempt{name: "system call: " + name, script: "{A} " + name, uncontrolled: harmful, brief: true})
	}
	return list
}

var networkAttempts = []attempt{
	{name: "TCP to the host's loopback", script: `{A} dial tcp 127.0.0.1:{T}`},
	{name: "TCP over IPv6", script: `{A} dial tcp [::1]:{T6}`},
	{name: "TCP to any address of the host", script: `{A} dial tcp 0.0.0.0:{T}`},
	{name: "TCP on connecting", script: `{A} fastopen {T}; true`, judge: func(*world, *Result) bool { return false }},
	{name: "TCP by bash", script: `(exec 3<>/dev/tcp/127.0.0.1/{T} && head -c1 <&3 | grep -q S) 2>/dev/null && echo ESCAPED`},
	{name: "UDP", script: `{A} dial udp 127.0.0.1:{U} >/dev/null`},
	{name: "a socket outside (docker.sock)", script: `{A} dial unix {B}/docker.sock`},
	{name: "a socket outside, through a link", script: `{A} dial unix outdir/docker.sock`},
	{name: "an abstract socket", script: `{A} dial unix @{M}`},
	{name: "raw ICMP", script: `{A} socket 2 3 1`, brief: true},
	{name: "raw IPv6", script: `{A} socket 10 3 58`, brief: true},
	{name: "packet socket", script: `{A} socket 17 3 0`, brief: true},
	{name: "netlink", script: `{A} socket 16 3 0`, brief: true},
	{name: "netlink audit", script: `{A} socket 16 3 9`, brief: true},
	{name: "kernel crypto socket", script: `{A} socket 38 5 0`, brief: true},
	{name: "vsock", script: `{A} socket 40 1 0`, brief: true},
	{name: "TIPC", script: `{A} socket 30 1 0`, brief: true},
	{name: "SMC", script: `{A} socket 43 1 0`, brief: true},
	{name: "XDP", script: `{A} socket 44 3 0`, brief: true},
	{name: "interfaces of the host", script: `ls /sys/class/net 2>/dev/null | grep -q . && echo ESCAPED; grep -v -e lo: -e face -e packets /proc/net/dev 2>/dev/null | grep -q : && echo ESCAPED`},
	{name: "connections of the host", script: `grep -qis $(printf %04X {T}) /proc/net/tcp && echo ESCAPED`},
}

var resourceAttempts = []attempt{
	{name: "fork bomb", script: `f(){ f|f& };f 2>/dev/null; sleep 0.3; [ $(ls /proc | grep -c '^[0-9]') -gt 110 ] && [ -r /proc/1/stat ] && echo ESCAPED; true`, uncontrolled: harmful, wall: time.Second},
	{name: "many processes", script: `{A} threads 150`, wall: 3 * time.Second},
	{name: "memory of one process", script: `{A} alloc 300 {N}`, judge: outlived},
	{name: "shared memory", script: `{A} alloc-shm 300 {N}`, judge: outlived},
	{name: "memory file", script: `{A} memfd 300 {N}`, judge: outlived},
	{name: "shared segments", script: `{A} sysv 300 {N}`, judge: outlived},
	{name: "memory of many processes", script: `{A} many 4 70 {N}`, judge: outlived},
	{name: "/dev/shm", script: `dd if=/dev/zero of=/dev/shm/tongs-{P} bs=1M count=100 2>/dev/null && echo ESCAPED; rm -f /dev/shm/tongs-{P}`},
	{name: "/tmp", script: `for i in 1 2 3; do dd if=/dev/zero of=${TMPDIR:-/tmp}/tongs-{P}-$i bs=1M count=30 2>/dev/null || exit; done; sleep {N}; echo ESCAPED; rm -f ${TMPDIR:-/tmp}/tongs-{P}-*`, judge: outlived},
	{name: "every processor", script: `{A} affinity`},
	{name: "raise the file size limit", script: `{A} rlimit 1`},
	{name: "raise the descriptor limit", script: `{A} rlimit 7`},
	{name: "raise the processor time limit", script: `{A} rlimit 0`},
	{name: "raise the process limit", script: `{A} rlimit 6`},
	{name: "raise the soft process limit", script: `{A} nproc-soft`},
	{name: "blocks without writing", script: `for i in 1 2 3; do fallocate -l 30M a$i 2>/dev/null || dd if=/dev/zero of=a$i bs=1M count=30 2>/dev/null || exit; done; sleep {N}; echo ESCAPED; rm -f a?`, judge: outlived},
	{name: "files that come and go, and some that stay", script: `for i in 1 2 3; do dd if=/dev/zero of=t bs=1M count=30 2>/dev/null; dd if=/dev/zero of=b$i bs=1M count=25 2>/dev/null || exit; rm -f t; done; sleep {N}; echo ESCAPED; rm -f b? t`, judge: outlived},
	{name: "one large file", script: `dd if=/dev/zero of=big bs=1M count=100 2>/dev/null && echo ESCAPED; rm -f big`},
	{name: "several files", script: `for i in 1 2 3; do dd if=/dev/zero of=b$i bs=1M count=30 2>/dev/null || exit; done; sleep {N}; echo ESCAPED; rm -f b?`, judge: outlived},
	{name: "many files", script: `mkdir m; cd m; for i in $(seq 1200); do : > $i || exit; done; sleep {N}; echo ESCAPED; cd ..; rm -rf m`, judge: outlived},
	{name: "output without end", script: `head -c 200M /dev/zero | tr '\0' y; echo ESCAPED`, uncontrolled: "its output would have to be kept"},
	{name: "processor time", script: `for i in 1 2 3 4; do (while :; do :; done) & done; wait; echo ESCAPED`, uncontrolled: "it never ends", wall: time.Second},
}

var lifeAttempts = []attempt{
	{name: "a daemon outlives the command", script: `setsid {A} deaf >/dev/null 2>&1 & sleep 0.05; exit 0`},
	{name: "a daemon outlives the time-out", script: `(trap '' TERM HUP INT; setsid {A} deaf >/dev/null 2>&1 &); trap '' TERM; sleep 30`, wall: 500 * time.Millisecond, uncontrolled: "nothing limits its time"},
	{name: "a twice forked daemon", script: `( ( setsid {A} deaf >/dev/null 2>&1 & ) & ); sleep 0.05`},
	{name: "stop itself and its children", script: `sleep 30 & kill -STOP $!; kill -STOP $$; sleep 30`, wall: 500 * time.Millisecond, judge: notTimedOut, uncontrolled: "nothing limits its time"},
	{name: "ignore signals", script: `trap '' TERM INT HUP QUIT; while :; do sleep 1; done`, wall: 500 * time.Millisecond, judge: notTimedOut, uncontrolled: "nothing limits its time"},
	{name: "close its output and go on", script: `exec >&- 2>&-; sleep 30`, wall: 500 * time.Millisecond, judge: notTimedOut, uncontrolled: "nothing limits its time"},
	{name: "a storm of forks at the time-out", script: `while :; do (sleep 0.01 &) 2>/dev/null; done`, wall: 500 * time.Millisecond, judge: notTimedOut, uncontrolled: "nothing limits its time"},
	{name: "leave its session and group", script: `for i in 1 2 3 4 5; do setsid setsid {A} deaf >/dev/null 2>&1 & done; sleep 0.05`},
}

// outlived judges an attempt that holds what it took until the limit strikes. What is looked at from time to time strikes
// sooner or later, depending on how busy the machine is; only the limit of time ends what nothing else stops.
func outlived(_ *world, res *Result) bool { return res.TimedOut }

func notTimedOut(_ *world, res *Result) bool { return !res.TimedOut }
