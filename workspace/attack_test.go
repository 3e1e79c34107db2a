//go:build linux || darwin

package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// TestSwappedForLink swaps a directory for a link to the outside between plan and run.
func TestSwappedForLink(t *testing.T) {
	for name, backend := range backends() {
		t.Run(name, func(t *testing.T) {
			base := tree(t, map[string]string{"ws/d/a": "in", "ws/d/b": "in", "ws/d/sub/c": "in", "ws/x": "x", "out/a": "out", "out/b": "out", "out/sub/c": "out"})
			w := openOn(t, Options{Dir: base + "/ws"}, backend)
			files, _ := decide(t, w, reading(in(".")), writing(in("d/a")), writing(in("d/new")), writing(in("d/deep/er/new")), deleting(in("d/b")),
				deleting(in("d/sub")), deleting(in("x")), writing(in("d/x")))
			must(t, os.Rename(base+"/ws/d", base+"/ws/real"))
			must(t, os.Symlink("../out", base+"/ws/d"))
			ctx := t.Context()
			_, err := files.Open(in("d/a"))
			wantCode(t, err, tongs.CodeInvalidPath, "symbolic link")
			_, err = files.Stat(in("d/a"))
			wantCode(t, err, tongs.CodeInvalidPath)
			for _, err := range files.ReadDir(in("d")) {
				wantCode(t, err, tongs.CodeInvalidPath)
			}
			for _, rel := range []string{"d/a", "d/new", "d/deep/er/new"} {
				_, err = files.Replace(ctx, in(rel), tongs.Replacing{MakeDirs: true}, content("escaped"))
				wantCode(t, err, tongs.CodeInvalidPath)
			}
			for _, rel := range []string{"d/b", "d/sub"} {
				_, err = files.Remove(ctx, in(rel), true)
				wantCode(t, err, tongs.CodeInvalidPath)
			}
			wantCode(t, files.Rename(ctx, in("x"), in("d/x"), tongs.Renaming{MakeDirs: true}), tongs.CodeInvalidPath)
			unharmed(t, base+"/out", map[string]string{"a": "out", "b": "out", "sub/c": "out"})
			noLitter(t, w)
		})
	}
}

func unharmed(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	seen := 0
	must(t, filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		seen++
		rel, _ := filepath.Rel(dir, p)
		b, err := os.ReadFile(p)
		if string(b) != files[rel] {
			t.Errorf("outside, %s holds %q", rel, b)
		}
		return err
	}))
	if seen != len(files) {
		t.Errorf("%d files outside, there were %d", seen, len(files))
	}
}

// TestSwappingRace does the same without pause, while calls read, write, list, move and delete.
func TestSwappingRace(t *testing.T) {
	for name, backend := range backends() {
		t.Run(name, func(t *testing.T) {
			base := tree(t, map[string]string{"ws/d/a": "in", "ws/d/sub/b": "in", "out/a": "out", "out/sub/b": "out"})
			w := openOn(t, Options{Dir: base + "/ws"}, backend)
			must(t, os.Symlink("../out", base+"/ws/link"))
			var swaps atomic.Int64
			stop := make(chan struct{})
			var swapping sync.WaitGroup
			swapping.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_ = os.Rename(base+"/ws/d", base+"/ws/real")
					_ = os.Rename(base+"/ws/link", base+"/ws/d")
					_ = os.Rename(base+"/ws/d", base+"/ws/link")
					_ = os.Rename(base+"/ws/real", base+"/ws/d")
					swaps.Add(1)
				}
			})
			any := &grant{effects: []tongs.Effect{
				{Kind: tongs.EffectRead, Unknown: true}, {Kind: tongs.EffectWrite, Unknown: true}, {Kind: tongs.EffectDelete, Unknown: true},
			}}
			files := any.of(w)
			for i := 0; i < 40 || swaps.Load() < 40; i++ {
				attack(t, files, i)
			}
			close(stop)
			swapping.Wait()
			unharmed(t, base+"/out", map[string]string{"a": "out", "sub/b": "out"})
		})
	}
}

func attack(t *testing.T, files tongs.Files, i int) {
	ctx := t.Context()
	if f, err := files.Open(in("d/a")); err == nil {
		b, _ := io.ReadAll(f)
		_ = f.Close()
		if string(b) == "out" {
			t.Error("read what is outside")
		}
	}
	if p, err := files.Resolve("d/a"); err == nil && p != in("d/a") && p != in("real/a") {
		t.Errorf("resolved to %v", p)
	}
	_, _ = files.Replace(ctx, in("d/a"), tongs.Replacing{MakeDirs: true}, content("in"))
	_, _ = files.Replace(ctx, in("d/n"+strconv.Itoa(i%3)), tongs.Replacing{MakeDirs: true}, content("in"))
	_, _ = files.Replace(ctx, in("d/sub/b"), tongs.Replacing{MakeDirs: true}, content("in"))
	_ = files.Rename(ctx, in("d/n0"), in("d/sub/moved"), tongs.Renaming{Overwrite: true, MakeDirs: true})
	_, _ = files.Remove(ctx, in("d/sub"), true)
	for info, err := range files.ReadDir(in("d")) {
		if err != nil {
			break
		}
		_ = info
	}
}

// TestLastElementSwapped swaps the file itself for a link, a FIFO or a directory after it was decided.
func TestLastElementSwapped(t *testing.T) {
	onBackends(t, map[string]string{"a": "in", "keep": "keep"}, func(t *testing.T, w *Workspace) {
		host := filepath.Join(w.Dir(), "a")
		for name, swap := range map[string]func() error{
			"link": func() error { return os.Symlink("keep", host) },
			"fifo": func() error { return syscall.Mkfifo(host, 0o600) },
			"dir":  func() error { return os.Mkdir(host, 0o700) },
		} {
			must(t, os.RemoveAll(host))
			must(t, os.WriteFile(host, []byte("in"), 0o600))
			files, _ := decide(t, w, writing(in("a")), deleting(in("a")))
			must(t, os.Remove(host))
			must(t, swap())
			_, err := files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("x"))
			wantCode(t, err, tongs.CodeInvalidPath)
			_, err = files.Open(in("a"))
			wantCode(t, err, tongs.CodeInvalidPath)
			_, err = files.Remove(t.Context(), in("a"), true)
			if need := wantNeed(t, err, "it was a file and is a"); need.Effects[0].Version == "" {
				t.Errorf("%s: needs %+v", name, need.Effects)
			}
		}
		if readHost(t, w, "keep") != "keep" {
			t.Error("wrote through the link")
		}
	})
}

// TestRemoveWhileItGrows removes a tree while others add to it: it ends, and never follows a link.
func TestRemoveWhileItGrows(t *testing.T) {
	base := tree(t, map[string]string{"ws/d/x/y": "", "out/f": "out"})
	w := openOn(t, Options{Dir: base + "/ws"}, openHandle)
	stop := make(chan struct{})
	var growing sync.WaitGroup
	growing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(base, "ws/d", strconv.Itoa(i%7))
			_ = os.MkdirAll(dir, 0o700)
			_ = os.WriteFile(filepath.Join(dir, "f"), nil, 0o600)
			_ = os.Symlink(base+"/out", filepath.Join(dir, "l"))
			_ = os.RemoveAll(dir)
			_ = os.Symlink(base+"/out", dir)
			_ = os.Remove(dir)
		}
	})
	files := (&grant{effects: []tongs.Effect{{Kind: tongs.EffectDelete, Unknown: true}}}).of(w)
	for range 30 {
		_, err := files.Remove(t.Context(), in("d"), true)
		if err != nil && tongs.CodeOf(err) == tongs.CodeInternal {
			if _, ok := errors.AsType[*tongs.Need](err); !ok {
				t.Error(err)
			}
		}
	}
	close(stop)
	growing.Wait()
	unharmed(t, base+"/out", map[string]string{"f": "out"})
}

func TestLocks(t *testing.T) {
	lockDir := t.TempDir()
	dir := tree(t, map[string]string{"a": ""})
	one := openOn(t, Options{Dir: dir, LockDir: lockDir}, openHandle)
	two := openOn(t, Options{Dir: dir, LockDir: lockDir}, openHandle)
	unlock, err := one.Lock(t.Context(), in("a"))
	must(t, err)
	for _, w := range []*Workspace{one, two} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := w.Lock(ctx, in("a"))
		cancel()
		wantCode(t, err, tongs.CodeTimeout)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = two.Lock(ended, in("b"))
	wantCode(t, err, tongs.CodeCancelled)
	// Somebody removes the lock file while it is held: the next holder makes a new one, and waiting goes on working.
	unlock()
	unlock() // harmless
	unlock, err = two.Lock(t.Context(), in("a"))
	must(t, err)
	unlock()
	list, err := filepath.Glob(filepath.Join(lockDir, "*.lock"))
	must(t, err)
	for _, f := range list {
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, fi.Mode(), err)
		}
	}
	_, err = one.Lock(t.Context(), in("../x"))
	wantCode(t, err, tongs.CodeInvalidPath)
}

// TestTwoLocksDoNotDeadlock takes a pair of stripes in opposite orders, and one stripe twice.
func TestTwoLocksDoNotDeadlock(t *testing.T) {
	w := newWorkspace(t, nil)
	pairs := [][]tongs.Path{{in("p"), in("q")}, {in("q"), in("p")}, {in("p"), in("p")}, {in("q"), in("P")}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				unlock, err := w.lock(ctx, pairs[i%4]...)
				if err != nil {
					t.Error(err)
					return
				}
				unlock()
			}
		})
	}
	wg.Wait()
}

// TestLockFileRemoved checks that a lock on a file that lost its name does not count.
func TestLockFileRemoved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.lock")
	f, err := lockFile(t.Context(), name)
	must(t, err)
	defer func() { _ = f.Unlock() }()
	if !named(f, name) {
		t.Error("a fresh lock does not count")
	}
	must(t, os.Remove(name))
	if named(f, name) {
		t.Error("the lock of a removed file counts")
	}
	must(t, os.WriteFile(name, nil, 0o600))
	if named(f, name) {
		t.Error("the lock of another file counts")
	}
}

// TestFileSwappingRace swaps a file for a link to one outside while it is opened and replaced.
func TestFileSwappingRace(t *testing.T) {
	for name, backend := range backends() {
		t.Run(name, func(t *testing.T) {
			base := tree(t, map[string]string{"ws/f": "in", "out/f": "out"})
			w := openOn(t, Options{Dir: base + "/ws"}, backend)
			must(t, os.Symlink("../out/f", base+"/ws/link"))
			stop := make(chan struct{})
			var swapping sync.WaitGroup
			swapping.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = os.Rename(base+"/ws/f", base+"/ws/real")
						_ = os.Rename(base+"/ws/link", base+"/ws/f")
						_ = os.Rename(base+"/ws/f", base+"/ws/link")
						_ = os.Rename(base+"/ws/real", base+"/ws/f")
					}
				}
			})
			v := w.View(in("."))
			for range 4000 {
				f, err := v.Open(in("f"))
				if err != nil {
					continue
				}
				b, _ := io.ReadAll(f)
				_ = f.Close()
				if string(b) == "out" {
					t.Error("read what is outside")
					break
				}
			}
			close(stop)
			swapping.Wait()
		})
	}
}

// TestAppearsAtTheLastMoment makes the target between the last look and the renaming.
func TestAppearsAtTheLastMoment(t *testing.T) {
	w := newWorkspace(t, map[string]string{"a": "a"})
	host := filepath.Join(w.Dir(), "new")
	w.crash = func(step string) {
		if step == "placing" || step == "renaming" {
			must(t, os.WriteFile(host, []byte("theirs"), 0o600))
		}
	}
	files, _ := decide(t, w, deleting(in("a")), writing(in("new")))
	_, err := files.Replace(t.Context(), in("new"), tongs.Replacing{}, content("mine"))
	wantNeed(t, err, "it exists now")
	must(t, os.Remove(host))
	err = files.Rename(t.Context(), in("a"), in("new"), tongs.Renaming{})
	wantCode(t, err, tongs.CodeAlreadyExists)
	if got := readHost(t, w, "new") + readHost(t, w, "a"); got != "theirsa" {
		t.Errorf("files hold %q", got)
	}
	noLitter(t, w)
}

// TestBecomesProtected completes a look-alike repository after a write to it was decided as an ordinary one.
func TestBecomesProtected(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/config": "", "d/objects/": "", "d/HEAD": ""})
	files, g := decide(t, w, writing(in("d/config")), deleting(in("d/config")))
	if g.effects[0].MustAsk {
		t.Fatal("it is protected before it should be")
	}
	must(t, os.Mkdir(filepath.Join(w.Dir(), "d/refs"), 0o700))
	_, err := files.Replace(t.Context(), in("d/config"), tongs.Replacing{}, content("x"))
	if need := wantNeed(t, err, "became protected"); !need.Effects[0].MustAsk {
		t.Errorf("needs %+v", need.Effects)
	}
	_, err = files.Remove(t.Context(), in("d/config"), false)
	wantNeed(t, err, "became protected")
}

func TestLockDirectoryMustBeOurs(t *testing.T) {
	dir := tree(t, nil)
	locks := t.TempDir()
	must(t, os.Chmod(locks, 0o777))
	_, err := Open(Options{Dir: dir, LockDir: locks})
	wantCode(t, err, tongs.CodeConfigError, "chmod 700")
	must(t, os.Chmod(locks, 0o700))
	if os.Geteuid() == 0 {
		must(t, os.Chown(locks, 12345, 12345))
		_, err = Open(Options{Dir: dir, LockDir: locks})
		wantCode(t, err, tongs.CodeConfigError, "another user")
		must(t, os.Chown(locks, 0, 0))
	}
	must(t, os.RemoveAll(filepath.Join(locks, "litter")))
	must(t, os.Symlink(dir, filepath.Join(locks, "litter")))
	_, err = Open(Options{Dir: dir, LockDir: locks})
	wantCode(t, err, tongs.CodeConfigError)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(Options{Dir: dir, LockDir: file})
	wantCode(t, err, tongs.CodeConfigError)
}

func TestLocksWhereTheCacheCannotBeWritten(t *testing.T) {
	state, home := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	if got := LockDirOr(state); got != filepath.Join(home, "cache", "tongs", "locks") {
		t.Errorf("locks in %s", got)
	}
	must(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "file"))
	if got := LockDirOr(state); got != filepath.Join(state, "locks") {
		t.Errorf("locks in %s", got)
	}
}

func TestDefaultLockDirectory(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	w, err := Open(Options{Dir: t.TempDir()})
	must(t, err)
	must(t, w.Close())
	fi, err := os.Stat(w.locks.dir)
	must(t, err)
	if fi.Mode().Perm() != 0o700 || filepath.Base(w.locks.dir) != "locks" {
		t.Errorf("%s has mode %v", w.locks.dir, fi.Mode())
	}
}
