// Command sandbox measures what a sandboxed command costs beside a plain one and bubblewrap's, and how fast output
// streams out of a sandbox. Everything that is compared is run in turns, so that what else the machine does hits all
// alike. It runs itself again as an ordinary user, and with a small and a large heap.
//
//	go run ./test/bench/sandbox [-n 200] [-launcher PATH] [-user 65534] [-stream 1024]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/sandbox"
)

func main() {
	sandbox.Main()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "test/bench/sandbox:", err)
		os.Exit(1)
	}
}

// options are the flags, and those that only a run of its own gets.
type options struct {
	n, warm  int
	launcher string
	user     int
	heaps    string
	stream   int
	child    bool
	heap     int
}

func run() error {
	var o options
	flag.IntVar(&o.n, "n", 200, "runs of each, after 5 to warm up")
	flag.StringVar(&o.launcher, "launcher", "", "a tongs-launch program; built when empty")
	flag.IntVar(&o.user, "user", 65534, "the ordinary user to run as, too, when started as root; 0 for none")
	flag.StringVar(&o.heaps, "heaps", "16,1024", "sizes of the host's heap, in MiB")
	flag.IntVar(&o.stream, "stream", 1024, "MiB to stream; 0 for none")
	flag.BoolVar(&o.child, "child", false, "measure in this process (for internal use)")
	flag.IntVar(&o.heap, "heap", 0, "the heap of a child")
	flag.Parse()
	o.warm = 5
	if o.child {
		return measure(&o)
	}
	if o.launcher == "" {
		dir, err := os.MkdirTemp("", "tongs-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
		o.launcher = filepath.Join(dir, "tongs-launch")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", o.launcher, "github.com/tongs-ai/tongs/sandbox/cmd/tongs-launch")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the launcher: %w\n%s", err, out)
		}
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 && o.user != 0 {
		users = append(users, o.user)
	}
	for _, user := range users {
		for heap := range strings.SplitSeq(o.heaps, ",") {
			if err := again(&o, user, heap); err != nil {
				return err
			}
			o.stream = 0 // once is enough
		}
	}
	return nil
}

// again runs this program as a user, with a heap.
func again(o *options, user int, heap string) error {
	cmd := exec.Command("/proc/self/exe", "-child", "-n", strconv.Itoa(o.n), "-launcher", o.launcher, "-heap", heap, "-stream", strconv.Itoa(o.stream))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env, cmd.Dir = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, "/"
	if user != os.Getuid() {
		runAs(cmd, user)
	}
	return cmd.Run()
}

// subject is something to measure.
type subject struct {
	name string
	run  func() error
	took []time.Duration
	err  error
}

func measure(o *options) error {
	ballast := make([]byte, o.heap<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	dir, err := os.MkdirTemp("", "tongs-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, done, err := subjects(o, dir)
	if err != nil {
		return err
	}
	defer done()
	for i := range o.n + o.warm {
		for _, s := range list {
			if s.err != nil {
				continue
			}
			start := time.Now()
			s.err = s.run()
			if i >= o.warm {
				s.took = append(s.took, time.Since(start))
			}
		}
	}
	fmt.Printf("\nuser %d, heap %d MiB, %d runs in turns\n", os.Getuid(), o.heap, o.n)
	fmt.Printf("  %-46s %9s %9s %9s\n", "", "p10 ms", "median", "p95")
	for _, s := range list {
		if s.err != nil {
			fmt.Printf("  %-46s failed: %v\n", s.name, s.err)
			continue
		}
		slices.Sort(s.took)
		at := func(percent int) float64 { return ms(s.took[len(s.took)*percent/100]) }
		fmt.Printf("  %-46s %9.2f %9.2f %9.2f\n", s.name, at(10), at(50), at(95))
	}
	runtime.KeepAlive(ballast)
	if o.stream == 0 {
		return nil
	}
	if err := stream(o, dir); err != nil {
		return err
	}
	return kill(o, dir)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func subjects(o *options, dir string) (list []*subject, done func(), err error) {
	// Each has a Runner of its own, so that none finds another's reserve used up.
	var runners []*sandbox.Runner
	runner := func(opt sandbox.Options) *sandbox.Runner {
		r, newErr := sandbox.New(opt)
		if newErr != nil {
			err = newErr
			return nil
		}
		runners = append(runners, r)
		return r
	}
	done = func() {
		for _, r := range runners {
			_ = r.Close()
		}
	}
	prog := []string{"/bin/true"}
	add := func(name string, run func() error) { list = append(list, &subject{name: name, run: run}) }
	add("plain fork and exec", func() error { return exec.Command(prog[0], prog[1:]...).Run() })
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		add("bubblewrap (no filter, Landlock or limits)", func() error {
			return exec.Command(bwrap, bubblewrap(dir, prog)...).Run()
		})
	} else {
		fmt.Println("bubblewrap is not installed, and not measured")
	}
	policy := sandbox.Default(dir, sandbox.PresetOptions{})
	policy.Writable = append(policy.Writable, sandbox.Decided(dir))
	minimal := sandbox.Policy{Writable: []sandbox.Mount{sandbox.Decided(dir)}, Dir: dir, Env: policy.Env}
	for _, p := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if _, err := os.Stat(p); err == nil {
			minimal.Readable = append(minimal.Readable, p)
		}
	}
	sandboxed := func(r *sandbox.Runner, pol sandbox.Policy) func() error {
		return func() error {
			res, err := r.Run(context.Background(), &sandbox.Cmd{Argv: prog, Policy: pol})
			if err == nil && res.ExitCode != 0 {
				err = fmt.Errorf("exit code %d", res.ExitCode)
			}
			return err
		}
	}
	add("sandbox A, tree as bubblewrap's", sandboxed(runner(sandbox.Options{Launcher: o.launcher}), minimal))
	add("sandbox A, default policy", sandboxed(runner(sandbox.Options{Launcher: o.launcher}), policy))
	add("sandbox A, default policy, re-executing itself", sandboxed(runner(sandbox.Options{}), policy))
	policy.Require = nil
	add("sandbox B, default policy", sandboxed(runner(sandbox.Options{Launcher: o.launcher, Tiers: []string{sandbox.TierB}}), policy))
	return list, done, err
}

// bubblewrap returns arguments for a tree like ours.
func bubblewrap(dir string, prog []string) []string {
	args := []string{"--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if to, err := os.Readlink("/" + name); err == nil {
			args = append(args, "--symlink", to, "/"+name)
		} else if _, err := os.Stat("/" + name); err == nil {
			args = append(args, "--ro-bind", "/"+name, "/"+name)
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", dir, dir, "--chdir", dir, "--cap-drop", "ALL", "--clearenv", "--")
	return append(args, prog...)
}

// stream measures throughput and memory of output that nobody keeps.
func stream(o *options, dir string) error {
	r, err := sandbox.New(sandbox.Options{Launcher: o.launcher})
	if err != nil {
		return err
	}
	defer r.Close()
	pol := sandbox.Default(dir, sandbox.PresetOptions{})
	pol.Writable = append(pol.Writable, sandbox.Decided(dir))
	pol.Limits.Output = -1
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	res, err := r.Run(context.Background(), &sandbox.Cmd{
		Argv: []string{"head", "-c", strconv.Itoa(o.stream << 20), "/dev/zero"}, Policy: pol, Stdout: io.Discard,
	})
	if err != nil {
		return err
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	fmt.Printf("  streaming %d MiB: %.2f s, %.0f MiB/s, %d KiB allocated meanwhile\n", res.Usage.Output>>20, took.Seconds(),
		float64(o.stream)/took.Seconds(), (after.TotalAlloc-before.TotalAlloc)>>10)
	return nil
}

// kill measures how long after its time-out a tree of processes that resists is gone, in each tier.
func kill(o *options, dir string) error {
	const wall = 300 * time.Millisecond
	scripts := []struct{ name, text string }{
		{"one process", "exec sleep 1000"},
		{"daemons that ignore signals", "for i in $(seq 20); do (trap '' TERM HUP INT; setsid sleep 1000 &) ; done; sleep 1000"},
		{"stopped processes", "for i in $(seq 20); do sleep 1000 & kill -STOP $!; done; kill -STOP $$"},
		{"a storm of forks", "while :; do (sleep 0.01 &) 2>/dev/null; done"},
		{"a fork bomb", "f(){ f|f& }; f 2>/dev/null; sleep 1000"},
	}
	for _, tier := range []string{sandbox.TierA, sandbox.TierB} {
		r, err := sandbox.New(sandbox.Options{Launcher: o.launcher, Tiers: []string{tier}})
		if err != nil {
			return err
		}
		for _, s := range scripts {
			pol := sandbox.Default(dir, sandbox.PresetOptions{})
			pol.Writable = append(pol.Writable, sandbox.Decided(dir))
			pol.Require, pol.Limits.Wall = nil, wall
			var late []time.Duration
			for range 10 {
				res, err := r.Run(context.Background(), &sandbox.Cmd{Argv: []string{"bash", "-c", s.text}, Policy: pol})
				if err != nil {
					return err
				}
				late = append(late, res.Duration-wall)
			}
			slices.Sort(late)
			fmt.Printf("  tier %s, killed after its time-out: %-30s median %6.1f ms, most %6.1f ms\n", tier, s.name, ms(late[len(late)/2]), ms(late[len(late)-1]))
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}
