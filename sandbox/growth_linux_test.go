package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Somebody else removes a file for each one that the program makes: the free space of the file system tells nothing.
func TestGrowthThatOthersHide(t *testing.T) {
	t.Parallel()
	inTiers(t, func(t *testing.T, r *Runner) {
		const n = 1500
		pol := plainPolicy(place(t))
		pol.Limits = Limits{Files: 500, Wall: 60 * time.Second}
		other := place(t)
		for i := range n {
			must(t, os.WriteFile(filepath.Join(other, fmt.Sprint(i)), nil, 0o600))
		}
		made, ack := io.Pipe()
		p, err := r.Start(context.Background(), &Cmd{
			Argv:   []string{"/bin/bash", "-c", `mkdir m; cd m; while read -r name; do : > "$name"; echo; done; exec sleep 1000`},
			Policy: pol, StdinPipe: true, Stdout: ack,
		})
		must(t, err)
		in, one := p.Stdin(), make([]byte, 1)
		go func() {
			<-p.Done()
			_ = ack.Close()
		}()
		for i := range n {
			must(t, os.Remove(filepath.Join(other, fmt.Sprint(i))))
			_, _ = fmt.Fprintln(in, i) // it may have been stopped already
			_, _ = made.Read(one)
		}
		_ = in.Close()
		res, err := p.Wait()
		must(t, err)
		if res.TimedOut || !slices.Contains(res.Report.LimitsHit, LimitFiles) {
			t.Errorf("timed out: %v, limits hit: %v", res.TimedOut, res.Report.LimitsHit)
		}
	})
}

func TestGrowthThatOthersHideAsUser(t *testing.T) { asUser(t, "TestGrowthThatOthersHide") }

// Growth is found wherever a program puts it.
func TestGrowthInHiding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tiers, script, hit string }{
		{"a directory that cannot be read", "A", `mkdir -m 300 m; cd m; for i in $(seq 800); do : > $i; done; exec sleep 1000`, LimitFiles},
		{"a path that is too long", "AB", `n=$(printf 'd%.0s' {1..200}); for i in {1..30}; do mkdir $n; cd $n 2>/dev/null; done
			for i in $(seq 800); do : > $i; done; exec sleep 1000`, LimitFiles},
		{"a file without a name", "AB", `exec 9> f; rm f; head -c 60M /dev/zero >&9; exec sleep 1000`, LimitDisk},
		{"files of a directory that is gone", "AB", `mkdir m; cd m; exec 8> a 9> b; cd ..; rm -r m; head -c 30M /dev/zero >&8; head -c 30M /dev/zero >&9; exec sleep 1000`, LimitDisk},
		{"a file that grows by truncation and holes", "AB", `truncate -s 50M f; for i in 0 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=f bs=5M count=1 seek=$i conv=notrunc; done; exec sleep 1000`, LimitDisk},
	} {
		for tier := range strings.SplitSeq(c.tiers, "") {
			t.Run(c.name+" "+tier, func(t *testing.T) {
				t.Parallel()
				ws := place(t)
				t.Cleanup(func() { _ = os.Chmod(filepath.Join(ws, "m"), 0o700) }) // so that it can be removed
				pol := plainPolicy(ws)
				pol.Limits = attemptLimits
				res, out := bash(t, runner(t, tier), pol, c.script)
				if res.TimedOut || !slices.Contains(res.Report.LimitsHit, c.hit) {
					t.Errorf("timed out: %v, limits hit: %v: %s", res.TimedOut, res.Report.LimitsHit, out)
				}
			})
		}
	}
}

func TestGrowthInHidingAsUser(t *testing.T) { asUser(t, "TestGrowthInHiding") }
