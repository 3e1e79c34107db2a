package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups finds, once, where control groups may be made: only below the group we are in, so that nothing leaves the
// limits that somebody gave us, or beside it in a group that was delegated to us as a whole.
type cgroups struct {
	mark   string
	looked bool
	v2     string
	v1     map[string]string // by controller
	seq    uint64
}

// controllers are those of use. With version 1, memory and pids are.
var controllers = []string{"memory", "pids", "cpu"}

const groupPrefix = "tongs-"

// cgroup is the group, or with version 1 the groups, of one sandbox. A nil one holds nothing.
type cgroup struct {
	v2     string
	dir    int // descriptor of v2, or -1
	v1     map[string]string
	memory bool // the memory limit holds
}

func (c *cgroups) look() {
	if c.looked {
		return
	}
	c.looked, c.v1 = true, map[string]string{}
	own := ownGroups()
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		sep := indexOf(f, "-")
		if sep < 6 || sep+3 >= len(f) {
			continue
		}
		root, point, kind, options := f[3], f[4], f[sep+1], f[sep+3]
		switch kind {
		case "cgroup2":
			if path, ok := own[""]; ok {
				c.v2 = delegated(below(point, root, path))
			}
		case "cgroup":
			for _, ctl := range controllers {
				if path, ok := own[ctl]; ok && indexOf(strings.Split(options, ","), ctl) >= 0 {
					c.v1[ctl] = below(point, root, path)
				}
			}
		}
	}
	if c.v2 != "" {
		for _, ctl := range controllers {
			_ = writeTo(c.v2+"/cgroup.subtree_control", "+"+ctl)
		}
	}
	for _, dir := range c.v1 {
		removeAbandoned(dir)
	}
	removeAbandoned(c.v2)
}

// ownGroups returns the group we are in, by controller; "" is version 2.
func ownGroups() map[string]string {
	own := map[string]string{}
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, ctl := range strings.Split(f[1], ",") {
			own[ctl] = f[2]
		}
	}
	return own
}

// below returns where the group path is when root is mounted at point, or "" when it is not mounted.
func below(point, root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.Join(point, rel)
}

// delegated returns the parent of a group if somebody delegated it as a whole (systemd marks it), otherwise the group.
func delegated(dir string) string {
	var b [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(filepath.Dir(dir), name, b[:]); err == nil && string(b[:n]) == "1" {
			return filepath.Dir(dir)
		}
	}
	return dir
}

// removeAbandoned removes the groups of keepers that are gone.
func removeAbandoned(dir string) {
	if dir == "" {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if mark, ok := strings.CutPrefix(e.Name(), groupPrefix); ok && e.IsDir() && abandoned(mark) {
			_ = unix.Rmdir(dir + "/" + e.Name())
		}
	}
}

// create makes a group, with no limits yet. A machine that allows none gives one that holds nothing.
func (c *cgroups) create() *cgroup {
	c.look()
	c.seq++
	name := groupPrefix + c.mark + "-" + strconv.FormatUint(c.seq, 10)
	g := &cgroup{dir: -1, v1: map[string]string{}}
	if c.v2 != "" {
		g.makeV2(c.v2 + "/" + name)
	}
	for _, ctl := range []string{"memory", "pids"} {
		base := c.v1[ctl]
		if base == "" || g.v2 != "" && unix.Access(g.v2+"/"+ctl+".max", unix.W_OK) == nil {
			continue
		}
		if dir := base + "/" + name; unix.Mkdir(dir, 0o755) == nil {
			g.v1[ctl] = dir
		}
	}
	return g
}

func (g *cgroup) makeV2(dir string) {
	if unix.Mkdir(dir, 0o755) != nil {
		return
	}
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Rmdir(dir)
		return
	}
	g.v2, g.dir = dir, fd
}

const period = 100000

// limit sets the limits and returns the names of those that hold: memory, processes, cores; and kill, if the whole
// group can be killed at once.
func (g *cgroup) limit(lim CgroupLimits) (held []string) {
	if g == nil {
		return nil
	}
	set := func(name string, wanted bool, file, v2, v1 string) {
		if !wanted {
			return
		}
		path := g.v2 + "/" + file
		if dir := g.v1[strings.SplitN(file, ".", 2)[0]]; dir != "" {
			path = dir + "/" + v1
		} else if g.v2 == "" {
			return
		}
		if writeTo(path, v2) == nil {
			held = append(held, name)
		}
	}
	max := strconv.FormatUint(lim.Memory, 10)
	set("memory", lim.Memory > 0, "memory.max", max, "memory.limit_in_bytes")
	set("processes", lim.Processes > 0, "pids.max", strconv.FormatUint(lim.Processes+Headroom, 10), "pids.max")
	set("cores", lim.Cores > 0, "cpu.max", strconv.Itoa(lim.Cores*period)+" "+strconv.Itoa(period), "")
	g.memory = indexOf(held, "memory") >= 0
	if dir := g.v1["memory"]; dir != "" {
		_ = writeTo(dir+"/memory.memsw.limit_in_bytes", max)
	} else if g.v2 != "" && g.memory {
		_ = writeTo(g.v2+"/memory.swap.max", "0")
		_ = writeTo(g.v2+"/memory.oom.group", "1")
	}
	if g.v2 != "" && unix.Access(g.v2+"/cgroup.kill", unix.W_OK) == nil {
		held = append(held, "kill")
	}
	return held
}

// fd returns the descriptor to start a process in the group with, or -1.
func (g *cgroup) fd() int {
	if g == nil {
		return -1
	}
	return g.dir
}

// add moves a process that has not started anything yet into the groups of version 1.
func (g *cgroup) add(pid int) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.v1 {
		if err := writeTo(dir+"/cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// kill kills everything in the group at once, where the kernel can.
func (g *cgroup) kill() {
	if g != nil && g.v2 != "" {
		_ = writeTo(g.v2+"/cgroup.kill", "1")
	}
}

// figures returns how often the kernel killed for want of memory, and the peak.
func (g *cgroup) figures() (oom, peak uint64) {
	if g == nil || !g.memory {
		return 0, 0
	}
	events, peakFile := g.v2+"/memory.events", g.v2+"/memory.peak"
	if dir := g.v1["memory"]; dir != "" {
		events, peakFile = dir+"/memory.oom_control", dir+"/memory.max_usage_in_bytes"
	}
	b, _ := os.ReadFile(events)
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
			oom, _ = strconv.ParseUint(strings.TrimSpace(v), 10, 64)
		}
	}
	b, _ = os.ReadFile(peakFile)
	peak, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return oom, peak
}

// remove removes the groups, which takes until the last process in them has left.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.dir >= 0 {
		_ = unix.Close(g.dir)
	}
	dirs := []string{}
	if g.v2 != "" {
		dirs = append(dirs, g.v2)
	}
	for _, dir := range g.v1 {
		dirs = append(dirs, dir)
	}
	for range 500 {
		left := dirs[:0]
		for _, dir := range dirs {
			if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT {
				left = append(left, dir)
			}
		}
		if dirs = left; len(dirs) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// writeTo writes a value to a file of the kernel's, which must exist.
func writeTo(path, value string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(value))
	_ = unix.Close(fd)
	return err
}

func indexOf(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}
