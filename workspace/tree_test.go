//go:build linux || darwin

package workspace

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func openTree(t *testing.T, files tongs.Files, p tongs.Path) *tongs.Tree {
	t.Helper()
	tr, err := files.(tongs.Trees).Tree(p)
	must(t, err)
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

func TestTree(t *testing.T) {
	dir := tree(t, map[string]string{"a": "", "sub/b": "", "zone/c": "", "sub/zone2/d": ""})
	w := openOn(t, Options{Dir: dir, Roots: []Root{{Name: "z", Dir: filepath.Join(dir, "zone")}, {Name: "y", Dir: filepath.Join(dir, "sub/zone2")}}}, openHandle)
	files, g := decide(t, w, reading(in(".")), reading(tongs.Path{Root: "z", Rel: "."}))
	tr := openTree(t, files, in("."))
	names, err := tr.Dir.Readdirnames(-1)
	if err != nil || len(names) != 3 || tr.Host != w.Dir() || tr.Top != w.Dir() {
		t.Errorf("%v in %s below %s, %v", names, tr.Host, tr.Top, err)
	}
	for rel, want := range map[string]bool{
		"a": false, "sub": false, "sub/b": false, "zone": true, "sub/zone2": true, "other/zone": false, ".env": true, "sub/.env": true,
		".env.example": false, "x/id_rsa": true, ".aws": true, ".docker": false, ".docker/config.json": true, "config.json": false,
		".config/gcloud": true, "gcloud": false, "x.PEM": true, ".E\u200bNV": true, "SERVER~1.KEY": true, "é.go": false, "bad\xff": true, "a b": false,
	} {
		if got := tr.Skip(rel, true); got != want {
			t.Errorf("Skip(%q) = %v", rel, got)
		}
	}
	if sub := openTree(t, files, in("sub")); !sub.Skip("zone2", true) || sub.Skip("zone", true) || sub.Top != w.Dir() {
		t.Error("the root below a directory is not skipped")
	}
	if zone := openTree(t, files, tongs.Path{Root: "z", Rel: "."}); zone.Skip("c", false) || zone.Top != filepath.Join(w.Dir(), "zone") {
		t.Errorf("the zone is at %s", zone.Top)
	}
	g.set()
	if !tr.Skip("sub", true) {
		t.Error("the call has ended, and the tree can still be walked")
	}
	_, err = files.(tongs.Trees).Tree(in("."))
	wantCode(t, err, tongs.CodeCancelled)
}

func TestTreeNeedsARead(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/a": "", "e/a": "", ".aws/x": "", ".aws/id_rsa": "", "f": "", "l": "-> d"})
	files, _ := decide(t, w, reading(in("d")), deleting(in("e")), reading(in("f")), reading(in("l")))
	openTree(t, files, in("d"))
	for _, rel := range []string{"e", ".", ".aws"} {
		_, err := files.(tongs.Trees).Tree(in(rel))
		wantNeed(t, err, rel)
	}
	for _, rel := range []string{"f", "l", "../x", "nope"} {
		if _, err := files.(tongs.Trees).Tree(in(rel)); err == nil {
			t.Errorf("%s was opened", rel)
		}
	}
	// A secret that was decided by name shows what is in it, except further secrets.
	files, _ = decide(t, w, reading(in(".aws")))
	if tr := openTree(t, files, in(".aws")); tr.Skip("x", false) || !tr.Skip("id_rsa", false) {
		t.Error("what is in a secret that was decided")
	}
	// What was opened is what was looked at, whatever its name leads to afterwards.
	files, _ = decide(t, w, reading(in("d")))
	tr := openTree(t, files, in("d"))
	must(t, os.Rename(tr.Host, tr.Host+"2"))
	must(t, os.Symlink(os.TempDir(), tr.Host))
	if names, err := tr.Dir.Readdirnames(-1); err != nil || len(names) != 1 || names[0] != "a" {
		t.Errorf("%v, %v", names, err)
	}
}

func TestTreeHidesWhatRulesName(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/a": "", "d/b": ""})
	g := &grant{rules: []string{"read d/b"}, effects: []tongs.Effect{reading(in("."))}}
	tr := openTree(t, g.of(w), in("d"))
	if tr.Skip("a", false) || !tr.Skip("b", false) {
		t.Error("a rule names d/b alone")
	}
}

// The hints are never wrong about a secret: generated names, near the list and far from it.
func TestSecretHints(t *testing.T) {
	w := newWorkspace(t, nil)
	g := rand.New(rand.NewPCG(7, 7))
	secrets, plain := 0, 0
	for range 20_000 {
		n := names[g.IntN(len(names))]
		name := []byte(strings.ReplaceAll(n.Pattern[strings.LastIndexByte(n.Pattern, '/')+1:], "*", []string{"", "x", "prod", ".a"}[g.IntN(4)]))
		if len(name) == 0 {
			continue
		}
		for range g.IntN(3) {
			switch i := g.IntN(len(name)); g.IntN(4) {
			case 0:
				name[i] = byte(g.IntN(256))
			case 1:
				name = append(name[:i], name[min(i+1, len(name)-1):]...)
			case 2:
				name = append(name[:i], append([]byte([]string{"\u200b", ".", " ", "~1", "X", "\x01"}[g.IntN(6)]), name[i:]...)...)
			case 3:
				name = []byte(strings.ToUpper(string(name)))
			}
		}
		rel := strings.ReplaceAll(string(name), "/", "_")
		if rel == "" {
			continue
		}
		if dir := n.Pattern[:strings.LastIndexByte(n.Pattern, '/')+1]; g.IntN(2) == 0 {
			rel = dir + rel
		}
		last := rel[strings.LastIndexByte(rel, '/')+1:]
		_, secret := w.Secret(in(rel))
		dir, _, _ := strings.Cut(rel, "/")
		if _, above := w.Secret(in(dir)); secret && !(above && dir != rel) && !secretHints().look(last) {
			t.Fatalf("%q is a secret, and the hints say no", rel)
		}
		if secret {
			secrets++
		} else {
			plain++
		}
	}
	if secrets < 1_000 || plain < 2_000 {
		t.Errorf("%d secrets and %d others", secrets, plain)
	}
	for _, name := range []string{"main.go", "README.md", "a", "Makefile", "walk_test.go", "index.js", "x.c"} {
		if secretHints().look(name) {
			t.Errorf("%s is looked at more closely", name)
		}
	}
}

func BenchmarkSkip(b *testing.B) {
	w := newWorkspace(b, nil)
	files, _ := decide(b, w, reading(in(".")))
	tr, err := files.(tongs.Trees).Tree(in("."))
	must(b, err)
	defer tr.Close()
	for b.Loop() {
		tr.Skip("src/cmd/compile/internal/walk.go", false)
	}
}
