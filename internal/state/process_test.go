package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
	"github.com/tongs-ai/tongs/internal/insight"
)

// TestMain lets the test binary be the other processes.
func TestMain(m *testing.M) {
	job, dir := os.Getenv("DURABLE_JOB"), os.Getenv("DURABLE_DIR")
	if job == "" {
		os.Exit(m.Run())
	}
	if err := runJob(job, dir); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func runJob(job, dir string) error {
	_, _ = io.ReadAll(os.Stdin) // the starting gun: the parent closes it
	db, err := Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	switch name, arg, _ := strings.Cut(job, " "); name {
	case "calls":
		n, _ := strconv.Atoi(arg)
		return writeCalls(ctx, db, n)
	case "forever":
		for i := 0; ; i++ {
			if err := writeCalls(ctx, db, 1); err != nil {
				return err
			}
			fmt.Println("wrote", i)
		}
	case "answer":
		err := db.Questions(approval.Options{}).Answer(ctx, arg, approval.Answer{Approved: true, Channel: "test", By: strconv.Itoa(os.Getpid())})
		if errors.Is(err, approval.ErrAnswered) {
			return nil
		}
		if err == nil {
			fmt.Println("won")
		}
		return err
	case "redeem":
		_, ok, err := db.Questions(approval.Options{}).Redeem(ctx, arg, "")
		if ok {
			fmt.Println("won")
		}
		return err
	}
	return fmt.Errorf("no job %q", job)
}

func writeCalls(ctx context.Context, db *DB, n int) error {
	log := db.Audit()
	for i := range n {
		call := fmt.Sprintf("c_%d_%d_%d", os.Getpid(), i, time.Now().UnixNano())
		if err := log.Open(ctx, sampleRow(call)); err != nil {
			return err
		}
		if err := log.Intent(ctx, call, sampleIntent); err != nil {
			return err
		}
		if err := log.Close(ctx, call, sampleClose); err != nil {
			return err
		}
	}
	return nil
}

// process is another process that waits for the starting gun.
type process struct {
	cmd *exec.Cmd
	gun io.Closer
	out *bufio.Reader
}

func start(t *testing.T, dir, job string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DURABLE_JOB="+job, "DURABLE_DIR="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, stdin, bufio.NewReader(stdout)}
}

// race starts the job in n processes at once and returns what they printed.
func race(t *testing.T, dir, job string, n int) string {
	t.Helper()
	processes := make([]*process, n)
	for i := range processes {
		processes[i] = start(t, dir, job)
	}
	for _, p := range processes {
		_ = p.gun.Close()
	}
	var all strings.Builder
	for _, p := range processes {
		out, err := io.ReadAll(p.out)
		all.Write(out)
		if err := errors.Join(err, p.cmd.Wait()); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	return all.String()
}

// 32 processes make the file together and write one chain, without a loss.
func TestManyProcessesWriteOneChain(t *testing.T) {
	dir := t.TempDir()
	const processes, calls = 32, callsEach
	race(t, dir, fmt.Sprintf("calls %d", calls), processes)
	db := openDB(t, dir)
	if chain := audittest.Whole(t, db.Audit(), ""); chain.Entries != 3*processes*calls {
		t.Errorf("%d entries", chain.Entries)
	}
	s, err := insight.Summarize(t.Context(), db.Audit(), insight.Last(time.Hour, time.Now()), audit.Filter{})
	if err != nil || s.OK != processes*calls || s.Calls != s.OK {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestFirstProcessWins(t *testing.T) {
	dir := t.TempDir()
	s := openDB(t, dir).Questions(approval.Options{})
	q, err := s.Open(t.Context(), approvaltest.Question("d"))
	if err != nil {
		t.Fatal(err)
	}
	if out := race(t, dir, "answer "+q.ID, 10); strings.Count(out, "won") != 1 {
		t.Errorf("answers that won: %q", out)
	}
	if out := race(t, dir, "redeem d", 10); strings.Count(out, "won") != 1 {
		t.Errorf("redeemed: %q", out)
	}
}

// A process that is killed while it writes leaves a whole chain, and its last row as interrupted.
func TestKilledProcessesLeaveAWholeChain(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			p := start(t, dir, "forever")
			_ = p.gun.Close()
			for range 20 {
				if _, err := p.out.ReadString('\n'); err != nil {
					t.Error(err)
				}
			}
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		})
	}
	wg.Wait()
	if chain := audittest.Whole(t, db.Audit(), ""); chain.Entries < 6*20*3 {
		t.Errorf("%d entries: what was acknowledged is lost", chain.Entries)
	}
	if rows, err := db.Audit().Rows(t.Context(), audit.Filter{Outcome: audit.OutcomeRunning}); err != nil || len(rows) != 0 {
		t.Errorf("rows of dead processes run: %+v, %v", rows, err)
	}
	audittest.Write(t, db.Audit(), audittest.Row("after", "x"), sampleClose)
	audittest.Whole(t, db.Audit(), "")
}
