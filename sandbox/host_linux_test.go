package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// testHost is a process of its own that uses the sandbox: one that a test kills, or that has its own mounts.
func testHost(job string) int {
	if err := hostJobs[job](os.Getenv("TONGS_TEST_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, job+":", err)
		return 1
	}
	return 0
}

var hostJobs = map[string]func(dir string) error{
	"mount":  mountAfterReserve,
	"busy":   busyHost,
	"nested": nestedHost,

	"unusual": unusualMachine,
}

// mountAfterReserve mounts something that the init in reserve does not see, and runs a command that must.
func mountAfterReserve(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	r, err := New(Options{Tiers: []string{TierA}})
	if err != nil {
		return err
	}
	defer r.Close()
	cat := func() (string, error) {
		pol := plainPolicy(dir)
		// A file system that cannot be mapped to another user is bound by init itself, which is where it could go wrong.
		dev, _ := identity(filepath.Join(dir, "m"))
		r.idmaps().plain[dev] = true
		pol.Readable, pol.Writable = append(pol.Readable, filepath.Join(dir, "m")), nil
		var out bytes.Buffer
		pol.Dir = "/"
		_, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/cat", filepath.Join(dir, "m", "file")}, Policy: pol, Stdout: &out})
		return out.String(), err
	}
	m := filepath.Join(dir, "m")
	if err := os.Mkdir(m, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m, "file"), []byte("below"), 0o644); err != nil {
		return err
	}
	if got, err := cat(); err != nil || got != "below" {
		return fmt.Errorf("before mounting: %q %v", got, err)
	}
	if err := unix.Mount("tmpfs", m, "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m, "file"), []byte("above"), 0o644); err != nil {
		return err
	}
	if got, err := cat(); err != nil || got != "above" {
		return fmt.Errorf("after mounting: %q %v", got, err)
	}
	return unix.Unmount(m, unix.MNT_DETACH)
}

// busyHost runs sandboxes without end in both tiers, and says so. It waits to be killed.
func busyHost(dir string) error {
	mark := os.Getenv("TONGS_TEST_MARK")
	var group sync.WaitGroup
	for i, tier := range []string{TierA, TierB, TierA} {
		r, err := New(Options{Tiers: []string{tier}, Scratch: dir})
		if err != nil {
			return err
		}
		k, err := r.keeperNow()
		if err != nil {
			return err
		}
		fmt.Println("keeper", k.cmd.Process.Pid)
		group.Go(func() {
			for n := 0; ; n++ {
				pol := plainPolicy(dir)
				pol.Env = append(pol.Env, mark+"=1")
				script := "for i in 1 2 3; do (trap '' TERM HUP; setsid sleep 1000 & sleep 1000) & done; sleep 0.0" + strconv.Itoa(n%5)
				if i == 2 {
					script = "sleep 1000"
				}
				p, err := r.Start(context.Background(), &Cmd{Argv: []string{"/bin/bash", "-c", script}, Policy: pol})
				if err != nil {
					fmt.Println("failed", err)
					return
				}
				if n == 0 {
					fmt.Println("running")
				}
				_, _ = p.Wait()
			}
		})
	}
	group.Wait()
	return nil
}

// nestedHost uses the sandbox where there can be no namespaces.
func nestedHost(dir string) error {
	r, err := New(Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	p := r.Probe(context.Background())
	fmt.Printf("A %v, B %v\n", p.status(TierA).OK, p.status(TierB).OK)
	fmt.Println(p.status(TierA).Fix)
	pol := plainPolicy(dir)
	pol.Require = Properties()
	_, err = r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: pol})
	fmt.Println("refused:", tongs.CodeOf(err))
	pol.Require = nil
	var out bytes.Buffer
	if _, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/echo", "hello"}, Policy: pol, Stdout: &out}); err != nil {
		return err
	}
	fmt.Print("ran: ", out.String())
	return nil
}

// unusualMachine uses the sandbox on a machine that is made unusual first, in a mount namespace of its own.
func unusualMachine(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	opt, err := makeUnusual(os.Getenv("TONGS_TEST_MACHINE"), dir)
	if err != nil {
		return err
	}
	r, err := New(opt)
	if err != nil {
		return err
	}
	defer r.Close()
	p := r.Probe(context.Background())
	fmt.Printf("A %v, B %v\n", p.status(TierA).OK, p.status(TierB).OK)
	for _, t := range p.Tiers {
		if !t.OK {
			fmt.Println(t.Fix)
			break
		}
	}
	if opt.Launcher != "" { // without it, it works
		if r, err = New(Options{}); err != nil {
			return err
		}
		defer r.Close()
	}
	pol := plainPolicy(dir)
	pol.Readable, pol.Writable = append(pol.Readable, dir), nil
	var out bytes.Buffer
	if !slices.ContainsFunc(r.Probe(context.Background()).Tiers, func(t TierStatus) bool { return t.OK }) {
		return nil
	}
	if _, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/echo", "hello"}, Policy: pol, Stdout: &out}); err != nil {
		return err
	}
	fmt.Print("ran: ", out.String())
	return nil
}

func makeUnusual(machine, dir string) (Options, error) {
	switch machine {
	case "readonly", "readonly with proc":
		err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err == nil && machine == "readonly" {
			err = unix.MountSetattr(unix.AT_FDCWD, "/proc", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}
		return Options{}, err
	case "noexec":
		err := unix.Mount(dir, dir, "", unix.MS_BIND, "")
		if err == nil {
			err = unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOEXEC})
		}
		return Options{Launcher: filepath.Join(dir, "launcher")}, err
	case "masked":
		return Options{}, unix.Mount("tmpfs", "/proc/fs", "tmpfs", 0, "")
	default:
		return Options{}, unix.Mount("tmpfs", "/proc", "tmpfs", 0, "")
	}
}
