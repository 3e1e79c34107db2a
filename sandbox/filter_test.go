package sandbox

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
)

// judge runs a filter in a virtual machine, for any architecture.
type judge struct {
	t  *testing.T
	vm *bpf.VM
}

func newJudge(t *testing.T, cfg filterConfig) judge {
	t.Helper()
	code, err := buildFilter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for ; len(code) > 0; code = code[8:] {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(code), Jt: code[2], Jf: code[3], K: binary.LittleEndian.Uint32(code[4:]),
		})
	}
	if len(raw) > 4096 {
		t.Fatalf("%d instructions are more than the kernel takes", len(raw))
	}
	prog, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter cannot be read back")
	}
	vm, err := bpf.NewVM(prog)
	if err != nil {
		t.Fatal(err)
	}
	return judge{t, vm}
}

// ask returns the action for a system call. The machine reads big-endian numbers, the kernel its own; only their order
// within a field differs.
func (j judge) ask(audit, nr uint32, args ...uint64) uint32 {
	j.t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], nr)
	binary.BigEndian.PutUint32(data[offsetArch:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArgs+8*i+4:], uint32(a>>32))
	}
	action, err := j.vm.Run(data)
	if err != nil {
		j.t.Fatal(err)
	}
	return uint32(action)
}

// What a filter says.
const (
	allowed = actionAllow
	eperm   = actionErrno | errnoEPERM
	enosys  = actionErrno | errnoENOSYS
	family  = actionErrno | errnoEAFNOSUPPORT
)

// archTest is an architecture whose filters are judged.
type archTest struct {
	name         string
	audit, other uint32
	number       func(sysno) int
}

var archTests = []archTest{
	{"amd64", auditAMD64, auditARM64, func(s sysno) int { return s.amd64 }},
	{"arm64", auditARM64, auditAMD64, func(s sysno) int { return s.arm64 }},
}

// checker asks about one system call after another.
type checker struct {
	judge
	arch       archTest
	namespaces bool
}

func (c checker) check(want uint32, s sysno, args ...uint64) {
	c.t.Helper()
	if nr := c.arch.number(s); nr >= 0 {
		if got := c.ask(c.arch.audit, uint32(nr), args...); got != want {
			c.t.Errorf("%s%v: %#x, not %#x", s.name, args, got, want)
		}
	}
}

// either returns the first with namespaces and the second without.
func (c checker) either(with, without uint32) uint32 {
	if c.namespaces {
		return with
	}
	return without
}

func TestFilters(t *testing.T) {
	for _, arch := range archTests {
		for _, namespaces := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s namespaces %v", arch.name, namespaces), func(t *testing.T) {
				cfg := filterConfig{arch: arch.name, namespaces: namespaces, memoryGroup: true, notify: !namespaces, signals: !namespaces}
				c := checker{newJudge(t, cfg), arch, namespaces}
				c.foreign()
				c.files()
				c.processes()
				c.sockets()
				for _, s := range denied {
					c.check(eperm, s)
				}
			})
		}
	}
}

func (c checker) foreign() {
	if got := c.ask(c.arch.other, 0); got != actionKill {
		c.t.Errorf("a foreign architecture: %#x", got)
	}
	if got := c.ask(0x40000003, 1); got != actionKill {
		c.t.Errorf("the 32-bit entry: %#x", got)
	}
	want := uint32(actionKill)
	if c.arch.name == "arm64" {
		want = enosys // there is no such thing as x32
	}
	if got := c.ask(c.arch.audit, x32+39); got != want {
		c.t.Errorf("x32: %#x", got)
	}
	for _, nr := range []uint32{lastSyscall + 1, 470, 500, 1000, 0x3fffffff} {
		if got := c.ask(c.arch.audit, nr); got != enosys {
			c.t.Errorf("system call %d: %#x", nr, got)
		}
	}
	c.check(allowed, sysno{"read", 0, 63})
	c.check(allowed, sysno{"execve", 59, 221})
}

func (c checker) files() {
	c.check(allowed, sysOpenat, 0, 0, 0, 0o7777) // without O_CREAT the mode is garbage
	c.check(allowed, sysOpenat, 0, 0, 0o100, 0o755)
	c.check(eperm, sysOpenat, 0, 0, 0o100, 0o4755)
	c.check(eperm, sysOpenat, 0, 0, 0o20200000, 0o2755)
	c.check(eperm, sysOpen, 0, 0o100, 0o4755)
	c.check(allowed, sysOpen, 0, 0, 0o4755)
	c.check(enosys, sysOpenat2)
	for _, m := range modeArguments {
		bad, good := make([]uint64, 4), make([]uint64, 4)
		bad[m.arg], good[m.arg] = 0o4000, 0o1777
		c.check(eperm, m.sysno, bad...)
		c.check(allowed, m.sysno, good...)
	}
	for _, cmd := range []uint64{ioctlTIOCSTI, ioctlTIOCLINUX, ioctlTIOCSETD, ioctlTIOCCONS, 1<<32 | ioctlTIOCSTI} {
		c.check(eperm, sysIoctl, 0, cmd)
	}
	c.check(allowed, sysIoctl, 0, 0x5401)
	c.check(c.either(allowed, eperm), sysno{"setxattr", 188, 5})
}

func (c checker) processes() {
	c.check(enosys, sysClone3)
	c.check(c.either(allowed, actionNotify), sysClone, 17)
	for _, flag := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		c.check(eperm, sysClone, 17|flag)
	}
	c.check(allowed, sysPrlimit, 0, limitNproc, 0)
	c.check(eperm, sysPrlimit, 0, limitNproc, 0xdead0000)
	c.check(eperm, sysPrlimit, 0, limitNproc, 0x100000000)
	c.check(allowed, sysPrlimit, 0, 7, 0xdead0000)
	c.check(eperm, sysSetrlimit, limitNproc, 1)
	c.check(allowed, sysSetrlimit, 7, 1)
	c.check(allowed, sysPersonality, 0xffffffff)
	c.check(eperm, sysPersonality, 0x400000)
	c.check(allowed, sysSetaffinity, 0)
	others := c.either(allowed, eperm)
	c.check(others, sysPrlimit, 99, 7, 1)
	c.check(others, sysSetpriority, 0, 99)
	c.check(others, sysSetpriority, 2, 0)
	c.check(others, sysno{"shmat", 30, 196}, 5)
	c.check(c.either(allowed, actionNotify), sysno{"kill", 62, 129}, 1, 9)
}

func (c checker) sockets() {
	inet := c.either(allowed, family)
	c.check(inet, sysSocket, familyUnix, 1)
	c.check(inet, sysSocket, familyInet, 1)
	c.check(inet, sysSocket, familyInet6, 2|0o2000000)
	for _, f := range []uint64{3, 4, familyNetlink, 17, 29, 30, 38, 40, 43, 44} {
		c.check(family, sysSocket, f, 3)
	}
	raw := c.either(eperm, family)
	c.check(raw, sysSocket, familyInet, socketRaw)
	c.check(raw, sysSocket, familyInet6, socketRaw|0o2000000)
	c.check(allowed, sysSocketpair, familyUnix, 1)
	c.check(family, sysSocketpair, familyInet, 1)
}

func TestFilterWithoutAMemoryGroup(t *testing.T) {
	for _, arch := range archTests {
		c := checker{newJudge(t, filterConfig{arch: arch.name, namespaces: true, cores: true}), arch, true}
		for _, s := range hiddenMemory {
			c.check(enosys, s)
		}
		c.check(eperm, sysSetaffinity)
	}
}

func TestFilterForAnOpenNetwork(t *testing.T) {
	for _, arch := range archTests {
		c := checker{newJudge(t, filterConfig{arch: arch.name, network: NetworkOpen, memoryGroup: true}), arch, false}
		for f, want := range map[uint64]uint32{familyInet: allowed, familyNetlink: allowed, familyUnix: family, 40: family} {
			c.check(want, sysSocket, f, 1, 0)
		}
		c.check(family, sysSocket, familyNetlink, 3, 9)
	}
}

func BenchmarkBuildFilter(b *testing.B) {
	for b.Loop() {
		if _, err := buildFilter(filterConfig{arch: "amd64", namespaces: true}); err != nil {
			b.Fatal(err)
		}
	}
}
