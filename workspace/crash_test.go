//go:build linux || darwin

package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// childMode is set in the environment of the test binary when it runs as another process.
const childMode = "TONGS_WORKSPACE_CHILD"

func TestMain(m *testing.M) {
	mode, arg, _ := strings.Cut(os.Getenv(childMode), ":")
	var err error
	switch mode {
	case "":
		os.Exit(m.Run())
	case "loop":
		err = childLoop()
	case "crash":
		err = childCrash(arg)
	case "count":
		err = childCount(arg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(t *testing.T, mode, dir, locks string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, "DIR="+dir, "LOCKS="+locks)
	cmd.Stderr = os.Stderr
	return cmd
}

func childOpen() (*Workspace, error) {
	return Open(Options{Dir: os.Getenv("DIR"), LockDir: os.Getenv("LOCKS")})
}

// whole is a content that shows whether it is complete.
func whole(n int) string { return fmt.Sprintf("%d\n%s%d\n", n, strings.Repeat("x", 200_000), n) }

func isWhole(s string) bool {
	first, _, _ := strings.Cut(s, "\n")
	n, err := strconv.Atoi(first)
	return err == nil && s == whole(n)
}

// childLoop replaces a file until it is killed, and says when it began.
func childLoop() error {
	w, err := childOpen()
	if err != nil {
		return err
	}
	files := unknownFiles(w)
	for n := 0; ; n++ {
		for _, p := range []tongs.Path{in("f"), in("deep/er/f")} {
			if _, err := files.Replace(context.Background(), p, tongs.Replacing{MakeDirs: true}, content(whole(n))); err != nil {
				return err
			}
		}
		fmt.Println(n)
	}
}

func TestKill(t *testing.T) {
	dir, locks := tree(t, map[string]string{"f": whole(0)}), t.TempDir()
	for range 12 {
		cmd := child(t, "loop", dir, locks)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewReader(out)
		for range 1 + rand.IntN(3) {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		for range rand.IntN(200_000) { // somewhere in a replacement
			_ = os.Getpid()
		}
		must(t, cmd.Process.Kill())
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		w := openOn(t, Options{Dir: dir, LockDir: locks}, openHandle)
		noLitter(t, w)
		for _, rel := range []string{"f", "deep/er/f"} {
			if got := readHost(t, w, rel); !isWhole(got) {
				t.Errorf("%s is neither old nor new: %d bytes", rel, len(got))
			}
		}
	}
}

// childCrash replaces or moves a file and dies at the named step.
func childCrash(step string) error {
	w, err := childOpen()
	if err != nil {
		return err
	}
	step, second := strings.CutSuffix(step, "2")
	w.crash = func(at string) {
		if at == step && second {
			second = false // the second time
			return
		}
		if at == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if step == "copied" {
		w.copyAlways = true
		return unknownFiles(w).Rename(context.Background(), in("d"), in("e"), tongs.Renaming{})
	}
	files := unknownFiles(w)
	if _, err := files.Replace(context.Background(), in("f"), tongs.Replacing{}, content("new")); err != nil {
		return err
	}
	_, err = files.Replace(context.Background(), in("made/by/us"), tongs.Replacing{MakeDirs: true}, content("new"))
	return err
}

func TestCrashPoints(t *testing.T) {
	for step, want := range map[string]string{
		"registered": "old", "created": "old", "written": "old", "placing": "old", "placed": "new", "copied": "old", "none": "new",
		"registered2": "new", "made2": "new", "created2": "new", "placing2": "new",
	} {
		t.Run(step, func(t *testing.T) {
			dir, locks := tree(t, map[string]string{"f": "old", "d/x/y": "y", ".tongs-mine": "mine"}), t.TempDir()
			err := child(t, "crash:"+step, dir, locks).Run()
			if (err == nil) != (step == "none") {
				t.Fatalf("the child ended with %v", err)
			}
			w := openOn(t, Options{Dir: dir, LockDir: locks}, openHandle)
			if got := readHost(t, w, "f"); got != want {
				t.Errorf("f holds %q", got)
			}
			if _, err := os.Lstat(filepath.Join(dir, "made")); (err == nil) != (step == "none") {
				t.Errorf("made: %v", err)
			}
			readHost(t, w, "d/x/y")
			readHost(t, w, ".tongs-mine") // only what is on the list goes
			must(t, os.Remove(filepath.Join(dir, ".tongs-mine")))
			noLitter(t, w)
		})
	}
}

// TestSweepKeeps checks that a sweep takes nothing that a running call uses, and nothing that is not ours.
func TestSweepKeeps(t *testing.T) {
	base := tree(t, map[string]string{"ws/f": "old", "out/.tongs-victim": "v", "out/plain": "p"})
	locks := t.TempDir()
	w := openOn(t, Options{Dir: base + "/ws", LockDir: locks}, openHandle)
	files := unknownFiles(w)
	_, err := files.Replace(t.Context(), in("f"), tongs.Replacing{}, func(out io.Writer) error {
		openOn(t, Options{Dir: base + "/ws", LockDir: locks}, openHandle)
		return content("new")(out)
	})
	must(t, err)
	must(t, os.Symlink("../out", base+"/ws/link"))
	must(t, os.Symlink("../out/plain", base+"/ws/.tongs-link"))
	for i, host := range []string{base + "/out/plain", base + "/ws/link/.tongs-victim", base + "/ws/.tongs-link", ".tongs-rel", "", base + "/none/.tongs-x"} {
		entry := filepath.Join(w.litter.dir, strconv.Itoa(i))
		must(t, os.WriteFile(entry, nil, 0o600))
		must(t, os.WriteFile(entry+pathSuffix, []byte(host), 0o600))
	}
	w.litter.sweep()
	unharmed(t, base+"/out", map[string]string{".tongs-victim": "v", "plain": "p"})
	if list, _ := os.ReadDir(w.litter.dir); len(list) != 0 {
		t.Errorf("%d entries are left", len(list))
	}
}

const counting = 6

// childCount adds its lines to a file, one replacement each, beginning anew whenever somebody was faster.
func childCount(name string) error {
	w, err := childOpen()
	if err != nil {
		return err
	}
	ctx, p := context.Background(), in("f")
	for i := range counting {
		for {
			checked, err := w.Check([]tongs.Effect{writing(p)})
			if err != nil {
				return err
			}
			err = addLine(ctx, (&grant{effects: checked}).of(w), p, fmt.Sprintf("%s-%d\n", name, i))
			if err == nil {
				break
			}
			if _, ok := errors.AsType[*tongs.Need](err); !ok {
				return err
			}
		}
	}
	return nil
}

func addLine(ctx context.Context, files tongs.Files, p tongs.Path, line string) error {
	f, err := files.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	v, err := f.Version()
	if err != nil {
		return err
	}
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	_, err = files.Replace(ctx, p, tongs.Replacing{Expect: v}, content(string(old)+line))
	return err
}

func TestManyProcessesLoseNothing(t *testing.T) {
	const processes = 32
	dir, locks := tree(t, map[string]string{"f": ""}), t.TempDir()
	var running []*exec.Cmd
	for i := range processes {
		cmd := child(t, "count:p"+strconv.Itoa(i), dir, locks)
		must(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		must(t, cmd.Wait())
	}
	w := openOn(t, Options{Dir: dir, LockDir: locks}, openHandle)
	lines := strings.Fields(readHost(t, w, "f"))
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l] = true
	}
	if len(lines) != processes*counting || len(seen) != len(lines) {
		t.Errorf("%d lines, %d different, want %d", len(lines), len(seen), processes*counting)
	}
	noLitter(t, w)
}
