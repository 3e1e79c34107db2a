package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/schema"
)

func TestOutputAndExitCode(t *testing.T) {
	b := newBench(t, setup{})
	res := b.shell("echo out; echo err >&2; exit 3")
	out := value[Output](b, res)
	b.Equal("stdout", out.Stdout, "out\n")
	b.Equal("stderr", out.Stderr, "err\n")
	b.Equal("exit code", out.ExitCode, 3)
	b.Equal("content", res.Content, "out\n[stderr]\nerr\n(exit code 3)")
	b.Equal("title", res.Title, "echo out; echo err >&2; exit 3")
	if out.Usage == nil || out.Usage.Memory <= 0 {
		t.Errorf("usage = %+v", out.Usage)
	}
	if report, ok := res.Metadata["sandbox"].(*tongs.Report); !ok || report.Tier == "" {
		t.Errorf("metadata = %v", res.Metadata)
	}
	b.Equal("content of silence", b.shell("true").Content, "(no output)")
	b.Equal("content of a silent failure", b.shell("false").Content, "(no output)\n(exit code 1)")
	b.Equal("content of stderr alone", b.shell("echo e >&2").Content, "e\n")
}

func TestSignals(t *testing.T) {
	b := newBench(t, setup{})
	res := b.shell("kill -TERM $$")
	out := value[Output](b, res)
	b.Equal("exit code", out.ExitCode, 143)
	b.Equal("signal", out.Signal, "terminated")
	b.Contains("content", res.Content, "ended by a signal: terminated")
}

func TestAliasesOfToolAndArguments(t *testing.T) {
	b := newBench(t, setup{})
	for _, name := range []string{"bash", "execute_command"} {
		if res := b.Call(name, args{"cmd": "echo hi", "timeout": "5"}); res.Content != "hi\n" {
			t.Errorf("%s: %q", name, res.Content)
		}
	}
}

func TestStreamsArriveInOrder(t *testing.T) {
	b := newBench(t, setup{})
	var got strings.Builder
	count := 0
	res := b.callAs(context.Background(), "s", "shell", args{"command": "for i in 1 2 3 4 5; do echo $i; done; echo last >&2"},
		func(u tongs.Update) {
			if u.Stream == "stdout" {
				got.WriteString(u.Text)
			}
			if u.Stream != "" {
				count++
			}
		})
	if !res.OK() {
		t.Fatal(res.Error)
	}
	b.Equal("updates", got.String(), "1\n2\n3\n4\n5\n")
	if count < 2 {
		t.Errorf("%d updates", count)
	}
}

// The first line must reach the caller while the command still runs: it ends only once that line made a file appear.
func TestUpdatesComeWhileTheCommandRuns(t *testing.T) {
	b := newBench(t, setup{})
	seen := false
	res := b.callAs(context.Background(), "s", "shell",
		args{"command": "echo ready; while ! test -e go; do sleep 0.01; done; echo done", "timeout": 30},
		func(u tongs.Update) {
			if strings.Contains(u.Text, "ready") && !seen {
				seen = true
				if err := os.WriteFile(filepath.Join(b.Dir, "go"), nil, 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	b.Equal("content", res.Content, "ready\ndone\n")
}

func TestTimeoutKeepsPartialOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t, setup{})
	var res *tongs.Result
	var out Output
	for timeout := 1; timeout < 100 && out.Stdout == ""; timeout *= 4 { // until it had the time to say something
		killed := fmt.Sprintf("killed after %ds", timeout)
		res = b.fails(tongs.CodeTimeout, killed, "shell", args{"command": "echo partial; sleep 1000", "timeout": timeout})
		out = value[Output](b, res)
	}
	b.Equal("stdout", out.Stdout, "partial\n")
	b.Equal("timed out", out.TimedOut, true)
	b.Contains("content", res.Content, "TIMEOUT: ")
	b.Contains("content", res.Content, "\npartial")
	spec := b.set.Tools()[0].Spec()
	var v schema.Validator
	b.Must(v.CheckOutput(spec, res.Value))
}

func TestTimeoutOfTheCallIsATimeoutToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, setup{})
	said := ""
	for timeout := time.Second; timeout < 100*time.Second && said == ""; timeout *= 4 { // until it had the time to say something
		res := b.Engine.Call(context.Background(), &tongs.Call{
			Tool: "shell", Args: []byte(`{"command":"echo partial; sleep 1000"}`), Timeout: timeout,
		})
		if res.OK() || res.Error.Code != tongs.CodeTimeout {
			t.Fatalf("%v", res.Error)
		}
		if res.Value != nil { // there was a program at all
			said = value[Output](b, res).Stdout
		}
	}
	b.Equal("stdout", said, "partial\n")
}

func TestCancelKillsTheWholeTree(t *testing.T) {
	b := newBench(t, setup{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// The daemon leaves its group and its session, and writes as long as it lives.
	command := `setsid sh -c 'while :; do echo x >> beat; sleep 0.01; done' & while ! test -s beat; do sleep 0.01; done; echo started; sleep 100`
	res := b.callAs(ctx, "s", "shell", args{"command": command}, func(u tongs.Update) {
		if strings.Contains(u.Text, "started") {
			cancel()
		}
	})
	if res.OK() || res.Error.Code != tongs.CodeCancelled {
		t.Fatalf("%v\n%s", res.Error, res.Content)
	}
	b.Contains("content", res.Content, "started")
	before := b.Get("beat")
	b.shell("sleep 0.2") // twenty beats of a daemon that lives
	b.Equal("file of the daemon", b.Get("beat"), before)
}

func TestStdin(t *testing.T) {
	b := newBench(t, setup{})
	b.Equal("stdin by default", b.sh("cat; echo end").Stdout, "end\n")
	b.Equal("stdin given", b.sh("cat", args{"stdin": "hello"}).Stdout, "hello")
	long := strings.Repeat("0123456789\n", 50_000)
	b.Equal("long stdin", b.sh("wc -c", args{"stdin": long}).Stdout, fmt.Sprintln(len(long)))
	b.Equal("stdin nobody reads", b.sh("echo fine", args{"stdin": long}).Stdout, "fine\n")
}

func TestTerminal(t *testing.T) {
	b := newBench(t, setup{})
	out := b.sh("tty; test -t 0 && test -t 1 && test -t 2 && echo terminal", args{"pty": true})
	b.Contains("stdout", out.Stdout, "/dev/pts/")
	b.Contains("stdout", out.Stdout, "\nterminal\n")
	b.Contains("without pty", b.sh("tty").Stdout, "not a tty")
	b.Contains("typed", b.sh("read line; echo got $line", args{"pty": true, "stdin": "typed\n"}).Stdout, "got typed")
	b.fails(tongs.CodeInvalidArgs, "pty and persist", "shell", args{"command": "true", "pty": true, "persist": true})
	b.fails(tongs.CodeInvalidArgs, "newline", "shell", args{"command": "cat", "pty": true, "stdin": "x"})
}

func TestColoursAreForPeople(t *testing.T) {
	b := newBench(t, setup{})
	res := b.shell(`printf '\033[31mred\033[0m \033]0;title\007\033]52;c;ZXZpbA==\007\033[2Jtext\n'`)
	b.Equal("content", res.Content, "red text\n")
	b.Equal("display", res.Display, "\x1b[31mred\x1b[0m text\n\x1b[0m")
	b.Equal("display without colours", b.shell("echo plain").Display, "")
}

func TestStrangeOutput(t *testing.T) {
	b := newBench(t, setup{})
	b.Equal("invalid UTF-8", b.sh(`printf 'a\xffb\n'`).Stdout, "a\uFFFDb\n")
	b.Contains("binary", b.sh(`head -c 1000 /dev/zero`).Stdout, "[binary output, 1.0 kB]")
	b.Equal("progress", b.sh(`printf '10%%\r50%%\r100%%\n'`).Stdout, "100%\n")
}

// A gigabyte of output costs neither memory nor patience of the model: head, tail, and where the rest is. The spill has
// a limit, and so has the sandbox.
func TestAGigabyteOfOutputIsBounded(t *testing.T) {
	b := newBench(t, setup{limits: sandbox.Limits{Output: 2 << 30}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res := b.shell("echo head; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo tail")
	runtime.ReadMemStats(&after)
	out := value[Output](b, res)
	if len(out.Stdout) > 40_000 {
		t.Errorf("%d bytes shown", len(out.Stdout))
	}
	b.Contains("stdout", out.Stdout, "head\n")
	b.Contains("stdout", out.Stdout, "tail\n")
	b.Contains("stdout", out.Stdout, "left out; read_file /spill/")
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestOutputBeyondTheLimitOfTheSandbox(t *testing.T) {
	b := newBench(t, setup{limits: sandbox.Limits{Output: 1 << 20}})
	b.Fails(tongs.CodeExecutionError, "the limit of output was reached", b.Call("shell", args{"command": "yes"}))
}

func TestWorkdir(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("sub/a.txt", "inside\n", 0o644)
	b.Put("file", "", 0o644)
	b.Must(os.Symlink("/etc", filepath.Join(b.Dir, "out")))
	b.Must(os.Symlink("sub", filepath.Join(b.Dir, "link")))
	b.Equal("relative", b.sh("cat a.txt", args{"workdir": "sub"}).Stdout, "inside\n")
	b.Equal("absolute", b.sh("cat a.txt", args{"workdir": filepath.Join(b.Dir, "sub")}).Stdout, "inside\n")
	b.Equal("by a link", b.sh("cat a.txt", args{"cwd": "link"}).Stdout, "inside\n")
	for _, outside := range []string{"/", "/etc", "..", "out", "sub/../..", "/proc/self/root/etc"} {
		b.fails(tongs.CodeInvalidPath, "", "shell", args{"command": "pwd", "workdir": outside})
	}
	b.fails(tongs.CodeInvalidPath, "not a directory", "shell", args{"command": "pwd", "workdir": "file"})
	b.fails(tongs.CodeFileNotFound, "", "shell", args{"command": "pwd", "workdir": "nope"})
}

func TestCommandsThatCannotBeParsed(t *testing.T) {
	b := newBench(t, setup{})
	res := b.fails(tongs.CodeInvalidArgs, "cannot be parsed", "shell", args{"command": "echo ok\nif true; then"})
	if res.Error.Details["line"] == nil || res.Error.Details["column"] == nil {
		t.Errorf("details %v", res.Error.Details)
	}
	b.fails(tongs.CodeInvalidArgs, "empty", "shell", args{"command": "  \n"})
	b.fails(tongs.CodeInvalidArgs, "NUL", "shell", args{"command": "echo a\x00b"})
	b.fails(tongs.CodeInvalidArgs, "timeout", "shell", args{"command": "true", "timeout": 601})
	b.Equal("questions", len(b.Questions()), 0)
}

// recorder notes how commands are run.
type recorder struct {
	engine.Programs
	ran *[]tongs.Command
}

func (r recorder) Run(ctx context.Context, cmd *tongs.Command) (*tongs.Exit, error) {
	*r.ran = append(*r.ran, *cmd)
	return r.Programs.Run(ctx, cmd)
}

func TestWhatOnlyReadsRunsReadOnly(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("a", "x\n", 0o644)
	b.Put("s.sh", "#!/bin/sh\necho y > made\n", 0o755)
	opt := b.Open(setup{}.bench())
	var commands []tongs.Command
	inner := opt.Commands
	opt.Commands = func(p *tongs.Permit) engine.Programs { return recorder{inner(p), &commands} }
	b.rebuild(opt)
	for command, want := range map[string]bool{
		"cat a": true, "cat a | head -1 | wc -l": true, "grep -r x . || true": true, "ls -l; pwd": true,
		"touch b": false, "cat a > c": false, "./s.sh": false, "cat a; rm c": false, "sort -o a a": false, "echo $(touch d)": false,
	} {
		commands = nil
		b.shell(command)
		if len(commands) != 1 || commands[0].ReadOnly != want {
			t.Errorf("%s: read-only %v, want %v", command, commands[0].ReadOnly, want)
		}
	}
}

func TestBackgroundNeedsAHostThatStays(t *testing.T) {
	b := newBench(t, setup{})
	b.fails(tongs.CodeInvalidArgs, "leave out background", "shell", args{"command": "sleep 1", "background": true})
	b.Equal("questions", len(b.Questions()), 0)
}

func TestWithoutASandboxNothingRuns(t *testing.T) {
	b := newBench(t, setup{})
	opt := b.Open(setup{}.bench())
	opt.Commands = nil
	b.rebuild(opt)
	b.fails(tongs.CodeSandboxUnavailable, "no sandbox", "shell", args{"command": "touch made"})
	b.Equal("made", b.Exists("made"), false)
}
