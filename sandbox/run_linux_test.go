package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// plainPolicy is a small policy: programs, a writable directory, and nothing required.
func plainPolicy(dir string) Policy {
	pol := Policy{Writable: []Mount{Decided(dir)}, Dir: dir, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp/home", "TMPDIR=/tmp"}}
	for _, p := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"} {
		if _, err := os.Stat(p); err == nil {
			pol.Readable = append(pol.Readable, p)
		}
	}
	return pol
}

// bash runs a script and returns what it wrote to both streams.
func bash(t testing.TB, r *Runner, pol Policy, script string) (*Result, string) {
	t.Helper()
	var out lockedBuffer
	res, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/bash", "-c", script}, Policy: pol, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return res, out.String()
}

// inTiers runs a test in each tier.
func inTiers(t *testing.T, f func(t *testing.T, r *Runner)) {
	for _, tier := range []string{TierA, TierB} {
		t.Run(tier, func(t *testing.T) { f(t, runner(t, tier)) })
	}
}

func TestHowAProgramEnds(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		pol := plainPolicy(place(t))
		for _, c := range []struct {
			script string
			exit   int
			signal string
		}{
			{"exit 0", 0, ""},
			{"exit 3", 3, ""},
			{"exit 255", 255, ""},
			{"kill -TERM $$", 143, "terminated"},
			{"kill -KILL $$", 137, "killed"},
			{"kill -SEGV $$", 139, "segmentation fault"},
		} {
			res, out := bash(t, r, pol, c.script)
			if res.ExitCode != c.exit || res.Signal != c.signal || res.TimedOut {
				t.Errorf("%s: exit %d, signal %q, timed out %v: %s", c.script, res.ExitCode, res.Signal, res.TimedOut, out)
			}
		}
	})
}

func TestStreams(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		pol := plainPolicy(place(t))
		var out, errs bytes.Buffer
		cmd := &Cmd{Argv: []string{"/bin/sh", "-c", "cat; echo err >&2; echo out"}, Policy: pol, Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &errs}
		if _, err := r.Run(context.Background(), cmd); err != nil {
			t.Fatal(err)
		}
		if out.String() != "in\nout\n" || errs.String() != "err\n" {
			t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
		}

		var both bytes.Buffer
		cmd = &Cmd{Argv: []string{"/bin/sh", "-c", "for i in 1 2 3; do echo $i; echo $i >&2; done; cat"}, Policy: pol, Stdout: &both, Stderr: &both}
		if _, err := r.Run(context.Background(), cmd); err != nil {
			t.Fatal(err)
		}
		if both.String() != "1\n1\n2\n2\n3\n3\n" {
			t.Errorf("equal writers are not interleaved as written: %q", both.String())
		}
	})
}

// A reader that never ends keeps neither the program nor the caller.
func TestStdinThatNeverEnds(t *testing.T) {
	r := runner(t, TierA)
	never, w := io.Pipe()
	defer w.Close()
	res, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: plainPolicy(place(t)), Stdin: never})
	if err != nil || res.ExitCode != 0 {
		t.Errorf("%v %v", res, err)
	}
}

func TestTalkingToABackgroundJob(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		out, w := io.Pipe()
		p, err := r.Start(context.Background(), &Cmd{Argv: []string{"/bin/cat"}, Policy: plainPolicy(place(t)), StdinPipe: true, Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 6)
		for _, line := range []string{"hello\n", "again\n"} {
			if _, err := io.WriteString(p.Stdin(), line); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, buf); err != nil || string(buf) != line {
				t.Fatalf("%q %v", buf, err)
			}
		}
		if err := p.Stdin().Close(); err != nil {
			t.Fatal(err)
		}
		res, err := p.Wait()
		if err != nil || res.ExitCode != 0 {
			t.Errorf("%v %v", res, err)
		}
		if again, _ := p.Wait(); again != res {
			t.Error("a second Wait returns something else")
		}
	})
}

func TestKillAndCancel(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		started := func(ctx context.Context) *Process {
			out, w := io.Pipe()
			p, err := r.Start(ctx, &Cmd{Argv: []string{"/bin/bash", "-c", "trap '' TERM; echo up; sleep 1000"}, Policy: plainPolicy(place(t)), Stdout: w})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := started(context.Background())
		p.Kill()
		p.Kill()
		if res, err := p.Wait(); err != nil || res.Signal != "killed" || res.TimedOut {
			t.Errorf("killed: %+v %v", res, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		p = started(ctx)
		cancel()
		if res, err := p.Wait(); tongs.CodeOf(err) != tongs.CodeCancelled || res == nil || res.ExitCode != 137 {
			t.Errorf("cancelled: %+v %v", res, err)
		}
		if _, err := r.Start(ctx, &Cmd{Argv: []string{"/bin/true"}}); tongs.CodeOf(err) != tongs.CodeCancelled {
			t.Errorf("started after cancelling: %v", err)
		}
	})
}

func TestTerminal(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		var out lockedBuffer
		cmd := &Cmd{
			Argv: []string{"/bin/bash", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && (echo via tty > /dev/tty) && read line && echo got $line"}, Policy: plainPolicy(place(t)),
			Stdout: &out, PTY: &PTY{Rows: 33, Cols: 101},
		}
		p, err := r.Start(context.Background(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(p.Stdin(), "typed\n"); err != nil {
			t.Fatal(err)
		}
		res, err := p.Wait()
		if err != nil || res.ExitCode != 0 || !strings.Contains(out.String(), "33 101") || !strings.Contains(out.String(), "got typed") || !strings.Contains(out.String(), "via tty") {
			t.Errorf("%+v %v %q", res, err, out.String())
		}
	})
}

func TestResizingATerminal(t *testing.T) {
	r := runner(t, TierA)
	out, w := io.Pipe()
	p, err := r.Start(context.Background(), &Cmd{
		Argv: []string{"/bin/bash", "-c", "trap 'stty size; exit' WINCH; echo up; while :; do sleep 0.01; done"}, Policy: plainPolicy(place(t)), Stdout: w, PTY: &PTY{10, 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if err := p.Resize(55, 66); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(out, got); err != nil || string(got) != "55 66" {
		t.Errorf("%q %v", got, err)
	}
	go io.Copy(io.Discard, out)
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatCannotStart(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		dir := place(t)
		must(t, os.WriteFile(filepath.Join(dir, "data"), []byte("x"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "script"), []byte("echo no interpreter\n"), 0o755))
		for _, prog := range []string{"no-such-program", "/no/such/program", "./data", "./script", dir} {
			_, err := r.Run(context.Background(), &Cmd{Argv: []string{prog}, Policy: plainPolicy(dir)})
			if tongs.CodeOf(err) != tongs.CodeExecutionError {
				t.Errorf("%s: %v", prog, err)
			}
		}
	})
}

func TestPoliciesThatMakeNoSense(t *testing.T) {
	r := runner(t)
	dir := place(t)
	ok := plainPolicy(dir)
	with := func(change func(*Policy)) Policy {
		p := ok
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		pol  Policy
		code tongs.Code
	}{
		"a relative path":            {with(func(p *Policy) { p.Writable = []Mount{Decided("work")} }), tongs.CodeInvalidPath},
		"a relative protected path":  {with(func(p *Policy) { p.Protected = []string{".git"} }), tongs.CodeInvalidPath},
		"a path that is not there":   {with(func(p *Policy) { p.Readable = []string{"/no/such"} }), tongs.CodeInvalidPath},
		"the root as workspace":      {with(func(p *Policy) { p.Writable = []Mount{Decided("/")} }), tongs.CodeConfigError},
		"the system as workspace":    {with(func(p *Policy) { p.Writable = []Mount{Decided("/usr")} }), tongs.CodeConfigError},
		"processes as a tree":        {with(func(p *Policy) { p.Readable = []string{"/proc/self"} }), tongs.CodeConfigError},
		"devices as a tree":          {with(func(p *Policy) { p.Readable = []string{"/dev"} }), tongs.CodeConfigError},
		"a directory outside":        {with(func(p *Policy) { p.Dir = filepath.Dir(dir) + "-none" }), tongs.CodeInvalidPath},
		"a directory in no tree":     {with(func(p *Policy) { p.Dir = "/etc" }), tongs.CodeInvalidPath},
		"a variable without a value": {with(func(p *Policy) { p.Env = []string{"PATH"} }), tongs.CodeConfigError},
		"a zero byte":                {with(func(p *Policy) { p.Env = []string{"A=\x00"} }), tongs.CodeInvalidArgs},
		"a proxy that nobody is":     {with(func(p *Policy) { p.Network.Mode = NetworkProxy }), tongs.CodeConfigError},
		"a network of another kind":  {with(func(p *Policy) { p.Network.Mode = "some" }), tongs.CodeConfigError},
		"a property that none knows": {with(func(p *Policy) { p.Require = []Property{"magic"} }), tongs.CodeSandboxUnavailable},
	} {
		if _, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: c.pol}); tongs.CodeOf(err) != c.code {
			t.Errorf("%s: %v, not %s", name, err, c.code)
		}
	}
	if _, err := r.Run(context.Background(), &Cmd{}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("an empty command: %v", err)
	}
	if _, err := New(Options{Tiers: []string{"Z"}}); tongs.CodeOf(err) != tongs.CodeConfigError {
		t.Errorf("a tier that is none: %v", err)
	}
}

func TestTierBDoesNotServeWhatItCannotEnforce(t *testing.T) {
	r := runner(t, TierB)
	pol := plainPolicy(place(t))
	pol.Require = []Property{PropertyProtect, PropertyRead}
	_, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: pol})
	if tongs.CodeOf(err) != tongs.CodeSandboxUnavailable || !strings.Contains(err.Error(), "protect") {
		t.Errorf("%v", err)
	}
	pol.Require = nil
	pol.Network = Network{Mode: NetworkProxy, Serve: func(ctx context.Context, l net.Listener) error { <-ctx.Done(); return nil }}
	if _, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/true"}, Policy: pol}); tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
		t.Errorf("network rules without a namespace: %v", err)
	}
}

func TestReports(t *testing.T) {
	pol := plainPolicy(place(t))
	res, _ := bash(t, runner(t, TierA), pol, "sleep 1000 & exit 0")
	if rep := res.Report; rep.Tier != TierA || !rep.Full || len(rep.Layers) < 5 || rep.Leftover != 1 {
		t.Errorf("%+v", rep)
	}
	if res.Usage.MaxRSS == 0 || res.Usage != res.Report.Usage {
		t.Errorf("%+v", res.Usage)
	}
	res, _ = bash(t, runner(t, TierB), pol, "sleep 1000 & exit 0")
	if rep := res.Report; rep.Tier != TierB || rep.Full || len(rep.Missing) == 0 {
		t.Errorf("%+v", rep)
	}
}

// Trees may contain one another; the inner one counts.
func TestTreesInsideTrees(t *testing.T) {
	r := runner(t, TierA)
	dir := place(t)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	pol := plainPolicy(dir)
	pol.ReadOnly, pol.Writable = []string{filepath.Join(dir, "a")}, append(pol.Writable, Decided(filepath.Join(dir, "a/b/c")))
	_, out := bash(t, r, pol, "touch x a/x a/b/x a/b/c/x; ls x a/x a/b/x a/b/c/x")
	for name, there := range map[string]bool{"x": true, "a/x": false, "a/b/x": false, "a/b/c/x": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestAWorkspaceBehindALink(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		dir := place(t)
		must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
		must(t, os.Symlink("real", filepath.Join(dir, "link")))
		pol := plainPolicy(filepath.Join(dir, "link"))
		res, out := bash(t, r, pol, "echo 1 > a; cat "+filepath.Join(dir, "link/a")+" "+filepath.Join(dir, "real/a"))
		if res.ExitCode != 0 || out != "1\n1\n" {
			t.Errorf("%d %s", res.ExitCode, out)
		}
	})
}

// Workspaces are wherever people have them, under whatever name.
func TestWorkspacesInOddPlaces(t *testing.T) {
	base := place(t)
	places := []string{filepath.Join(base, "with space"), filepath.Join(base, "new\nline"), filepath.Join(base, "täst:1,2=3"), filepath.Join(base, "\xff\xfe"), filepath.Join(base, "-rf")}
	varTmp, err := os.MkdirTemp("/var/tmp", "tongs-")
	must(t, err)
	defer os.RemoveAll(varTmp)
	places = append(places, varTmp)
	r := runner(t, TierA)
	for _, dir := range places {
		must(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("x"), 0o644))
		pol := plainPolicy(dir)
		pol.ProtectedNames, pol.HiddenNames = []string{".git"}, []string{".env"}
		res, out := bash(t, r, pol, "echo 1 > a && cat a && ! touch .git/hooks/x 2>/dev/null && ! cat .env 2>/dev/null")
		if res.ExitCode != 0 || out != "1\n" {
			t.Errorf("%q: %d %s", dir, res.ExitCode, out)
		}
	}
}

// Root works in other people's directories, and what it makes there is theirs.
func TestAWorkspaceOfSomebodyElse(t *testing.T) {
	if os.Getuid() != 0 {
		return // only root can
	}
	dir := place(t)
	must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o600))
	must(t, os.Chown(dir, 1234, 5678))
	must(t, os.Chown(filepath.Join(dir, "old"), 1234, 5678))
	res, out := bash(t, runner(t, TierA), plainPolicy(dir), "cat old && echo new > new && echo more >> old && stat -c %U new old")
	if res.ExitCode != 0 || out != "old\nsandbox\nsandbox\n" {
		t.Errorf("%d %s", res.ExitCode, out)
	}
	info, err := os.Stat(filepath.Join(dir, "new"))
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 5678 {
		t.Errorf("the new file belongs to %d:%d", st.Uid, st.Gid)
	}
}

func TestFilesThatExistInsideOnly(t *testing.T) {
	pol := plainPolicy(place(t))
	pol.Files = map[string]string{"/etc/gitconfig": "[user]\n\tname = A\n", "/etc/passwd": "me:x:1:1::/:\n"}
	_, out := bash(t, runner(t, TierA), pol, "cat /etc/gitconfig /etc/passwd; echo x > /etc/gitconfig")
	if !strings.Contains(out, "name = A") || !strings.Contains(out, "me:x:1") || !strings.Contains(out, "Permission denied") && !strings.Contains(out, "Read-only") {
		t.Error(out)
	}
}

// A socket that somebody on the host listens on is out of reach, even inside the workspace.
func TestSocketsOfTheHostInTheWorkspace(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace()
	l, err := net.Listen("unix", filepath.Join(ws, "daemon.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	inTiers(t, func(t *testing.T, r *Runner) {
		_, out := bash(t, r, w.policy(ws), w.fill("{A} dial unix daemon.sock", ws))
		if strings.Contains(out, "ESCAPED") {
			t.Error(out)
		}
	})
}

func TestLargeSpecs(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		dir := place(t)
		pol := plainPolicy(dir)
		for i := range 300 {
			pol.Env = append(pol.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 4000)))
			name := filepath.Join(dir, fmt.Sprintf("d%d", i), "protected")
			must(t, os.MkdirAll(name, 0o755))
			pol.Protected = append(pol.Protected, name)
		}
		res, out := bash(t, r, pol, "echo ${#V299}; touch d299/protected/x 2>&1 | wc -l")
		if want := "4000\n1\n"; r.opt.Tiers[0] == TierA && out != want || res.ExitCode != 0 {
			t.Errorf("%d %q", res.ExitCode, out)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		dir := place(t)
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				var out bytes.Buffer
				res, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i)}, Policy: plainPolicy(dir), Stdout: &out})
				if err != nil || res.ExitCode != i || out.String() != fmt.Sprintln(i) {
					t.Errorf("%d: %+v %v %q", i, res, err, out.String())
				}
			})
		}
		group.Wait()
	})
}

// slowWriter takes its time, as a terminal over a bad line does.
type slowWriter struct {
	n     int
	taken chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.taken
	w.n += len(p)
	return len(p), nil
}

// A slow reader gets everything, even if the program ended long ago.
func TestASlowWriterLosesNothing(t *testing.T) {
	r := runner(t, TierA)
	w := &slowWriter{taken: make(chan struct{})}
	p, err := r.Start(context.Background(), &Cmd{Argv: []string{"/bin/sh", "-c", "head -c 200000 /dev/zero"}, Policy: plainPolicy(place(t)), Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	<-p.run.over
	go func() {
		for {
			select {
			case w.taken <- struct{}{}:
			case <-p.Done():
				return
			}
		}
	}()
	if _, err := p.Wait(); err != nil || w.n != 200000 {
		t.Errorf("%d bytes, %v", w.n, err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputThatCannotBeKeptEndsTheProgram(t *testing.T) {
	r := runner(t, TierA)
	_, err := r.Run(context.Background(), &Cmd{Argv: []string{"/bin/sh", "-c", "echo x; sleep 1000"}, Policy: plainPolicy(place(t)), Stdout: failingWriter{}})
	if tongs.CodeOf(err) != tongs.CodeExecutionError || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
}

func TestDescriptorsDoNotReachTheProgram(t *testing.T) {
	f, err := os.Open("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Not closed on exec, as one that this process itself inherited would be.
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	inTiers(t, func(t *testing.T, r *Runner) {
		_, out := bash(t, r, plainPolicy(place(t)), "for i in $(seq 3 100); do (true <&$i) 2>/dev/null && echo open $i; done; true")
		if out != "" {
			t.Error(out)
		}
	})
}

func TestRunsAsUser(t *testing.T) {
	asUser(t, "Test(HowAProgramEnds|Streams|TalkingToABackgroundJob|KillAndCancel|Terminal|AProgramThatCannotStart|Reports|TreesInsideTrees|AWorkspaceBehindALink|FilesThatExistInsideOnly|SocketsOfTheHostInTheWorkspace|LargeSpecs|ManyAtOnce|TheKeeperDies|DescriptorsDoNotReachTheProgram|Networks|Limits|InsideASandbox|WorkspacesInOddPlaces)")
}

func TestNetworks(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace()
	t.Run("none has a loopback of its own", func(t *testing.T) {
		res, out := bash(t, runner(t, TierA), w.policy(ws), w.fill("{A} loopback", ws))
		if !strings.Contains(out, "ESCAPED: talked to itself") {
			t.Errorf("%+v %s", res, out)
		}
	})
	t.Run("proxy reaches what is served", func(t *testing.T) {
		pol := w.policy(ws)
		served := make(chan struct{})
		pol.Network = Network{Mode: NetworkProxy, Serve: func(ctx context.Context, l net.Listener) error {
			defer close(served)
			stop := context.AfterFunc(ctx, func() { l.Close() })
			defer stop()
			for {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				_, _ = io.WriteString(c, "from the host\n")
				_ = c.Close()
			}
		}}
		_, out := bash(t, runner(t, TierA), pol, w.fill(`echo $HTTPS_PROXY; cat < /dev/tcp/127.0.0.1/3128; {A} dial tcp 127.0.0.1:{T}`, ws))
		if !strings.Contains(out, proxyURL) || !strings.Contains(out, "from the host") || strings.Contains(out, "ESCAPED") {
			t.Error(out)
		}
		<-served
	})
	t.Run("open reaches the host", func(t *testing.T) {
		inTiers(t, func(t *testing.T, r *Runner) {
			pol := w.policy(ws)
			pol.Network.Mode = NetworkOpen
			_, out := bash(t, r, pol, w.fill(`{A} dial tcp 127.0.0.1:{T}; {A} dial unix @{M}; {A} socket 40 1 0`, ws))
			if n := strings.Count(out, "ESCAPED"); n != 1 {
				t.Errorf("%d of 3 got through: %s", n, out)
			}
			if resolv, err := os.ReadFile("/etc/resolv.conf"); err == nil {
				if _, out := bash(t, r, pol, "cat /etc/resolv.conf"); out != string(resolv) {
					t.Errorf("names are resolved otherwise than outside: %q", out)
				}
			}
		})
	})
}
