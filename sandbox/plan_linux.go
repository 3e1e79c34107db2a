package sandbox

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

const (
	proxyPort = launch.ProxyPort
	proxyURL  = "http://127.0.0.1:3128"

	readOnlyMount = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	writableMount = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	hiddenName    = "sandbox"
)

// plan is what becomes of a policy on this machine: what init is told, and what the report says of it.
type plan struct {
	tier   string
	pol    *Policy
	res    *resolved
	limits Limits
	spec   launch.Spec
	// mapped says that root's sandbox runs as a user that nobody is; trees are the paths whose mounts must be mapped.
	mapped  bool
	trees   []tree
	layers  []string
	missing []string
	// held are the limits that a control group holds.
	held []string
	// seen returns what is at a path, for init to compare.
	seen func(path string) (device, inode uint64)
	// lacking are the properties that this run does not have.
	lacking map[Property]bool
	// over are the layers of the trees that are held back, cache is that of a copy's build cache; nil where there are none.
	over  *Layers
	cache *slot
	// serving answers the ports whose listening sockets init sends.
	serving map[uint16]func(context.Context, net.Listener) error
}

func (p *plan) lacks(prop Property, why string) {
	p.lacking[prop] = true
	p.missing = append(p.missing, why)
}

// newPlan prepares what does not depend on the keeper. finish does the rest.
func newPlan(tier string, cmd *Cmd, res *resolved) *plan {
	pol := &cmd.Policy
	p := &plan{tier: tier, pol: pol, res: res, limits: pol.Limits.withDefaults(), lacking: map[Property]bool{}, seen: identity}
	p.serving = map[uint16]func(context.Context, net.Listener) error{}
	p.spec = launch.Spec{
		Namespaces: tier == TierA, Argv: cmd.Argv, Env: slices.Clone(pol.Env), Dir: res.dir, Cores: p.limits.Cores,
		Processes: positive(p.limits.PIDs),
	}
	if cmd.PTY != nil {
		p.spec.PTY, p.spec.Rows, p.spec.Cols = true, cmd.PTY.Rows, cmd.PTY.Cols
	}
	if res.scan.cut {
		p.lacks(PropertyProtect, "protected names: the writable trees have too many entries, and not all were looked at")
	}
	if len(res.scan.skipped) > 0 {
		p.missing = append(p.missing, "names inside "+strings.Join(res.scan.skipped, ", ")+": they are not looked for there")
	}
	return p
}

// identity returns the device and the inode of what is at a path, or zeros.
func identity(path string) (device, inode uint64) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0, 0
	}
	return st.Dev, st.Ino
}

// request returns what the keeper shall start.
func (p *plan) request(scratch string, fresh bool) *launch.Request {
	req := &launch.Request{
		Op: launch.OpStart, Namespaces: p.tier == TierA, Mapped: p.mapped, Fresh: fresh,
		NetNS:  p.tier == TierA && p.pol.Network.Mode != NetworkOpen,
		Cgroup: launch.CgroupLimits{Memory: positive(p.limits.Memory), Processes: positive(p.limits.PIDs), Cores: p.limits.Cores},
	}
	if p.tier == TierB {
		req.Scratch = scratch
	}
	return req
}

// finish completes the spec with what the keeper's answer decides.
func (p *plan) finish(rep *launch.Reply, abi int) error {
	p.held = rep.Held
	held := func(what string) bool { return slices.Contains(p.held, what) }
	if p.tier == TierA {
		p.tierA()
	} else {
		p.tierB(rep.Scratch, abi)
	}
	p.spec.Landlock = p.landlock(abi, rep.Scratch)
	p.holdLimits(held)
	if rep.Scratch != "" {
		p.spec.Watch.Paths = append(p.spec.Watch.Paths, rep.Scratch)
	}
	if abi == 0 {
		p.missing = append(p.missing, "landlock: the kernel has none; the mount tree stands alone")
	} else {
		p.layers = append(p.layers, "landlock abi "+strconv.Itoa(abi))
	}
	filter, err := buildFilter(filterConfig{
		arch: runtime.GOARCH, namespaces: p.tier == TierA, network: p.pol.Network.Mode, memoryGroup: held("memory"),
		cores: p.spec.Cores > 0, notify: p.spec.Notify, signals: p.spec.Signals,
	})
	if err != nil {
		return err
	}
	p.spec.Filter = filter
	p.layers = append(p.layers, "seccomp", "no capabilities", "rlimits")
	if len(rep.Held) > 0 {
		slices.Sort(rep.Held)
		p.layers = append(p.layers, "cgroup "+strings.Join(rep.Held, "+"))
	}
	return nil
}

// holdLimits sets the limits that processes inherit, and has init watch those that no control group holds.
func (p *plan) holdLimits(held func(string) bool) {
	l := p.limits
	// A core limit of 1, not 0: with 0 the kernel still starts a core handler, on the host.
	p.spec.Rlimits = []launch.Rlimit{{Resource: unix.RLIMIT_CORE, Value: 1}, {Resource: unix.RLIMIT_MEMLOCK, Value: 8 << 20}, {Resource: unix.RLIMIT_MSGQUEUE, Value: 819200}}
	add := func(resource int, v uint64) {
		if v > 0 {
			p.spec.Rlimits = append(p.spec.Rlimits, launch.Rlimit{Resource: resource, Value: v})
		}
	}
	add(unix.RLIMIT_FSIZE, positive(l.FileSize))
	add(unix.RLIMIT_NOFILE, positive(l.Descriptors))
	if l.CPU > 0 {
		add(unix.RLIMIT_CPU, uint64(l.CPU.Seconds())+1)
		p.spec.Watch.CPU = uint64(l.CPU)
	}
	if p.spec.Cores > 0 && held("cores") {
		p.spec.Cores = 0
	}
	if l.Memory > 0 && !held("memory") {
		p.spec.Watch.Memory = uint64(l.Memory)
		p.missing = append(p.missing, "memory control group: resident memory is added up every 10 to 40 ms instead")
		if p.tier == TierA {
			p.spec.Watch.Memories = []string{"/tmp", "/dev/shm"}
		}
	}
	if l.PIDs > 0 && !held("processes") {
		p.missing = append(p.missing, "process control group: a resource limit of the user stands in")
		if p.tier == TierA && !p.mapped && os.Geteuid() == 0 {
			p.lacks(PropertyProcesses, "process limit: it does not bind root, and there is no control group")
		}
	}
	p.spec.Watch.Disk, p.spec.Watch.Files, p.spec.Watch.Paths = positive(l.Disk), positive(l.Files), p.res.writable()
}

// tierA plans the mount tree.
func (p *plan) tierA() {
	p.layers = append(p.layers, "user, mount, pid, ipc, uts, cgroup namespaces", "mount tree")
	p.spec.Hostname = hiddenName
	p.spec.Root = "/tmp"
	if _, err := os.Stat("/tmp"); err != nil {
		p.spec.Root = "/proc"
	}
	switch p.pol.Network.Mode {
	case NetworkNone:
		p.layers = append(p.layers, "network namespace")
		p.spec.Loopback = true
	case NetworkProxy:
		p.layers = append(p.layers, "network namespace with a proxy")
		p.spec.Loopback, p.spec.Listen, p.serving[proxyPort] = true, proxyPort, p.pol.Network.Serve
		p.spec.Env = withProxy(p.spec.Env)
	case NetworkOpen:
		p.layers = append(p.layers, "open network")
	}
	p.forward()
	if p.mapped {
		p.layers = append(p.layers, "a user that nobody else is")
	} else if os.Geteuid() == 0 {
		p.missing = append(p.missing, "separate user: a file system cannot be mapped, so that root stays root, without any capability")
	}
	p.base()
	p.bindTrees()
	p.inside()
	for _, path := range slices.Sorted(maps.Keys(p.pol.Files)) {
		p.add(launch.Mount{Kind: launch.MakeFile, Target: filepath.Clean(path), Source: p.pol.Files[path], Optional: true, Missing: "file " + path})
	}
	for _, l := range append(p.res.links, hostpath.Link{At: "/var/tmp", To: "/tmp"}, hostpath.Link{At: "/var/run", To: "/run"}) {
		p.add(launch.Mount{Kind: launch.MakeSymlink, Target: l.At, Source: l.To, Optional: true})
	}
	if home := lookupEnv(p.spec.Env, "HOME"); strings.HasPrefix(home, "/tmp/") {
		p.add(launch.Mount{Kind: launch.MakeDir, Target: filepath.Clean(home), Optional: true})
	}
	for _, at := range slices.Sorted(maps.Keys(p.pol.Links)) {
		p.add(launch.Mount{Kind: launch.MakeSymlink, Target: filepath.Clean(at), Source: p.pol.Links[at], Optional: true})
	}
}

// maxForwards is how many ports are forwarded into a sandbox.
const maxForwards = 64

// forward plans the ports that this process answers. The first of several for one port counts.
func (p *plan) forward() {
	for _, f := range p.pol.Network.Forwards {
		if p.pol.Network.Mode != NetworkOpen && f.Port != 0 && f.Port != proxyPort && p.serving[f.Port] == nil && len(p.serving) < maxForwards {
			p.spec.Forward = append(p.spec.Forward, f.Port)
			p.serving[f.Port] = f.Serve
		}
	}
}

func (p *plan) add(m ...launch.Mount) { p.spec.Mounts = append(p.spec.Mounts, m...) }

// base plans what every tree has: proc, dev, tmp, and an etc that tells nothing.
func (p *plan) base() {
	dir := func(path string) { p.add(launch.Mount{Kind: launch.MakeDir, Target: path}) }
	p.add(launch.Mount{
		Kind: launch.MountProc, Target: "/proc", Attr: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC,
	})
	p.maskProc()
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		p.add(launch.Mount{Kind: launch.MountBind, Source: "/dev/" + d, Target: "/dev/" + d, Optional: d != "null"})
	}
	for at, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		p.add(launch.Mount{Kind: launch.MakeSymlink, Target: "/dev/" + at, Source: to})
	}
	p.add(launch.Mount{
		Kind: launch.MountDevpts, Target: "/dev/pts", Source: "ptmxmode=0666,mode=620", Attr: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC,
		Optional: true, Missing: "/dev/pts: the machine does not allow a new one; there are no terminals",
	})
	tmpfs := func(target string, size int64) {
		options := "mode=1777,nr_inodes=262144"
		if size > 0 {
			options += ",size=" + strconv.FormatInt(size, 10)
		}
		p.add(launch.Mount{Kind: launch.MountTmpfs, Target: target, Source: options, Attr: writableMount})
	}
	tmpfs("/tmp", p.limits.Tmp)
	tmpfs("/dev/shm", p.limits.Tmp/4)
	dir("/run")
	uid, gid := os.Getuid(), os.Getgid()
	if p.mapped {
		uid, gid = launch.SandboxID, launch.SandboxID
	}
	files := etcFiles(uid, gid, lookupEnv(p.spec.Env, "HOME"))
	if p.pol.Network.Mode == NetworkOpen {
		for _, name := range []string{"hosts", "resolv.conf"} {
			if b, err := os.ReadFile("/etc/" + name); err == nil {
				files[name] = string(b)
			}
		}
	}
	for name, content := range files {
		if _, own := p.pol.Files["/etc/"+name]; !own && p.res.treeOf("/etc/"+name) == nil {
			p.add(launch.Mount{Kind: launch.MakeFile, Target: "/etc/" + name, Source: content})
		}
	}
	if _, err := os.Stat("/sys/devices/system/cpu"); err == nil {
		p.add(launch.Mount{Kind: launch.MountBind, Source: "/sys/devices/system/cpu", Target: "/sys/devices/system/cpu", Attr: readOnlyMount | unix.MOUNT_ATTR_NOEXEC, Optional: true})
	}
}

// maskProc seals what a new proc shows of the whole machine. A user who is not root cannot write there anyway.
func (p *plan) maskProc() {
	p.add(launch.Mount{Kind: launch.MountSelf, Target: "/proc/sys", Attr: readOnlyMount | unix.MOUNT_ATTR_NOEXEC, Optional: true})
	masked := []string{"/proc/keys", "/proc/key-users"}
	if !p.mapped && os.Geteuid() == 0 {
		for _, d := range []string{"/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"} {
			p.add(launch.Mount{Kind: launch.MountSelf, Target: d, Attr: readOnlyMount | unix.MOUNT_ATTR_NOEXEC, Optional: true})
		}
		masked = append(masked, "/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/timer_list", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/vmallocinfo", "/proc/slabinfo")
	}
	for _, f := range masked {
		p.add(launch.Mount{Kind: launch.MountMask, Target: f, Optional: true})
	}
}

// etcFiles are the files that programs expect, with nothing of the machine in them.
func etcFiles(uid, gid int, home string) map[string]string {
	if home == "" {
		home = "/tmp"
	}
	passwd, group := "", ""
	if uid != 0 {
		passwd = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
	}
	if gid != 0 {
		group = "root:x:0:\n"
	}
	return map[string]string{
		"passwd":        passwd + "sandbox:x:" + strconv.Itoa(uid) + ":" + strconv.Itoa(gid) + ":sandbox:" + home + ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"group":         group + "sandbox:x:" + strconv.Itoa(gid) + ":\nnogroup:x:65534:\n",
		"hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"hostname":      "sandbox\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"resolv.conf":   "",
	}
}

// bindTrees plans the policy's trees, outer ones first.
func (p *plan) bindTrees() {
	for _, t := range p.res.trees {
		l, at := p.layerOf(t.path)
		if l == nil {
			p.bind(t, t.path)
			continue
		}
		layer := layerTree(l)
		if l.Copied {
			p.bind(layer, t.path)
			continue
		}
		p.bind(lowerTree(t), at+"/lower")
		p.bind(layer, at+"/layer")
		m := launch.Mount{Kind: launch.MountOverlay, Source: at, Target: t.path, Attr: writableMount}
		if l.Below != "" {
			p.bind(tree{path: l.Below}, at+"/base")
			m.Tree = 1
		}
		p.add(m)
	}
	if p.over != nil {
		p.layers = append(p.layers, p.over.describe())
	}
}

// layerOf returns the layer of a tree, with where the parts of its overlay are mounted first; nil where the tree is shown as
// it is.
func (p *plan) layerOf(root string) (l *Layer, at string) {
	if p.cache != nil && p.cache.Root == root {
		return &p.cache.Layer, "/.cache"
	}
	l, n := p.over.of(root)
	return l, "/.layers" + strconv.Itoa(n)
}

// lowerTree is a tree below an overlay: nothing writes to it. layerTree is the layer's, or the copy.
func lowerTree(t tree) tree { return tree{path: t.path} }

func layerTree(l *Layer) tree {
	if l.Copied {
		return tree{l.Upper, MountPrivate}
	}
	return tree{filepath.Dir(l.Upper), MountPrivate}
}

// bind plans one mount of a tree of the host.
func (p *plan) bind(t tree, target string) {
	m := launch.Mount{Kind: launch.MountBind, Source: t.path, Target: target, Attr: readOnlyMount}
	if t.writable() {
		m.Attr = writableMount
	}
	if i := slices.Index(p.trees, t); i >= 0 && p.mapped {
		m.Kind, m.Tree, m.Source = launch.MountTree, i, ""
	} else {
		m.Device, m.Inode = p.seen(t.path)
	}
	p.add(m)
}

// inside plans what holds inside the trees: pinned parents of protected and hidden paths, which would go elsewhere with
// them, and these paths.
func (p *plan) inside() {
	pins := map[string]bool{}
	pin := func(path string) {
		root := p.res.treeOf(path)
		for d := filepath.Dir(path); root != nil && root.writable() && d != root.path && hostpath.Within(root.path, d); d = filepath.Dir(d) {
			pins[d] = true
		}
	}
	for _, path := range p.res.protected {
		pin(path)
	}
	for _, path := range p.res.hidden {
		pin(path)
	}
	for _, l := range p.res.changing {
		pin(l.At)
	}
	for dir := range p.res.opened {
		pin(dir)
		pins[dir] = true
	}
	for _, d := range slices.Sorted(maps.Keys(pins)) {
		p.add(launch.Mount{Kind: launch.MountSelf, Target: d})
	}
	for _, path := range p.res.protected {
		p.add(launch.Mount{Kind: launch.MountSelf, Target: path, Attr: unix.MOUNT_ATTR_RDONLY})
	}
	for _, path := range p.res.hidden {
		m := launch.Mount{Kind: launch.MountMask, Target: path}
		if p.pol.Redact != nil {
			m.Source = p.pol.Redact(path)
		}
		p.add(m)
	}
	for _, path := range p.res.sockets {
		p.add(launch.Mount{Kind: launch.MountMask, Target: path, Optional: true})
	}
}

// tierB plans what can be done without namespaces.
func (p *plan) tierB(scratch string, abi int) {
	p.layers = append(p.layers, "supervisor")
	p.spec.Notify, p.spec.Signals = true, abi < 6
	for i, e := range p.spec.Env {
		for _, name := range []string{"TMPDIR", "HOME"} {
			if v, ok := strings.CutPrefix(e, name+"="); ok && hostpath.Within("/tmp", v) {
				p.spec.Env[i] = name + "=" + scratch
			}
		}
	}
	if p.res.treeOf("/etc/gitconfig") == nil {
		p.spec.Env = append(p.spec.Env, "GIT_CONFIG_NOSYSTEM=1") // git gives up on a file that it sees and cannot read
	}
	cacheEnv(p.spec.Env, scratch)
	if hostpath.Within("/tmp", p.res.dir) && p.res.treeOf(p.res.dir) == nil {
		p.spec.Dir = scratch
	}
	if len(p.res.protected)+len(p.res.changing) > 0 || p.nestedReadOnly() {
		p.lacks(PropertyProtect, "protected paths inside writable trees can be changed")
	}
	if len(p.res.hidden) > 0 {
		p.lacks(PropertyHide, "hidden paths inside readable trees can be read")
	}
	p.lacks(PropertyMetadata, "modes and times of any file of this user can be changed, and names seen")
	p.missing = append(p.missing, "private /tmp: a directory of its own instead")
	if len(p.pol.Files) > 0 {
		p.missing = append(p.missing, "files that exist in the sandbox only")
	}
	if abi < 3 {
		p.lacks(PropertyWrite, "truncate: files outside can be emptied (Landlock before version 3)")
	}
}

// nestedReadOnly reports whether a tree that is not writable is inside one that is, which Landlock cannot express.
func (p *plan) nestedReadOnly() bool {
	for _, t := range p.res.trees {
		if t.writable() {
			continue
		}
		if outer := p.res.treeOf(filepath.Dir(t.path)); outer != nil && outer.writable() {
			return true
		}
	}
	return false
}

// withProxy names the proxy to the program.
func withProxy(env []string) []string {
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
		env = append(env, name+"="+proxyURL)
	}
	return append(env, "no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1")
}

func lookupEnv(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
