//go:build linux || darwin

package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

func TestVersionChanges(t *testing.T) {
	for name, backend := range backends() {
		t.Run(name, func(t *testing.T) {
			w := openOn(t, Options{Dir: tree(t, map[string]string{"f": "0123456789", "d/x": "", "l": "-> f", "big": strings.Repeat("b", 3<<20)})}, backend)
			v := w.View(in("."))
			at := func(rel string) string { return filepath.Join(w.Dir(), rel) }
			changes := []struct {
				path string
				do   func() error
				word string
			}{
				{"f", func() error { return os.WriteFile(at("f"), []byte("012345678901"), 0) }, "size 10 → 12"},
				{"f", func() error { return sneak(at("f"), "xxxxxxxxxxxx") }, ""},
				{"f", func() error { return os.Chmod(at("f"), 0o600) }, "mode"},
				{"big", func() error { return sneak(at("big"), strings.Repeat("c", 3<<20)) }, ""},
				{"f", func() error { return os.Remove(at("f")) }, "gone"},
				{"f", func() error { return os.Mkdir(at("f"), 0o700) }, "exists now"},
				{"f", func() error { return os.Remove(at("f")) }, "gone"},
				{"d", func() error { return os.WriteFile(at("d/y"), nil, 0o600) }, "entries"},
				{"d", func() error { return os.Rename(at("d/y"), at("d/z")) }, "entries"},
				{"l", func() error { _ = os.Remove(at("l")); return os.Symlink("d", at("l")) }, `"d"`},
				{"l", func() error { _ = os.Remove(at("l")); return os.WriteFile(at("l"), nil, 0o600) }, "was a symlink and is a file"},
				{"l", func() error { _ = os.Remove(at("l")); return syscall.Mkfifo(at("l"), 0o600) }, "other"},
			}
			for _, c := range changes {
				before, err := v.Version(in(c.path))
				must(t, err)
				same, err := v.Version(in(c.path))
				must(t, err)
				if before != same {
					t.Errorf("%s: %s and %s without a change", c.path, before, same)
				}
				must(t, c.do())
				after, err := w.stateAt(in(c.path), before)
				must(t, err)
				if after.holds(before) {
					t.Errorf("%s: change not seen: %s", c.path, before)
				}
				if got := Changed(before, after.version()); !strings.Contains(got, c.word) || got == "unchanged" {
					t.Errorf("%s: Changed says %q, want %q", c.path, got, c.word)
				}
			}
		})
	}
}

// sneak rewrites a file in place and sets its modification time back.
func sneak(host, content string) error {
	fi, err := os.Stat(host)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(host, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	return os.Chtimes(host, fi.ModTime(), fi.ModTime())
}

// TestVersionWindow goes through the combinations of when a version was made and when it is compared. The stat
// identity is the same in all of them: only the content can tell.
func TestVersionWindow(t *testing.T) {
	w := newWorkspace(t, nil)
	old := time.Now().Add(-time.Hour).UnixNano()
	fresh := time.Now().Add(time.Hour).UnixNano() // the future counts as just now
	large := bytes.Repeat([]byte("a"), alwaysHash+1)
	changed := bytes.Repeat([]byte("b"), alwaysHash+1)
	state := func(data []byte, when int64, like tongs.Version) state {
		host := filepath.Join(t.TempDir(), "f")
		must(t, os.WriteFile(host, data, 0o600))
		f, err := os.Open(host)
		must(t, err)
		defer f.Close()
		// A fixed identity stands for a clock that did not move; openState compares with the real file, so it is
		// computed by the same parts.
		st := stat{typ: tongs.FileRegular, size: int64(len(data)), mtime: when, ctime: when, dev: 1, ino: 2}
		s := identify(st)
		if w.wantsDigest(st, s.identity) || parseVersion(like).digest != "" {
			real, err := statFile(f)
			must(t, err)
			h, err := w.openState(f, real, "x:y:digest")
			must(t, err)
			s.digest = h.digest
		}
		return s
	}
	inside := state(large, fresh, "")
	if inside.digest == "" {
		t.Fatal("a large file inside the window has no digest")
	}
	outside := state(large, old, "")
	if outside.digest != "" {
		t.Fatal("a large file outside the window has a digest")
	}
	// Made inside, compared when the window has passed (same times, later clock): the content is read again.
	if !state(large, fresh, inside.version()).holds(inside.version()) {
		t.Error("made inside, unchanged: does not hold")
	}
	if state(changed, fresh, inside.version()).holds(inside.version()) {
		t.Error("made inside, changed within the clock's step: holds")
	}
	late := outside
	late.digest = inside.digest
	if !state(large, old, late.version()).holds(late.version()) {
		t.Error("made inside, unchanged, compared outside: does not hold")
	}
	if state(changed, old, late.version()).holds(late.version()) {
		t.Error("made inside, changed, compared outside: holds")
	}
	// Made outside, compared after the clock was set back: unchanged still holds.
	if !late.holds(outside.version()) {
		t.Error("made outside, unchanged, compared inside: does not hold")
	}
	// Made outside and changed later: the change has a later time.
	if state(changed, fresh, outside.version()).holds(outside.version()) {
		t.Error("made outside, changed inside: holds")
	}
	if outside.holds("") || parseVersion(tongs.Absent).holds("") {
		t.Error("an empty version holds")
	}
	busy := outside
	busy.digest = changing
	if busy.holds(busy.version()) {
		t.Error("the version of a file that changed while it was read holds")
	}
}

// TestVersionStable checks that the string stays the same while the window passes, also for a large file.
func TestVersionStable(t *testing.T) {
	w := newWorkspace(t, map[string]string{"big": strings.Repeat("x", alwaysHash+1), "small": "s"})
	host := filepath.Join(w.Dir(), "big")
	first, err := w.View(in(".")).Version(in("big"))
	must(t, err)
	f, err := os.Open(host)
	must(t, err)
	defer f.Close()
	st, err := statFile(f)
	must(t, err)
	if !w.wantsDigest(st, identify(st).identity) || racy(st, time.Now().Add(time.Minute)) {
		t.Fatal("the file is not taken as fresh now and old in a minute")
	}
	if !w.racy.has(identify(st).identity) {
		t.Error("a large file that was given a digest is not remembered")
	}
	file, err := w.View(in(".")).Open(in("big"))
	must(t, err)
	defer file.Close()
	if v, err := file.Version(); err != nil || v != first {
		t.Errorf("the open file has version %s, %v; want %s", v, err, first)
	}
	for i := range 2 * racyEntries {
		w.racy.add(strings.Repeat("i", i))
	}
	if len(w.racy.known) > racyEntries {
		t.Errorf("%d identities are remembered", len(w.racy.known))
	}
}

func TestVersionRoundTrip(t *testing.T) {
	w := newWorkspace(t, map[string]string{"f": "x", "d/": "", "l": "-> a:b/c.d %"})
	for _, rel := range []string{"f", "d", "l", "none", ".", "none/below"} {
		v, err := w.View(in(".")).Version(in(rel))
		must(t, err)
		if got := parseVersion(v).version(); got != v {
			t.Errorf("%q became %q", v, got)
		}
	}
	for _, bad := range []tongs.Version{"", "file", "file:", "file:x", "::", "file:1.2.3.4.5.6", "zzz:1"} {
		now, err := w.stateAt(in("f"), bad)
		must(t, err)
		if now.holds(bad) {
			t.Errorf("%q holds", bad)
		}
		_ = Changed(bad, now.version()) // no panic
		_ = Changed(now.version(), bad)
	}
}
