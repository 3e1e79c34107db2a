//go:build unix

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/workspace"
)

// crashEnv, in the environment of the test binary, makes it a process that dies at a point: "PROGRAM:POINT".
const crashEnv = "TONGS_JOURNAL_CRASH"

func TestMain(m *testing.M) {
	program, at, ok := strings.Cut(os.Getenv(crashEnv), ":")
	if !ok {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(at)
	if err == nil {
		err = crashing(program, os.Getenv("DIR"), os.Getenv("STATE"), dieAt(n))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// dieAt kills the process at the nth point.
func dieAt(n int) func(string) error {
	return func(string) error {
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
}

// fullAt says at the nth point that the disk is full.
func fullAt(n int, seen *int) func(string) error {
	return func(step string) error {
		*seen++
		if n--; n == 0 {
			return fmt.Errorf("%s: %w", step, syscall.ENOSPC)
		}
		return nil
	}
}

// programs are what is cut short. Each changes the tree of crashTree once.
var programs = map[string]func(ctx context.Context, j *Journal, dir string) error{
	"txn": func(ctx context.Context, j *Journal, dir string) error {
		t, err := j.Begin(ctx, Entry{Call: "c", Roots: map[string]string{"": dir}})
		if err != nil {
			return err
		}
		defer t.Close()
		err = errors.Join(
			t.File(in_("a"), State{Mode: 0o600}, strings.NewReader("new a")),
			t.Remove(in_("gone")),
			t.Dir(in_("new"), State{Mode: 0o555}),
			t.File(in_("new/f"), State{Mode: 0o644}, strings.NewReader("f")),
			t.Move(in_("here/f"), in_("new/moved")),
			t.Move(in_("here"), in_("there")),
			t.Link(in_("l"), State{Target: "a"}),
			t.Dir(in_("there"), State{Mode: 0o700}),
		)
		if err != nil {
			return err
		}
		_, err = t.Commit(ctx)
		return err
	},
	"undo": func(ctx context.Context, j *Journal, dir string) error {
		list, err := j.Select(Selector{Call: "setup"})
		if err != nil {
			return err
		}
		u, err := j.Undo(ctx, Entry{Call: "c", Roots: map[string]string{"": dir}}, list, nil)
		if err != nil {
			return err
		}
		defer u.Close()
		_, err = u.Commit(ctx)
		return err
	},
	"parked":  parkAndMake,
	"recover": func(context.Context, *Journal, string) error { return nil },
	"replace": keeping(func(ctx context.Context, f tongs.Files) error {
		_, err := f.Replace(ctx, in_("a"), tongs.Replacing{}, func(w io.Writer) error {
			_, err := w.Write([]byte("new a"))
			return err
		})
		return err
	}),
	"remove": keeping(func(ctx context.Context, f tongs.Files) error {
		_, err := f.Remove(ctx, in_("l"), false)
		return err
	}),
	"rename": keeping(func(ctx context.Context, f tongs.Files) error {
		return f.Rename(ctx, in_("here"), in_("a/b/c"), tongs.Renaming{})
	}),
	"overwrite": keeping(func(ctx context.Context, f tongs.Files) error {
		return f.Rename(ctx, in_("a"), in_("l"), tongs.Renaming{Overwrite: true})
	}),
}

// keeping makes a change through a workspace.
func keeping(change func(context.Context, tongs.Files) error) func(context.Context, *Journal, string) error {
	return func(ctx context.Context, j *Journal, dir string) error {
		w, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(filepath.Dir(j.Dir()), "locks"), Journal: j})
		if err != nil {
			return err
		}
		defer w.Close()
		return change(ctx, w.Files(in_("."), everything("c")))
	}
}

func crashing(program, dir, state string, point func(string) error) error {
	j, err := openWith(Options{Dir: filepath.Join(state, "journal"), NoSync: true}, point)
	if err != nil {
		return err
	}
	defer j.Close()
	return programs[program](context.Background(), j, dir)
}

// crashTree makes the tree that the programs change, with one entry in the journal.
func crashTree(t *testing.T) *site {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	s := newSite(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/11/" + one[2:]: "an object", ".git/objects/22/" + two[2:]: "another",
		".git/refs/heads/main": one + "\n", ".git/packed-refs": one + " refs/heads/packed\n",
		"a": "old a", "gone/x": "x", "gone/y/z": "z", "here/f": "f", "here/g": "g", "l": "will be a link",
	})
	old := time.Unix(1_700_000_000, 0)
	must(t, os.Chtimes(filepath.Join(s.dir, "a"), old, old))
	x, err := s.j.Begin(t.Context(), Entry{Call: "setup", Roots: map[string]string{"": s.dir}, Repositories: []Repository{{
		Dir: in_(".git"), Refs: []gitrepo.RefChange{
			{Name: "refs/heads/main", Old: one, New: two}, {Name: "refs/heads/new", New: two}, {Name: "refs/heads/packed", Old: one},
		},
	}}})
	must(t, err)
	must(t, x.File(in_(".git/refs/heads/main"), State{Mode: 0o644}, strings.NewReader(two+"\n")))
	must(t, x.File(in_(".git/refs/heads/new"), State{Mode: 0o644}, strings.NewReader(two+"\n")))
	must(t, x.File(in_(".git/packed-refs"), State{Mode: 0o644}, strings.NewReader("")))
	must(t, x.File(in_("a"), State{Mode: 0o644}, strings.NewReader("older")))
	must(t, x.Remove(in_("gone")))
	must(t, x.Dir(in_("made"), State{Mode: 0o755}))
	must(t, x.Move(in_("here/g"), in_("made/g")))
	s.commit(x)
	return s
}

// plain is a snapshot without times of files that a program writes anew.
func plain(s *site) string {
	var lines []string
	for _, l := range strings.Split(snapshot(s, s.dir), "\n") {
		parts := strings.Split(l, " ")
		if len(parts) == 4 && !strings.Contains(l, "->") {
			parts[2] = ""
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return strings.Join(lines, "\n")
}

func TestEveryCrashPoint(t *testing.T) {
	for program := range programs {
		if program == "recover" {
			continue
		}
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if program == "txn" {
				testPoints(t, program, func(s *site) { must(t, os.MkdirAll(filepath.Join(s.dir, "gone"), 0o755)) })
				return
			}
			testPoints(t, program, func(s *site) {
				if program == "rename" {
					must(t, os.Remove(filepath.Join(s.dir, "a")))
					must(t, os.MkdirAll(filepath.Join(s.dir, "a/b"), 0o755))
				}
			})
		})
	}
}

func testPoints(t *testing.T, program string, prepare func(*site)) {
	fresh := func() (*site, string) {
		s := crashTree(t)
		prepare(s)
		return s, plain(s)
	}
	// How many points are there, and what comes of it?
	s, _ := fresh()
	points := 0
	must(t, crashing(program, s.dir, filepath.Dir(s.j.Dir()), fullAt(0, &points)))
	after := plain(s)
	if points < 2 {
		t.Fatalf("%d points", points)
	}
	finished := 0
	for n := 1; n <= points; n++ {
		s, before := fresh()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d", crashEnv, program, n), "DIR="+s.dir, "STATE="+filepath.Dir(s.j.Dir()))
		if err := cmd.Run(); err == nil {
			t.Errorf("kill at %d: it did not die", n)
		}
		if n%2 == 0 { // the next one dies, too, while it takes back
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=recover:%d", crashEnv, n/2), "DIR="+s.dir, "STATE="+filepath.Dir(s.j.Dir()))
			_ = cmd.Run()
		}
		must(t, s.j.Recover())
		sweep(t, s)
		if settled(t, s, fmt.Sprintf("kill at %d", n), before, after) {
			finished++
		}

		s, before = fresh()
		seen := 0
		err := crashing(program, s.dir, filepath.Dir(s.j.Dir()), fullAt(n, &seen))
		done := settled(t, s, fmt.Sprintf("full at %d", n), before, after)
		if done != (err == nil) {
			t.Errorf("full at %d: %v, and done is %t", n, err, done)
		}
	}
	t.Logf("%d points, %d of them after the change", points, finished)
}

// sweep opens a workspace, which takes away temporary files of dead processes.
func sweep(t *testing.T, s *site) {
	t.Helper()
	w, err := workspace.Open(workspace.Options{Dir: s.dir, LockDir: filepath.Join(filepath.Dir(s.j.Dir()), "locks")})
	must(t, err)
	must(t, w.Close())
}

// settled checks that the tree is as before or as after, with an entry where it is as after, and that nothing is left.
func settled(t *testing.T, s *site, what, before, after string) (done bool) {
	t.Helper()
	now := plain(s)
	list, err := s.j.List(Filter{Call: "c"})
	must(t, err)
	switch {
	case now == before && len(list) == 0:
	case now == after && len(list) == 1:
		done = true
		s.undo(list[0])
		same(t, what+", undone", plain(s), before)
	default:
		t.Errorf("%s: neither before nor after, %d entries", what, len(list))
		same(t, what, now, before)
	}
	for _, dir := range []string{"open"} {
		left, err := os.ReadDir(s.j.file(dir))
		must(t, err)
		for _, e := range left {
			t.Errorf("%s: left in %s: %s", what, dir, e.Name())
		}
	}
	return done
}
