package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		syscall.Exit(attack(os.Args[2:])) // at once, also under the race detector
	}
	if job := os.Getenv("TONGS_TEST_HOST"); job != "" {
		os.Exit(testHost(job))
	}
	os.Setenv("TONGS_TEST_SECRET", "1") // what no sandbox may see
	os.Exit(m.Run())
}

// nobody is the ordinary user that suites are run as, too.
const nobody = 65534

// asUser runs a test of this package again as an ordinary user, in a process of its own. Run as an ordinary user, the
// test itself was that already.
func asUser(t *testing.T, test string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "tongs-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^" + test + "$", "-test.v", "-test.timeout=" + timeLeft(t).String()}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TONGS_TEST_USER=1", "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME="+dir, "GOCACHE="+filepath.Join(dir, "go-build"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	} else {
		t.Logf("as user %d:\n%s", nobody, tailOf(out, 4000))
	}
}

// timeLeft is how long a test may take that another process runs for this one, 0 for as long as it likes.
func timeLeft(t *testing.T) time.Duration {
	ends, ok := t.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(ends)-5*time.Second, time.Second) // it shall say where it hangs before this one does
}

func tailOf(b []byte, n int) string {
	if len(b) > n {
		return fmt.Sprintf("[%d bytes before]\n%s", len(b)-n, b[len(b)-n:])
	}
	return string(b)
}

// runner returns a Runner for one tier, which is closed with the test.
func runner(t testing.TB, tiers ...string) *Runner {
	t.Helper()
	r, err := New(Options{Tiers: tiers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// place returns a directory that the program under test, whoever it runs as, can reach.
func place(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
