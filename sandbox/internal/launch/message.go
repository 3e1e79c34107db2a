package launch

// The first arguments (argv[0]) under which a program is a part of the sandbox rather than itself.
const (
	KeeperName = "tongs-launch-keeper"
	initName   = "tongs-launch-init"
	idleName   = "tongs-launch-idle"
)

// Kind is the type of a message between host and init.
type Kind byte

// Messages from the host to init. The end of the stream means that the host is gone: init kills everything and exits.
const (
	MsgTrees Kind = 'T' // descriptors of detached mounts, in order
	MsgSpec  Kind = 'S' // the encoded Spec
	MsgKill  Kind = 'K' // kill everything, then report
	MsgAsk   Kind = 'Q' // a Question
)

// msgBegin, from the keeper to an init in reserve, carries the descriptors of a run: control, stdin, stdout, stderr.
const msgBegin Kind = 'B'

// Messages from init to the host.
const (
	MsgListener Kind = 'L' // the descriptor of a listening socket; its port, in decimal
	MsgAnswer   Kind = 'A' // an Answer, with a socket where one was asked for
	MsgTerminal Kind = 'P' // the descriptor of the terminal's master
	MsgSetup    Kind = 'E' // setting up failed; the text says where
	MsgStale    Kind = 'M' // like MsgSetup, because a path is not what the host saw there: try again with Fresh
	MsgOverlay  Kind = 'O' // like MsgSetup, because an overlay could not be mounted
	MsgExec     Kind = 'X' // the program could not be executed; the text says why
	MsgStarted  Kind = 'U' // a Started
	MsgDone     Kind = 'D' // a Done; the last message
)

// Started says that everything in the spec holds from now on, except what is Missing.
type Started struct {
	Missing []string
}

// Encode returns the message as bytes.
func (s *Started) Encode() []byte {
	e := &encoder{}
	e.strs(s.Missing)
	return e.b
}

// DecodeStarted reads what Encode wrote.
func DecodeStarted(b []byte) (*Started, error) {
	d := &decoder{b: b}
	s := &Started{Missing: d.strs()}
	return s, d.done()
}

// Done says how the command ended.
type Done struct {
	Exit, Signal int
	// User and System are processor times in nanoseconds, MaxRSS the peak of the largest process in bytes.
	User, System, MaxRSS int64
	// Leftover counts the processes that were alive after the command itself ended.
	Leftover int64
	// Limit names the limit that init enforced by killing everything.
	Limit string
}

// Encode returns the message as bytes.
func (m *Done) Encode() []byte {
	e := &encoder{}
	e.int(int64(m.Exit))
	e.int(int64(m.Signal))
	e.int(m.User)
	e.int(m.System)
	e.int(m.MaxRSS)
	e.int(m.Leftover)
	e.str(m.Limit)
	return e.b
}

// DecodeDone reads what Encode wrote.
func DecodeDone(b []byte) (*Done, error) {
	d := &decoder{b: b}
	m := &Done{Exit: int(d.int()), Signal: int(d.int()), User: d.int(), System: d.int(), MaxRSS: d.int(), Leftover: d.int(), Limit: d.str()}
	return m, d.done()
}

// Op is what the host asks the keeper for.
type Op byte

// The requests. Each is answered by one Reply.
const (
	OpHello  Op = 'H' // Reply.ID is the protocol's version
	OpStart  Op = 'S' // start init; descriptors: control, stdin, stdout, stderr
	OpFinish Op = 'F' // init of run ID ended, or shall: reap it, return its figures, remove what belongs to it
	OpIdmap  Op = 'I' // a user namespace that maps UID and GID to MappedID; the reply carries its descriptor
)

// Request is a message from the host to the keeper.
type Request struct {
	Op Op
	ID uint64

	// Swept, of OpFinish, says that init reported the end of everything but itself.
	Swept bool
	// Namespaces and NetNS say which to make; Mapped says to run as MappedID outside and SandboxID inside.
	Namespaces, NetNS, Mapped bool
	// Fresh says not to use an init in reserve, which was started before something was mounted.
	Fresh    bool
	UID, GID int
	// Scratch asks for a private directory below the directory of this name.
	Scratch string
	Cgroup  CgroupLimits
}

// CgroupLimits are what a control group shall hold, 0 for nothing.
type CgroupLimits struct {
	Memory, Processes uint64
	Cores             int
}

const (
	// MappedID is a user and group that nobody has: what root's sandboxes run as.
	MappedID = 1879048192 + 4242
	// SandboxID is what MappedID is called inside.
	SandboxID = 1000
	// Headroom are the tasks that init may need besides the command's.
	Headroom = 24
)

// Encode returns the request as bytes.
func (r *Request) Encode() []byte {
	e := &encoder{}
	e.uint(uint64(r.Op))
	e.uint(r.ID)
	e.bool(r.Swept)
	e.bool(r.Namespaces)
	e.bool(r.NetNS)
	e.bool(r.Mapped)
	e.bool(r.Fresh)
	e.int(int64(r.UID))
	e.int(int64(r.GID))
	e.str(r.Scratch)
	e.uint(r.Cgroup.Memory)
	e.uint(r.Cgroup.Processes)
	e.uint(uint64(r.Cgroup.Cores))
	return e.b
}

func decodeRequest(b []byte) (*Request, error) {
	d := &decoder{b: b}
	r := &Request{
		Op: Op(d.uint()), ID: d.uint(), Swept: d.bool(), Namespaces: d.bool(), NetNS: d.bool(), Mapped: d.bool(), Fresh: d.bool(), UID: int(d.int()), GID: int(d.int()),
		Scratch: d.str(), Cgroup: CgroupLimits{Memory: d.uint(), Processes: d.uint(), Cores: int(d.uint())},
	}
	return r, d.done()
}

// Reply is the keeper's answer.
type Reply struct {
	// Error is why the request failed, with its errno where there is one.
	Error string
	Errno int
	ID    uint64
	PID   int
	// Scratch is the private directory.
	Scratch string
	// Held names the limits that a control group holds: memory, processes, cores, kill.
	Held []string
	// OOM counts processes that the kernel killed for want of memory; Peak is the group's greatest use of it, in bytes.
	OOM, Peak uint64
}

func (r *Reply) encode() []byte {
	e := &encoder{}
	e.str(r.Error)
	e.int(int64(r.Errno))
	e.uint(r.ID)
	e.int(int64(r.PID))
	e.str(r.Scratch)
	e.strs(r.Held)
	e.uint(r.OOM)
	e.uint(r.Peak)
	return e.b
}

// DecodeReply reads the keeper's answer.
func DecodeReply(b []byte) (*Reply, error) {
	d := &decoder{b: b}
	r := &Reply{
		Error: d.str(), Errno: int(d.int()), ID: d.uint(), PID: int(d.int()), Scratch: d.str(), Held: d.strs(), OOM: d.uint(), Peak: d.uint(),
	}
	return r, d.done()
}
