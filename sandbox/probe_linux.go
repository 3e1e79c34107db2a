package sandbox

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// try makes a sandbox in each tier, checks it from the inside, and runs nothing in it.
func (r *Runner) try(ctx context.Context) Probe {
	var u unix.Utsname
	_ = unix.Uname(&u)
	p := Probe{
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernel: unix.ByteSliceToString(u.Release[:]), User: os.Geteuid(),
		Landlock: landlockABI(), Launcher: launcherKind(r.opt.Launcher), Limits: map[string]string{},
	}
	tiers := r.opt.Tiers
	if len(tiers) == 0 {
		tiers = []string{TierA, TierB}
	}
	for _, tier := range tiers {
		p.Tiers = append(p.Tiers, r.tryTier(ctx, tier, &p))
	}
	return p
}

func (r *Runner) tryTier(ctx context.Context, tier string, p *Probe) TierStatus {
	st := TierStatus{Tier: tier}
	fail := func(err error) TierStatus {
		st.Reason, st.Fix = reason(err), fix(tier, p.Kernel, err)
		return st
	}
	switch {
	case runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		return fail(errors.New("there is no system call filter for " + runtime.GOARCH))
	case tier == TierSeatbelt:
		return fail(errors.New("it exists on macOS only"))
	case tier == TierA && olderThan(p.Kernel, 5, 14):
		return fail(errors.New("the kernel is too old"))
	case tier == TierB && p.Landlock == 0:
		return fail(errors.New("the kernel has no Landlock"))
	}
	cmd := &Cmd{Argv: []string{"probe"}, Policy: Policy{Dir: "/"}}
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			cmd.Policy.Readable = append(cmd.Policy.Readable, dir)
		}
	}
	res, held, err := r.probe(ctx, tier, cmd)
	if err != nil {
		return fail(err)
	}
	st.OK, st.Layers, st.Missing = true, res.Report.Layers, res.Report.Missing
	st.Properties = properties(tier, p.Landlock)
	if tier == TierA || p.Limits["memory"] == "" {
		p.Limits = limitsHeld(tier, held)
	}
	return st
}

// probe runs a sandbox that checks itself. It also returns what a control group holds.
func (r *Runner) probe(ctx context.Context, tier string, cmd *Cmd) (*Result, []string, error) {
	res, err := resolvePolicy(&cmd.Policy, &r.index)
	if err != nil {
		return nil, nil, err
	}
	k, err := r.keeperNow()
	if err != nil {
		return nil, nil, err
	}
	run := &running{keeper: k, plan: newPlan(tier, cmd, res), begun: time.Now(), ctx: ctx}
	run.plan.spec.Probe = true
	p, err := r.begin(run, cmd)
	if err != nil {
		return nil, nil, err
	}
	result, err := p.Wait()
	return result, run.plan.held, err
}

// properties returns what a tier enforces for any policy. What depends on the policy is in each run's report.
func properties(tier string, abi int) []Property {
	if tier == TierA {
		return Properties()
	}
	list := []Property{PropertyRead, PropertyNetwork, PropertySignals, PropertyKillTree, PropertyMemory, PropertyProcesses}
	if abi >= 3 {
		list = append(list, PropertyWrite)
	}
	return list
}

func limitsHeld(tier string, held []string) map[string]string {
	by := func(what, otherwise string) string {
		if slices.Contains(held, what) {
			return "control group"
		}
		return otherwise
	}
	tmp := "a tmpfs of that size"
	if tier == TierB {
		tmp = "counted as growth of the disk"
	}
	return map[string]string{
		"wall": "timer", "cpu": "resource limit for each process, added up for all", "cores": by("cores", "processor affinity"),
		"memory": by("memory", "added up every 10 to 40 ms"), "pids": by("processes", "resource limit of the user"),
		"fileSize": "resource limit", "disk": "free space, then changed files, every 40 ms", "files": "free inodes, then changed files, every 40 ms",
		"tmp": tmp, "descriptors": "resource limit", "output": "counted while it is passed on",
	}
}

func olderThan(kernel string, major, minor int) bool {
	f := strings.FieldsFunc(kernel, func(r rune) bool { return r < '0' || r > '9' })
	if len(f) < 2 {
		return false
	}
	a, _ := strconv.Atoi(f[0])
	b, _ := strconv.Atoi(f[1])
	return a < major || a == major && b < minor
}

func inContainer() bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// DefaultRequire returns what Default requires on this platform: everything.
func DefaultRequire() []Property { return Properties() }
