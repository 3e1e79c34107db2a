package attendance_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/attendance"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("ATTEND"); dir != "" {
		defer attendance.Room{Dir: dir}.Attend("q1")()
		os.Stdout.WriteString("here\n")
		select {}
	}
	os.Exit(m.Run())
}

func TestSomebodyWaits(t *testing.T) {
	room := attendance.Room{Dir: filepath.Join(t.TempDir(), "waiting")}
	if room.Attended("q1") {
		t.Error("nobody came yet")
	}
	first, second := room.Attend("q1"), room.Attend("q1")
	first()
	if !room.Attended("q1") || room.Attended("q2") || room.Left("q1") || room.Left("q2") {
		t.Error("one of two waits for q1, and nobody for q2")
	}
	second()
	if room.Attended("q1") || !room.Left("q1") || room.Left("q2") {
		t.Error("everybody left q1, and nobody ever was at q2")
	}
	room.Attend("../q3")()
	if (attendance.Room{}).Attended("q1") {
		t.Error("a room without a place knows somebody")
	}
}

// A process that is killed waits no longer.
func TestAKilledProcessDoesNotWait(t *testing.T) {
	room := attendance.Room{Dir: t.TempDir()}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ATTEND="+room.Dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if !room.Attended("q1") {
		t.Error("another process waits")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 100 {
		if !room.Attended("q1") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a dead process waits")
}
