package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// soak returns how often to repeat: few times usually, and as often as TONGS_SOAK says in a soak.
func soak(t *testing.T, few int) int {
	if s := os.Getenv("TONGS_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("TONGS_SOAK=%s is not a number", s)
		}
		return n
	}
	return few
}

// belongings is everything of ours that could be left behind.
type belongings struct {
	descriptors, children int
	mounts                string
	groups, scratch       []string
}

func look(t *testing.T, scratch string, keepers ...int) belongings {
	t.Helper()
	var b belongings
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	b.descriptors = len(fds)
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for _, task := range tasks {
		kids, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		b.children += len(strings.Fields(string(kids)))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	b.mounts = string(mounts)
	b.groups = groupsOf(keepers)
	b.scratch, _ = filepath.Glob(filepath.Join(scratch, "tongs-scratch-*"))
	return b
}

// groupsOf returns the control groups that are left of keepers.
func groupsOf(keepers []int) (groups []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "tongs-") {
			// "tongs-PID-START-N"
			f := strings.Split(d.Name(), "-")
			if pid, err := strconv.Atoi(f[1]); err == nil && slices.Contains(keepers, pid) {
				groups = append(groups, path)
			}
		}
		return nil
	})
	return groups
}

// TestNothingIsLeft runs many sandboxes at a time, in all the ways they can end, and looks for what they left.
func TestNothingIsLeft(t *testing.T) {
	scratch := place(t)
	dir := place(t)
	mark := fmt.Sprintf("TONGSLEAK%d", time.Now().UnixNano())
	warm := runner(t) // the runtime opens descriptors of its own the first time
	if res, _ := bash(t, warm, plainPolicy(dir), "true"); res.ExitCode != 0 {
		t.Fatal(res)
	}
	must(t, warm.Close())
	before := look(t, scratch)
	var keepers []int
	for _, tier := range []string{TierA, TierB} {
		r, err := New(Options{Tiers: []string{tier}, Scratch: scratch})
		must(t, err)
		k, err := r.keeperNow()
		must(t, err)
		keepers = append(keepers, k.cmd.Process.Pid)
		const width = 8
		for batch := range (soak(t, 32) + width - 1) / width {
			var group sync.WaitGroup
			for i := range width {
				group.Go(func() { leakOne(t, r, dir, mark, batch*width+i) })
			}
			group.Wait()
			if left := marked(mark); len(left) > 0 {
				t.Fatalf("tier %s, batch %d: left running: %v", tier, batch, left)
			}
		}
		must(t, r.Close())
	}
	after := look(t, scratch, keepers...)
	if after.descriptors != before.descriptors || after.children != before.children || after.mounts != before.mounts ||
		len(after.groups) > 0 || len(after.scratch) > 0 {
		t.Errorf("before: %+v\nafter: %+v", before, after)
	}
}

// leakOne runs a program that ends in one of several ways, with things still going on.
func leakOne(t *testing.T, r *Runner, dir, mark string, n int) {
	pol := plainPolicy(dir)
	pol.Env = append(pol.Env, mark+"=1")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := &Cmd{Argv: []string{"/bin/bash", "-c", "(setsid sleep 1000 &); sleep 1000 & exit 0"}, Policy: pol}
	switch n % 6 {
	case 1:
		cmd.Policy.Limits.Wall = 30 * time.Millisecond
		cmd.Argv[2] = "(setsid sleep 1000 &); sleep 1000"
	case 2:
		cmd.Argv[2] = "sleep 1000"
		time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, cancel)
	case 3:
		cmd.Argv = []string{"/no/such/program"}
	case 4:
		cmd.PTY = &PTY{10, 10}
	case 5:
		cmd.Policy.Readable = append(slices.Clone(pol.Readable), "/no/such/path")
	}
	p, err := r.Start(ctx, cmd)
	if err != nil {
		return
	}
	_, _ = p.Wait()
}

func TestNothingIsLeftAsUser(t *testing.T) { asUser(t, "TestNothingIsLeft") }

// TestTheHostIsKilled kills a process that runs sandboxes, at random moments, and waits for everything to be gone.
func TestTheHostIsKilled(t *testing.T) {
	for i := range soak(t, 4) {
		dir := place(t)
		mark := fmt.Sprintf("TONGSHOST%d", time.Now().UnixNano())
		host := exec.Command("/proc/self/exe", "-test.run=^$")
		host.Env = append(os.Environ(), "TONGS_TEST_HOST=busy", "TONGS_TEST_DIR="+dir, "TONGS_TEST_MARK="+mark)
		host.Stderr = os.Stderr
		out, err := host.StdoutPipe()
		must(t, err)
		must(t, host.Start())
		keepers, running := []int{}, 0
		for lines := bufio.NewScanner(out); running < 3 && lines.Scan(); {
			if pid, ok := strings.CutPrefix(lines.Text(), "keeper "); ok {
				n, _ := strconv.Atoi(pid)
				keepers = append(keepers, n)
			} else if lines.Text() == "running" {
				running++
			} else {
				t.Fatal(lines.Text())
			}
		}
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond) // any moment will do
		must(t, host.Process.Kill())
		_ = host.Wait()
		if what := eventually(func() string { return leftOf(mark, keepers, dir) }); what != "" {
			t.Fatalf("round %d: %s", i, what)
		}
	}
}

func TestTheHostIsKilledAsUser(t *testing.T) { asUser(t, "TestTheHostIsKilled") }

// leftOf says what is left of a host that was killed, or "".
func leftOf(mark string, keepers []int, dir string) string {
	if left := marked(mark); len(left) > 0 {
		return fmt.Sprintf("left running: %v", left)
	}
	for _, pid := range keepers {
		// Whoever adopted it may take its time to reap it.
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(b), ") Z ") {
			return fmt.Sprintf("the keeper lives: %s", b)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tongs-scratch-*")); len(left) > 0 {
		return fmt.Sprintf("left on disk: %v", left)
	}
	if left := groupsOf(keepers); len(left) > 0 {
		return fmt.Sprintf("left control groups: %v", left)
	}
	return ""
}

// eventually waits for f to return "", and returns what it says in the end.
func eventually(f func() string) (what string) {
	for range 6000 {
		if what = f(); what == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return what
}
