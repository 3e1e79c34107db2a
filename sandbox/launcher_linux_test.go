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

// A launcher that is none is refused, not waited for.
func TestALauncherThatIsNone(t *testing.T) {
	for _, prog := range []string{"/bin/true", "/no/such", "/etc/hosts"} {
		r, err := New(Options{Launcher: prog})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: plainPolicy(place(t))})
		if tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
			t.Errorf("%s: %v", prog, err)
		}
		must(t, r.Close())
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
			pol.Writable = []string{ws}
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
	if out != "A false, B true\nrefused: SANDBOX_UNAVAILABLE\nran: hello\n" {
		t.Error(out)
	}
}
