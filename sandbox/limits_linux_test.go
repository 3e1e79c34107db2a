package sandbox

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Each limit ends, or stops, what exceeds it, and is named.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		limits Limits
		script string
		// hit is the limit that must be reported; without one, output must hold says.
		hit, says string
		tiers     string
	}{
		{"wall", Limits{Wall: 3 * time.Second}, "echo partial; sleep 1000", LimitWall, "partial", "AB"},
		{"cpu of one process", Limits{CPU: time.Second}, "while :; do :; done", LimitCPU, "", "AB"},
		{"cpu of many processes", Limits{CPU: time.Second}, "for i in 1 2 3 4; do (while :; do :; done) & done; wait", LimitCPU, "", "AB"},
		{"memory of one process", Limits{Memory: 128 << 20}, "{A} alloc 300 1000", LimitMemory, "", "AB"},
		{"memory of many processes", Limits{Memory: 160 << 20}, "{A} many 4 80 1000", LimitMemory, "", "AB"},
		{"memory in /dev/shm", Limits{Memory: 128 << 20, Tmp: 4 << 30}, "dd if=/dev/zero of=/dev/shm/x bs=1M count=250; sleep 1000", LimitMemory, "", "A"},
		{"processes", Limits{PIDs: 40}, "{A} threads 60", "", "resource temporarily unavailable", "AB"},
		{"file size", Limits{FileSize: 1 << 20}, "exec dd if=/dev/zero of=big bs=1M count=5", LimitFileSize, "", "AB"},
		{"disk", Limits{Disk: 20 << 20}, "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=b$i bs=1M count=20; done; sleep 100", LimitDisk, "", "AB"},
		{"files", Limits{Files: 300}, "for i in $(seq 1000); do : > f$i; done; sleep 100", LimitFiles, "", "AB"},
		{"tmp", Limits{Tmp: 1 << 20}, "dd if=/dev/zero of=/tmp/x bs=1M count=3", "", "No space left", "A"},
		{"descriptors", Limits{Descriptors: 20}, "for i in $(seq 5 40); do eval \"exec $i</dev/null\"; done", "", "Bad file descriptor", "AB"},
		{"output", Limits{Output: 1 << 20}, "yes", LimitOutput, "y\ny\n", "AB"},
		{"cores", Limits{Cores: 1}, "nproc", "", "1\n", "AB"},
	} {
		for _, tier := range strings.Split(c.tiers, "") {
			t.Run(c.name+" "+tier, func(t *testing.T) {
				t.Parallel()
				ws := w.workspace()
				pol := w.policy(ws)
				pol.Limits = c.limits
				if pol.Limits.Wall == 0 {
					pol.Limits.Wall = 60 * time.Second
				}
				res, out := bash(t, runner(t, tier), pol, w.fill(c.script, ws))
				if c.hit != "" && !slices.Contains(res.Report.LimitsHit, c.hit) {
					t.Errorf("limits hit: %v, exit %d: %s", res.Report.LimitsHit, res.ExitCode, tailOf([]byte(out), 500))
				}
				if !strings.Contains(out, c.says) {
					t.Errorf("it said %s", tailOf([]byte(out), 500))
				}
				if res.TimedOut != (c.hit == LimitWall) {
					t.Errorf("timed out: %v", res.TimedOut)
				}
				if c.hit == LimitOutput && (len(out) > 1<<20 || res.Usage.Output > 1<<20) {
					t.Errorf("%d bytes of output", len(out))
				}
			})
		}
	}
}

func TestLimitsThatAreSwitchedOff(t *testing.T) {
	l := Limits{Wall: -1, Memory: -5, PIDs: -1, Output: -1}.withDefaults()
	if l.Wall != unlimited || l.Memory != unlimited || l.PIDs != unlimited || l.Output != unlimited || l.FileSize != 2<<30 {
		t.Errorf("%+v", l)
	}
	w := newWorld(t)
	ws := w.workspace()
	pol := w.policy(ws)
	pol.Limits = Limits{Wall: -1, CPU: -1, Memory: -1, PIDs: -1, FileSize: -1, Disk: -1, Files: -1, Tmp: -1, Descriptors: -1, Output: -1}
	res, out := bash(t, runner(t, TierA), pol, w.fill("{A} threads 300 | head -1", ws))
	if res.ExitCode != 0 || !strings.Contains(out, "300 processes") {
		t.Errorf("%d %s", res.ExitCode, out)
	}
}
