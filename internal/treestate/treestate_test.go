package treestate

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

func write(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// later is a clock by which every file is old enough to tell a later change by its times.
func later() time.Time { return time.Now().Add(time.Minute) }

func scan(t *testing.T, top string, old *Index, paths ...string) (*Index, []string) {
	t.Helper()
	return scanAt(t, later, top, old, paths...)
}

func scanAt(t *testing.T, now func() time.Time, top string, old *Index, paths ...string) (*Index, []string) {
	t.Helper()
	var x *Index
	var diffs []Difference
	var err error
	if len(paths) > 0 {
		x, diffs, err = ScanPaths(t.Context(), top, old, paths, Options{now: now})
	} else {
		x, diffs, err = Scan(t.Context(), top, old, Options{now: now})
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range diffs {
		sign := "*"
		switch {
		case d.Old == nil:
			sign = "+"
		case d.New == nil:
			sign = "-"
		}
		names = append(names, sign+d.Path)
	}
	return x, names
}

func TestScanFindsDifferences(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, "a/b/one", "a/two", "three", "node_modules/x/y", "rust/Cargo.toml", "rust/target/out", "target/mine", "venv/kept", "env/pyvenv.cfg")
	x, names := scan(t, top, nil)
	for _, apart := range []string{"node_modules", "rust/target", "env"} {
		if e := x.Find(apart); e == nil || e.Apart != Recreatable || x.Folder(apart) != nil {
			t.Errorf("%s is not left out", apart)
		}
	}
	for _, kept := range []string{"+target/mine", "+venv/kept", "+a/b/one"} {
		if !slices.Contains(names, kept) {
			t.Errorf("%s is not in %v", kept, names)
		}
	}
	if _, names := scan(t, top, x); names != nil {
		t.Errorf("nothing changed, and %v did", names)
	}
	write(t, top, "a/two", "a/new/deep/file", "node_modules/x/z")
	if err := os.RemoveAll(filepath.Join(top, "a/b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(top, "three"), filepath.Join(top, "four")); err != nil {
		t.Fatal(err)
	}
	want := []string{"-a/b", "-a/b/one", "+a/new", "+a/new/deep", "+a/new/deep/file", "*a/two", "+four", "-three"}
	if _, names := scan(t, top, x); !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	// With paths, only their folders are looked at; the rest is found later.
	y, names := scan(t, top, x, "a/new/deep/file")
	if want := []string{"-a/b", "-a/b/one", "+a/new", "+a/new/deep", "+a/new/deep/file", "*a/two"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if y.Folder("a/b") != nil || y.Folder("a/new/deep") == nil || y.Find("three") == nil {
		t.Error("the parts do not make a whole")
	}
	if _, names := scan(t, top, y); !slices.Contains(names, "+four") || !slices.Contains(names, "-three") || slices.Contains(names, "+a/new") {
		t.Errorf("%v", names)
	}
}

// A change that leaves size and times as they were is found where it came right after the look.
func TestRacyFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, "f")
	x, _ := scanAt(t, nil, top, nil)
	if e := x.Find("f"); !e.Racy {
		t.Fatal("a file of this moment is taken to be settled")
	}
	if _, names := scan(t, top, x); !slices.Equal(names, []string{"*f"}) {
		t.Errorf("%v", names)
	}
	x, _ = scan(t, top, x)
	if _, names := scan(t, top, x); names != nil {
		t.Errorf("%v", names)
	}
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, "a/b", "c")
	if err := os.Symlink("c", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	x, _ := scan(t, top, nil)
	x.Find("c").Kept, x.Find("c").Hash = true, [HashSize]byte{1, 2, 3}
	x.Find("a/b").Lost, x.Find("a/b").Index = "why", "index"
	x.Folder("a").Unread = true
	data := x.Encode()
	got, err := Decode(data)
	if err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("%+v, want %+v (%v)", got, x, err)
	}
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 0x40
		if _, err := Decode(bad); err == nil {
			t.Fatalf("byte %d was changed, and nobody noticed", i)
		}
		if _, err := Decode(data[:i]); err == nil {
			t.Fatalf("%d bytes were taken for all", i)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&Index{Folders: []Folder{{Path: ".", Entries: []Entry{{Name: "a", Kind: File}}}}}).Encode())
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Decode(data) })
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, "a", "b", "c")
	if _, _, err := Scan(t.Context(), top, nil, Options{MaxEntries: 2}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}
