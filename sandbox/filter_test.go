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

func TestFilters(t *testing.T) {
	const (
		allowed = actionAllow
		eperm   = actionErrno | errnoEPERM
		enosys  = actionErrno | errnoENOSYS
		family  = actionErrno | errnoEAFNOSUPPORT
	)
	for _, arch := range []struct {
		name         string
		audit, other uint32
		number       func(sysno) int
	}{
		{"amd64", auditAMD64, auditARM64, func(s sysno) int { return s.amd64 }},
		{"arm64", auditARM64, auditAMD64, func(s sysno) int { return s.arm64 }},
	} {
		for _, namespaces := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s namespaces %v", arch.name, namespaces), func(t *testing.T) {
				j := newJudge(t, filterConfig{arch: arch.name, namespaces: namespaces, memoryGroup: true, notify: !namespaces, signals: !namespaces})
				check := func(want uint32, s sysno, args ...uint64) {
					t.Helper()
					if nr := arch.number(s); nr >= 0 {
						if got := j.ask(arch.audit, uint32(nr), args...); got != want {
							t.Errorf("%s%v: %#x, not %#x", s.name, args, got, want)
						}
					}
				}
				if got := j.ask(arch.other, 0); got != actionKill {
					t.Errorf("a foreign architecture: %#x", got)
				}
				if got := j.ask(0x40000003, 1); got != actionKill {
					t.Errorf("the 32-bit entry: %#x", got)
				}
				if got := j.ask(arch.audit, x32+39); arch.name == "amd64" && got != actionKill || arch.name == "arm64" && got != enosys {
					t.Errorf("x32: %#x", got)
				}
				for _, nr := range []uint32{lastSyscall + 1, 470, 500, 1000, 0x3fffffff} {
					if got := j.ask(arch.audit, nr); got != enosys {
						t.Errorf("system call %d: %#x", nr, got)
					}
				}
				for _, s := range denied {
					check(eperm, s)
				}
				check(allowed, sysno{"read", 0, 63})
				check(allowed, sysno{"execve", 59, 221})
				check(allowed, sysOpenat, 0, 0, 0, 0o7777) // without O_CREAT the mode is garbage
				check(allowed, sysOpenat, 0, 0, 0o100, 0o755)
				check(eperm, sysOpenat, 0, 0, 0o100, 0o4755)
				check(eperm, sysOpenat, 0, 0, 0o20200000, 0o2755)
				check(eperm, sysOpen, 0, 0o100, 0o4755)
				check(allowed, sysOpen, 0, 0, 0o4755)
				check(enosys, sysOpenat2)
				check(enosys, sysClone3)
				for _, m := range modeArguments {
					bad, good := make([]uint64, 4), make([]uint64, 4)
					bad[m.arg], good[m.arg] = 0o4000, 0o1777
					check(eperm, m.sysno, bad...)
					check(allowed, m.sysno, good...)
				}
				fork := uint32(allowed)
				if !namespaces {
					fork = actionNotify
				}
				check(fork, sysClone, 17)
				for _, flag := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
					check(eperm, sysClone, 17|flag)
				}
				for _, cmd := range []uint64{ioctlTIOCSTI, ioctlTIOCLINUX, ioctlTIOCSETD, ioctlTIOCCONS, 1<<32 | ioctlTIOCSTI} {
					check(eperm, sysIoctl, 0, cmd)
				}
				check(allowed, sysIoctl, 0, 0x5401)
				inet := uint32(family)
				if namespaces {
					inet = allowed
				}
				check(inet, sysSocket, familyUnix, 1)
				check(inet, sysSocket, familyInet, 1)
				check(inet, sysSocket, familyInet6, 2|0o2000000)
				for _, f := range []uint64{3, 4, familyNetlink, 17, 29, 30, 38, 40, 43, 44} {
					check(family, sysSocket, f, 3)
				}
				if namespaces {
					check(eperm, sysSocket, familyInet, socketRaw)
					check(eperm, sysSocket, familyInet6, socketRaw|0o2000000)
				}
				check(allowed, sysSocketpair, familyUnix, 1)
				check(family, sysSocketpair, familyInet, 1)
				check(allowed, sysPrlimit, 0, limitNproc, 0)
				check(eperm, sysPrlimit, 0, limitNproc, 0xdead0000)
				check(eperm, sysPrlimit, 0, limitNproc, 0x100000000)
				check(allowed, sysPrlimit, 0, 7, 0xdead0000)
				check(eperm, sysSetrlimit, limitNproc, 1)
				check(allowed, sysSetrlimit, 7, 1)
				check(allowed, sysPersonality, 0xffffffff)
				check(eperm, sysPersonality, 0x400000)
				check(allowed, sysSetaffinity, 0)
				others := uint32(allowed)
				if !namespaces {
					others = eperm
				}
				check(others, sysPrlimit, 99, 7, 1)
				check(others, sysSetpriority, 0, 99)
				check(others, sysSetpriority, 2, 0)
				check(others, sysno{"shmat", 30, 196}, 5)
				check(others, sysno{"setxattr", 188, 5})
				kill := uint32(allowed)
				if !namespaces {
					kill = actionNotify
				}
				check(kill, sysno{"kill", 62, 129}, 1, 9)
			})
		}
		t.Run(arch.name+" without a memory group", func(t *testing.T) {
			j := newJudge(t, filterConfig{arch: arch.name, namespaces: true, cores: true})
			for _, s := range hiddenMemory {
				if got := j.ask(arch.audit, uint32(arch.number(s))); got != enosys {
					t.Errorf("%s: %#x", s.name, got)
				}
			}
			if got := j.ask(arch.audit, uint32(arch.number(sysSetaffinity))); got != eperm {
				t.Errorf("affinity: %#x", got)
			}
		})
		t.Run(arch.name+" open network", func(t *testing.T) {
			j := newJudge(t, filterConfig{arch: arch.name, network: NetworkOpen, memoryGroup: true})
			for f, want := range map[uint64]uint32{familyInet: allowed, familyNetlink: allowed, familyUnix: family, 40: family} {
				if got := j.ask(arch.audit, uint32(arch.number(sysSocket)), f, 1, 0); got != want {
					t.Errorf("family %d: %#x", f, got)
				}
			}
			if got := j.ask(arch.audit, uint32(arch.number(sysSocket)), familyNetlink, 3, 9); got != family {
				t.Errorf("netlink audit: %#x", got)
			}
		})
	}
}

func BenchmarkBuildFilter(b *testing.B) {
	for b.Loop() {
		if _, err := buildFilter(filterConfig{arch: "amd64", namespaces: true}); err != nil {
			b.Fatal(err)
		}
	}
}
