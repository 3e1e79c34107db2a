package files

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/workspace"
)

// helperEnv names the job of a process that a test started: job, workspace, lock directory, who.
const helperEnv = "TONGS_FILES_HELPER"

func TestMain(m *testing.M) {
	if job := os.Getenv(helperEnv); job != "" {
		part := strings.Split(job, "\n")
		if err := help(part[0], part[1], part[2], part[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(job, dir, locks, who string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+strings.Join([]string{job, dir, locks, who}, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

func help(job, dir, locks, who string) error {
	eng, done, err := open(dir, locks)
	if err != nil {
		return err
	}
	defer done()
	switch job {
	case "add":
		return addLines(eng, who, 2)
	case "rewrite":
		return rewrite(eng)
	default:
		return fmt.Errorf("no job %q", job)
	}
}

func open(dir, locks string) (*engine.Engine, func(), error) {
	ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: locks})
	if err != nil {
		return nil, nil, err
	}
	list, err := Tools(Options{})
	if err != nil {
		return nil, nil, err
	}
	eng, err := engine.New(engine.Options{Tools: list, Workspace: ws, Mode: tongs.ModeAll})
	return eng, func() { _ = ws.Close() }, err
}

func call(eng *engine.Engine, tool string, a args) *tongs.Result {
	raw, err := json.Marshal(a)
	if err != nil {
		return tongs.Failure(err)
	}
	return eng.Call(context.Background(), &tongs.Call{Tool: tool, Args: raw, Session: "s"})
}

// addLines adds lines at the end of a file that others edit too, as an agent would: stale is read again.
func addLines(eng *engine.Engine, who string, n int) error {
	for i := range n {
		line := fmt.Sprintf("%s-%d", who, i)
		for tries := 0; ; tries++ {
			res := call(eng, "edit", args{"path": "shared", "oldString": "END", "newString": line + "\nEND"})
			if res.OK() {
				break
			}
			if res.Error.Code != tongs.CodeStaleFile || tries > 1000 {
				return fmt.Errorf("%s, try %d: %w", line, tries, res.Error)
			}
			if res := call(eng, "read_file", args{"path": "shared"}); !res.OK() {
				return res.Error
			}
		}
	}
	return nil
}

func expectLines(t *testing.T, content string, who, n int) {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(content) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	for w := range who {
		for i := range n {
			if line := fmt.Sprintf("p%d-%d", w, i); count[line] != 1 {
				t.Errorf("%s is there %d times", line, count[line])
			}
		}
	}
	if len(count) != who*n+1 {
		t.Errorf("%d different lines, want %d", len(count), who*n+1)
	}
}

func Test32ProcessesEditOneFileAndLoseNothing(t *testing.T) {
	const processes = 32
	b := newBench(t, setup{})
	b.Put("shared", "END\n")
	locks := filepath.Join(t.TempDir(), "locks")
	var all []*exec.Cmd
	for i := range processes {
		cmd := helper("add", b.Dir, locks, fmt.Sprintf("p%d", i))
		b.Must(cmd.Start())
		all = append(all, cmd)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	expectLines(t, b.Get("shared"), processes, 2)
	entries, err := os.ReadDir(b.Dir)
	b.Must(err)
	if len(entries) != 1 {
		t.Errorf("litter: %v", entries)
	}
}

func TestManyCallersInOneProcessLoseNothing(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("shared", "END\n")
	eng, done, err := open(b.Dir, filepath.Join(t.TempDir(), "locks"))
	b.Must(err)
	defer done()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := addLines(eng, fmt.Sprintf("p%d", i), 3); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	expectLines(t, b.Get("shared"), 8, 3)
}

const rewritten = 200_000

// rewrite edits the whole of a file over and over, and says so each time.
func rewrite(eng *engine.Engine) error {
	from, to := "a", "b"
	for {
		res := call(eng, "edit", args{"path": "shared", "oldString": from, "newString": to, "replaceAll": true})
		if !res.OK() {
			return res.Error
		}
		fmt.Println("edited")
		from, to = to, from
	}
}

func TestKill9LeavesTheOldOrTheNewFile(t *testing.T) {
	b := newBench(t, setup{})
	locks := filepath.Join(t.TempDir(), "locks")
	for round := range 8 {
		b.Put("shared", strings.Repeat("a", rewritten))
		cmd := helper("rewrite", b.Dir, locks, "")
		out, err := cmd.StdoutPipe()
		b.Must(err)
		b.Must(cmd.Start())
		// It is killed while it goes on: somewhere in the next edit.
		r := bufio.NewReader(out)
		for range 1 + round%3 {
			_, err := r.ReadString('\n')
			b.Must(err)
		}
		b.Must(cmd.Process.Kill())
		_ = cmd.Wait()
		got := b.Get("shared")
		if len(got) != rewritten || strings.Trim(got, "a") != "" && strings.Trim(got, "b") != "" {
			t.Fatalf("round %d: the file is neither old nor new: %d bytes", round, len(got))
		}
		_, done, err := open(b.Dir, locks) // clears away what was left
		b.Must(err)
		done()
		entries, err := os.ReadDir(b.Dir)
		b.Must(err)
		if len(entries) != 1 {
			t.Errorf("round %d: litter %v", round, entries)
		}
	}
}
