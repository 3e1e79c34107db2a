package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An index finds what a fresh look finds, whatever happened to the tree meanwhile.
func TestTheIndexIsNeverStale(t *testing.T) {
	dir := tree4(t, "a/b/.envrc", "a/c/x", "d/.git/config", "e/.env", "node_modules/p/.envrc", "f/g/h/x")
	at := func(rel string) string { return filepath.Join(dir, rel) }
	protect, hide := []string{".git", ".envrc", "a/special"}, []string{".env"}
	x, clock := &nameIndex{}, t.TempDir()
	agree := func(when string) {
		t.Helper()
		for range 2 { // the second time from memory
			got, want := scanNames(x, []string{dir}, nameLists{protect: protect, hide: hide}, nil, nil), scanNames(nil, []string{dir}, nameLists{protect: protect, hide: hide}, nil, nil)
			if g, w := relative(dir, got.protected), relative(dir, want.protected); !slices.Equal(g, w) {
				t.Errorf("%s: protected:\n got %v\nwant %v", when, g, w)
			}
			if g, w := relative(dir, got.hidden), relative(dir, want.hidden); !slices.Equal(g, w) || !slices.Equal(got.skipped, want.skipped) {
				t.Errorf("%s: hidden:\n got %v\nwant %v", when, g, w)
			}
		}
		// As if everything had been looked at long after it last changed. The next change has another time.
		for _, tree := range x.trees {
			settle(&tree.top, dir)
		}
		for last := stampOf(dir).changed; ; {
			must(t, os.Chmod(clock, 0o700))
			if stampOf(clock).changed > last {
				break
			}
		}
	}
	agree("at first")
	must(t, os.WriteFile(at("a/c/.envrc"), nil, 0o644))
	agree("a name that was made")
	must(t, os.Remove(at("a/b/.envrc")))
	agree("one that was removed")
	must(t, os.Rename(at("f"), at("a/f")))
	must(t, os.WriteFile(at("a/f/g/h/.env"), nil, 0o644))
	agree("a directory that was moved")
	must(t, os.Rename(at("a"), at("a2")))
	must(t, os.Rename(at("d"), at("a")))
	must(t, os.Rename(at("a2"), at("d")))
	agree("two that were exchanged")
	must(t, os.MkdirAll(at("a/special/x"), 0o755))
	agree("a name below another")
	must(t, os.RemoveAll(at("a")))
	must(t, os.Symlink("d", at("a")))
	agree("a directory that became a link")
	must(t, os.Remove(at("a")))
	must(t, os.WriteFile(at("a"), nil, 0o644))
	agree("a file")
	// Many different ones: it does not grow without end.
	for i := range 3 * maxTrees {
		scanNames(x, []string{dir}, nameLists{protect: append(slices.Clone(protect), strings.Repeat("n", i+1)), hide: hide}, nil, nil)
	}
	if len(x.trees) > maxTrees {
		t.Errorf("%d trees are remembered", len(x.trees))
	}
}

// settle trusts every directory that is as it was when it was read, however recently that was.
func settle(d *nameDir, path string) {
	d.stamp = stampOf(path)
	for _, sub := range d.subs {
		settle(sub, filepath.Join(path, sub.name))
	}
}

// A look that was cut short does not leave an index that takes the rest for empty.
func TestALookThatWasCutShort(t *testing.T) {
	dir := tree4(t, "a/1", "a/2", "a/b/1", "a/b/.envrc", "c/d/.envrc", "c/d/e/.envrc")
	tree := &nameTree{}
	for left := 1; left < 30; left++ {
		var got []string
		w := &nameWalk{names: newPatterns(nameLists{protect: []string{".envrc"}}), left: left, skips: map[string]bool{}, found: func(p string, _ bool) { got = append(got, p) }}
		w.walk(tree, dir)
		if whole := len(got) == 3; whole != (w.left > 0) {
			t.Errorf("%d entries: %v, %d left", left, got, w.left)
		}
	}
}

func BenchmarkScanNames(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		d := filepath.Join(dir, "d"+strings.Repeat("x", i%20), string(rune('a'+i%26)), "sub")
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 50 {
			if err := os.WriteFile(filepath.Join(d, strings.Repeat("f", 1+j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	var protect []string
	for i := range 100 {
		protect = append(protect, ".name"+strings.Repeat("y", i))
	}
	for name, x := range map[string]*nameIndex{"fresh": nil, "remembered": {}} {
		b.Run(name, func(b *testing.B) { benchScan(b, x, dir, protect) })
	}
}

func benchScan(b *testing.B, x *nameIndex, dir string, protect []string) {
	scanNames(x, []string{dir}, nameLists{protect: append(protect, ".git", "*.worker"), hide: []string{".env", "*.pem", "*.key"}}, nil, nil)
	if x != nil {
		for _, tree := range x.trees {
			settle(&tree.top, dir)
		}
	}
	for b.Loop() {
		s := scanNames(x, []string{dir}, nameLists{protect: append(protect, ".git", "*.worker"), hide: []string{".env", "*.pem", "*.key"}}, nil, nil)
		_ = s.appeared(nowhere)
	}
}
