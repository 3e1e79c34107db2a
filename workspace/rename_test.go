//go:build linux || darwin

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestRename(t *testing.T) {
	for _, copying := range []bool{false, true} {
		onBackends(t, map[string]string{
			"a": "a", "b": "b", "d/x/y": "y", "d/l": "-> x/y", "exists": "e", "dir/": "", "p/.env": "", "link": "-> a", "f": "f",
		}, func(t *testing.T, w *Workspace) {
			w.copyAlways = copying
			at := func(rel string) string { return filepath.Join(w.Dir(), rel) }
			must(t, os.Chmod(at("d/x/y"), 0o640))
			before, err := os.Stat(at("d/x/y"))
			must(t, err)
			move := func(from, to string, opt tongs.Renaming) error {
				files, _ := decide(t, w, deleting(in(from)), writing(in(to)))
				return files.Rename(t.Context(), in(from), in(to), opt)
			}
			must(t, move("a", "new/a", tongs.Renaming{MakeDirs: true}))
			must(t, move("link", "link2", tongs.Renaming{}))
			must(t, move("d", "moved", tongs.Renaming{}))
			wantCode(t, move("b", "exists", tongs.Renaming{}), tongs.CodeAlreadyExists, "overwrite")
			wantCode(t, move("b", "dir", tongs.Renaming{Overwrite: true}), tongs.CodeAlreadyExists, "directory")
			wantCode(t, move("dir", "exists", tongs.Renaming{Overwrite: true}), tongs.CodeAlreadyExists, "directory")
			wantCode(t, move("b", "no/dir/b", tongs.Renaming{}), tongs.CodeFileNotFound)
			wantCode(t, move("moved", "moved/x/z", tongs.Renaming{}), tongs.CodeInvalidPath, "inside it")
			wantCode(t, move("b", "b", tongs.Renaming{}), tongs.CodeInvalidPath, "the same")
			wantCode(t, move("none", "made/x", tongs.Renaming{MakeDirs: true}), tongs.CodeFileNotFound)
			must(t, move("b", "exists", tongs.Renaming{Overwrite: true}))
			must(t, os.Link(at("f"), at("g")))
			must(t, move("f", "g", tongs.Renaming{Overwrite: true}))
			for _, gone := range []string{"a", "d", "b", "link", "made", "f"} {
				if _, err := os.Lstat(at(gone)); !missing(err) {
					t.Errorf("%s is still there", gone)
				}
			}
			after, err := os.Stat(at("moved/x/y"))
			must(t, err)
			if after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("mode %v → %v, time %v → %v", before.Mode(), after.Mode(), before.ModTime(), after.ModTime())
			}
			if target, _ := os.Readlink(at("moved/l")); target != "x/y" {
				t.Errorf("the moved link points to %q", target)
			}
			if got := readHost(t, w, "new/a") + readHost(t, w, "exists") + readHost(t, w, "g"); got != "abf" {
				t.Errorf("files hold %q", got)
			}
			noLitter(t, w)
		})
	}
}

func TestRenameNeedsBothEffects(t *testing.T) {
	w := newWorkspace(t, map[string]string{"a": "a", "p/.env": "", "p/x": "", "q/x": ""})
	first, _ := decide(t, w, deleting(in("a")))
	wantNeed(t, first.Rename(t.Context(), in("a"), in("b"), tongs.Renaming{}), "b: nobody decided to write it")
	second, _ := decide(t, w, writing(in("b")))
	wantNeed(t, second.Rename(t.Context(), in("a"), in("b"), tongs.Renaming{}), "a: nobody decided to delete it")
	// Onto, and out of, protected names.
	for _, to := range []string{".envrc", ".github", "sub/.git", "x.worker"} {
		got, err := w.Check([]tongs.Effect{deleting(in("q")), writing(in(to))})
		must(t, err)
		if got[0].MustAsk || !got[1].MustAsk {
			t.Errorf("moving to %s: %+v", to, got)
		}
	}
	for _, from := range []string{"p", "p/.env"} {
		got, err := w.Check([]tongs.Effect{deleting(in(from)), writing(in("b"))})
		must(t, err)
		if !got[0].MustAsk {
			t.Errorf("moving %s: %+v", from, got)
		}
	}
	files, g := decide(t, w, deleting(in("q")), writing(in("b")))
	must(t, os.WriteFile(filepath.Join(w.Dir(), "b"), nil, 0o600))
	wantNeed(t, files.Rename(t.Context(), in("q/x"), in("b"), tongs.Renaming{Overwrite: true}), "it exists now")
	must(t, os.Remove(filepath.Join(w.Dir(), "b")))
	must(t, files.Rename(t.Context(), in("q"), in("b"), tongs.Renaming{}))
	if !slices.Equal(g.sent, []string{"moved q to b"}) {
		t.Errorf("sent %q", g.sent)
	}
}

func TestRenameAcrossDevicesFailsWhole(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/x": "x", "d/y": "y"})
	must(t, syscall.Mkfifo(filepath.Join(w.Dir(), "d/fifo"), 0o600))
	w.copyAlways = true
	files, _ := decide(t, w, deleting(in("d")), writing(in("e")))
	wantCode(t, files.Rename(t.Context(), in("d"), in("e"), tongs.Renaming{}), tongs.CodeInvalidPath, "FIFO")
	if _, err := os.Lstat(filepath.Join(w.Dir(), "e")); !missing(err) {
		t.Error("half of the directory was moved")
	}
	// The source changes while it is copied.
	must(t, os.Remove(filepath.Join(w.Dir(), "d/fifo")))
	files, _ = decide(t, w, deleting(in("d/x")), writing(in("e")))
	w.crash = func(step string) {
		if step == "copied" {
			must(t, os.WriteFile(filepath.Join(w.Dir(), "d/x"), []byte("later"), 0o600))
		}
	}
	wantNeed(t, files.Rename(t.Context(), in("d/x"), in("e"), tongs.Renaming{}), "changed")
	if got := readHost(t, w, "d/x"); got != "later" {
		t.Errorf("d/x holds %q", got)
	}
	noLitter(t, w)
}

func TestRenameAcrossRealDevices(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "tongs-test-")
	if err != nil {
		other = t.TempDir() // no second file system here: then it is an ordinary move
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	w := openOn(t, Options{
		Dir: tree(t, map[string]string{"d/x/y": "y", "f": strings.Repeat("f", 1<<20)}), Roots: []Root{{Name: "zone", Dir: other, Writable: true}},
	}, openHandle)
	zone := func(rel string) tongs.Path { return tongs.Path{Root: "zone", Rel: rel} }
	files, _ := decide(t, w, deleting(in("d")), writing(zone("d")), deleting(in("f")), writing(zone("f")))
	must(t, files.Rename(t.Context(), in("d"), zone("d"), tongs.Renaming{}))
	must(t, files.Rename(t.Context(), in("f"), zone("f"), tongs.Renaming{}))
	for _, rel := range []string{"d/x/y", "f"} {
		if _, err := os.Stat(filepath.Join(other, rel)); err != nil {
			t.Error(err)
		}
	}
	noLitter(t, w)
}

// A link that comes to lead out of its root by a move is asked for, wherever it is in what is moved.
func TestRenameOfLinksThatWouldLeadOut(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		asked          []string
	}{
		{"a link", "p/q/l", "l2", []string{"l2"}},
		{"a directory", "p/q", "q2", []string{"q2/deep/m", "q2/l"}},
		{"a directory that stays as deep", "p/q", "p/r", nil},
		{"a link that leads inside", "p/in", "in2", nil},
		{"a link that leads out already", "p/abs", "abs2", nil},
		{"a link whose text does not tell", "p/q/through", "p/through", []string{"p/through"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, map[string]string{
				"p/q/l": "-> ../../zz", "p/q/deep/m": "-> ../../../zz", "p/in": "-> x", "p/abs": "-> /etc/passwd", "p/q/through": "-> deep/../l",
			})
			if strings.HasPrefix(c.name, "a directory") {
				must(t, os.Remove(filepath.Join(w.Dir(), "p/q/through")))
			}
			files, g := decide(t, w, deleting(in(c.from)), writing(in(c.to)))
			err := files.Rename(t.Context(), in(c.from), in(c.to), tongs.Renaming{})
			if len(c.asked) == 0 {
				must(t, err)
				return
			}
			need := wantNeed(t, err, "lead out of its root")
			var asked []string
			for _, e := range need.Effects {
				if !e.MustAsk || e.Kind != tongs.EffectWrite {
					t.Errorf("needs %+v", e)
				}
				asked = append(asked, e.Path.Rel)
			}
			slices.Sort(asked)
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %v", asked)
			}
			if _, err := os.Lstat(filepath.Join(w.Dir(), c.from)); err != nil {
				t.Fatal(err)
			}
			g.set(append(need.Effects, g.effects...)...)
			must(t, files.Rename(t.Context(), in(c.from), in(c.to), tongs.Renaming{}))
		})
	}
}
