package sandbox

import (
	"encoding/binary"

	"golang.org/x/net/bpf"

	"github.com/tongs-ai/tongs"
)

// filterConfig says which system call filter is wanted.
type filterConfig struct {
	arch string
	// namespaces is set in tier A. Without them, more has to be refused.
	namespaces bool
	network    NetworkMode
	// memoryGroup says that a control group counts memory; cores that the processors are limited by affinity.
	memoryGroup, cores bool
	// notify sends forks to the supervisor, signals those too.
	notify, signals bool
}

// What a filter returns.
const (
	actionKill   = 0x80000000
	actionErrno  = 0x00050000
	actionNotify = 0x7fc00000
	actionAllow  = 0x7fff0000

	errnoEPERM        = 1
	errnoENOSYS       = 38
	errnoEAFNOSUPPORT = 97
)

// Where struct seccomp_data has its fields. Both architectures are little-endian.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
	x32        = 0x40000000

	openCreate    = 0o100 | 0o20000000 // O_CREAT, and the bit of O_TMPFILE that says so
	setIDs        = 0o6000
	cloneNew      = 0x7e020000 // CLONE_NEW*, without NEWTIME, which clone(2) does not take
	limitNproc    = 6
	familyUnix    = 1
	familyInet    = 2
	familyInet6   = 10
	familyNetlink = 16
	socketRaw     = 3
	socketPacket  = 10

	ioctlTIOCSTI   = 0x5412
	ioctlTIOCLINUX = 0x541c
	ioctlTIOCSETD  = 0x5423
	ioctlTIOCCONS  = 0x541d
)

// filter is a seccomp program in the making. It is a list of blocks, each for one system call and each ending in a
// return, so that no block depends on another. A call that is often made comes early.
type filter struct {
	cfg  filterConfig
	code []bpf.Instruction
}

// buildFilter returns the program for a configuration, as the kernel takes it. Everything that is not refused is
// allowed, but nothing is that these tables do not know: a foreign architecture is killed, a newer call is ENOSYS.
func buildFilter(cfg filterConfig) ([]byte, error) {
	f := &filter{cfg: cfg}
	f.prologue()
	f.opens()
	f.ioctls()
	f.clones()
	f.sockets()
	for _, c := range modeArguments {
		f.when(c.sysno, loadArg(c.arg), ifBits(setIDs, errno(errnoEPERM)), allow)
	}
	f.limits()
	if !cfg.memoryGroup {
		for _, c := range hiddenMemory {
			f.when(c, errno(errnoENOSYS))
		}
	}
	if !cfg.namespaces {
		f.sharedWithOthers()
	}
	for _, c := range denied {
		f.when(c, errno(errnoEPERM))
	}
	f.code = append(f.code, flat(allow)...)
	return assemble(f.code)
}

func assemble(code []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeInternal, "the system call filter cannot be assembled: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, i := range raw {
		out = binary.LittleEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.LittleEndian.AppendUint32(out, i.K)
	}
	return out, nil
}

// block is a piece of a program.
type block []bpf.Instruction

func flat(blocks ...block) (all block) {
	for _, b := range blocks {
		all = append(all, b...)
	}
	return all
}

func ret(v uint32) block   { return block{bpf.RetConstant{Val: v}} }
func errno(e uint32) block { return ret(actionErrno | e) }

var allow = ret(actionAllow)

// loadArg loads the low half of an argument. The kernel takes no more of the ones that are looked at.
func loadArg(n int) block {
	return block{bpf.LoadAbsolute{Off: uint32(offsetArgs + 8*n), Size: 4}}
}

// ifBits runs then when any of the bits is set, ifEqual when the value is v, ifNot when it is not.
func ifBits(mask uint32, then block) block {
	return append(block{bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: mask, SkipTrue: uint8(len(then))}}, then...)
}

func ifEqual(v uint32, then block) block {
	return append(block{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: uint8(len(then))}}, then...)
}

func ifNot(v uint32, then block) block {
	return append(block{bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(then))}}, then...)
}

// when adds what happens to one system call. The blocks must end in a return.
func (f *filter) when(c sysno, blocks ...block) {
	nr := c.amd64
	if f.cfg.arch == "arm64" {
		nr = c.arm64
	}
	if nr >= 0 {
		f.code = append(f.code, ifEqual(uint32(nr), flat(blocks...))...)
	}
}

func (f *filter) prologue() {
	arch := uint32(auditAMD64)
	if f.cfg.arch == "arm64" {
		arch = auditARM64
	}
	f.code = flat(
		block{bpf.LoadAbsolute{Off: offsetArch, Size: 4}},
		ifNot(arch, ret(actionKill)),
		block{bpf.LoadAbsolute{Off: offsetNumber, Size: 4}},
	)
	if f.cfg.arch == "amd64" {
		f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1}, bpf.RetConstant{Val: actionKill})
	}
	f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: lastSyscall, SkipTrue: 1}, bpf.RetConstant{Val: actionErrno | errnoENOSYS})
}

// opens keeps set-user-ID files from being made. The mode counts only when a file is created; without, it is garbage.
func (f *filter) opens() {
	f.when(sysOpenat, loadArg(2), ifBits(openCreate, flat(loadArg(3), ifBits(setIDs, errno(errnoEPERM)))), allow)
	f.when(sysOpen, loadArg(1), ifBits(openCreate, flat(loadArg(2), ifBits(setIDs, errno(errnoEPERM)))), allow)
	f.when(sysOpenat2, errno(errnoENOSYS)) // its mode is behind a pointer; programs fall back to openat
}

// ioctls refuses those that put words into a terminal's mouth.
func (f *filter) ioctls() {
	no := errno(errnoEPERM)
	f.when(sysIoctl, loadArg(1), ifEqual(ioctlTIOCSTI, no), ifEqual(ioctlTIOCLINUX, no), ifEqual(ioctlTIOCSETD, no),
		ifEqual(ioctlTIOCCONS, no), allow)
}

// clones refuses new namespaces, and leaves the rest to the supervisor where there is one.
func (f *filter) clones() {
	rest := allow
	if f.cfg.notify {
		rest = ret(actionNotify)
		for _, c := range forks[1:] {
			f.when(c, rest)
		}
	}
	f.when(sysClone, loadArg(0), ifBits(cloneNew, errno(errnoEPERM)), rest)
	f.when(sysClone3, errno(errnoENOSYS)) // its flags are behind a pointer; programs fall back to clone
}

// sockets allows families that cannot leave the sandbox, or may.
func (f *filter) sockets() {
	plain := flat(loadArg(1), block{bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}},
		ifEqual(socketRaw, errno(errnoEPERM)), ifEqual(socketPacket, errno(errnoEPERM)), allow)
	body := loadArg(0)
	if f.cfg.namespaces {
		body = append(body, ifEqual(familyUnix, allow)...)
	}
	if f.cfg.namespaces || f.cfg.network == NetworkOpen {
		body = append(body, ifEqual(familyInet, plain)...)
		body = append(body, ifEqual(familyInet6, plain)...)
	}
	if f.cfg.network == NetworkOpen {
		body = append(body, ifEqual(familyNetlink, flat(loadArg(2), ifEqual(0, allow), errno(errnoEAFNOSUPPORT)))...)
	}
	f.when(sysSocket, body, errno(errnoEAFNOSUPPORT))
	f.when(sysSocketpair, loadArg(0), ifEqual(familyUnix, allow), errno(errnoEAFNOSUPPORT))
}

// limits keeps the process limit, which is a soft one, from being raised, and the processors from being chosen.
func (f *filter) limits() {
	no := errno(errnoEPERM)
	low, high := loadArg(2), block{bpf.LoadAbsolute{Off: offsetArgs + 8*2 + 4, Size: 4}}
	f.when(sysPrlimit, flat(loadArg(1), ifEqual(limitNproc, flat(low, ifNot(0, no), high, ifNot(0, no)))), f.ownOnly(0), allow)
	f.when(sysSetrlimit, loadArg(0), ifEqual(limitNproc, no), allow)
	f.when(sysPersonality, loadArg(0), ifEqual(0, allow), ifEqual(0xffffffff, allow), no)
	if f.cfg.cores {
		f.when(sysSetaffinity, no)
	}
}

// ownOnly refuses, without namespaces, a call whose argument does not name the caller itself.
func (f *filter) ownOnly(arg int) block {
	if f.cfg.namespaces {
		return nil
	}
	return flat(loadArg(arg), ifNot(0, errno(errnoEPERM)))
}

// sharedWithOthers refuses what Landlock does not know and namespaces would have taken care of.
func (f *filter) sharedWithOthers() {
	no := errno(errnoEPERM)
	for _, c := range []sysno{sysSetpriority, sysIoprioSet} {
		f.when(c, loadArg(0), block{bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 1, SkipFalse: 1}}, no, loadArg(1), ifNot(0, no), allow)
	}
	for _, c := range schedulerOthers {
		f.when(c, f.ownOnly(0), allow)
	}
	for _, c := range shared {
		f.when(c, no)
	}
	if f.cfg.signals {
		for _, c := range signals {
			f.when(c, ret(actionNotify))
		}
	}
}
