package approval_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// A directory that was added tells of what is in it; what is special, and what was there before, stands for itself.
func TestFold(t *testing.T) {
	change := func(kind tongs.ChangeKind, of tongs.FileType, name, why string) tongs.Change {
		return tongs.Change{Kind: kind, Type: of, Path: tongs.Path{Rel: name}, Protected: why}
	}
	list := []tongs.Change{
		change(tongs.Added, tongs.FileRegular, "lib/.envrc", "protected"),
		change(tongs.Modified, tongs.FileRegular, "a.txt", ""),
		change(tongs.Added, tongs.FileDirectory, "lib", ""),
		change(tongs.Added, tongs.FileDirectory, "lib/sub", ""),
		change(tongs.Added, tongs.FileRegular, "lib/sub/b", ""),
		change(tongs.Added, tongs.FileRegular, "library", ""),
		change(tongs.Renamed, tongs.FileRegular, "lib/moved", ""),
		change(tongs.Deleted, tongs.FileRegular, "src/c", ""),
		change(tongs.Added, tongs.FileRegular, "src/d", ""),
		{Kind: tongs.Added, Type: tongs.FileRegular, Path: tongs.Path{Root: "cache", Rel: "lib/x"}},
	}
	outer := approval.Fold(list)
	var got []string
	for _, c := range list {
		got = append(got, c.Path.String())
	}
	want := []string{"lib/.envrc", "a.txt", "lib", "library", "lib/moved", "src/c", "src/d", "/cache/lib/x", "lib/sub", "lib/sub/b"}
	if outer != 8 || !slices.Equal(got, want) {
		t.Errorf("%d of %q", outer, got)
	}
	if n := approval.Fold(nil); n != 0 {
		t.Error(n)
	}
}

func ExampleFold() {
	changes := []tongs.Change{
		{Kind: tongs.Added, Type: tongs.FileDirectory, Path: tongs.Path{Rel: "lib"}, Below: 1},
		{Kind: tongs.Added, Type: tongs.FileRegular, Path: tongs.Path{Rel: "lib/a"}},
		{Kind: tongs.Modified, Type: tongs.FileRegular, Path: tongs.Path{Rel: "main.go"}},
	}
	for _, c := range changes[:approval.Fold(changes)] {
		fmt.Println(c.Kind, c.Path, c.Below)
	}
	// Output:
	// added lib 1
	// modified main.go 0
}
