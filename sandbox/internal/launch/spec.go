package launch

// Version is that of the protocol between host, keeper and init. A launcher of another version is not used.
const Version = 5

// Spec is what init shall do, computed by the host. Zero values switch a part off.
type Spec struct {
	// Namespaces says that init is the first process of its own namespaces (tier A); otherwise it supervises (tier B).
	Namespaces bool
	// Probe says to set everything up, check from inside that it holds, and run nothing.
	Probe bool

	Argv, Env []string
	Dir       string
	Hostname  string

	// Root is an existing directory that the new root is mounted on; Mounts fill it, in order.
	Root   string
	Mounts []Mount

	Landlock Landlock
	// Filter is the seccomp program, as the kernel takes it. Notify says that it sends forks, and signals where
	// Signals is set, to init.
	Filter          []byte
	Notify, Signals bool

	Rlimits []Rlimit
	// Processes is the greatest number of tasks, 0 for no limit.
	Processes uint64
	// Cores is the number of processors to stay on, 0 for all.
	Cores int

	Watch Watch

	// Loopback brings the interface up. Listen, when it is not 0, is the port of 127.0.0.1 whose listening socket is
	// sent to the host. Forward are further such ports.
	Loopback bool
	Listen   uint16
	Forward  []uint16

	PTY        bool
	Rows, Cols uint16

	// After is a time of the clock that files are stamped by, in nanoseconds: the command starts later. 0 is any time.
	After int64
}

// MountKind is what a Mount makes.
type MountKind uint8

// The kinds of mounts.
const (
	MountBind    MountKind = iota + 1 // Source, recursively, at Target
	MountTree                         // the detached tree with the index Tree, sent by the host, at Target
	MountTmpfs                        // a new tmpfs with the options Source
	MountProc                         // a new procfs
	MountDevpts                       // a new devpts
	MountSelf                         // Target on itself: it cannot be renamed, and gets the attributes
	MountMask                         // nothing readable over Target, or a file with the content Source
	MakeSymlink                       // not a mount: a link to Source
	MakeFile                          // not a mount: a read-only file with the content Source
	MakeDir                           // not a mount: an empty directory
	MountOverlay                      // an overlay of what is mounted at Source: lower, layer with upper and work in it, and where Tree is 1 base below lower
)

// Mount is one step of building the tree. Paths are absolute and free of links.
type Mount struct {
	Kind   MountKind
	Source string
	Target string
	Tree   int
	// Attr are the MOUNT_ATTR_ flags, set recursively.
	Attr uint64
	// Device and Inode are what the host saw at Source, 0 for not to look.
	Device, Inode uint64
	// Optional steps are left out when Target or Source is not there, or when the kernel refuses them and Missing is
	// not empty; Missing is then reported.
	Optional bool
	Missing  string
}

// Landlock is a ruleset. Handled 0 means none.
type Landlock struct {
	Handled, Net, Scoped uint64
	Rules                []PathRule
}

// PathRule allows accesses beneath a path. A path that does not exist is left out.
type PathRule struct {
	Path   string
	Access uint64
}

// Rlimit is a resource limit, soft and hard alike.
type Rlimit struct {
	Resource int
	Value    uint64
}

// Watch are the limits that init holds by looking, 0 for none.
type Watch struct {
	// Memory is resident memory of the whole tree, with what is in the Memories file systems.
	Memory   uint64
	Memories []string
	// CPU is processor time of the whole tree, in nanoseconds.
	CPU uint64
	// Disk and Files are the growth of what is in Paths.
	Disk, Files uint64
	Paths       []string
}

// Encode returns the spec as bytes.
func (s *Spec) Encode() []byte {
	e := &encoder{b: make([]byte, 0, 8192)}
	e.uint(Version)
	e.bool(s.Namespaces)
	e.bool(s.Probe)
	e.strs(s.Argv)
	e.strs(s.Env)
	e.str(s.Dir)
	e.str(s.Hostname)
	e.str(s.Root)
	e.uint(uint64(len(s.Mounts)))
	for i := range s.Mounts {
		s.Mounts[i].encode(e)
	}
	e.uint(s.Landlock.Handled)
	e.uint(s.Landlock.Net)
	e.uint(s.Landlock.Scoped)
	e.uint(uint64(len(s.Landlock.Rules)))
	for _, r := range s.Landlock.Rules {
		e.str(r.Path)
		e.uint(r.Access)
	}
	e.str(string(s.Filter))
	e.bool(s.Notify)
	e.bool(s.Signals)
	e.uint(uint64(len(s.Rlimits)))
	for _, r := range s.Rlimits {
		e.uint(uint64(r.Resource))
		e.uint(r.Value)
	}
	e.uint(s.Processes)
	e.uint(uint64(s.Cores))
	s.Watch.encode(e)
	e.bool(s.Loopback)
	e.uint(uint64(s.Listen))
	e.uint(uint64(len(s.Forward)))
	for _, port := range s.Forward {
		e.uint(uint64(port))
	}
	e.bool(s.PTY)
	e.uint(uint64(s.Rows))
	e.uint(uint64(s.Cols))
	e.int(s.After)
	return e.b
}

// DecodeSpec reads what Encode wrote.
func DecodeSpec(b []byte) (*Spec, error) {
	d := &decoder{b: b}
	if d.uint() != Version {
		return nil, errShort
	}
	s := &Spec{
		Namespaces: d.bool(), Probe: d.bool(), Argv: d.strs(), Env: d.strs(), Dir: d.str(), Hostname: d.str(), Root: d.str(),
	}
	s.Mounts = list(d, decodeMount)
	s.Landlock.Handled, s.Landlock.Net, s.Landlock.Scoped = d.uint(), d.uint(), d.uint()
	s.Landlock.Rules = list(d, func(d *decoder) PathRule { return PathRule{Path: d.str(), Access: d.uint()} })
	if f := d.str(); f != "" {
		s.Filter = []byte(f)
	}
	s.Notify, s.Signals = d.bool(), d.bool()
	s.Rlimits = list(d, func(d *decoder) Rlimit { return Rlimit{Resource: int(d.uint()), Value: d.uint()} })
	s.Processes, s.Cores = d.uint(), int(d.uint())
	s.Watch = Watch{
		Memory: d.uint(), Memories: d.strs(), CPU: d.uint(), Disk: d.uint(), Files: d.uint(), Paths: d.strs(),
	}
	s.Loopback, s.Listen = d.bool(), uint16(d.uint())
	s.Forward = list(d, func(d *decoder) uint16 { return uint16(d.uint()) })
	s.PTY, s.Rows, s.Cols = d.bool(), uint16(d.uint()), uint16(d.uint())
	s.After = d.int()
	return s, d.done()
}

func list[T any](d *decoder, one func(*decoder) T) []T {
	n := d.count()
	if n == 0 {
		return nil
	}
	v := make([]T, n)
	for i := range v {
		v[i] = one(d)
	}
	return v
}

func (m *Mount) encode(e *encoder) {
	e.uint(uint64(m.Kind))
	e.str(m.Source)
	e.str(m.Target)
	e.uint(uint64(m.Tree))
	e.uint(m.Attr)
	e.uint(m.Device)
	e.uint(m.Inode)
	e.bool(m.Optional)
	e.str(m.Missing)
}

func decodeMount(d *decoder) Mount {
	return Mount{
		Kind: MountKind(d.uint()), Source: d.str(), Target: d.str(), Tree: int(d.uint()), Attr: d.uint(), Device: d.uint(), Inode: d.uint(),
		Optional: d.bool(), Missing: d.str(),
	}
}

func (w *Watch) encode(e *encoder) {
	e.uint(w.Memory)
	e.strs(w.Memories)
	e.uint(w.CPU)
	e.uint(w.Disk)
	e.uint(w.Files)
	e.strs(w.Paths)
}
