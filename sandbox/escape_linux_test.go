package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attempt is one way to get out, to be run by bash in the workspace. In its script {S} is a secret file outside, {B}
// the directory it is in, {V} the number of a process of the same user outside, {T} and {U} ports of services on the
// host's loopback, {W} the workspace, {A} the attacking program, and {K}, {I}, {Q} shared memory and a message queue. {N} is
// how many seconds to hold what was taken: longer than the sandbox's limit of time, and none at all without a sandbox.
type attempt struct {
	name, script string
	// judge, where it is set, says from outside whether the attempt got through. Otherwise the script prints ESCAPED.
	judge func(w *world, res *Result) bool
	// pty runs it in a terminal. wall is its time limit, where it is not that of all.
	pty  bool
	wall time.Duration
	// through says why an attempt is known to get through, by tier: "A", "B", or "A root", "B user", ...
	through map[string]string
	// uncontrolled says why it is not run without a sandbox: it would harm the machine that tests.
	uncontrolled string
	// brief says that it changes nothing that another one looks at: such ones are made in one sandbox, one by one.
	brief bool
}

// batches puts brief attempts together, and leaves the others alone.
func batches(list []attempt) (all [][]*attempt) {
	var brief [2][]*attempt
	for i := range list {
		a := &list[i]
		controlled := 0
		if a.uncontrolled == "" {
			controlled = 1
		}
		if !a.brief {
			all = append(all, []*attempt{a})
			continue
		}
		if brief[controlled] = append(brief[controlled], a); len(brief[controlled]) == 20 {
			all, brief[controlled] = append(all, brief[controlled]), nil
		}
	}
	return append(all, slices.DeleteFunc(brief[:], func(b []*attempt) bool { return len(b) == 0 })...)
}

// script is what bash runs for a batch: each attempt on its own, and a line after it.
func (w *world) script(batch []*attempt, ws, hold string) string {
	if len(batch) == 1 {
		return w.fill(strings.ReplaceAll(batch[0].script, "{N}", hold), ws)
	}
	var b strings.Builder
	for _, a := range batch {
		fmt.Fprintf(&b, "( %s\n)\necho %s\n", w.fill(a.script, ws), w.mark)
	}
	return b.String()
}

// parts is what each attempt of a batch said. One whose part is missing was never made.
func (w *world) parts(batch []*attempt, said string) []string {
	if len(batch) == 1 {
		return []string{said}
	}
	parts := strings.Split(said, w.mark+"\n")
	if len(parts) != len(batch)+1 || parts[len(batch)] != "" {
		w.t.Errorf("%d attempts from %s on: there is an end to %d of them: %s", len(batch), batch[0].name, len(parts)-1, tailOf([]byte(said), 2000))
		parts = append(parts, make([]string, len(batch))...)
	}
	return parts[:len(batch)]
}

// limits of the sandboxes that attempts run in.
var attemptLimits = Limits{
	Wall: 60 * time.Second, Memory: 160 << 20, PIDs: 64, Cores: 1, FileSize: 64 << 20, Disk: 40 << 20, Files: 500, Tmp: 64 << 20,
	Output: 4 << 20, Descriptors: 256, CPU: 15 * time.Second,
}

// world is what an attempt is aimed at.
type world struct {
	t      testing.TB
	dir    string // holds everything
	out    string // {B}
	attack string // {A}
	mark   string

	victim    *exec.Cmd
	ping      func()
	signalled atomic.Bool
	services  []net.Addr
	hits      atomic.Int64
	ports     [3]int // TCP, UDP, TCP over IPv6

	shmKey, shmID int
	queue         string
	workspaces    atomic.Int64
}

// worlds counts them, for names that must differ.
var worlds atomic.Int64

const secretText = "SECRET of the host\n"

// newWorld makes the targets, all on this machine and its loopback.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: place(t), mark: fmt.Sprintf("TONGSMARK%d", time.Now().UnixNano())}
	w.out = filepath.Join(w.dir, "home")
	must(t, os.MkdirAll(filepath.Join(w.out, ".ssh"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.out, "secret"), []byte(secretText), 0o600))
	must(t, os.WriteFile(filepath.Join(w.out, ".ssh", "id_ed25519"), []byte(secretText), 0o600))
	w.copyAttack()
	w.startVictim()
	w.listen()
	w.shareMemory()
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) copyAttack() {
	dir := filepath.Join(w.dir, "bin")
	must(w.t, os.Mkdir(dir, 0o755))
	w.attack = filepath.Join(dir, "attack")
	self, err := os.Open("/proc/self/exe")
	must(w.t, err)
	defer self.Close()
	to, err := os.OpenFile(w.attack, os.O_CREATE|os.O_WRONLY, 0o755)
	must(w.t, err)
	_, err = io.Copy(to, self)
	must(w.t, errors.Join(err, to.Close()))
}

// startVictim starts a process of the same user that tells when it is signalled, and answers when it is asked to.
func (w *world) startVictim() {
	w.victim = exec.Command("/bin/bash", "-c", `trap 'echo hit' USR1; echo pong; while :; do read -r line && echo pong || { [ $? -gt 128 ] || exit; }; done`, "CMDLINESECRET")
	w.victim.Env = []string{"PATH=/usr/bin:/bin", "VICTIM=ENVIRONSECRET"}
	w.victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := w.victim.StdinPipe()
	must(w.t, err)
	out, err := w.victim.StdoutPipe()
	must(w.t, err)
	must(w.t, w.victim.Start())
	pongs := make(chan struct{}, 8)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer close(pongs)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "hit" {
				w.signalled.Store(true)
			} else {
				pongs <- struct{}{}
			}
		}
	}()
	<-pongs
	w.ping = func() {
		for range 2 { // what was pending before the first is handled before the second
			_, _ = io.WriteString(in, "ping\n")
			<-pongs
		}
	}
	w.t.Cleanup(func() {
		_ = syscall.Kill(-w.victim.Process.Pid, syscall.SIGKILL)
		<-heard
		_ = w.victim.Wait()
	})
}

// listen opens services that an attempt must not reach. Each serves one after the other, so that whoever was served
// knows that all who came before were counted.
func (w *world) listen() {
	serve := func(network, address string) net.Addr {
		l, err := net.Listen(network, address)
		must(w.t, err)
		w.t.Cleanup(func() { l.Close() })
		w.services = append(w.services, l.Addr())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.hits.Add(1)
				_, _ = io.WriteString(c, "SECRET\n")
				_ = c.Close()
			}
		}()
		return l.Addr()
	}
	w.ports[0] = serve("tcp", "127.0.0.1:0").(*net.TCPAddr).Port
	serve("unix", filepath.Join(w.out, "docker.sock"))
	serve("unix", "@"+w.mark)
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // not every machine has it
		_ = l.Close()
		w.ports[2] = serve("tcp", "[::1]:0").(*net.TCPAddr).Port
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(w.t, err)
	w.t.Cleanup(func() { u.Close() })
	w.services = append(w.services, u.LocalAddr())
	w.ports[1] = u.LocalAddr().(*net.UDPAddr).Port
	go func() {
		for b := make([]byte, 64); ; {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			w.hits.Add(1)
			_, _ = u.WriteTo([]byte("SECRET"), from)
		}
	}()
}

// settle waits until everything that reached us so far was counted, and returns how often something did.
func (w *world) settle() int64 {
	w.ping()
	for _, addr := range w.services {
		c, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			w.t.Error(err)
			continue
		}
		_, _ = c.Write([]byte("x"))
		_, _ = c.Read(make([]byte, 64))
		_ = c.Close()
	}
	return w.hits.Add(-int64(len(w.services)))
}

func (w *world) shareMemory() {
	w.shmKey = os.Getpid()<<8 | int(worlds.Add(1))
	id, err := unix.SysvShmGet(w.shmKey, 4096, unix.IPC_CREAT|0o600)
	must(w.t, err)
	w.shmID = id
	b, err := unix.SysvShmAttach(id, 0, 0)
	must(w.t, err)
	copy(b, secretText)
	must(w.t, unix.SysvShmDetach(b))
	shared := fmt.Sprintf("/tmp/tongs-secret-%d", w.shmKey)
	must(w.t, os.WriteFile(shared, []byte(secretText), 0o600))
	w.t.Cleanup(func() { os.Remove(shared) })
	w.queue = "tongs-" + strconv.Itoa(w.shmKey)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, cstring(w.queue), unix.O_RDWR|unix.O_CREAT, 0o600, 0, 0, 0)
	if errno != 0 {
		must(w.t, errno)
	}
	w.t.Cleanup(func() {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		_ = unix.Close(int(fd))
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, cstring(w.queue), 0, 0)
	})
}

// workspace makes a fresh one: a repository with one nested in it, files that other programs obey, and secrets.
func (w *world) workspace() string {
	must(w.t, os.WriteFile(filepath.Join(w.out, "removable"), nil, 0o600))
	ws := filepath.Join(w.dir, "work", strconv.FormatInt(w.workspaces.Add(1), 10))
	files := map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/hooks/pre-commit.sample": "", ".git/objects/x": "", ".git/refs/x": "",
		"sub/repo/.git/HEAD": "ref: refs/heads/main\n", "sub/repo/.git/config": "[core]\n", "sub/repo/.git/hooks/sample": "", "sub/repo/a": "",
		"bare/HEAD": "", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "[core]\n",
		".mcp.json": "{}\n", ".envrc": "\n", ".bashrc": "\n", ".github/workflows/ci.yml": "on: push\n", "sub/.vscode/tasks.json": "{}\n",
		".env": "TOKEN=SECRET\n", "sub/.env": "TOKEN=SECRET\n", "keys/private.pem": "SECRET\n", "vendor/lib/a": "a\n", "main.c": "int main(){}\n",
	}
	for name, content := range files {
		path := filepath.Join(ws, name)
		must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(w.t, os.WriteFile(path, []byte(content), 0o644))
	}
	must(w.t, os.Link(filepath.Join(w.out, "secret"), filepath.Join(ws, "prelinked")))
	must(w.t, os.Symlink(filepath.Join(w.out, "secret"), filepath.Join(ws, "outward")))
	must(w.t, os.Symlink(w.out, filepath.Join(ws, "outdir")))
	must(w.t, os.Symlink("main.c", filepath.Join(ws, ".zshrc")))
	return ws
}

// policy is the default one, with the names that are protected and hidden.
func (w *world) policy(ws string) Policy {
	pol := Default(ws, PresetOptions{
		Presets: []string{"git"},
		Protect: []string{".git", ".mcp.json", ".envrc", ".bashrc", ".zshrc", ".profile", ".vscode", ".github/workflows", "*.worker"},
		Hide:    []string{".env", "*.pem"},
	})
	pol.Writable = append(pol.Writable, Decided(ws))
	pol.Readable = append(pol.Readable, filepath.Dir(w.attack))
	pol.ReadOnly = append(pol.ReadOnly, filepath.Join(ws, "vendor"))
	pol.Limits = attemptLimits
	pol.Env = append(pol.Env, w.mark+"=1")
	pol.Require = nil
	return pol
}

func (w *world) fill(script, ws string) string {
	return strings.NewReplacer(
		"{S}", filepath.Join(w.out, "secret"), "{B}", w.out, "{V}", strconv.Itoa(w.victim.Process.Pid), "{W}", ws, "{A}", w.attack+" attack",
		"{T}", strconv.Itoa(w.ports[0]), "{U}", strconv.Itoa(w.ports[1]), "{T6}", strconv.Itoa(w.ports[2]), "{M}", w.mark,
		"{K}", strconv.Itoa(w.shmKey), "{I}", strconv.Itoa(w.shmID), "{Q}", w.queue, "{P}", strconv.Itoa(os.Getpid()),
	).Replace(script)
}

// outcome is what became of an attempt.
type outcome struct {
	through bool
	said    string
}

// sandboxed makes a batch of attempts in a sandbox.
func (w *world) sandboxed(r *Runner, batch []*attempt) ([]outcome, error) {
	ws, a := w.workspace(), batch[0]
	w.signalled.Store(false)
	hits := w.hits.Load()
	var out lockedBuffer
	cmd := &Cmd{Argv: []string{"/bin/bash", "-c", w.script(batch, ws, "1000")}, Policy: w.policy(ws), Stdout: &out, Stderr: &out}
	if a.pty {
		cmd.PTY = &PTY{24, 80}
	}
	if a.wall != 0 {
		cmd.Policy.Limits.Wall = a.wall
	}
	res, err := r.Run(context.Background(), cmd)
	if err != nil {
		return nil, err
	}
	noticed := w.settle() != hits || w.signalled.Load()
	left := marked(w.mark)
	var all []outcome
	for i, said := range w.parts(batch, out.String()) {
		through := strings.Contains(said, "ESCAPED")
		if batch[i].judge != nil {
			through = batch[i].judge(w, res)
		}
		all = append(all, outcome{through || noticed || len(left) > 0, fmt.Sprintf("exit %d, noticed %v, left running %v, limits %v, planted %v: %s",
			res.ExitCode, noticed, left, res.Report.LimitsHit, res.Report.Planted, tailOf([]byte(said), 600))})
	}
	return all, nil
}

// control makes the same attempts without a sandbox, as the same user.
func (w *world) control(batch []*attempt) (all []outcome) {
	ws := w.workspace()
	w.signalled.Store(false)
	hits := w.hits.Load()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.attack, "attack", "control", w.script(batch, ws, "0"))
	cmd.Dir, cmd.WaitDelay = ws, time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.out, "TONGS_TEST_SECRET=1", w.mark + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, _ := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("there is no attack")) {
		w.t.Errorf("%s: %s", batch[0].name, out)
	}
	noticed := w.settle() != hits || w.signalled.Load()
	for i, said := range w.parts(batch, string(out)) {
		through := noticed || strings.Contains(said, "ESCAPED")
		if judge := batch[i].judge; judge != nil {
			through = through || judge(w, &Result{ExitCode: cmd.ProcessState.ExitCode()})
		}
		all = append(all, outcome{through, said})
	}
	return all
}

// marked returns the processes that have the mark in their environment.
func marked(mark string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		b, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if bytes.Contains(b, []byte(mark+"=1")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lockedBuffer is a buffer for two streams.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// expected returns why an attempt is known to get through in a tier, or "".
func (a *attempt) expected(tier string) string {
	who := "user"
	if os.Getuid() == 0 {
		who = "root"
	}
	if why := a.through[tier+" "+who]; why != "" {
		return why
	}
	return a.through[tier]
}

// tally is what came of all attempts.
type tally struct {
	mu      sync.Mutex
	able    int
	inert   []string
	through map[string][]string
}

// TestEscapes makes every attempt in both tiers, and without a sandbox to see that it could succeed at all. Several are
// made at a time, each aimed at a world of its own.
func TestEscapes(t *testing.T) {
	list := attempts()
	if n := len(list); n < 100 {
		t.Fatalf("there are %d attempts, not 100", n)
	}
	t.Parallel()
	sum := &tally{through: map[string][]string{}}
	tiers := map[string]*Runner{TierA: runner(t, TierA), TierB: runner(t, TierB)}
	next := make(chan []*attempt)
	var workers sync.WaitGroup
	for range 4 {
		w := newWorld(t)
		workers.Go(func() {
			for batch := range next {
				w.make(batch, tiers, sum)
			}
		})
	}
	for _, batch := range batches(list) {
		next <- batch
	}
	close(next)
	workers.Wait()
	slices.Sort(sum.inert)
	t.Logf("user %d: %d attempts; without a sandbox %d get through, and %d cannot succeed here either: %s",
		os.Getuid(), len(list), sum.able, len(sum.inert), strings.Join(sum.inert, ", "))
	for _, tier := range []string{TierA, TierB} {
		slices.Sort(sum.through[tier])
		t.Logf("tier %s: %d get through, all documented: %s", tier, len(sum.through[tier]), strings.Join(sum.through[tier], ", "))
	}
}

// make makes a batch of attempts, without a sandbox and in each tier.
func (w *world) make(batch []*attempt, tiers map[string]*Runner, sum *tally) {
	var controls []outcome
	if batch[0].uncontrolled == "" {
		controls = w.control(batch)
	}
	for tier, r := range tiers {
		all, err := w.sandboxed(r, batch)
		if err != nil {
			w.t.Errorf("%s: tier %s: %v", batch[0].name, tier, err)
			continue
		}
		for i, a := range batch {
			w.judge(a, tier, all[i], sum)
		}
	}
	sum.mu.Lock()
	defer sum.mu.Unlock()
	for i, o := range controls {
		if o.through {
			sum.able++
		} else {
			sum.inert = append(sum.inert, batch[i].name)
		}
	}
}

// judge compares what became of an attempt with what is documented.
func (w *world) judge(a *attempt, tier string, o outcome, sum *tally) {
	why := a.expected(tier)
	switch {
	case o.through && why == "":
		w.t.Errorf("%s: it got through tier %s: %s", a.name, tier, o.said)
	case !o.through && why != "":
		w.t.Errorf("%s: it is documented as getting through tier %s (%s) and did not: %s", a.name, tier, why, o.said)
	case o.through:
		sum.mu.Lock()
		sum.through[tier] = append(sum.through[tier], a.name)
		sum.mu.Unlock()
	}
}

func TestEscapesAsUser(t *testing.T) { asUser(t, "TestEscapes") }
