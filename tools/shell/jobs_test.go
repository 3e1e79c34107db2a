package shell

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/workbench"
)

func jobsBench(t testing.TB, s setup) *bench {
	t.Helper()
	s.Background = true
	s.Settle = 1
	return newBench(t, s)
}

func (b *bench) start(command string, more ...args) string {
	b.Helper()
	out := b.sh(command, append(more, args{"background": true})...)
	if out.Job == "" {
		b.Fatal("no job")
	}
	return out.Job
}

func (b *bench) job(action, id string, more ...args) JobsOutput {
	b.Helper()
	a := args{"action": action, "id": id}
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	res := b.Call("shell_jobs", a)
	if !res.OK() {
		b.Fatalf("shell_jobs %v: %v", a, res.Error)
	}
	return value[JobsOutput](b, res)
}

// expect reads on from the cursor until the output has the text, and returns where to go on.
func (b *bench) expect(id string, cursor int64, text string) int64 {
	b.Helper()
	got := ""
	for {
		out := b.job("read", id, args{"cursor": cursor, "timeout": 60})
		got += out.Output
		cursor = out.Cursor
		if strings.Contains(got, text) {
			return cursor
		}
		if out.Output == "" {
			b.Fatalf("%s wrote %q, want ...%q", id, got, text)
		}
	}
}

func TestLifeOfAJob(t *testing.T) {
	b := jobsBench(t, setup{})
	id := b.start("echo one; read line; echo got $line; read line; exit 7")
	cursor := b.expect(id, 0, "one\n")
	list := value[JobsOutput](b, b.Call("shell_jobs", args{"action": "list"}))
	if len(list.Jobs) != 1 || !list.Jobs[0].Running || list.Jobs[0].ID != id || list.Jobs[0].ExitCode != -1 {
		t.Errorf("jobs %+v", list.Jobs)
	}
	b.Questions()
	b.job("write", id, args{"input": "hello\n"})
	b.Equal("questions about writing to it", len(b.Questions()), 1)
	cursor = b.expect(id, cursor, "got hello\n")
	b.job("write", id, args{"input": "\n"})
	out := b.job("wait", id, args{"timeout": 60})
	if st := out.Jobs[0]; st.Running || st.ExitCode != 7 {
		t.Errorf("%+v", st)
	}
	b.Equal("after the cursor", b.job("read", id, args{"cursor": cursor}).Output, "")
	b.Equal("all of it", b.job("read", id).Output, "one\ngot hello\n")
	b.fails(tongs.CodeExecutionError, "has ended", "shell_jobs", args{"action": "write", "id": id, "input": "x\n"})
	res := b.Call("shell_jobs", args{"action": "list"})
	b.Contains("list", res.Content, "ended with exit code 7")
}

func TestLookingAfterJobsIsFree(t *testing.T) {
	t.Parallel()
	b := jobsBench(t, setup{rules: []tongs.Rule{{
		Layer: tongs.LayerUser, Toolset: Toolset, Effects: tongs.Kinds(tongs.EffectExecute), Decision: tongs.Ask, Fallback: true,
	}}})
	id := b.start("sleep 100")
	b.Equal("questions about the job", len(b.Questions()), 1)
	b.job("read", id)
	b.Call("shell_jobs", args{"action": "list"})
	b.job("wait", id, args{"timeout": 1})
	out := b.job("kill", id)
	if out.Jobs[0].Running || out.Jobs[0].Signal != "killed" {
		t.Errorf("%+v", out.Jobs[0])
	}
	b.Equal("questions", len(b.Questions()), 0)
}

func TestInputOfAShellIsDecidedAsCommands(t *testing.T) {
	b := jobsBench(t, setup{rules: append(rules(tongs.PreApproved, "echo", "python3"), rules(tongs.Blocked, "rm")...)})
	id := b.start("bash")
	b.Questions()
	b.job("write", id, args{"input": "echo free\n"})
	b.expect(id, 0, "free\n")
	b.Equal("questions about what a rule frees", len(b.Questions()), 0)
	b.fails(tongs.CodeBlocked, "", "shell_jobs", args{"action": "write", "id": id, "input": "echo a; env rm x\n"})
	b.fails(tongs.CodeInvalidArgs, "newline", "shell_jobs", args{"action": "write", "id": id, "input": "echo a"})
	b.fails(tongs.CodeInvalidArgs, "parsed", "shell_jobs", args{"action": "write", "id": id, "input": "cat <<X\n"})
	b.job("write", id, args{"input": "touch made\n"})
	b.Equal("questions about the rest", len(b.Questions()), 1)
	// From here on another program reads what is written.
	b.job("write", id, args{"input": "python3 -i -q\n"})
	b.Equal("questions about an interpreter", len(b.Questions()), 1)
	b.job("write", id, args{"input": "echo = 1\n"})
	b.Equal("questions about what looks like a free command", len(b.Questions()), 1)
	b.job("kill", id)
}

func TestInputOfOtherProgramsIsAsked(t *testing.T) {
	b := jobsBench(t, setup{rules: rules(tongs.PreApproved, "cat", "bash", "python3", "sort")})
	b.Put("s.sh", "read x; $x\n", 0o755)
	for _, command := range []string{"python3 -c 'exec(input())'", "bash s.sh", "cat | bash", "bash -c 'read x; $x'"} {
		id := b.start(command)
		b.Questions()
		e := b.Explain("shell_jobs", args{"action": "write", "id": id, "input": "echo x\n"})
		if e.Decision != tongs.Ask {
			t.Errorf("%s: %s, effects %v", command, e.Decision, e.Effects)
		}
		b.job("kill", id)
	}
}

// While a person looks at what a shell would do with some input, another call makes it an interpreter: what they
// approved is not what would happen.
func TestReaderThatChangesWhileAPersonIsAsked(t *testing.T) {
	var b *bench
	asked := 0
	b = jobsBench(t, setup{answer: func(q approval.Question) approval.Answer {
		if !strings.Contains(string(q.Args), "touch made") {
			return approval.Answer{Approved: true}
		}
		if asked++; asked == 1 {
			b.job("write", "job1", args{"input": "python3 -i -q\n"})
		}
		return approval.Answer{Approved: asked == 1}
	}})
	b.start("bash")
	b.fails(tongs.CodeDenied, "", "shell_jobs", args{"action": "write", "id": "job1", "input": "touch made\n"})
	b.Equal("times asked", asked, 2)
}

func TestJobsBelongToTheirSession(t *testing.T) {
	b := jobsBench(t, setup{})
	id := b.start("sleep 100")
	as := func(session string, a args) *tongs.Result {
		return b.callAs(context.Background(), session, "shell_jobs", a, nil)
	}
	b.Contains("list of another session", as("other", args{"action": "list"}).Content, "(no jobs)")
	for _, action := range []string{"read", "write", "wait", "kill"} {
		res := as("other", args{"action": action, "id": id, "input": "x\n"})
		if res.OK() || res.Error.Code != tongs.CodeInvalidArgs || strings.Contains(res.Error.Message, "but") {
			t.Errorf("%s: %v", action, res.Error)
		}
	}
	b.Equal("running", b.job("read", id).Jobs[0].Running, true)
	b.set.Close("other")
	b.Equal("running still", b.job("read", id).Jobs[0].Running, true)
	j, err := b.set.jobs.find("s", id)
	b.Must(err)
	b.set.Close("s")
	if _, ended := j.ended(); !ended {
		t.Error("the job lives on after its session")
	}
	b.fails(tongs.CodeInvalidArgs, "none at all", "shell_jobs", args{"action": "read", "id": id})
}

func TestNumberOfJobsIsBounded(t *testing.T) {
	b := jobsBench(t, setup{Options: Options{Jobs: 2, MaxJobs: 3}})
	b.start("sleep 100")
	second := b.start("sleep 100")
	b.fails(tongs.CodeExecutionError, "2 jobs running", "shell", args{"command": "sleep 1", "background": true})
	as := func(session string) *tongs.Result {
		return b.callAs(context.Background(), session, "shell", args{"command": "sleep 100", "background": true}, nil)
	}
	if res := as("other"); !res.OK() {
		t.Fatal(res.Error)
	}
	if res := as("third"); res.OK() || !strings.Contains(res.Error.Message, "3 jobs running") {
		t.Errorf("%v", res.Error)
	}
	b.job("kill", second)
	b.start("sleep 100")
	b.set.CloseAll()
	b.fails(tongs.CodeCancelled, "starts no more jobs", "shell", args{"command": "sleep 1", "background": true})
}

func TestManyStartsAtOnceStayBounded(t *testing.T) {
	b := jobsBench(t, setup{Options: Options{Jobs: 3}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	started := 0
	for range 10 {
		wg.Go(func() {
			if res := b.Call("shell", args{"command": "sleep 100", "background": true}); res.OK() {
				mu.Lock()
				started++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.Equal("started", started, 3)
}

func TestEndedJobsAreForgottenInTime(t *testing.T) {
	b := jobsBench(t, setup{})
	for range maxEnded + 3 {
		b.job("wait", b.start("true"))
	}
	list := value[JobsOutput](b, b.Call("shell_jobs", args{"action": "list"}))
	if n := len(list.Jobs); n > maxEnded+1 {
		t.Errorf("%d jobs are remembered", n)
	}
}

func TestOutputOfJobsIsBoundedAndKept(t *testing.T) {
	var b *bench
	b = jobsBench(t, setup{Options: Options{JobBytes: 1000, JobOutput: func(_, job string) tongs.Stream {
		return output.Bounds{Spill: b.Spill, Limits: output.Limits{Stream: 100}}.Stream(job, "output", nil)
	}}})
	id := b.start("seq 1 100000; read x")
	b.expect(id, 0, "100000\n")
	res := b.Call("shell_jobs", args{"action": "read", "id": id})
	out := value[JobsOutput](b, res)
	if len(out.Output) > 1000 || out.Lost != out.Cursor-1000 {
		t.Errorf("%d bytes, %d lost of %d", len(out.Output), out.Lost, out.Cursor)
	}
	b.Contains("content", res.Content, "no longer kept; read_file /spill/"+id+"/output.txt has all of it")
	b.job("kill", id)
	data, err := os.ReadFile(strings.Replace(out.Path, "/spill", b.Spill.Dir(), 1))
	b.Must(err)
	if int64(len(data)) != out.Cursor {
		t.Errorf("%d bytes kept of %d", len(data), out.Cursor)
	}
}

func TestJobsWithTimeTerminalAndInput(t *testing.T) {
	t.Parallel()
	b := jobsBench(t, setup{})
	limited := b.start("sleep 100", args{"timeout": 1})
	terminal := b.start("tty; read x; echo typed $x", args{"pty": true})
	b.expect(terminal, 0, "/dev/pts")
	b.job("write", terminal, args{"input": "text\n"})
	b.expect(terminal, 0, "typed text")
	counted := b.start("wc -c", args{"stdin": "12345"})
	b.job("write", counted, args{"input": "678", "eof": true})
	b.job("wait", counted)
	b.Equal("all input", b.job("read", counted).Output, "8\n")
	b.Equal("signal of the one with a time-out", b.job("wait", limited).Jobs[0].Signal, "killed")
}

func TestWritingToAJobThatDoesNotRead(t *testing.T) {
	t.Parallel()
	b := jobsBench(t, setup{})
	id := b.start("sleep 100")
	long := strings.Repeat("x", 1<<20)
	b.fails(tongs.CodeTimeout, "does not read", "shell_jobs", args{"action": "write", "id": id, "input": long, "timeout": 1})
	b.fails(tongs.CodeTimeout, "has not read what was written before", "shell_jobs", args{"action": "write", "id": id, "input": "y", "timeout": 1})
	b.job("kill", id)
	b.fails(tongs.CodeExecutionError, "has ended", "shell_jobs", args{"action": "write", "id": id, "input": "z"})
}

func TestWrongUseOfJobs(t *testing.T) {
	b := jobsBench(t, setup{})
	b.fails(tongs.CodeInvalidArgs, "needs the id", "shell_jobs", args{"action": "read"})
	b.fails(tongs.CodeInvalidArgs, "none at all", "shell_jobs", args{"action": "kill", "id": "job9"})
	id := b.start("cat")
	b.fails(tongs.CodeInvalidArgs, "nothing to write", "shell_jobs", args{"action": "write", "id": id})
	b.fails(tongs.CodeInvalidArgs, "but [job1]", "shell_jobs", args{"action": "read", "id": "job2"})
	b.Equal("cursor beyond the end", b.job("read", id, args{"cursor": 1 << 40}).Cursor, int64(0))
}

// A host that is killed leaves no job behind: it is this test binary, started again.
func TestJobsEndWithTheHost(t *testing.T) {
	if os.Getenv("SHELL_TEST_HOST") != "" {
		b := jobsBench(t, setup{})
		id := b.start("while :; do echo x >> beat; sleep 0.01; done")
		for !b.Exists("beat") {
			b.job("wait", id, args{"timeout": 1})
		}
		os.Stdout.WriteString("DIR " + b.Dir + "\n")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestJobsEndWithTheHost$", "-test.v")
	cmd.Env = append(os.Environ(), "SHELL_TEST_HOST=1", "TMPDIR="+workbench.RealDir(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := ""
	buf := make([]byte, 4096)
	for seen := ""; dir == ""; {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("the host said %q: %v", seen, err)
		}
		seen += string(buf[:n])
		if _, rest, ok := strings.Cut(seen, "DIR "); ok && strings.Contains(rest, "\n") {
			dir, _, _ = strings.Cut(rest, "\n")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	b := newBench(t, setup{})
	b.Dir = dir
	b.rebuild(b.Open(setup{}.bench()))
	before := ""
	for range 50 { // the end of the job takes a moment; from then on the file stays as it is
		b.shell("sleep 0.1")
		now := b.Get("beat")
		if now == before {
			return
		}
		before = now
	}
	t.Error("the job lives on after its host was killed")
}

// A session that ends while one of its jobs is being started takes it along.
func TestSessionThatEndsWhileAJobStarts(t *testing.T) {
	m := newJobs(Options{}.withDefaults())
	j, err := m.reserve("s")
	if err != nil {
		t.Fatal(err)
	}
	m.close("s")
	if m.add("s", j) || len(m.of("s")) != 0 {
		t.Error("the job outlives its session")
	}
	if j, err = m.reserve("s"); err != nil || !m.add("s", j) {
		t.Errorf("the session cannot begin anew: %v", err)
	}
	if len(m.starting) != 0 {
		t.Errorf("%d are still being started", len(m.starting))
	}
}
