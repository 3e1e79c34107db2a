package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// The helper process can die. What it had started goes on, can be ended, and the next run has a new one.
func TestTheKeeperDies(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		out, w := io.Pipe()
		mark := fmt.Sprintf("TONGSKEEPER%d", time.Now().UnixNano())
		pol := plainPolicy(place(t))
		pol.Env = append(pol.Env, mark+"=1")
		p, err := r.Start(context.Background(), &Cmd{Argv: []string{"/bin/sh", "-c", "setsid sleep 1000 & echo up; sleep 1000"}, Policy: pol, Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		keeper := r.machine.keeper
		must(t, keeper.cmd.Process.Kill())
		<-keeper.gone
		if res, _ := bash(t, r, plainPolicy(place(t)), "exit 4"); res.ExitCode != 4 {
			t.Errorf("%+v", res)
		}
		if len(marked(mark)) == 0 {
			t.Error("the program did not survive its helper")
		}
		p.Kill()
		if res, err := p.Wait(); err != nil || res.Signal != "killed" {
			t.Errorf("%+v %v", res, err)
		}
		if left := marked(mark); len(left) > 0 {
			t.Errorf("left running: %v", left)
		}
	})
}

func TestWithoutTheHookNothingStarts(t *testing.T) {
	hooked.Store(false)
	defer hooked.Store(true)
	r := runner(t)
	_, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: plainPolicy(place(t))})
	if tongs.CodeOf(err) != tongs.CodeSandboxUnavailable || !strings.Contains(err.Error(), "sandbox.Main()") {
		t.Errorf("%v", err)
	}
}

// A launcher that is none is refused, not waited for, and the refusal is about the launcher.
func TestALauncherThatIsNone(t *testing.T) {
	dir := place(t)
	foreign := make([]byte, 64) // the head of a program for a machine that nobody has
	copy(foreign, "\x7fELF\x02\x01\x01")
	foreign[16], foreign[18], foreign[19] = 2, 0xff, 0xff
	must(t, os.WriteFile(filepath.Join(dir, "foreign"), foreign, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("x"), 0o644))
	for prog, says := range map[string]string{
		"/bin/true": "is not a tongs-launch program", "/no/such": "There is no /no/such", filepath.Join(dir, "plain"): "chmod +x", dir: "is a directory",
		filepath.Join(dir, "foreign"): "is not a program for " + runtime.GOARCH,
	} {
		r, err := New(Options{Launcher: prog})
		must(t, err)
		_, err = r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: plainPolicy(place(t))})
		if tongs.CodeOf(err) != tongs.CodeSandboxUnavailable || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "container") ||
			strings.Count(err.Error(), says) != 1 {
			t.Errorf("%s: %v", prog, err)
		}
		must(t, r.Close())
	}
}

// Machines that are set up in unusual ways, as containers are: each works, or says what is wrong with it and not with
// another.
func TestUnusualMachines(t *testing.T) {
	if os.Getuid() != 0 {
		return // an ordinary user cannot mount
	}
	for job, want := range map[string]string{
		"readonly":           "A true, B false\nTier B needs a directory for temporary files that can be written to: set TMPDIR to one.\nran: hello\n",
		"noexec":             "A false, B false\nIt must not be executed: LAUNCHER is on a file system that is mounted noexec. Put it elsewhere, or use a build with the launcher embedded.\nran: hello\n",
		"masked":             "A false, B true\nA part of /proc is covered here, as containers do, so that no new one can be mounted. Start the container with --security-opt systempaths=unconfined, or use tier B.\nran: hello\n",
		"readonly with proc": "A false, B false\n/proc is mounted read-only here, so that no user can be mapped: mount it writable, or use tier B.\n",
		"noproc":             "A false, B false\n/proc is not mounted here, or is something else: mount it (mount -t proc proc /proc).\n",
	} {
		t.Run(job, func(t *testing.T) {
			dir := place(t)
			must(t, os.WriteFile(filepath.Join(dir, "launcher"), []byte("#!/bin/true\n"), 0o755))
			cmd := exec.Command("/proc/self/exe", "-test.run=^$")
			cmd.Env = append(os.Environ(), "TONGS_TEST_HOST=unusual", "TONGS_TEST_MACHINE="+job, "TONGS_TEST_DIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			if got := strings.ReplaceAll(string(out), filepath.Join(dir, "launcher"), "LAUNCHER"); err != nil || got != want {
				t.Errorf("%v\n got %s\nwant %s", err, got, want)
			}
		})
	}
}

func TestTheLauncherInMemory(t *testing.T) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	prog, err := inMemory(self)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.close()
	r, err := New(Options{Launcher: prog.path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if res, _ := bash(t, r, plainPolicy(place(t)), "exit 7"); res.ExitCode != 7 {
		t.Errorf("%+v", res)
	}
	if f, err := os.OpenFile(prog.path, os.O_WRONLY, 0); err == nil {
		if _, err := f.Write([]byte("x")); err == nil {
			t.Error("the launcher in memory can be changed")
		}
	}
}

// What was mounted after the init in reserve was started is seen by the next run all the same.
func TestAMountThatIsNewerThanTheReserve(t *testing.T) {
	if os.Getuid() != 0 {
		return // an ordinary user cannot mount
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), "TONGS_TEST_HOST=mount", "TONGS_TEST_DIR="+place(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A directory that is swapped for a link between looking at it and mounting it is not followed.
func TestASwappedTreeIsNotFollowed(t *testing.T) {
	r := runner(t, TierA)
	dir := place(t)
	ws, secret := filepath.Join(dir, "ws"), filepath.Join(dir, "secret")
	must(t, os.Mkdir(secret, 0o755))
	must(t, os.WriteFile(filepath.Join(secret, "key"), []byte(secretText), 0o644))
	for _, writable := range []bool{true, false} {
		must(t, os.Mkdir(ws, 0o755))
		pol := plainPolicy(dir)
		pol.Dir = "/"
		if pol.Writable = nil; writable {
			pol.Writable = []Mount{Decided(ws)}
		} else {
			pol.Readable = append(pol.Readable, ws)
		}
		var out bytes.Buffer
		cmd := &Cmd{Argv: []string{"/bin/cat", filepath.Join(ws, "key")}, Policy: pol, Stdout: &out}
		res, err := resolvePolicy(&cmd.Policy, nil)
		must(t, err)
		must(t, os.Remove(ws))
		must(t, os.Symlink(secret, ws))
		k, err := r.keeperNow()
		must(t, err)
		p, err := r.begin(&running{keeper: k, plan: newPlan(TierA, cmd, res), begun: time.Now(), ctx: context.Background()}, cmd)
		if err == nil {
			_, err = p.Wait()
		}
		if err == nil || out.Len() > 0 {
			t.Errorf("writable %v: followed: %q", writable, out.String())
		}
		must(t, os.Remove(ws))
	}
}

// A tree that is another one than the host looked at is mounted by an init that sees it.
func TestATreeThatIsAnotherOneIsTriedAgain(t *testing.T) {
	r := runner(t, TierA)
	dir := place(t)
	pol := plainPolicy(dir)
	pol.Readable = append(pol.Readable, "/etc/hosts")
	cmd := &Cmd{Argv: []string{"/bin/true"}, Policy: pol}
	res, err := resolvePolicy(&cmd.Policy, nil)
	must(t, err)
	k, err := r.keeperNow()
	must(t, err)
	run := &running{keeper: k, plan: newPlan(TierA, cmd, res), begun: time.Now(), ctx: context.Background()}
	run.plan.seen = func(path string) (dev, ino uint64) { return 1, 1 }
	if _, err := r.begin(run, cmd); !errors.Is(err, errStale) {
		t.Errorf("%v", err)
	}
}

// On a machine that allows no namespaces, such as the inside of this very sandbox, tier A says why it does not work,
// tier B does, and what requires more is refused.
func TestInsideASandbox(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace()
	pol := w.policy(ws)
	pol.Limits = Limits{} // it takes several programs of many threads
	_, out := bash(t, runner(t, TierA), pol, w.fill("TONGS_TEST_HOST=nested TONGS_TEST_DIR=$PWD "+w.attack, ws))
	if out != "A false, B true\nSomething forbids namespaces to this program: a system call filter, a security module, or the sandbox that it runs in itself.\n"+
		"refused: SANDBOX_UNAVAILABLE\nran: hello\n" {
		t.Error(out)
	}
}
