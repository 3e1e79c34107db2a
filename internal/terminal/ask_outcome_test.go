package terminal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

func TestSelectedChanges(t *testing.T) {
	q := &approval.Question{ChangeCount: 4}
	for _, name := range []string{"a", "dir", "dir/b", "3"} {
		q.Changes = append(q.Changes, tongs.Change{Path: tongs.Path{Rel: name}, Kind: tongs.Added})
	}
	for text, want := range map[string][]string{
		"1": {"a"}, "1-2": {"a", "dir"}, "1,3": {"a", "dir/b"}, "dir/": {"dir"}, "././a a": {"a"}, "./3": {"3"}, " 4 ": {"3"}, "4-4 1": {"3", "a"},
		"5": nil, "0": nil, "2-1": nil, "-1": nil, "1-": nil, "b": nil, "/": nil, "": nil, "99999999999999999999": nil, "1-99999999999": nil, "di": nil,
	} {
		got, err := selected(q, text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	q.ChangeCount = 1000 // more than are listed: a directory may be among those that are not
	if got, err := selected(q, "node_modules"); err != nil || fmt.Sprint(got) != "[node_modules]" {
		t.Errorf("%q, %v", got, err)
	}
}
